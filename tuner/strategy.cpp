#include "heddle/tuner/strategy.hpp"

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> entries{
      {.name = "random", .meaning = "all configurations in random order, until the budget ends", .make = make_random},
      {.name = "exhaustive", .meaning = "all configurations in the order of the space", .make = make_exhaustive},
  };
  return entries;
}

const StrategyEntry& strategy(std::string_view name) {
  std::string names;
  for (const StrategyEntry& entry : strategies()) {
    if (entry.name == name) return entry;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  throw Error(ErrorKind::usage, fmt::format("unknown strategy '{}', expected one of: {}", name, names));
}

}  // namespace heddle
