#include "heddle/tuner/strategy.hpp"

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> entries{
      {.name = "portfolio",
       .meaning = "a model, local search, annealing, genetic and random; more of what has paid lately",
       .make = make_portfolio},
      {.name = "model", .meaning = "Bayesian optimisation with a Gaussian process", .make = make_model_based},
      {.name = "local-search", .meaning = "to faster neighbours, restarted", .make = make_local_search},
      {.name = "annealing", .meaning = "simulated annealing, reheated", .make = make_simulated_annealing},
      {.name = "genetic", .meaning = "children of the fastest so far", .make = make_genetic},
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
  throw Error(ErrorKind::usage, fmt::format("unknown strategy {}, expected one of: {}", in_quotes(name), names));
}

}  // namespace heddle
