#include "heddle/kernels/tsk/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::tsk {
namespace {

constexpr double kTolerance = 0.01;
/// More is never allowed.
constexpr double kMostAllowed = 0.3;
/// Of the change that plain steps would make if nothing were explained: what changes are compared with at least.
constexpr double kOfUnexplained = 0.1;

double finite_or_infinite(double value) { return std::isnan(value) ? std::numeric_limits<double>::infinity() : value; }

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// Norm of the gradient of an error with targets of zero: the outputs are what is left to be explained then.
double unexplained_gradient(const Workload& work, const Reference& reference) {
  const auto rows = static_cast<std::int64_t>(work.control.rows);
  const std::vector<float> nothing(at(rows * work.system.outputs));
  const Reference::Gradient gradient =
      reference.gradient({.rows = std::span(work.rows).first(at(rows * work.system.dim)), .targets = nothing});
  double squares = 0.0;
  for (const double value : gradient.centres) squares += value * value;
  for (const double value : gradient.widths) squares += value * value;
  return std::sqrt(squares);
}

struct Norms {
  double difference = 0.0, change = 0.0, size = 0.0;
};

Norms norms(const System& before, const Expectation& expected, const System& after) {
  Norms squares;
  const auto add = [&](const std::vector<float>& start, const std::vector<float>& found,
                       const std::vector<double>& right) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      const double difference = static_cast<double>(found[i]) - right[i];
      const double change = right[i] - static_cast<double>(start[i]);
      squares.difference += difference * difference;
      squares.change += change * change;
      squares.size += right[i] * right[i];
    }
  };
  add(before.centres, after.centres, expected.centres);
  add(before.widths, after.widths, expected.widths);
  return {.difference = std::sqrt(squares.difference),
          .change = std::sqrt(squares.change),
          .size = std::sqrt(squares.size)};
}

struct Deviation {
  std::string what;
  double error = 0.0;  ///< relative; infinite for NaN
};

std::vector<Deviation> deviations(const Workload& work, const Outcome& outcome, const Expectation& expected) {
  std::vector<Deviation> all;
  const auto note = [&](double error, std::string what) {
    all.push_back({std::move(what), finite_or_infinite(error)});
  };
  double squares = 0.0;
  for (const float y : work.targets) squares += static_cast<double>(y) * static_cast<double>(y);
  // An error of a millionth of what there is to be explained is none.
  const double floor = 1e-6 * squares / static_cast<double>(work.control.rows + work.control.held_back);
  const auto against = [&](double found, double right, std::string what) {
    note(std::abs(found - right) / std::max(right, floor), std::move(what));
  };
  const bool held_back = work.control.held_back > 0;
  const int iterations = expected.progress.iteration;
  for (int i = 0; i < iterations; ++i) {  // newest first
    against(outcome.progress.recent[i], expected.progress.recent[i],
            fmt::format("error of iteration {}", iterations - i));
  }
  if (held_back) against(outcome.held_back, expected.held_back, "error held back of the last iteration");

  const Norms norm = norms(work.system, expected, outcome.system);
  const double rounding = 0x1p-24 * iterations * norm.size;  // of float32 parameters
  note(std::max(0.0, norm.difference - rounding) /
           std::max({norm.change, kOfUnexplained * expected.unexplained_change, rounding}),
       "change of centres and widths");

  const Reference best(outcome.best);
  const auto dim = at(work.system.dim), outputs = at(work.system.outputs), rows = at(work.control.rows);
  const std::span<const float> x(work.rows), y(work.targets);
  against(outcome.progress.best_error,
          held_back ? best.error(x.subspan(rows * dim), y.subspan(rows * outputs))
                    : best.error(x.first(rows * dim), y.first(rows * outputs)),
          "error of the best system");
  against(outcome.progress.best_error, expected.progress.best_error, "best error");
  return all;
}

/// `by_rounding`: error that coarse rounding makes.
double allowed(double by_rounding) { return std::clamp(by_rounding, kTolerance, kMostAllowed); }

Outcome outcome_of(const Workload& work, const Expectation& run) {
  Outcome outcome{.system = work.system, .best = run.best, .progress = run.progress, .held_back = run.held_back};
  outcome.system.centres = floats(run.centres);
  outcome.system.widths = floats(run.widths);
  return outcome;
}

}  // namespace

Expectation expectation(const Workload& work, int iterations, Rounding rounding) {
  Reference reference(work.system, rounding);
  Expectation run{.centres = {}, .widths = {}, .best = work.system, .progress = work.progress};
  Batch batch{.rows = work.rows, .targets = work.targets};
  Control control = work.control;
  if (const DistinctRows& distinct = work.distinct; !distinct.counts.empty()) {
    batch = {.rows = distinct.rows, .targets = distinct.targets, .counts = distinct.counts};
    control.rows = static_cast<int>(distinct.counts.size());
  }
  for (int i = 0; i < iterations && run.progress.halted == kGoesOn; ++i) {
    run.centres = reference.centres();
    run.widths = reference.widths();
    run.held_back = reference.iterate(batch, control, run.progress).held_back;
    if (work.control.plain_step != 0) {
      run.unexplained_change += static_cast<double>(work.control.rate) * unexplained_gradient(work, reference);
    }
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

Accuracy Comparison::compare(const Outcome& outcome) {
  const int iterations = work_.control.end;
  if (!exact_) exact_ = expectation(work_, iterations);
  const Progress &found_progress = outcome.progress, &expected = exact_->progress;
  if (found_progress.iteration != expected.iteration || found_progress.halted != expected.halted) {
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("{} iterations, expected {}; halted {}, expected {}", found_progress.iteration,
                                   expected.iteration, found_progress.halted, expected.halted)};
  }
  const std::vector<Deviation> found = deviations(work_, outcome, *exact_);
  // How far rounding leads is asked only where it matters: it takes as long again.
  std::vector<Deviation> rounding;
  if (std::any_of(found.begin(), found.end(), [](const Deviation& d) { return d.error > kTolerance; })) {
    if (!coarse_) coarse_ = expectation(work_, iterations, Rounding::coarse);
    rounding = deviations(work_, outcome_of(work_, *coarse_), *exact_);
  }
  Accuracy accuracy{.accepted = true, .worst_error = 0.0, .message = {}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double most = allowed(rounding.empty() ? 0.0 : rounding[i].error);
    accuracy.worst_error = std::max(accuracy.worst_error, found[i].error);
    if (found[i].error <= most || !accuracy.accepted) continue;
    accuracy.accepted = false;
    accuracy.message = fmt::format("{}: off by {:.3g}, allowed {:.3g}", found[i].what, found[i].error, most);
  }
  return accuracy;
}

bool is_determined(const Workload& work) {
  constexpr double kOfAllowed = 0.5;
  const Expectation exact = expectation(work, work.control.end);
  const auto deviations_by = [&](Rounding rounding) {
    return deviations(work, outcome_of(work, expectation(work, work.control.end, rounding)), exact);
  };
  // Nobody must see whether a system got a ridge unasked: normal equations do not find it rank deficient where small
  // pivots before have multiplied rounding, and may fit all rows.
  if (exact.progress.ridges > 0) {
    Outcome fits = outcome_of(work, exact);
    std::fill_n(fits.progress.recent, exact.progress.iteration, 0.0);
    const std::vector<Deviation> all = deviations(work, fits, exact);
    if (std::any_of(all.begin(), all.end(), [](const Deviation& d) { return d.error > kTolerance; })) return false;
  }
  const std::vector<Deviation> coarse = deviations_by(Rounding::coarse);
  if (std::any_of(coarse.begin(), coarse.end(), [](const Deviation& d) { return d.error > kMostAllowed; }))
    return false;
  const std::vector<Deviation> of_kernels = deviations_by(Rounding::kernels);
  return std::equal(coarse.begin(), coarse.end(), of_kernels.begin(),
                    [&](const Deviation& c, const Deviation& k) { return k.error <= kOfAllowed * allowed(c.error); });
}

double error_of_change(const System& before, const Expectation& expected, const System& after) {
  const Norms norm = norms(before, expected, after);
  return finite_or_infinite(norm.difference / norm.change);
}

}  // namespace heddle::tsk
