// heddle fuzzy: a formula over tables of fuzzy numbers.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/cli/data_options.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/result_file.hpp"
#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/fuzzy/decimal.hpp"
#include "heddle/kernels/fuzzy/formula.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"
#include "heddle/runtime/fuzzy/number_table.hpp"
#include "heddle/runtime/fuzzy/sort_keys.hpp"

namespace heddle::cli {
namespace {

struct FuzzyOptions {
  Common common;
  std::string formula, output, device, profiles;
  std::string sort_keys;  ///< file
  std::string positions;  ///< file
  std::optional<fuzzy::Measure> sort_by;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< name, file
  std::vector<double> levels;
  std::optional<int> cuts;
  fuzzy::Encoding encoding = fuzzy::Encoding::lower_upper;
  bool is_float = false, enclose = false;
};

[[noreturn]] void refuse_option(const std::string& option, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::usage, fmt::format("option {}: found {}, expected {}", option, found, expected));
}

/// NAME=FILE
std::pair<std::string, std::string> read_input(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    refuse_option("--input", in_quotes(text), "NAME=FILE");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The format of the tables, once the options agree with each other.
fuzzy::NumberFormat number_format(const FuzzyOptions& options) {
  constexpr int kUsualCuts = 4;
  if (options.levels.size() > at(fuzzy::kMostCuts)) {
    refuse_option("--levels", fmt::format("{} levels", options.levels.size()),
                  fmt::format("1 to {}", fuzzy::kMostCuts));
  }
  const auto levels = static_cast<int>(options.levels.size());
  fuzzy::NumberFormat format{.encoding = options.encoding,
                             .cuts = options.cuts.value_or(levels > 0 ? levels : kUsualCuts),
                             .levels = options.levels,
                             .enclose = options.enclose};
  if (levels > 0 && levels != format.cuts) {
    refuse_option("--levels", counted(levels, "level"), "one for each of " + counted(format.cuts, "cut"));
  }
  if (!std::is_sorted(format.levels.begin(), format.levels.end())) {
    refuse_option("--levels", fmt::format("{}", fmt::join(format.levels, ",")), "levels that do not fall");
  }
  return format;
}

/// The files in the order in which the formula names them.
std::vector<std::string> files_of(const fuzzy::Formula& formula, const FuzzyOptions& options) {
  std::vector<std::string> names;
  names.reserve(options.inputs.size());
  for (const auto& input : options.inputs) {
    if (std::find(names.begin(), names.end(), input.first) != names.end()) {
      refuse_option("--input", in_quotes(input.first) + " twice", "a file for each name");
    }
    names.push_back(input.first);
    const auto& used = formula.names();
    if (std::find(used.begin(), used.end(), input.first) == used.end()) {
      refuse_option("--input", in_quotes(input.first), fmt::format("a name of the formula: {}", fmt::join(used, ", ")));
    }
  }
  std::vector<std::string> files;
  files.reserve(formula.names().size());
  for (const std::string& name : formula.names()) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw Error(ErrorKind::usage, fmt::format("formula: found {}, expected a name with --input {}=FILE",
                                                in_quotes(name), brief(name, 40)));
    }
    files.push_back(options.inputs[static_cast<std::size_t>(found - names.begin())].second);
  }
  return files;
}

[[nodiscard]] bool is_sorted(const FuzzyOptions& options) { return options.sort_by || !options.sort_keys.empty(); }

/// Throws what is wrong with options that say where results go and in which order.
void check_results(const FuzzyOptions& options, const std::vector<std::string>& files) {
  if (options.sort_by && !options.sort_keys.empty()) {
    refuse_option("--sort-keys", "--sort as well", "one of the two");
  }
  if (!options.positions.empty() && !is_sorted(options)) {
    refuse_option("--positions", "results that are not sorted", "--sort or --sort-keys");
  }
  std::vector<std::string> read = files;
  if (!options.sort_keys.empty()) read.push_back(options.sort_keys);
  for (const auto& [option, file] :
       {std::pair("--output", options.output), std::pair("--positions", options.positions)}) {
    if (file.empty()) continue;
    claim_result_file(option, file, read, options.profiles);
    check_writable(file);
  }
  if (!options.positions.empty() && !options.output.empty() && is_same_file(options.positions, options.output)) {
    refuse_option("--positions", in_quotes(options.positions) + ", which is that of --output", "another file");
  }
}

/// A key for each of the results, which are `count`; nothing unless a file has them.
template <class T>
std::vector<T> keys_of_file(const FuzzyOptions& options, std::int64_t count) {
  if (options.sort_keys.empty()) return {};
  std::vector<T> keys = fuzzy::read_keys<T>(options.sort_keys);
  if (keys.size() == at(count)) return keys;
  throw Error(ErrorKind::input, fmt::format("{}: found {}, expected one for each of {}", options.sort_keys,
                                            counted(keys.size(), "key"), counted(count, "number")));
}

template <class T>
fuzzy::Numbers<T> host_numbers(const fuzzy::Array& array) {
  const std::vector<std::byte> components = array.components();
  fuzzy::Numbers<T> numbers{
      .encoding = array.shape().encoding, .cuts = static_cast<int>(array.shape().cuts), .values = {}};
  numbers.values.resize(components.size() / sizeof(T));
  std::copy(components.begin(), components.end(), std::as_writable_bytes(std::span(numbers.values)).begin());
  return numbers;
}

template <class T>
int run_as(const FuzzyOptions& options) {
  const fuzzy::Formula formula(options.formula);
  const fuzzy::NumberFormat format = number_format(options);
  const std::vector<std::string> files = files_of(formula, options);
  check_results(options, files);
  std::vector<fuzzy::Numbers<T>> inputs;
  inputs.reserve(files.size());
  for (const std::string& file : files) {
    inputs.push_back(fuzzy::read_numbers<T>(file, format));
    if (inputs.back().count() == inputs.front().count()) continue;
    throw Error(ErrorKind::input,
                fmt::format("{}: found {}, expected {} as in {}", file, counted(inputs.back().count(), "number"),
                            inputs.front().count(), files.front()));
  }
  std::vector<T> keys = keys_of_file<T>(options, inputs.front().count());

  const auto device = open_device(options.device);
  if (!options.common.quiet) note_timing(device->identity().backend);
  const Notice notice = [&](const std::string& line) {
    if (!options.common.quiet) note(line);
  };
  fuzzy::Calculator calculator(*device, {.profiles = options.profiles, .notice = notice});
  const fuzzy::ArrayShape shape{.encoding = format.encoding,
                                .numbers = inputs.front().count(),
                                .cuts = format.cuts,
                                .bits = 8 * static_cast<std::int64_t>(sizeof(T)),
                                .layout = fuzzy::kNumbers};
  std::vector<fuzzy::Array> arrays;
  arrays.reserve(inputs.size());
  for (const auto& input : inputs) arrays.push_back(calculator.array(shape, std::as_bytes(std::span(input.values))));
  fuzzy::Array result = calculator.map(formula, arrays);
  if (options.sort_by) keys = fuzzy::measure_all(host_numbers<T>(result), format.levels, *options.sort_by);
  std::vector<std::uint32_t> positions;
  if (is_sorted(options)) {
    fuzzy::Sorted sorted = calculator.sort(result, keys);
    result = sorted.numbers;
    positions = std::move(sorted.positions);
  }
  const std::string table = fuzzy::number_text(host_numbers<T>(result));

  if (!options.output.empty()) write_file(options.output, table);
  if (!options.positions.empty()) write_file(options.positions, fmt::format("{}\n", fmt::join(positions, "\n")));
  const std::string summary =
      fmt::format("{} of {} on {}", counted(shape.numbers, "number"), counted(shape.cuts, "cut"), device->label());
  if (options.common.json) {
    const KernelExplanation kernel = calculator.explain_map(formula, shape);
    print_document("fuzzy", {{"device", device->label()},
                             {"formula", options.formula},
                             {"encoding", fuzzy::suffix(shape.encoding)},
                             {"type", fuzzy::real_name(shape)},
                             {"cuts", shape.cuts},
                             {"numbers", shape.numbers},
                             {"family", kernel.family},
                             {"configuration", kernel.running ? Json(kernel.running->configuration.text()) : Json()},
                             {"tier", kernel.running ? Json(text(kernel.running->tier)) : Json()},
                             {"compiler_calls", device->compiler_calls()},
                             {"positions", is_sorted(options) ? Json(positions) : Json()},
                             {"output", options.output.empty() ? Json() : Json(options.output)},
                             {"table", options.output.empty() ? Json(table) : Json()}});
  } else if (options.output.empty()) {
    print_bytes(table);
    flush_output();
    if (!options.common.quiet) note(summary);
  } else {
    print(fmt::format("{}: {}\n", summary, options.output));
  }
  return 0;
}

}  // namespace

void add_fuzzy(Command& program) {
  Command command = program.add("fuzzy", "Compute a formula over tables of fuzzy numbers, with bounds that hold");
  const auto options = std::make_shared<FuzzyOptions>();
  command.positional("formula", "FORMULA",
                     "Of names and decimal numbers with + - * /, powers as x^3, sqrt, exp, log, min, max",
                     options->formula);
  command.repeated("--input", "NAME=FILE", "The numbers that a name of the formula stands for; CSV, or gzip of it",
                   [options](const std::string& text) { options->inputs.push_back(read_input(text)); });
  command.option("--encoding", "E", "lu: lower and upper bounds; mr: midpoint and radii [default: lu]",
                 [options](const std::string& text) {
                   if (text != "lu" && text != "mr") refuse_option("--encoding", in_quotes(text), "lu or mr");
                   options->encoding = fuzzy::encoding_of(text);
                 });
  command.option("--type", "T", "float or double [default: double]", [options](const std::string& text) {
    if (text != "float" && text != "double") refuse_option("--type", in_quotes(text), "float or double");
    options->is_float = text == "float";
  });
  command.option("--cuts", "N",
                 fmt::format("Cuts of a number, 1 to {} [default: 4, or as many as levels]", fuzzy::kMostCuts),
                 [options](const std::string& text) {
                   options->cuts = static_cast<int>(read_integer("--cuts", text, 1, fuzzy::kMostCuts));
                 });
  command.list("--levels", "L", "Levels of the cuts, from 0 to 1, lowest first [default: from 0 to 1 in even steps]",
               [options](const std::string& text) {
                 const auto level = fuzzy::read_decimal(text);
                 if (!level || level->down < 0.0 || level->up > 1.0)
                   refuse_option("--levels", in_quotes(text), "a number from 0 to 1");
                 // Downwards: the cut of a lower level contains that of a higher one.
                 options->levels.push_back(level->down);
               });
  command.flag("--enclose", "With --encoding mr: take numbers that are not symmetric, enclosed", options->enclose);
  command.option("--output", "FILE", "Write the results as CSV to this file [default: standard output]",
                 options->output);
  command.option("--sort", "MEASURE",
                 "Write the results in rising order of their centroid, mean-of-maxima or ranking-value",
                 [options](const std::string& text) {
                   options->sort_by = fuzzy::measure_of(text);
                   if (!options->sort_by) {
                     refuse_option("--sort", in_quotes(text), "centroid, mean-of-maxima or ranking-value");
                   }
                 });
  command.option("--sort-keys", "FILE", "Write the results in rising order of these keys, one in each row",
                 options->sort_keys);
  command.option("--positions", "FILE", "Write where each sorted result was before, from 0, one in each row",
                 options->positions);
  add_device(command, options->device);
  add_profile_file(command, options->profiles);
  add_common(command, options->common);
  command.footer(
      "  heddle fuzzy \"x*y + exp(z)\" --input x=x.csv --input y=y.csv --input z=z.csv --cuts 4 --output r.csv\n"
      "A row of a table is a number: 'a,b,c' (triangular), 'a,b,c,d' (trapezoidal), one value (crisp), or its cuts, "
      "the\n"
      "widest first, under the header 'lower_0,upper_0,lower_1,upper_1,...' or 'midpoint,radius_0,radius_1,...'.\n"
      "Every cut of a result contains all values that the formula has for values from the cuts that it is given.");
  command.action([options] { return options->is_float ? run_as<float>(*options) : run_as<double>(*options); });
}

}  // namespace heddle::cli
