#include "heddle/kernels/tsk/workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/random.hpp"
#include "heddle/kernels/tsk/comparison.hpp"

namespace heddle::tsk {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kForever = 1 << 30;
/// With this ridge float32 mostly determines the gradient of a system that could fit its rows: relative errors of what
/// is left of the targets are those of activations, 2^-22, times the condition of the normal equations, which is a few
/// times its inverse. Where it does not, the ridge grows so many times, by such a factor.
constexpr float kVerifiedRidge = 0.001f, kLargerRidge = 8.0f;
constexpr int kRidges = 5;

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

/// Learns all rows for ever. `far_rows`: every eighth row is far from all rules.
Workload endless_workload(const Problem& problem, int order, std::int64_t rows, bool far_rows, std::uint64_t seed) {
  const std::int64_t rules = problem.at("rules"), dim = problem.at("dim"), outputs = problem.at("outputs");
  Random random(seed);
  Workload work;
  System& system = work.system;
  system = {.dim = dim, .outputs = outputs, .order = order, .centres = {}, .widths = {}, .consequents = {}};
  place_rules(system, rules, random);
  system.consequents.resize(at(system.unknowns() * outputs));
  std::vector<double> phases(at(outputs));
  for (double& phase : phases) phase = 2.0 * kPi * random.unit();
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
  work.control = {.all = {.rules = static_cast<int>(rules), .rows = static_cast<int>(rows)},
                  .rows = static_cast<int>(rows),
                  .held_back = 0,
                  .end = kForever,
                  .patience = 0,
                  .plain_step = 0,
                  .rate = 0.01f,
                  .minimum_width = 0.001f,
                  .ridge = 0.0f,
                  .target_error = 0.0f};
  return work;
}

/// Row `i` of `values` becomes row `of[i]` of before.
std::vector<float> gathered(const std::vector<float>& values, std::int64_t width, const std::vector<std::int64_t>& of) {
  std::vector<float> all(of.size() * at(width));
  auto to = all.begin();
  for (const std::int64_t row : of) to = std::copy_n(values.begin() + row * width, width, to);
  return all;
}

}  // namespace

std::int64_t distinct_rows(const Problem& problem, int order) {
  constexpr std::int64_t kFewest = 4093, kOfUnknown = 4;
  return std::min(problem.at("rows"), std::max(kFewest, kOfUnknown * unknowns(problem, order)));
}

Workload timing_workload(const Problem& problem, int order, std::uint64_t seed) {
  const std::int64_t rows = problem.at("rows"), distinct = distinct_rows(problem, order);
  Workload work = endless_workload(problem, order, distinct, false, seed);
  if (distinct == rows) return work;
  Random random(seed + 1);
  std::vector<std::int64_t> of(at(rows));
  work.distinct.counts.resize(at(distinct));
  for (std::int64_t i = 0; i < rows; ++i) {
    of[at(i)] = (i * distinct / rows + random.below(distinct / 4)) % distinct;
    work.distinct.counts[at(of[at(i)])] += 1.0;
  }
  work.distinct.rows = std::exchange(work.rows, gathered(work.rows, work.system.dim, of));
  work.distinct.targets = std::exchange(work.targets, gathered(work.targets, work.system.outputs, of));
  work.control.rows = work.control.all.rows = static_cast<int>(rows);
  return work;
}

std::shared_ptr<const Workload> shared_timing_workload(const Problem& problem, int order, std::uint64_t seed) {
  using Key = std::tuple<std::string, int, std::uint64_t>;
  static std::mutex guard;
  static Key last;
  static std::shared_ptr<const Workload> kept;
  Key key{problem.text(), order, seed};
  const std::lock_guard lock(guard);
  if (!kept || key != last) {
    kept = std::make_shared<const Workload>(timing_workload(problem, order, seed));
    last = std::move(key);
  }
  return kept;
}

std::string OptionSet::text() const {
  return std::string(plain_step ? "plain steps" : "steps of one length") +
         (holds_rows_back ? ", rows held back" : ", all rows learnt") + (far_rows ? ", far rows" : ", near rows") +
         (halts ? ", halts" : "");
}

const std::array<OptionSet, 8>& option_sets() {
  static const std::array<OptionSet, 8> all = [] {
    std::array<OptionSet, 8> sets;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      sets[i] = {.plain_step = (i & 1) != 0, .holds_rows_back = (i & 2) != 0, .far_rows = (i & 4) != 0};
    }
    return sets;
  }();
  return all;
}

std::int64_t verified_rows(const Problem& problem, int order) {
  // The reference takes N P^2 operations: a second, not minutes.
  const std::int64_t unknowns = tsk::unknowns(problem, order);
  const std::int64_t affordable = (std::int64_t{1} << 29) / std::max<std::int64_t>(unknowns * unknowns, 1);
  return std::min(problem.at("rows"), std::clamp<std::int64_t>(affordable, 2 * unknowns + 101, 9001));
}

Workload verification_workload(const Problem& problem, int order, const OptionSet& set, std::uint64_t seed) {
  const std::int64_t unknowns = tsk::unknowns(problem, order), rows = verified_rows(problem, order);
  Workload work = endless_workload(problem, order, rows, set.far_rows, seed);
  Control& control = work.control;
  control.held_back = set.holds_rows_back ? static_cast<int>(rows / 9) : 0;
  control.rows -= control.held_back;
  control.end = kVerifiedIterations;
  if (set.halts) control.target_error = std::numeric_limits<float>::max();
  control.plain_step = set.plain_step || problem.at("rules") == 1 ? 1 : 0;
  const bool could_fit = rows < 2 * unknowns;
  const bool as_it_is = set.plain_step && !set.holds_rows_back && !set.far_rows;
  // Of systems that cannot fit their rows, the same set gets the ridge.
  if (could_fit != as_it_is) control.ridge = kVerifiedRidge;
  for (int i = 0; could_fit && i < kRidges && !is_determined(work); ++i) {
    control.ridge = std::max(kVerifiedRidge, control.ridge * kLargerRidge);
  }
  return work;
}

}  // namespace heddle::tsk
