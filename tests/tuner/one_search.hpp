// What tests of searches share: a search for one problem of the family "fake", and where its profile is.
#pragma once

#include <doctest/doctest.h>

#include <utility>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

namespace heddle::fake {

inline TuningResult tune_one(FakeEvaluator& evaluator, ProfileStore& store, const Budget& budget, std::int64_t size,
                             TunerOptions options = {}) {
  StopCondition stop(budget);
  const auto results = Tuner(evaluator, store, std::move(options)).tune({problem(size)}, stop);
  REQUIRE(results.size() == 1);
  return results.front();
}

inline ProfileKey key(std::int64_t size) { return {.device = identity(), .family = "fake", .problem = problem(size)}; }

}  // namespace heddle::fake
