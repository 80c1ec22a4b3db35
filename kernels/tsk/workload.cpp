#include "heddle/kernels/tsk/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/random.hpp"
#include "heddle/kernels/tsk/reference.hpp"

namespace heddle::tsk {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kVerifiedIterations = 3;
constexpr double kTolerance = 0.01;
/// What coarse rounding changes by more than this says nothing.
constexpr double kUndetermined = 0.3;
/// With this ridge float32 determines the gradient of a system that could fit its rows: relative errors of what is left
/// of the targets are those of activations, 2^-22, times the condition of the normal equations, which is a few times
/// its inverse.
constexpr float kVerifiedRidge = 0.001f;

/// Rules spread evenly (the additive recurrence of M. Roberts, 2018) in few inputs, where random ones would lie on top
/// of each other; at random in many. `spacing`: between neighbours.
void place_rules(System& system, std::int64_t rules, Random& random) {
  const auto dim = static_cast<double>(system.dim);
  const double spacing = std::pow(static_cast<double>(rules), -1.0 / dim);
  const double width = spacing * std::sqrt(dim / 12.0) * std::pow(dim, -0.25);
  double root = 2.0;  // of x^(D + 1) = x + 1
  for (int i = 0; i < 64; ++i) root = std::pow(1.0 + root, 1.0 / (dim + 1.0));
  const double shift = random.unit();
  for (std::int64_t k = 0; k < rules; ++k) {
    double ratio = 1.0;
    for (std::int64_t j = 0; j < system.dim; ++j) {
      ratio /= root;
      const double place = system.dim <= 8 ? std::fmod(shift + ratio * static_cast<double>(k + 1), 1.0) : random.unit();
      system.centres.push_back(static_cast<float>(place));
      system.widths.push_back(static_cast<float>(width * (0.9 + 0.2 * random.unit())));
    }
  }
}

std::int64_t rows_of(const Problem& problem, int order, Purpose purpose) {
  const std::int64_t rows = problem.at("rows");
  if (purpose == Purpose::timing) return rows;
  // The reference takes N P^2 operations: seconds, not minutes.
  const std::int64_t unknowns = tsk::unknowns(problem, order);
  const std::int64_t affordable = (std::int64_t{1} << 31) / std::max<std::int64_t>(unknowns * unknowns, 1);
  return std::min(rows, std::clamp<std::int64_t>(affordable, 2 * unknowns + 101, 20011));
}

}  // namespace

Workload workload(const Problem& problem, int order, Purpose purpose, std::uint64_t seed) {
  const std::int64_t rules = problem.at("rules"), dim = problem.at("dim"), outputs = problem.at("outputs");
  const std::int64_t rows = rows_of(problem, order, purpose);
  const bool verifies = purpose == Purpose::verification;
  Random random(seed);
  Workload work;
  System& system = work.system;
  system = {.dim = dim, .outputs = outputs, .order = order, .centres = {}, .widths = {}, .consequents = {}};
  place_rules(system, rules, random);
  system.consequents.resize(at(system.unknowns() * outputs));
  std::vector<double> phases(at(outputs));
  for (double& phase : phases) phase = 2.0 * kPi * random.unit();
  const bool far_rows = verifies && (seed & 4) != 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool far = far_rows && i % 8 == 3;
    double angle = 0.0;
    for (std::int64_t j = 0; j < dim; ++j) {
      const double x = random.unit() + (far ? 4.0 : 0.0);
      if (j < 3) angle += 2.0 * kPi * x / static_cast<double>(j + 1);
      work.rows.push_back(static_cast<float>(x));
    }
    for (std::int64_t l = 0; l < outputs; ++l) {
      work.targets.push_back(static_cast<float>(std::sin(angle + phases[at(l)]) + 1.2 * random.unit() - 0.6));
    }
  }
  work.progress = first_progress(0.02);
  const std::int64_t held_back = verifies && (seed & 2) != 0 ? rows / 9 : 0;
  // Without a ridge such a system fits its rows to rounding; with rows far away, more or less so, as chance has it.
  const bool could_fit = rows < 2 * system.unknowns();
  const bool has_ridge = verifies && could_fit && (far_rows || (seed & 8) != 0);
  work.control = {.all = {.rules = static_cast<int>(rules), .rows = static_cast<int>(rows)},
                  .rows = static_cast<int>(rows - held_back),
                  .held_back = static_cast<int>(held_back),
                  .end = verifies ? kVerifiedIterations : 1 << 30,
                  .patience = 0,
                  .plain_step = verifies && (seed & 1) != 0 ? 1 : 0,
                  .rate = 0.01f,
                  .minimum_width = 0.001f,
                  .ridge = has_ridge ? kVerifiedRidge : 0.0f,
                  .target_error = 0.0f};
  return work;
}

std::shared_ptr<const Workload> shared_workload(const Problem& problem, int order, Purpose purpose,
                                                std::uint64_t seed) {
  using Key = std::tuple<std::string, int, Purpose, std::uint64_t>;
  static std::mutex guard;
  static Key last;
  static std::shared_ptr<const Workload> kept;
  Key key{problem.text(), order, purpose, seed};
  const std::lock_guard lock(guard);
  if (!kept || key != last) {
    kept = std::make_shared<const Workload>(workload(problem, order, purpose, seed));
    last = std::move(key);
  }
  return kept;
}

namespace {

/// What the reference makes of a workload.
struct Expected {
  std::vector<double> centres, widths;  ///< after the last iteration
  System best;
  Progress progress{};
  std::vector<double> errors;  ///< [iterations][2]
};

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

Expected expected_of(const Workload& work, Rounding rounding) {
  Reference reference(work.system, rounding);
  Expected run{.centres = {}, .widths = {}, .best = work.system, .progress = work.progress, .errors = {}};
  for (int i = 0; i < work.control.end; ++i) {
    run.centres = reference.centres();
    run.widths = reference.widths();
    const auto errors = reference.iterate({.rows = work.rows, .targets = work.targets}, work.control, run.progress);
    run.errors.insert(run.errors.end(), {errors.learnt, errors.held_back});
    if (run.progress.best_iteration == i + 1) {
      run.best.centres = floats(run.centres);
      run.best.widths = floats(run.widths);
      run.best.consequents = floats(reference.consequents());
    }
  }
  run.centres = reference.centres();
  run.widths = reference.widths();
  return run;
}

Outcome outcome_of(const Workload& work, const Expected& run) {
  Outcome outcome{.system = work.system, .best = run.best, .progress = run.progress, .errors = run.errors};
  outcome.system.centres = floats(run.centres);
  outcome.system.widths = floats(run.widths);
  return outcome;
}

struct Deviation {
  std::string what;
  double error = 0.0;    ///< relative; infinite for NaN
  bool follows = false;  ///< from the first step
};

constexpr auto kChange = "change of centres and widths";

std::vector<Deviation> deviations(const Workload& work, const Outcome& outcome, const Expected& expected) {
  std::vector<Deviation> all;
  const auto note = [&](double error, std::string what, bool follows) {
    all.push_back({std::move(what), std::isnan(error) ? std::numeric_limits<double>::infinity() : error, follows});
  };
  double squares = 0.0;
  for (const float y : work.targets) squares += static_cast<double>(y) * static_cast<double>(y);
  // An error of a millionth of what there is to be explained is none.
  const double floor = 1e-6 * squares / static_cast<double>(work.control.rows + work.control.held_back);
  const auto against = [&](double found, double right, std::string what, bool follows) {
    note(std::abs(found - right) / std::max(right, floor), std::move(what), follows);
  };
  const bool held_back = work.control.held_back > 0;
  for (int i = 0; i < work.control.end; ++i) {
    against(outcome.errors[at(2 * i)], expected.errors[at(2 * i)], fmt::format("error of iteration {}", i + 1), i > 0);
    if (!held_back) continue;
    against(outcome.errors[at(2 * i + 1)], expected.errors[at(2 * i + 1)],
            fmt::format("error held back of iteration {}", i + 1), i > 0);
  }

  double difference = 0.0, change = 0.0, size = 0.0;
  const auto sum = [&](const std::vector<float>& before, const std::vector<float>& found,
                       const std::vector<double>& right) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double d = static_cast<double>(found[i]) - right[i];
      const double c = right[i] - static_cast<double>(before[i]);
      difference += d * d;
      change += c * c;
      size += right[i] * right[i];
    }
  };
  sum(work.system.centres, outcome.system.centres, expected.centres);
  sum(work.system.widths, outcome.system.widths, expected.widths);
  // With one rule the activations are 1 wherever it lies, and there is no gradient but rounding.
  if (outcome.system.rules() > 1) {
    const double rounding = 0x1p-24 * work.control.end * std::sqrt(size);  // of float32 parameters
    note(std::max(0.0, std::sqrt(difference) - rounding) / std::max(std::sqrt(change), 1e-300), kChange, true);
  }

  const Reference best(outcome.best);
  const auto dim = at(work.system.dim), outputs = at(work.system.outputs), rows = at(work.control.rows);
  const std::span<const float> x(work.rows), y(work.targets);
  against(outcome.progress.best_error,
          held_back ? best.error(x.subspan(rows * dim), y.subspan(rows * outputs))
                    : best.error(x.first(rows * dim), y.first(rows * outputs)),
          "error of the best system", false);
  against(outcome.progress.best_error, expected.progress.best_error, "best error", true);
  return all;
}

}  // namespace

Accuracy compare(const Workload& work, const Outcome& outcome) {
  if (outcome.progress.iteration != work.control.end || outcome.progress.halted != kGoesOn) {
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("{} iterations, expected {}", outcome.progress.iteration, work.control.end)};
  }
  const Expected expected = expected_of(work, Rounding::none);
  const std::vector<Deviation> found = deviations(work, outcome, expected);
  // Where a system fits its rows, its gradient is rounding, and so is all that follows from it. How far rounding leads
  // is asked only where it matters: it takes as long again.
  std::vector<Deviation> rounding;
  if (std::any_of(found.begin(), found.end(), [](const Deviation& d) { return d.error > kTolerance; })) {
    rounding = deviations(work, outcome_of(work, expected_of(work, Rounding::coarse)), expected);
  }
  const bool step_determined = std::none_of(rounding.begin(), rounding.end(), [](const Deviation& d) {
    return d.what == kChange && d.error > kUndetermined;
  });
  Accuracy accuracy{.accepted = true, .worst_error = 0.0, .message = {}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double by_rounding = rounding.empty() ? 0.0 : rounding[i].error;
    if (by_rounding > kUndetermined || (found[i].follows && !step_determined)) continue;
    const double allowed = std::max(kTolerance, by_rounding);
    if (found[i].error <= kTolerance) {
      accuracy.worst_error = std::max(accuracy.worst_error, found[i].error);
    } else if (found[i].error > allowed && accuracy.accepted) {
      accuracy = {.accepted = false,
                  .worst_error = found[i].error,
                  .message = fmt::format("{}: off by {:.3g}, allowed {:.3g}", found[i].what, found[i].error, allowed)};
    }
  }
  return accuracy;
}

}  // namespace heddle::tsk
