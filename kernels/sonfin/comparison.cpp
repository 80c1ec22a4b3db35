#include "heddle/kernels/sonfin/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/sonfin/reference.hpp"

namespace heddle::sonfin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Half units in the last place by which a verification may move parameters: those of plain float32 were up to 40 away.
constexpr double kRoundings = 64.0;
/// The same of a new rule's widths, which come from a sum over the inputs, for the square root of their number: float32
/// that adds one after the other was about 2.2 away at 512 inputs.
constexpr double kRoundingsOfSum = 4.0;

double finite_or_infinite(double value) { return std::isnan(value) ? kInfinity : value; }

/// Squared norms of what parameters should have changed by, of what is wrong with them, of what they should be, and of
/// what rounding explains of their values before they changed.
struct Deviation {
  double change = 0.0, difference = 0.0, size = 0.0, rounding = 0.0;
  void add(double before, double expected, double found) {
    change += square(expected - before);
    difference += square(found - expected);
    size += square(expected);
  }
  Deviation& operator+=(const Deviation& other) {
    change += other.change;
    difference += other.difference;
    size += other.size;
    rounding += other.rounding;
    return *this;
  }
  [[nodiscard]] double relative() const { return beyond(0.0); }
  /// Without what float32 parameters cannot keep of their changes.
  [[nodiscard]] double beyond_rounding() const { return beyond(kRoundings * 0x1p-24 * std::sqrt(size)); }

 private:
  [[nodiscard]] double beyond(double allowed) const {
    const double rest = std::sqrt(difference) - std::sqrt(rounding) - allowed;
    return finite_or_infinite((rest > 0.0 || std::isnan(rest) ? rest : 0.0) /
                              std::max(std::sqrt(change), std::numeric_limits<double>::min()));
  }
};

Accuracy rejected(double error, std::string message) {
  return {.accepted = false, .worst_error = error, .message = std::move(message)};
}

/// Centres, widths and consequents of rule `k`.
std::array<Deviation, 3> deviations_of_rule(const Expectation& expected, const Network& after, std::int64_t k) {
  std::array<Deviation, 3> kinds;
  const Network& before = expected.before;
  for (std::int64_t i = k * expected.dim; i < (k + 1) * expected.dim; ++i) {
    kinds[0].add(before.centres[at(i)], expected.centres[at(i)], after.centres[at(i)]);
    kinds[1].add(before.widths[at(i)], expected.widths[at(i)], after.widths[at(i)]);
  }
  if (k >= expected.present) {
    kinds[1].rounding = square(kRoundingsOfSum * 0x1p-24) * static_cast<double>(expected.dim) * kinds[1].size;
  }
  for (std::int64_t i = k * expected.outputs; i < (k + 1) * expected.outputs; ++i) {
    kinds[2].add(before.consequents[at(i)], expected.consequents[at(i)], after.consequents[at(i)]);
  }
  return kinds;
}

double norm(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += square(value);
  return std::sqrt(sum);
}

double distance(const std::vector<double>& expected, const std::vector<float>& found) {
  double sum = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) sum += square(found[i] - expected[i]);
  return std::sqrt(sum);
}

}  // namespace

Expectation expectation(const Workload& work, std::int64_t samples) {
  const std::int64_t dim = work.network.dim, outputs = work.network.outputs;
  Reference reference(work.network, work.options);
  Expectation expected{.dim = dim,
                       .outputs = outputs,
                       .rules = 0,
                       .samples = samples,
                       .present = work.network.rules(),
                       .loss = 0.0,
                       .before = work.network,
                       .centres = {},
                       .widths = {},
                       .consequents = {}};
  Network& before = expected.before;
  for (std::int64_t position = 0; position < samples; ++position) {
    const std::int64_t row = work.order[at(position)];
    const std::span<const float> x(work.rows.data() + row * dim, at(dim));
    const std::span<const float> target(work.targets.data() + row * outputs, at(outputs));
    const Reference::Outcome outcome = reference.learn(x, target);
    expected.loss += outcome.loss;
    if (!outcome.added) continue;
    // A new rule changes from the values that it was made with. Its first sample moves neither centre (x = m) nor
    // widths.
    before.centres.insert(before.centres.end(), x.begin(), x.end());
    before.widths.insert(before.widths.end(), reference.widths().end() - dim, reference.widths().end());
    before.consequents.insert(before.consequents.end(), target.begin(), target.end());
  }
  expected.rules = reference.rules();
  expected.centres = std::move(reference.centres());
  expected.widths = std::move(reference.widths());
  expected.consequents = std::move(reference.consequents());
  return expected;
}

Accuracy compare_training(const Expectation& expected, const Network& after, const Progress& progress) {
  constexpr double kTotalTolerance = 1e-3, kPartTolerance = 1e-2, kRuleFloor = 1e-6;
  const std::int64_t rules = expected.rules;
  if (progress.rules != rules || after.rules() != rules) {
    return rejected(kInfinity,
                    "ended with " + std::to_string(progress.rules) + " rules, expected " + std::to_string(rules));
  }
  if (progress.position != expected.samples) {
    return rejected(kInfinity, "ended at position " + std::to_string(progress.position) + ", expected " +
                                   std::to_string(expected.samples));
  }

  std::vector<Deviation> of_rules(at(rules));
  std::array<Deviation, 3> of_kinds;
  std::array<double, 3> sizes{};
  Deviation total;
  double largest_change = 0.0;
  for (std::int64_t k = 0; k < rules; ++k) {
    std::array<Deviation, 3> kinds = deviations_of_rule(expected, after, k);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      of_rules[at(k)] += kinds[i];
      sizes[i] += kinds[i].size;
      // Parameters that must stay as they are have nothing to round.
      if (kinds[i].change == 0.0) kinds[i].size = 0.0;
      of_kinds[i] += kinds[i];
    }
    total += of_rules[at(k)];
    largest_change = std::max(largest_change, of_rules[at(k)].change);
  }

  // Unless nothing should change at all: a rule that is alone changes no antecedents, but in float32 its output is not
  // its consequent to the last bit.
  for (std::size_t i = 0; i < of_kinds.size(); ++i) {
    if (of_kinds[i].change == 0.0) of_kinds[i].size = sizes[i];
  }

  Accuracy accuracy{.accepted = true, .worst_error = 0.0, .message = {}};
  const auto judge = [&](double error, double tolerance, const std::string& what) {
    accuracy.worst_error = std::max(accuracy.worst_error, error);
    if (error <= tolerance || !accuracy.accepted) return;
    accuracy.accepted = false;
    accuracy.message = what + " is off by " + std::to_string(100.0 * error) + " %";
  };
  judge(total.relative(), kTotalTolerance, "the change of all parameters");
  judge(of_kinds[0].beyond_rounding(), kPartTolerance, "the change of all centres");
  judge(of_kinds[1].beyond_rounding(), kPartTolerance, "the change of all widths");
  judge(of_kinds[2].beyond_rounding(), kPartTolerance, "the change of all consequents");
  for (std::int64_t k = 0; k < rules; ++k) {
    if (of_rules[at(k)].change <= square(kRuleFloor) * largest_change) continue;
    judge(of_rules[at(k)].relative(), kPartTolerance, "the change of rule " + std::to_string(k));
  }
  const double loss_error =
      std::abs(progress.loss - expected.loss) / std::max(expected.loss, std::numeric_limits<double>::min());
  judge(finite_or_infinite(loss_error), kTotalTolerance, "the sum of errors");
  return accuracy;
}

double distance_of_training(const Expectation& expected, const Network& after, const Progress& progress) {
  if (progress.rules != expected.rules || after.rules() != expected.rules || progress.position != expected.samples) {
    return kInfinity;
  }
  const double walk = 0x1p-24 * std::sqrt(static_cast<double>(expected.samples));
  double largest = 0.0;
  const auto add = [&](const std::vector<double>& right, const std::vector<float>& found) {
    const double relative = finite_or_infinite(distance(right, found) / (walk * norm(right)));
    largest = std::max(largest, relative);
  };
  add(expected.centres, after.centres);
  add(expected.widths, after.widths);
  add(expected.consequents, after.consequents);
  return largest;
}

double distance_of_training(const Network& expected, const Progress& expected_progress, const Network& after,
                            const Progress& progress) {
  return distance_of_training({.dim = expected.dim,
                               .outputs = expected.outputs,
                               .rules = expected_progress.rules,
                               .samples = expected_progress.position,
                               .present = expected_progress.rules,
                               .loss = expected_progress.loss,
                               .before = {},
                               .centres = {expected.centres.begin(), expected.centres.end()},
                               .widths = {expected.widths.begin(), expected.widths.end()},
                               .consequents = {expected.consequents.begin(), expected.consequents.end()}},
                              after, progress);
}

double distance_of_training(const Expectation& expected, const Expectation& found) {
  const Network after{.dim = found.dim,
                      .outputs = found.outputs,
                      .centres = {found.centres.begin(), found.centres.end()},
                      .widths = {found.widths.begin(), found.widths.end()},
                      .consequents = {found.consequents.begin(), found.consequents.end()}};
  return distance_of_training(expected, after,
                              {.rules = static_cast<int>(found.rules),
                               .position = static_cast<int>(found.samples),
                               .halted = 0,
                               .reserved = 0,
                               .loss = found.loss});
}

Workload disturbed(Workload work, std::int64_t samples, std::uint64_t seed) {
  Random random(seed);
  const double unit = 0x1p-24 * std::sqrt(static_cast<double>(samples));
  for (std::vector<float>* values : {&work.network.centres, &work.network.widths, &work.network.consequents}) {
    for (float& value : *values) value = static_cast<float>(value * (1.0 + unit * random.sign()));
  }
  return work;
}

std::vector<double> predictions(const Network& network, const std::vector<float>& rows) {
  const Reference reference(network, {});
  std::vector<double> all;
  for (std::size_t first = 0; first + at(network.dim) <= rows.size(); first += at(network.dim)) {
    const std::vector<double> y = reference.predict({rows.data() + first, at(network.dim)});
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

double error_of_prediction(const std::vector<double>& expected, const std::vector<float>& outputs) {
  if (outputs.size() != expected.size()) return kInfinity;
  return finite_or_infinite(distance(expected, outputs) / norm(expected));
}

Accuracy compare_prediction(const std::vector<double>& expected, const std::vector<float>& outputs) {
  constexpr double kTolerance = 1e-4;
  if (outputs.size() != expected.size()) {
    return rejected(kInfinity,
                    std::to_string(outputs.size()) + " outputs, expected " + std::to_string(expected.size()));
  }
  const double error = error_of_prediction(expected, outputs);
  if (error <= kTolerance) return {.accepted = true, .worst_error = error, .message = {}};
  return rejected(error, "the outputs are off by " + std::to_string(100.0 * error) + " %");
}

}  // namespace heddle::sonfin
