#include "heddle/runtime/train/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

/// The whole of `text` as a number, or nothing.
template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

bool in_range(const Option& option, double value) {
  return std::isfinite(value) && value <= option.maximum &&
         (option.exclusive_minimum ? value > option.minimum : value >= option.minimum);
}

/// The texts between the commas; none of an empty text.
std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    found.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) found.emplace_back();
  }
  return found;
}

bool allowed(const Option& option, std::string_view value) {
  std::int64_t integer = 0;
  double number = 0.0;
  switch (option.kind) {
    case Option::Kind::integer:
      return parse(value, integer) && in_range(option, static_cast<double>(integer));
    case Option::Kind::number:
      return parse(value, number) && in_range(option, number);
    case Option::Kind::choice:
      return std::ranges::find(option.choices, value) != option.choices.end();
    case Option::Kind::flag:
      return value == "true" || value == "false";
    case Option::Kind::integers:
      return std::ranges::all_of(parts(value), [&](std::string_view part) {
        return parse(part, integer) && in_range(option, static_cast<double>(integer));
      });
  }
  return false;
}

}  // namespace

std::string Option::expected() const {
  switch (kind) {
    case Kind::choice:
      return fmt::format("one of {}", fmt::join(choices, ", "));
    case Kind::flag:
      return "true or false";
    case Kind::integer:
    case Kind::integers:
    case Kind::number:
      break;
  }
  const bool whole = kind != Kind::number;
  const auto print = [&](double bound) { return whole ? fmt::format("{:.0f}", bound) : fmt::format("{}", bound); };
  return fmt::format("{} {} {} to {}",
                     kind == Kind::integers ? "whole numbers with commas between them, each"
                     : whole                ? "a whole number"
                                            : "a number",
                     exclusive_minimum ? "above" : "from", print(minimum), print(maximum));
}

std::vector<Option> with_common_options(std::vector<Option> own, const CommonOptions& common) {
  using enum Option::Kind;
  own.insert(own.begin(), {.name = "epochs",
                           .kind = integer,
                           .default_value = common.epochs,
                           .meaning = common.epochs_meaning + ", those of a resumed model counted",
                           .minimum = 1,
                           .maximum = 1e6});
  for (Option& option : std::vector<Option>{{.name = "scale",
                        .kind = choice,
                        .default_value = common.scale,
                        .meaning = "map of the inputs, made from the training rows; unit: all columns divided by "
                                   "the largest size of all",
                        .choices = {"none", "minmax", "zscore", "unit"}},
                                            {.name = "seed",
                                            .kind = integer,
                                            .default_value = "1",
                                            .meaning = common.seed_meaning,
                                            .minimum = 0,
                                            .maximum = 9007199254740992.0},
                                            {.name = "validation",
                                            .default_value = "0",
                                            .meaning = "fraction of the training rows kept back to find the best epoch",
                                            .minimum = 0,
                                            .maximum = 0.9},
                                            {.name = "patience",
                                            .kind = integer,
                                            .default_value = common.patience,
                                            .meaning = "epochs without a better validation error before training ends",
                                            .minimum = 1,
                                            .maximum = 1e6},
                                            {.name = "target-error",
                                            .default_value = "0",
                                            .meaning = "training ends at this mean error; 0: never",
                                            .minimum = 0,
                                            .maximum = kLargeNumber}}) {
    own.push_back(std::move(option));
  }
  return own;
}

OptionValues::OptionValues(std::vector<Option> declared) : declared_(std::move(declared)) {}

const Option& OptionValues::find(std::string_view name) const {
  const auto option = std::ranges::find(declared_, name, &Option::name);
  if (option == declared_.end()) throw std::out_of_range(fmt::format("no option is called '{}'", name));
  return *option;
}

void OptionValues::set(std::string_view name, std::string_view value) {
  const auto option = std::ranges::find(declared_, name, &Option::name);
  if (option == declared_.end()) {
    std::vector<std::string_view> names;
    for (const Option& known : declared_) names.push_back(known.name);
    throw Error(ErrorKind::usage,
                fmt::format("found the option {}, expected one of {}", in_quotes(name), fmt::join(names, ", ")));
  }
  if (!allowed(*option, value)) {
    throw Error(ErrorKind::usage,
                fmt::format("--{}: found {}, expected {}", name, in_quotes(value), option->expected()));
  }
  set_.insert_or_assign(std::string(name), std::string(value));
}

bool OptionValues::is_set(std::string_view name) const { return set_.contains(name); }

const std::string& OptionValues::word(std::string_view name) const {
  const auto value = set_.find(name);
  return value == set_.end() ? find(name).default_value : value->second;
}

std::int64_t OptionValues::integer(std::string_view name) const {
  std::int64_t value = 0;
  parse(word(name), value);
  return value;
}

double OptionValues::number(std::string_view name) const {
  double value = 0.0;
  parse(word(name), value);
  return value;
}

std::vector<std::int64_t> OptionValues::integers(std::string_view name) const {
  std::vector<std::int64_t> values;
  for (const std::string_view part : parts(word(name))) parse(part, values.emplace_back());
  return values;
}

bool OptionValues::flag(std::string_view name) const { return word(name) == "true"; }

}  // namespace heddle
