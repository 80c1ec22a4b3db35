#include "heddle/cli/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::cli {
namespace {

constexpr std::string_view kAbsent = "absent";
constexpr std::size_t kMostProblems = 100'000;

const Axis* find_axis(const KernelFamily& family, std::string_view name) {
  const auto found = std::ranges::find(family.axes(), name, &Axis::name);
  return found == family.axes().end() ? nullptr : &*found;
}

/// The axes of some families, the first of each name.
std::vector<const Axis*> axes_of(const std::vector<const KernelFamily*>& some) {
  std::vector<const Axis*> axes;
  for (const KernelFamily* family : some) {
    for (const Axis& axis : family->axes()) {
      if (std::ranges::find(axes, axis.name, &Axis::name) == axes.end()) axes.push_back(&axis);
    }
  }
  return axes;
}

std::vector<const Axis*> axes_of(const FamilyRegistry& families) {
  std::vector<const KernelFamily*> all;
  all.reserve(families.all().size());
  for (const auto& family : families.all()) all.push_back(family.get());
  return axes_of(all);
}

std::string names_of(const std::vector<const Axis*>& axes) {
  std::string names;
  for (const Axis* axis : axes) names += (names.empty() ? "" : ", ") + axis->name;
  return names;
}

/// The axis with every value that some heddle may have allowed: what profiles are looked for by.
Axis widened(Axis axis) {
  axis.maximum = std::int64_t{1} << 53;
  axis.zero_means_none = axis.optional = true;
  return axis;
}

/// The values of an axis that take part: those named, else those of the default problems.
std::set<AxisValue> axis_sizes(std::size_t index, const KernelFamily& family, const std::vector<Problem>& defaults,
                               const Sizes& sizes) {
  try {
    if (const auto named = sizes.values(family.axes()[index])) return {named->begin(), named->end()};
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{} ({})", error.what(), family.name()));
  }
  std::set<AxisValue> found;
  for (const Problem& problem : defaults) found.insert(axis_values(problem, family.axes())[index]);
  return found;
}

}  // namespace

std::vector<AxisValue> Sizes::read(const Named& named, const Axis& axis) {
  const auto fail = [&] {
    const std::string absent = axis.optional ? fmt::format(" or '{}'", kAbsent) : "";
    const std::string expected =
        named.list ? fmt::format("whole numbers {}{}, such as 64 or 32,64,128 or 32..1024", range_text(axis), absent)
                   : fmt::format("a whole number {}{}", range_text(axis), absent);
    return Error(ErrorKind::usage,
                 fmt::format("option {}: found {}, expected {}", named.option, in_quotes(named.text), expected));
  };
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !allows(axis, value)) throw fail();
    return value;
  };
  std::vector<AxisValue> values;
  const std::string_view text = named.text;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = named.list ? std::min(text.find(',', begin), text.size()) : text.size();
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t dots = named.list ? part.find("..") : std::string_view::npos;
    if (part == kAbsent && axis.optional) {
      values.emplace_back();
    } else if (dots == std::string_view::npos) {
      values.emplace_back(number(part));
    } else {
      const std::vector<std::int64_t> range = steps(axis, number(part.substr(0, dots)), number(part.substr(dots + 2)));
      if (range.empty()) throw fail();
      values.insert(values.end(), range.begin(), range.end());
    }
    begin = end + 1;
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void Sizes::add(const FamilyRegistry& families, const std::string& option, const std::string& name,
                const std::string& text, bool list) {
  const Named named{.option = option, .text = text, .list = list};
  std::optional<Error> objection;
  bool readable = false;
  for (const auto& family : families.all()) {
    const Axis* const axis = find_axis(*family, name);
    if (axis == nullptr) continue;
    try {
      static_cast<void>(read(named, *axis));
      readable = true;
    } catch (const Error& error) {
      if (!objection) objection = error;
    }
  }
  if (!readable) throw objection.value();
  if (!named_.emplace(name, named).second) {
    throw Error(ErrorKind::usage, fmt::format("option {}: the size {} is named twice", option, in_quotes(name)));
  }
}

std::vector<const KernelFamily*> Sizes::meant(std::vector<const KernelFamily*> families) const {
  std::vector<const KernelFamily*> fitting;
  std::ranges::copy_if(families, std::back_inserter(fitting), [&](const KernelFamily* family) {
    return std::ranges::all_of(named_, [&](const auto& entry) { return find_axis(*family, entry.first) != nullptr; });
  });
  if (fitting.empty()) return families;
  return fitting;
}

void Sizes::check_names(const std::vector<const KernelFamily*>& chosen) const {
  for (const auto& entry : named_) {
    const auto has = [&](const KernelFamily* family) { return find_axis(*family, entry.first) != nullptr; };
    if (std::ranges::any_of(chosen, has)) continue;
    std::string names;
    for (const KernelFamily* family : chosen) names += (names.empty() ? "" : ", ") + std::string(family->name());
    throw Error(ErrorKind::usage, fmt::format("option {}: no such size in {}, expected one of {}", entry.second.option,
                                              names, names_of(axes_of(chosen))));
  }
}

std::optional<std::vector<AxisValue>> Sizes::values(const Axis& axis) const {
  const auto named = named_.find(axis.name);
  if (named == named_.end()) return std::nullopt;
  return read(named->second, axis);
}

void read_size(Sizes& sizes, const FamilyRegistry& families, const std::string& text, bool list) {
  const std::vector<const Axis*> axes = axes_of(families);
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  if (sign == std::string::npos || std::ranges::find(axes, name, &Axis::name) == axes.end()) {
    throw Error(ErrorKind::usage, fmt::format("option --size: found {}, expected NAME={} where NAME is one of {}",
                                              in_quotes(text), list ? "LIST" : "N", names_of(axes)));
  }
  sizes.add(families, fmt::format("--size {}", name), name, text.substr(sign + 1), list);
}

void add_sizes(Command& command, Sizes& sizes, bool list, const FamilyRegistry& families) {
  const char* const meaning =
      list ? "Sizes of the problems, as 64 or 32,64,128 or 32..1024 (doubling)" : "Size of the problem";
  const std::vector<const Axis*> axes = axes_of(families);
  command.repeated("--size", list ? "NAME=LIST" : "NAME=N",
                   fmt::format("{}; NAME is one of {}. May be given several times", meaning, names_of(axes)),
                   [&sizes, &families, list](const std::string& text) { read_size(sizes, families, text, list); });
  for (const Axis* axis : axes) {
    const std::string option = "--" + axis->name;
    command.option(option, list ? "LIST" : "N",
                   fmt::format("The same as --size {}={}", axis->name, list ? "LIST" : "N"),
                   [&sizes, &families, list, option, name = axis->name](const std::string& text) {
                     sizes.add(families, option, name, text, list);
                   });
  }
}

std::vector<Problem> problem_grid(const KernelFamily& family, const DeviceIdentity& device, const Sizes& sizes) {
  std::vector<Problem> defaults = family.default_problems(device);
  if (sizes.empty()) return defaults;
  std::vector<std::vector<AxisValue>> grid{{}};
  for (std::size_t i = 0; i < family.axes().size(); ++i) {
    const std::set<AxisValue> own = axis_sizes(i, family, defaults, sizes);
    if (grid.size() * own.size() > kMostProblems) {
      throw Error(ErrorKind::usage, fmt::format("option --size: {} would have more than {} problems, expected fewer "
                                                "values, or a value for each size",
                                                family.name(), kMostProblems));
    }
    std::vector<std::vector<AxisValue>> longer;
    longer.reserve(grid.size() * own.size());
    for (const auto& begun : grid) {
      for (const AxisValue value : own) {
        longer.push_back(begun);
        longer.back().push_back(value);
      }
    }
    grid = std::move(longer);
  }
  std::vector<Problem> problems;
  problems.reserve(grid.size());
  for (const auto& complete : grid) problems.push_back(Problem::from(family.axes(), complete));
  return problems;
}

Problem one_problem(const KernelFamily& family, const DeviceIdentity& device, const Sizes& sizes) {
  const std::vector<Problem> defaults = family.default_problems(device);
  std::vector<AxisValue> chosen;
  chosen.reserve(family.axes().size());
  for (std::size_t i = 0; i < family.axes().size(); ++i) {
    chosen.push_back(*axis_sizes(i, family, defaults, sizes).begin());
  }
  return Problem::from(family.axes(), chosen);
}

bool matches(const FamilyRegistry& families, const ProfileKey& key, const Sizes& sizes) {
  std::vector<Axis> axes;
  if (const KernelFamily* const family = families.find(key.family)) {
    axes = family->axes();
  } else {
    axes.reserve(key.problem.sizes().size());
    for (const Problem::Size& size : key.problem.sizes()) axes.push_back({.name = size.name});
  }
  return std::ranges::all_of(axes, [&](const Axis& axis) {
    const auto named = sizes.values(widened(axis));
    return !named || std::ranges::find(*named, key.problem.find(axis.name)) != named->end();
  });
}

}  // namespace heddle::cli
