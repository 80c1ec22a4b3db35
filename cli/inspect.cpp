// heddle inspect: what a model consists of, in words and numbers.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/runtime/model/description.hpp"
#include "heddle/runtime/model/model_file.hpp"

namespace heddle::cli {
namespace {

struct InspectOptions {
  Common common;
  std::string model;
};

int run(const InspectOptions& options) {
  const Model model = load_model(options.model);
  if (options.common.json) {
    Json all{{"model", options.model},
             {"network", model.kind()},
             {"size", model.size().text},
             {"task", model.task == Task::classify ? "classify" : "regress"},
             {"epochs", model.training.epochs}};
    all.update(heddle::document(model));
    print_document("inspect", all);
    return 0;
  }
  const Description description = heddle::describe(model);
  print(fmt::format("{}: {}, {} inputs, {} outputs; {} epochs of {}\n\n", options.model, model.size().text, model.dim(),
                    model.outputs(), model.training.epochs, model.kind()));
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
  Command command =
      program.add("inspect", "Show what a model consists of in words and numbers, such as its rules and their sets");
  const auto options = std::make_shared<InspectOptions>();
  command.positional("model", "MODEL", "What 'heddle train' wrote", options->model);
  add_common(command, options->common);
  command.action([options] { return run(*options); });
}

}  // namespace heddle::cli
