// heddle fuzzy: a formula over tables of fuzzy numbers.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
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
#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/fuzzy/decimal.hpp"
#include "heddle/kernels/fuzzy/formula.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"
#include "heddle/runtime/fuzzy/number_table.hpp"

namespace heddle::cli {
namespace {

struct FuzzyOptions {
  Common common;
  std::string formula, output, device, profiles;
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
    refuse_option("--levels", fmt::format("{} levels", levels), fmt::format("one for each of {} cuts", format.cuts));
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

template <class T>
int run_as(const FuzzyOptions& options) {
  const fuzzy::Formula formula(options.formula);
  const fuzzy::NumberFormat format = number_format(options);
  const std::vector<std::string> files = files_of(formula, options);
  if (!options.output.empty()) {
    check_not_read("--output", options.output, files);
    check_writable(options.output);
  }
  std::vector<fuzzy::Numbers<T>> inputs;
  inputs.reserve(files.size());
  for (const std::string& file : files) {
    inputs.push_back(fuzzy::read_numbers<T>(file, format));
    if (inputs.back().count() == inputs.front().count()) continue;
    throw Error(ErrorKind::input, fmt::format("{}: found {} numbers, expected {} as in {}", file, inputs.back().count(),
                                              inputs.front().count(), files.front()));
  }

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
  const std::vector<std::byte> result = calculator.map(formula, arrays).components();
  fuzzy::Numbers<T> numbers{.encoding = format.encoding, .cuts = format.cuts, .values = {}};
  numbers.values.resize(result.size() / sizeof(T));
  std::copy(result.begin(), result.end(), std::as_writable_bytes(std::span(numbers.values)).begin());
  const std::string table = fuzzy::number_text(numbers);

  if (!options.output.empty()) write_file(options.output, table);
  const std::string summary = fmt::format("{} numbers of {} cuts on {}", shape.numbers, shape.cuts, device->label());
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
