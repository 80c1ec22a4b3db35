// heddle inspect: what a model consists of, in words and numbers.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/cli/inspect_kernel.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/model/description.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/mlp_weights.hpp"

namespace heddle::cli {
namespace {

struct InspectOptions {
  Common common;
  std::string file;
  KernelInspection kernel;
  bool weights = false;
};

int run(const Context& context, InspectOptions& options) {
  if (is_kernel_description(options.file)) return inspect_kernel(context, options.file, options.kernel, options.common);
  if (options.kernel.named) {
    throw Error(ErrorKind::usage, fmt::format("{} is no description of a kernel: it has neither sizes nor a device",
                                              in_quotes(options.file)));
  }
  if (options.weights && options.common.json) {
    throw Error(ErrorKind::usage,
                "option --json: found it with --weights, which prints the text that 'heddle train --weights' reads");
  }
  const Model model = load_model(options.file);
  if (options.weights) {
    const auto* const network = std::get_if<MlpModel>(&model.network);
    if (network == nullptr || network->parameters.empty()) {
      throw Error(ErrorKind::usage, fmt::format("option --weights: {} is a network of {} without weights", options.file,
                                                model.size().text));
    }
    print_bytes(weights_text(*network));
    flush_output();
    return 0;
  }
  if (options.common.json) {
    Json all{{"model", options.file},
             {"network", model.kind()},
             {"size", model.size().text},
             {"task", model.task == Task::classify ? "classify" : "regress"},
             {"epochs", model.training.epochs}};
    all.update(heddle::document(model));
    print_document("inspect", all);
    return 0;
  }
  const Description description = heddle::describe(model);
  print(fmt::format("{}: {}, {}, {}; {} of {}\n\n", options.file, model.size().text, counted(model.dim(), "input"),
                    counted(model.outputs(), "output"), counted(model.training.epochs, "epoch"), model.kind()));
  for (std::size_t i = 0; i < description.sentences.size(); ++i) {
    print(fmt::format("{:>4}  {}\n", i + 1, description.sentences[i]), std::string_view::npos);
  }
  std::vector<Table::Column> columns;
  columns.reserve(description.columns.size());
  for (const Description::Column& column : description.columns) {
    columns.push_back({.title = column.title, .align = column.number ? Table::Align::right : Table::Align::left});
  }
  Table table(std::move(columns));
  for (const std::vector<std::string>& row : description.cells) table.row(row);
  print("\n" + table.text());
  return 0;
}

}  // namespace

void add_inspect(Command& program) {
  Command command = program.add("inspect",
                                "Show what a model consists of in words and numbers, such as its rules and their sets, "
                                "or how the description of a kernel is understood");
  const auto options = std::make_shared<InspectOptions>();
  command.positional("file", "FILE", "What 'heddle train' wrote, or the description of a kernel", options->file);
  command.flag("--weights", "Print the weights of a multilayer perceptron as text: a line a neuron, its bias first",
               options->weights);
  command.group("Kernels");
  command.repeated("--size", "NAME=N", "Size at which the kernel is looked at [default: the description's first]",
                   [options](const std::string& text) {
                     options->kernel.sizes.push_back(text);
                     options->kernel.named = true;
                   });
  command.option("--device", "D", "Device to look at it for [default: the best one that can run it]",
                 [options](const std::string& label) {
                   options->kernel.device = label;
                   options->kernel.named = true;
                 });
  command.flag("--allow-outside", "Allow the description to name sources outside its folder",
               options->kernel.allow_outside);
  command.option("--with", "FILE", "A second description, with changes to the first",
                 [options](const std::string& file) {
                   options->kernel.with = file;
                   options->kernel.named = true;
                 });
  command.group("Options");
  add_common(command, options->common);
  command.action([options, &context = program.context()] { return run(context, *options); });
}

}  // namespace heddle::cli
