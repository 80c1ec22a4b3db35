#include "heddle/kernels/tsk/comparison.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace heddle::tsk {
namespace {

/// What a device would leave that does what the reference does.
Outcome outcome_of(const Workload& work, Rounding rounding = Rounding::none) {
  const Expectation run = expectation(work, work.control.end, rounding);
  Outcome outcome{.system = work.system, .best = run.best, .progress = run.progress, .held_back = run.held_back};
  outcome.system.centres.assign(run.centres.begin(), run.centres.end());
  outcome.system.widths.assign(run.widths.begin(), run.widths.end());
  return outcome;
}

bool accepted(const Workload& work, const Outcome& outcome) { return Comparison(work).compare(outcome).accepted; }

/// Centres and widths `factor` times as far from where they were.
Outcome moved(const Workload& work, Outcome outcome, float factor) {
  const auto move = [&](const std::vector<float>& before, std::vector<float>& after) {
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = before[i] + factor * (after[i] - before[i]);
  };
  move(work.system.centres, outcome.system.centres);
  move(work.system.widths, outcome.system.widths);
  return outcome;
}

TEST_CASE("rows that repeat each other: the reference of the distinct ones is that of all") {
  for (const int order : {0, 1}) {
    CAPTURE(order);
    const Problem sizes = problem(5, 3, 2, 9001);
    const Workload work = timing_workload(sizes, order, 3);
    CHECK(work.rows.size() == 9001 * 3);
    CHECK(work.targets.size() == 9001 * 2);
    REQUIRE(work.distinct.counts.size() == static_cast<std::size_t>(distinct_rows(sizes, order)));
    double rows = 0.0;
    for (const double count : work.distinct.counts) rows += count;
    CHECK(rows == 9001.0);
    Workload plain = work;
    plain.distinct = {};
    const Expectation fast = expectation(work, 3), all = expectation(plain, 3);
    for (int i = 0; i < 3; ++i)
      CHECK(fast.progress.recent[i] == doctest::Approx(all.progress.recent[i]).epsilon(1e-10));
    System found = work.system;
    found.centres.assign(fast.centres.begin(), fast.centres.end());
    found.widths.assign(fast.widths.begin(), fast.widths.end());
    CHECK(error_of_change(work.system, all, found) < 1e-5);  // rounded to float32

    // Whatever part of the rows is left out, the result is another.
    for (const std::int64_t count : {8000, 4500, 1000}) {
      Workload part = plain;
      part.control.rows = static_cast<int>(count);
      const Expectation other = expectation(part, 3);
      found.centres.assign(other.centres.begin(), other.centres.end());
      found.widths.assign(other.widths.begin(), other.widths.end());
      CHECK(error_of_change(work.system, all, found) > 0.02);
    }
  }
  CHECK(timing_workload(problem(5, 3, 2, 4000), 0, 3).distinct.counts.empty());
}

TEST_CASE("a workload that halts does so after its first iteration") {
  const Workload work = verification_workload(
      problem(5, 3, 2, 90), 0, {.plain_step = false, .holds_rows_back = true, .far_rows = false, .halts = true}, 3);
  const Outcome outcome = outcome_of(work);
  CHECK(outcome.progress.iteration == 1);
  CHECK(outcome.progress.halted == kTargetReached);
  CHECK(accepted(work, outcome));
  CHECK(accepted(work, outcome_of(work, Rounding::kernels)));
  Outcome other = outcome;
  other.progress.halted = kGoesOn;
  CHECK_FALSE(accepted(work, other));
  Workload endless = work;
  endless.control.target_error = 0.0F;
  CHECK_FALSE(accepted(work, outcome_of(endless)));
}

TEST_CASE("comparison: what the reference does is accepted, and a wrong step, consequent or error is not") {
  for (const int order : {0, 1}) {
    for (const OptionSet& set : option_sets()) {
      CAPTURE(order);
      CAPTURE(set.text());
      const Workload work = verification_workload(problem(5, 3, 2, 90), order, set, 3);
      CHECK((work.control.held_back > 0) == set.holds_rows_back);
      CHECK((work.control.plain_step != 0) == set.plain_step);
      const Outcome outcome = outcome_of(work);
      CHECK(accepted(work, outcome));
      CHECK(accepted(work, outcome_of(work, Rounding::kernels)));

      Outcome other = outcome;
      other.system.centres[4] += 0.01F;
      CHECK_FALSE(accepted(work, other));
      CHECK_FALSE(accepted(work, moved(work, outcome, 1.5F)));
      CHECK_FALSE(accepted(work, moved(work, outcome, 0.0F)));
      other = outcome;
      for (float& value : other.best.consequents) value += 0.3F;
      CHECK_FALSE(accepted(work, other));
      for (int i = 0; i < kVerifiedIterations; ++i) {
        other = outcome;
        other.progress.recent[i] *= 1.05;
        CHECK_FALSE(accepted(work, other));
      }
      other = outcome;
      other.progress.iteration -= 1;
      CHECK_FALSE(accepted(work, other));
      if (!set.holds_rows_back) continue;
      other = outcome;
      other.held_back *= 1.05;
      CHECK_FALSE(accepted(work, other));
    }
  }
}

// Rules linear in five inputs: 78 unknowns.
constexpr int kOrder = 1;
const Problem& fitting_problem() {
  static const Problem fitting = problem(13, 5, 1, 61);
  return fitting;
}

TEST_CASE("comparison: where a system could fit its rows, a ridge makes its gradient more than rounding") {
  for (const OptionSet& set : option_sets()) {
    for (std::uint64_t seed = 8; seed < 12; ++seed) {
      CAPTURE(set.text());
      CAPTURE(seed);
      const Workload work = verification_workload(fitting_problem(), kOrder, set, seed);
      REQUIRE(work.system.unknowns() > work.control.rows);
      if (work.control.ridge == 0.0F) continue;
      const Outcome outcome = outcome_of(work, Rounding::kernels);
      CHECK(outcome.progress.ridges == 0);
      CHECK(accepted(work, outcome));
      CHECK_FALSE(accepted(work, moved(work, outcome, 1.5F)));
      CHECK_FALSE(accepted(work, moved(work, outcome, 0.5F)));
      CHECK_FALSE(accepted(work, moved(work, outcome, -1.0F)));
    }
  }
}

TEST_CASE("comparison: without a ridge the same system fits its rows, and every number is compared") {
  const OptionSet plain{.plain_step = true, .holds_rows_back = false, .far_rows = false};
  for (const Problem& fitting : {fitting_problem(), problem(33, 17, 3, 211), problem(130, 3, 1, 211)}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(fitting.text());
      CAPTURE(seed);
      const Workload work = verification_workload(fitting, kOrder, plain, seed);
      REQUIRE(work.control.ridge == 0.0F);
      const Outcome outcome = outcome_of(work, Rounding::kernels);
      CHECK(outcome.progress.ridges == work.control.end);
      CHECK(outcome.progress.recent[0] < 1e-8);
      CHECK(accepted(work, outcome));

      Workload other = work;  // far more than the ridge that is taken unasked
      other.control.ridge = 1e5F * static_cast<float>(kOwnRidge);
      CHECK_FALSE(accepted(work, outcome_of(other)));
      // A gradient that is not next to nothing.
      Outcome wrong = outcome;
      const Expectation exact = expectation(work, work.control.end);
      double squares = 0.0;
      for (const float centre : work.system.centres) squares += static_cast<double>(centre) * centre;
      const auto factor = static_cast<float>(0.01 * exact.unexplained_change / std::sqrt(squares));
      for (float& centre : wrong.system.centres) centre += factor * centre;
      CHECK_FALSE(accepted(work, wrong));
    }
  }
}

TEST_CASE("comparison: also where a few rows are about as many as the unknowns") {
  for (const int order : {0, 1}) {
    for (const Problem& sizes : {problem(5, 1, 1, 6), problem(14, 1, 1, 14), problem(9, 2, 1, 8), problem(18, 1, 2, 35),
                                 problem(11, 2, 1, 40)}) {
      for (const OptionSet& set : option_sets()) {
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
          CAPTURE(order);
          CAPTURE(sizes.text());
          CAPTURE(set.text());
          CAPTURE(seed);
          const Workload work = verification_workload(sizes, order, set, seed);
          if (sizes.at("rows") >= 2 * work.system.unknowns()) continue;
          CHECK(accepted(work, outcome_of(work, Rounding::kernels)));
          // Whether a kernel finds such a system rank deficient is up to rounding.
          const Outcome outcome = outcome_of(work);
          if (outcome.progress.ridges > 0) CHECK(outcome.progress.recent[0] < 1e-8);
        }
      }
    }
  }
}

TEST_CASE("comparison: float32 determines what is verified") {
  for (const int order : {0, 1}) {
    for (const Problem& sizes : {problem(13, 5, 3, 211), problem(35, 8, 1, 1024), problem(33, 17, 3, 211),
                                 problem(130, 3, 1, 211), problem(5, 9, 1, 61)}) {
      for (const OptionSet& set : option_sets()) {
        CAPTURE(order);
        CAPTURE(sizes.text());
        CAPTURE(set.text());
        CHECK(is_determined(verification_workload(sizes, order, set, 5)));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::tsk
