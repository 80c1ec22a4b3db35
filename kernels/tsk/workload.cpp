#include "heddle/kernels/tsk/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "heddle/kernels/tsk/reference.hpp"

namespace heddle::tsk {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kVerifiedIterations = 3;
constexpr double kTolerance = 0.01;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// SplitMix64 (Steele, Lea, Flood 2014): the standard library's distributions differ between platforms.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

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
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool far = verifies && (seed & 4) != 0 && i % 8 == 3;
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
  work.control = {.all = {.rules = static_cast<int>(rules), .rows = static_cast<int>(rows)},
                  .rows = static_cast<int>(rows - held_back),
                  .held_back = static_cast<int>(held_back),
                  .end = verifies ? kVerifiedIterations : 1 << 30,
                  .patience = 0,
                  .plain_step = verifies && (seed & 1) != 0 ? 1 : 0,
                  .rate = 0.01f,
                  .minimum_width = 0.001f,
                  .ridge = 0.0f,
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

Accuracy compare(const Workload& work, const Outcome& outcome) {
  Reference reference(work.system);
  Progress progress = work.progress;
  const Batch batch{.rows = work.rows, .targets = work.targets};
  // Systems with about as many unknowns as rows fit them: what is left is rounding, and its gradient means nothing.
  const bool fits = 5 * work.system.unknowns() > 4 * static_cast<std::int64_t>(work.control.rows);
  const double floor = fits ? 20.0 * static_cast<double>(work.system.outputs) : 1e-6;  // of errors that are compared
  Accuracy accuracy{.accepted = true, .worst_error = 0.0, .message = {}};
  const auto note = [&](double error, const std::string& what) {
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    accuracy.worst_error = std::max(accuracy.worst_error, error);
    if (error <= kTolerance || !accuracy.accepted) return;
    accuracy.accepted = false;
    accuracy.message = fmt::format("{}: off by {:.3g}, allowed {:.3g}", what, error, kTolerance);
  };
  if (outcome.progress.iteration != work.control.end || outcome.progress.halted != kGoesOn) {
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("{} iterations, expected {}", outcome.progress.iteration, work.control.end)};
  }
  for (int i = 0; i < work.control.end; ++i) {
    const Reference::Errors errors = reference.iterate(batch, work.control, progress);
    const auto against = [&](double found, double expected, const char* what) {
      note(std::abs(found - expected) / std::max(expected, floor), fmt::format("{} of iteration {}", what, i + 1));
    };
    against(outcome.errors[at(2 * i)], errors.learnt, "error");
    if (work.control.held_back > 0 && !fits)
      against(outcome.errors[at(2 * i + 1)], errors.held_back, "error held back");
  }

  double difference = 0.0, change = 0.0, size = 0.0;
  const auto sum = [&](const std::vector<float>& before, const std::vector<float>& found,
                       const std::vector<double>& expected) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double d = static_cast<double>(found[i]) - expected[i];
      const double c = expected[i] - static_cast<double>(before[i]);
      difference += d * d;
      change += c * c;
      size += expected[i] * expected[i];
    }
  };
  sum(work.system.centres, outcome.system.centres, reference.centres());
  sum(work.system.widths, outcome.system.widths, reference.widths());
  // With one rule the activations are 1 wherever it lies, and there is no gradient but rounding.
  if (outcome.system.rules() > 1 && !fits) {
    const double rounding = 0x1p-24 * work.control.end * std::sqrt(size);  // of float32 parameters
    note(std::max(0.0, std::sqrt(difference) - rounding) / std::max(std::sqrt(change), 1e-300),
         "change of centres and widths");
  }

  const Reference best(outcome.best);
  const auto dim = at(work.system.dim), outputs = at(work.system.outputs), rows = at(work.control.rows);
  const bool held_back = work.control.held_back > 0;
  const std::span<const float> x(work.rows), y(work.targets);
  const double error = held_back ? best.error(x.subspan(rows * dim), y.subspan(rows * outputs))
                                 : best.error(x.first(rows * dim), y.first(rows * outputs));
  if (fits && held_back) return accuracy;
  note(std::abs(error - outcome.progress.best_error) / std::max(error, floor), "error of the best system");
  note(std::abs(progress.best_error - outcome.progress.best_error) / std::max(progress.best_error, floor),
       "best error");
  return accuracy;
}

}  // namespace heddle::tsk
