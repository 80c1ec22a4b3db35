#include "heddle/kernels/sonfin/workload.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/random.hpp"
#include "heddle/kernels/sonfin/reference.hpp"

namespace heddle::sonfin {
namespace {

Workload sized(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::int64_t samples) {
  Workload work;
  work.network = {dim, outputs, std::vector<float>(at(rules * dim)), std::vector<float>(at(rules * dim)),
                  std::vector<float>(at(rules * outputs))};
  work.rows.resize(at(samples * dim));
  work.targets.resize(at(samples * outputs));
  work.order.resize(at(samples));
  std::iota(work.order.begin(), work.order.end(), 0);
  return work;
}

/// Consequents within 1/2 of zero; the target of a row is beyond 1 in the direction that its topic says (a class, or
/// the sign of a single output): errors do not vanish, and rows of one topic do not undo each other's steps.
void fill_outputs(Workload& work, const std::vector<std::int64_t>& topics, Random& random) {
  for (float& w : work.network.consequents) w = static_cast<float>(0.5 * random.symmetric());
  const std::int64_t outputs = work.network.outputs;
  for (std::int64_t i = 0; i < work.samples(); ++i) {
    const double magnitude = 1.25 + 0.25 * random.symmetric();
    const double sign = outputs == 1 && topics[at(i)] % 2 != 0 ? -1.0 : 1.0;
    work.targets[at(i * outputs + topics[at(i)] % outputs)] = static_cast<float>(sign * magnitude);
  }
}

/// Firing as it was measured in training on pendigits, letter, USPS digits and isolet at 300 to 642 rules: the winner
/// at l = -1.2, the median rule 4 to 14 below it, the last one 25 to 200 below; almost every rule active.
Workload timing_workload(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::int64_t samples,
                         Random& random) {
  Workload work = sized(rules, dim, outputs, samples);
  Network& network = work.network;
  constexpr double kSpread = 0.25;  // standard deviation of the centres in an input; inputs lie in about [0, 1]
  const double distance = kSpread * std::sqrt(2.0 * static_cast<double>(dim));  // of two centres
  std::vector<double> mean_widths(at(rules));
  for (std::int64_t k = 0; k < rules; ++k) {
    // A row of some other rule is at l = -depth.
    const double depth = 4.0 / (1.0 - 0.95 * square(random.symmetric()));
    mean_widths[at(k)] = distance / std::sqrt(depth);
    for (std::int64_t kj = k * dim; kj < (k + 1) * dim; ++kj) {
      const std::uint64_t bits = random.bits();
      const double centre = static_cast<double>(bits >> 32) * 0x1p-31 - 1.0;
      const double width = static_cast<double>(bits & 0xffffffff) * 0x1p-31 - 1.0;
      network.centres[at(kj)] = static_cast<float>(0.5 + kSpread * 1.7320508 * centre);
      network.widths[at(kj)] = static_cast<float>(mean_widths[at(k)] * (1.0 + 0.1 * width));
    }
  }
  std::vector<std::int64_t> winners(at(rules)), topics(at(samples));
  std::iota(winners.begin(), winners.end(), 0);
  for (std::int64_t i = 0; i < samples; ++i) {
    if (i % rules == 0) random.shuffle(winners);
    const std::int64_t k = winners[at(i % rules)];
    topics[at(i)] = k;
    const double noise = mean_widths[at(k)] * std::sqrt(1.2 * 3.0 / static_cast<double>(dim));
    for (std::int64_t j = 0; j < dim; ++j) {
      work.rows[at(i * dim + j)] = static_cast<float>(network.centres[at(k * dim + j)] + noise * random.symmetric());
    }
  }
  fill_outputs(work, topics, random);
  work.options.first_width = kSpread * std::sqrt(static_cast<double>(dim));
  work.options.minimum_width = 0.001;
  work.options.max_rules = rules;
  return work;
}

/// Float32 keeps 24 bits of a parameter, not of its change. For every rule's change to be either far above that
/// rounding or exactly nothing, rules lie in groups: within a group all fire alike, and no rule sees the rows of
/// another group. Groups are the points of a lattice; lengths are in units of `unit`, a row's distance to the anchor
/// of its group in every input.
class VerificationGeometry {
 public:
  static constexpr double kSpacing = 40.0;  // between lattice points
  static constexpr double kFar = 2.0;       // from the far row to group 0, in every input

  /// `depth`: -l of a row at the rules of its group.
  VerificationGeometry(std::int64_t groups, std::int64_t dim, double depth) : dim_(dim), depth_(depth) {
    const auto enough_points = [&] {
      std::int64_t points = 1;
      for (digits_ = 0; digits_ < dim && points < groups; ++digits_) points *= base_;
      return points >= groups;
    };
    while (!enough_points()) ++base_;
    digits_ = std::max<std::int64_t>(digits_, 1);
    // A power of two, so that group 0 can be placed without rounding.
    while (unit_ * static_cast<double>(base_ - 1) > 1.0) unit_ /= 2.0;
    const double size = static_cast<double>(dim);
    width_ = unit_ * std::sqrt(size / depth);
    // Relative noise of places and widths: keeps the l of a group's rules within about 1 of each other.
    jitter_ = std::min(0.06, std::sqrt(size) / (2.0 * depth));
  }

  [[nodiscard]] double unit() const { return unit_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double jitter() const { return jitter_; }
  /// Input `j` of a group's place: digit j (cyclic) of the group's number.
  [[nodiscard]] double anchor(std::int64_t group, std::int64_t j) const {
    for (std::int64_t skip = j % digits_; skip > 0; --skip) group /= base_;
    const double digit = static_cast<double>(group % base_);
    return (digit - 0.5 * static_cast<double>(base_ - 1)) * kSpacing * unit_;
  }
  /// Between a row at its group and a row that is far from all.
  [[nodiscard]] double log_threshold() const { return -2.2 * depth_; }
  /// beta that puts rows of group 0 at 1.5 depths from the rule that the far row adds, so that it takes part there.
  [[nodiscard]] double overlap(Width width) const {
    const double beta = std::sqrt((1.0 + 1.0 / square(kFar)) / (1.5 * depth_));
    return width == Width::squared ? beta / (kFar * unit_ * std::sqrt(static_cast<double>(dim_))) : beta;
  }
  /// Deep samples in few inputs would throw the widths about; this keeps a step's effect on l below 1.
  [[nodiscard]] double rate_factor() const { return std::min(1.0, 4.0 * static_cast<double>(dim_) / square(depth_)); }

 private:
  std::int64_t dim_;
  double depth_;
  std::int64_t base_ = 2, digits_ = 1;
  double unit_ = 1.0, width_ = 1.0, jitter_ = 0.0;
};

enum class RowKind { near_group, near_twins, far, near_new_rule, far_at_cap };

/// Which row comes when. Before the far row no row touches group 0, so that its twins still tie there.
RowKind row_kind(std::int64_t position, std::int64_t far_position, std::int64_t groups, Random& random) {
  if (position < far_position) return RowKind::near_group;
  switch (position - far_position) {
    case 0:
      return RowKind::far;
    case 1:
    case 4:
      return RowKind::near_twins;
    case 2:
      return RowKind::near_new_rule;
    case 3:
      return RowKind::far_at_cap;
    default:
      break;
  }
  if (groups > 1 && random.below(4) != 0) return RowKind::near_group;
  return random.below(3) == 0 ? RowKind::near_new_rule : RowKind::near_twins;
}

Workload verification_workload(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::int64_t samples,
                               std::uint64_t seed, Random& random) {
  if (samples < 8) throw std::invalid_argument("a verification needs at least 8 samples");
  const std::int64_t present = rules - 1;
  constexpr std::int64_t kGroupSize = 4;
  const std::int64_t groups = 1 + (std::max<std::int64_t>(present - 2, 0) + kGroupSize - 1) / kGroupSize;
  // Deep: exp(l) of every rule is 0 in float32, so that only work with log firings passes.
  const bool deep = (seed & 4) != 0;
  const VerificationGeometry geometry(groups, dim, deep ? 110.0 : 6.0);
  const double unit = geometry.unit();

  Workload work = sized(present, dim, outputs, samples);
  Hyperparameters& options = work.options;
  options.step = (seed & 1) != 0 ? Step::plain : Step::scaled;
  options.width = (seed & 2) != 0 ? Width::squared : Width::distance;
  options.threshold = std::exp(geometry.log_threshold());
  options.overlap = geometry.overlap(options.width);
  options.first_width = unit * std::sqrt(static_cast<double>(dim)) / options.overlap;
  options.antecedent_rate *= geometry.rate_factor();
  if (options.step == Step::plain) options.antecedent_rate *= square(geometry.width());
  options.max_rules = rules;
  // A quarter of the widths start at the floor.
  options.minimum_width = static_cast<float>(geometry.width() * (1.0 - 0.5 * geometry.jitter()));

  // The far row, and from it to the twins: multiples of unit / 256, so that sums of them are exact.
  std::vector<double> far(at(dim)), to_twin(at(dim));
  for (std::int64_t j = 0; j < dim; ++j) {
    to_twin[at(j)] =
        std::floor(256.0 * VerificationGeometry::kFar * (1.0 + geometry.jitter() * random.symmetric())) / 256.0 * unit;
    far[at(j)] = geometry.anchor(0, j) - to_twin[at(j)];
  }

  // Slot 0 and 1 are the twins; their ties go to the lower rule.
  std::vector<std::int64_t> rule_of_slot(at(present));
  std::iota(rule_of_slot.begin(), rule_of_slot.end(), 0);
  random.shuffle(rule_of_slot);
  if (present >= 2 && rule_of_slot[0] > rule_of_slot[1]) std::swap(rule_of_slot[0], rule_of_slot[1]);
  for (std::int64_t slot = 0; slot < present; ++slot) {
    const std::int64_t k = rule_of_slot[at(slot)];
    for (std::int64_t j = 0; j < dim; ++j) {
      float& centre = work.network.centres[at(k * dim + j)];
      float& width = work.network.widths[at(k * dim + j)];
      if (slot == 1) {  // as far again from the far row as the first twin and twice as wide: the same l to the last bit
        const std::int64_t first = rule_of_slot[0] * dim + j;
        centre = static_cast<float>(far[at(j)] + 2.0 * to_twin[at(j)]);
        width = 2.0F * work.network.widths[at(first)];
        continue;
      }
      const std::int64_t group = slot == 0 ? 0 : 1 + (slot - 2) / kGroupSize;
      const double offset = group == 0 ? 0.0 : geometry.jitter() * unit * random.symmetric();
      centre = static_cast<float>(geometry.anchor(group, j) + offset);
      width = static_cast<float>(
          std::max(geometry.width() * (1.0 + geometry.jitter() * random.symmetric()), options.minimum_width));
    }
  }

  // Rows return to a few groups, so that their order matters; the first and the last rule are among them.
  std::vector<std::int64_t> visited;
  for (std::int64_t slot = 2; slot < present; ++slot) {
    const std::int64_t k = rule_of_slot[at(slot)];
    if (k == 0 || k == present - 1) visited.push_back(1 + (slot - 2) / kGroupSize);
  }
  while (groups > 1 && static_cast<std::int64_t>(visited.size()) < samples / 4) {
    visited.push_back(1 + random.below(groups - 1));
  }

  std::vector<std::int64_t> topics(at(samples));
  random.shuffle(work.order);
  const std::int64_t far_position = groups > 1 ? 1 + random.below(samples - 5) : 0;
  for (std::int64_t position = 0; position < samples; ++position) {
    const RowKind kind = row_kind(position, far_position, groups, random);
    const std::int64_t group =
        kind == RowKind::near_group ? visited[at(random.below(static_cast<std::int64_t>(visited.size())))] : 0;
    // What the far row teaches its rule, the rows after it contradict.
    topics[at(work.order[at(position)])] = kind == RowKind::near_group ? group : kind == RowKind::far ? 0 : 1;
    double previous_sign = 0.0;
    for (std::int64_t j = 0; j < dim; ++j) {
      // At the twins signs come in opposite pairs: every row is as far from the far row and its rule as every other.
      double sign = random.sign();
      if (kind == RowKind::near_twins) {
        if (j % 2 == 1) {
          sign = -previous_sign;
        } else if (j == dim - 1) {
          sign = dim == 1 ? 0.25 : 0.0;
        }
      }
      previous_sign = sign;
      const double step = unit * sign * (1.0 + geometry.jitter() * random.symmetric());
      double x = geometry.anchor(group, j) + step;
      if (kind == RowKind::far) x = far[at(j)];
      if (kind == RowKind::near_new_rule) x = far[at(j)] + 0.5 * step;
      if (kind == RowKind::far_at_cap) x = far[at(j)] - 3.0 * to_twin[at(j)];
      work.rows[at(work.order[at(position)] * dim + j)] = static_cast<float>(x);
    }
  }
  fill_outputs(work, topics, random);
  return work;
}

/// Squared norms of what a rule should have changed by, and of what is wrong with it.
struct Deviation {
  double change = 0.0, difference = 0.0;
  void add(double before, double expected, double found) {
    change += square(expected - before);
    difference += square(found - expected);
  }
  [[nodiscard]] double relative() const {
    const double ratio = change > 0.0 ? std::sqrt(difference / change) : difference;
    return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  }
};

Accuracy rejected(double error, std::string message) {
  return {.accepted = false, .worst_error = error, .message = std::move(message)};
}

}  // namespace

Workload workload(const Problem& problem, std::int64_t samples, Purpose purpose, std::uint64_t seed) {
  const std::int64_t rules = problem.at("rules"), dim = problem.at("dim"), outputs = problem.at("outputs");
  Random random(seed);
  return purpose == Purpose::timing ? timing_workload(rules, dim, outputs, samples, random)
                                    : verification_workload(rules, dim, outputs, samples, seed, random);
}

Expectation expectation(const Workload& work) {
  const std::int64_t dim = work.network.dim, outputs = work.network.outputs;
  Reference reference(work.network, work.options);
  Expectation expected{.dim = dim,
                       .outputs = outputs,
                       .rules = 0,
                       .samples = work.samples(),
                       .loss = 0.0,
                       .before = work.network,
                       .centres = {},
                       .widths = {},
                       .consequents = {}};
  Network& before = expected.before;
  for (const std::int32_t row : work.order) {
    const std::span<const float> x(work.rows.data() + row * dim, at(dim));
    const std::span<const float> target(work.targets.data() + row * outputs, at(outputs));
    const Reference::Outcome outcome = reference.learn(x, target);
    expected.loss += outcome.loss;
    if (!outcome.added) continue;
    // What a new rule has to change from is what it was made with. Its first sample moves neither centre (x = m) nor
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
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kTotalTolerance = 1e-3, kRuleTolerance = 1e-2, kRuleFloor = 1e-6;
  const std::int64_t dim = expected.dim, outputs = expected.outputs, rules = expected.rules;
  if (progress.rules != rules || after.rules() != rules) {
    return rejected(kInfinity,
                    "ended with " + std::to_string(progress.rules) + " rules, expected " + std::to_string(rules));
  }
  if (progress.position != expected.samples) {
    return rejected(kInfinity, "ended at position " + std::to_string(progress.position) + ", expected " +
                                   std::to_string(expected.samples));
  }

  const Network& before = expected.before;
  std::vector<Deviation> deviations(at(rules));
  Deviation total;
  double largest_change = 0.0;
  for (std::int64_t k = 0; k < rules; ++k) {
    Deviation& d = deviations[at(k)];
    for (std::int64_t i = k * dim; i < (k + 1) * dim; ++i) {
      d.add(before.centres[at(i)], expected.centres[at(i)], after.centres[at(i)]);
      d.add(before.widths[at(i)], expected.widths[at(i)], after.widths[at(i)]);
    }
    for (std::int64_t i = k * outputs; i < (k + 1) * outputs; ++i) {
      d.add(before.consequents[at(i)], expected.consequents[at(i)], after.consequents[at(i)]);
    }
    total.change += d.change;
    total.difference += d.difference;
    largest_change = std::max(largest_change, d.change);
  }

  Accuracy accuracy{.accepted = true, .worst_error = total.relative(), .message = {}};
  const auto judge = [&](double error, double tolerance, const std::string& what) {
    accuracy.worst_error = std::max(accuracy.worst_error, error);
    if (error <= tolerance || !accuracy.accepted) return;
    accuracy.accepted = false;
    accuracy.message = what + " is off by " + std::to_string(100.0 * error) + " %";
  };
  judge(total.relative(), kTotalTolerance, "the change of all parameters");
  for (std::int64_t k = 0; k < rules; ++k) {
    if (deviations[at(k)].change <= square(kRuleFloor) * largest_change) continue;
    judge(deviations[at(k)].relative(), kRuleTolerance, "the change of rule " + std::to_string(k));
  }
  const double loss_error =
      std::abs(progress.loss - expected.loss) / std::max(expected.loss, std::numeric_limits<double>::min());
  judge(std::isnan(loss_error) ? kInfinity : loss_error, kTotalTolerance, "the sum of errors");
  return accuracy;
}

const Expectation& SharedWorkload::expected() const {
  std::call_once(once_, [this] { expected_ = expectation(*this); });
  return expected_;
}

std::shared_ptr<const SharedWorkload> shared_workload(const Problem& problem, std::int64_t samples, Purpose purpose,
                                                      std::uint64_t seed) {
  using Arguments = std::tuple<Problem, std::int64_t, Purpose, std::uint64_t>;
  // For timing a problem, and for verifying it on its own sizes and on awkward ones.
  constexpr std::size_t kKept = 3;
  static std::mutex mutex;
  static std::deque<std::pair<Arguments, std::shared_ptr<const SharedWorkload>>> kept;  // used last: first
  Arguments arguments(problem, samples, purpose, seed);
  const std::scoped_lock lock(mutex);
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& one) { return one.first == arguments; });
  if (found != kept.end()) {
    std::rotate(kept.begin(), found, found + 1);
  } else {
    if (kept.size() == kKept) kept.pop_back();
    auto made = std::make_shared<const SharedWorkload>(workload(problem, samples, purpose, seed));
    kept.emplace_front(std::move(arguments), std::move(made));
  }
  return kept.front().second;
}

Accuracy compare_prediction(const Workload& work, const std::vector<float>& outputs) {
  constexpr double kTolerance = 1e-4;
  const std::int64_t dim = work.network.dim, width = work.network.outputs;
  const Reference reference(work.network, work.options);
  if (outputs.size() != work.targets.size()) {
    return rejected(std::numeric_limits<double>::infinity(),
                    std::to_string(outputs.size()) + " outputs, expected " + std::to_string(work.targets.size()));
  }
  Deviation deviation;
  for (std::int64_t i = 0; i < work.samples(); ++i) {
    const std::vector<double> y = reference.predict({work.rows.data() + i * dim, at(dim)});
    for (std::int64_t l = 0; l < width; ++l) deviation.add(0.0, y[at(l)], outputs[at(i * width + l)]);
  }
  const double error = deviation.relative();
  if (error <= kTolerance) return {.accepted = true, .worst_error = error, .message = {}};
  return rejected(error, "the outputs are off by " + std::to_string(100.0 * error) + " %");
}

}  // namespace heddle::sonfin
