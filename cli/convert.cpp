// heddle convert: rows from one format to another.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/cli/data_options.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/result_file.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/sample_file.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/train/subset.hpp"

namespace heddle::cli {
namespace {

struct ConvertOptions {
  Common common;
  DataArguments data;
  std::string from, output, to, classes, scale = "none";
  std::int64_t seed = 1;
};

/// Classes become numbers, their places among the sorted ones: whether a file names each class in its rows or has an
/// output for each, in an order of its own, does not change the numbers.
void number_classes(Dataset& data) {
  const std::vector<std::string> sorted = ordered_classes(data.classes);
  std::vector<float> places;
  for (const std::string& name : data.classes) {
    places.push_back(static_cast<float>(std::ranges::find(sorted, name) - sorted.begin()));
  }
  data.task = Task::regress;
  data.targets.clear();
  for (const std::int32_t label : data.labels) data.targets.push_back(places[static_cast<std::size_t>(label)]);
  data.targets_per_row = 1;
  data.labels.clear();
  data.classes.clear();
}

int run(const ConvertOptions& options) {
  if (options.to != "fann" && options.to != "toman" && options.to != "table") {
    throw Error(ErrorKind::usage, "option --to: found " + (options.to.empty() ? "nothing" : in_quotes(options.to)) +
                                      ", expected fann, toman or table");
  }
  if (options.output.empty()) throw Error(ErrorKind::usage, "option --output: found nothing, expected a file");
  claim_result_file("--output", options.output, {options.from, options.data.label}, "");
  const Scale scale = parse_scale(options.scale);
  if (!options.classes.empty()) {
    if (options.classes != "one-hot" && options.classes != "index") {
      throw Error(ErrorKind::usage,
                  "option --classes: found " + in_quotes(options.classes) + ", expected one-hot or index");
    }
    if (options.data.task == Task::regress) {
      throw Error(ErrorKind::usage, "option --classes: it has no meaning with --task regress");
    }
  }
  Dataset data = load_dataset(options.from, {.task = options.data.task.value_or(Task::classify),
                                             .label = options.data.label,
                                             .header = options.data.header,
                                             .format = options.data.format,
                                             .categories = options.data.categories,
                                             .missing_is_category = options.data.missing_is_category});
  if (options.data.rows > 0) data = draw_rows(data, options.data.rows, static_cast<std::uint64_t>(options.seed));
  if (scale != Scale::none) {
    data.inputs = fit_scaling(scale, data.inputs, data.dim).apply(data.inputs, data.source);
    data.input_ranges.clear();
  }
  if (options.classes == "index") number_classes(data);
  if (!options.common.quiet) {
    for (const std::string& remark : data.remarks) note(remark);
  }
  write_file(options.output, options.to == "fann"    ? fann_text(data)
                             : options.to == "toman" ? toman_text(data)
                                                     : table_text(data));
  if (options.common.json) {
    print_document("convert", {{"data", data.source},
                               {"rows", data.rows()},
                               {"inputs", data.dim},
                               {"outputs", data.outputs()},
                               {"format", options.to},
                               {"output", options.output}});
  } else {
    print(fmt::format("{}: {}, {}, {}\n", options.output, counted(data.rows(), "row"), counted(data.dim, "input"),
                      counted(data.outputs(), "output")));
  }
  return 0;
}

}  // namespace

void add_convert(Command& program) {
  Command command = program.add("convert", "Write rows in another format: FANN's, Toman's, or a table");
  const auto options = std::make_shared<ConvertOptions>();
  command.positional("data", "DATA", "Rows with labels or targets", options->from);
  command.option("--to", "WORD", "fann, toman or table: classes become an output each, in a table their names",
                 options->to);
  command.option("--classes", "WORD",
                 "one-hot, as --to says, or index: one number for a class, its place among all from 0, so that of two "
                 "classes one output of 0 or 1 is learnt with 'heddle train --task regress'",
                 options->classes);
  command.option("--output", "FILE", "Where to write them", options->output);
  add_data_options(command, options->data);
  add_task(command, options->data, "classify");
  add_row_options(command, options->data);
  command.option("--scale", "WORD", "Scale the inputs: none, minmax, zscore, unit [default: none]", options->scale);
  command.option("--seed", "N", "Of --rows [default: 1]", [options](const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options->seed);
    if (error != std::errc() || end != text.data() + text.size() || options->seed < 0) {
      throw Error(ErrorKind::usage, "option --seed: found " + in_quotes(text) + ", expected a whole number from 0");
    }
  });
  add_common(command, options->common);
  command.action([options] { return run(*options); });
}

}  // namespace heddle::cli
