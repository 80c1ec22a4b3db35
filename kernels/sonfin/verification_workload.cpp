#include "heddle/kernels/sonfin/verification_workload.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::sonfin {
namespace {

/// Float32 keeps 24 bits of a parameter, not of its change. For every rule's change to be either far above that
/// rounding or exactly nothing, rules lie in groups: within a group all fire alike, and no rule sees the rows of
/// another group. Groups are the points of a lattice; lengths are in units of `unit`, a row's distance to the anchor
/// of its group in every input.
class VerificationGeometry {
 public:
  static constexpr double kFar = 2.0;  // from the first far row to group 0, in every input
  /// From group 0 to the second far row, in units of kFar.
  static constexpr double kSecondFar = 3.0;
  /// From group 0 to the third far row, in units of kFar. The rule of the second one reaches as far as it is from its
  /// neighbour, or with squared widths twice as far. The third row must be out of its reach, also after the row between
  /// them has widened it: at 9 a few seeds in a thousand had it within reach with squared widths. And it must be so
  /// near that float32 still holds the Gaussians of shallow firing.
  [[nodiscard]] static double third_far(Width width) { return width == Width::squared ? 10.5 : 9.0; }

  /// `depth`: -l of a row at the rules of its group.
  VerificationGeometry(std::int64_t groups, std::int64_t dim, double depth) : dim_(dim), depth_(depth) {
    const auto enough_points = [&] {
      std::int64_t points = 1;
      for (digits_ = 0; digits_ < dim && points < groups; ++digits_) points *= base_;
      return points >= groups;
    };
    while (!enough_points()) ++base_;
    digits_ = std::max<std::int64_t>(digits_, 1);
    while (log_firing_of_neighbour() > kUnmoved) spacing_ += 2.0;
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
  /// A group's place: in input j, digit j (cyclic) of the group's number.
  [[nodiscard]] std::vector<double> anchor(std::int64_t group) const {
    std::vector<double> place(at(dim_));
    for (std::int64_t j = 0; j < dim_; ++j) {
      if (j >= digits_) {
        place[at(j)] = place[at(j - digits_)];
        continue;
      }
      place[at(j)] = (static_cast<double>(group % base_) - 0.5 * static_cast<double>(base_ - 1)) * spacing_ * unit_;
      group /= base_;
    }
    return place;
  }
  /// Between a row at its group and a row that is far from all.
  [[nodiscard]] double log_threshold() const { return -2.2 * depth_; }
  /// beta that puts rows of group 0 at 1.5 depths from the rule that the first far row adds, so that it takes part
  /// there.
  [[nodiscard]] double overlap(Width width) const {
    const double distance = kFar * unit_ * std::sqrt(static_cast<double>(dim_));
    return first_width() / (width == Width::squared ? square(distance) : distance);
  }
  /// Of the rule that the first far row adds.
  [[nodiscard]] double first_width() const {
    return std::sqrt((square(kFar) + 1.0) / (1.5 * depth_) * static_cast<double>(dim_)) * unit_;
  }
  /// Deep samples in few inputs would throw the widths about, and so would many outputs, whose errors add up. This
  /// keeps a step's effect on l below 1: above it rows that return to a group multiply rounding each time.
  [[nodiscard]] double rate_factor(std::int64_t outputs) const {
    constexpr double kFewOutputs = 32.0;
    return std::min(1.0, 4.0 * static_cast<double>(dim_) / square(depth_)) *
           std::min(1.0, kFewOutputs / static_cast<double>(outputs));
  }

 private:
  /// l of a rule that not even float64 moves: the twins must tie in the reference as they do in float32.
  static constexpr double kUnmoved = -60.0;
  /// The largest l of a rule at rows of another group: that of the second twin, which is twice as wide as others, where
  /// the numbers of the groups differ in one digit, and that is of as few inputs as may be.
  [[nodiscard]] double log_firing_of_neighbour() const {
    constexpr double kOffsets = 3.0, kWideTwin = 4.0;  // of row, rule and noise; widths count squared
    const std::int64_t differing = dim_ / digits_;
    const double inputs = static_cast<double>(differing) / static_cast<double>(dim_);
    return -depth_ / kWideTwin * inputs * square(spacing_ - kOffsets);
  }

  std::int64_t dim_;
  double depth_;
  /// Between lattice points, as little as will do: further out, places have fewer bits left for their changes. At 40
  /// everywhere plain float32 failed with one seed in ten thousand where there is one input.
  double spacing_ = 10.0;
  std::int64_t base_ = 2, digits_ = 1;
  double unit_ = 1.0, width_ = 1.0, jitter_ = 0.0;
};

/// Of groups other than that of the twins: 4, or as many more as the lattice has too few points for. In one input more
/// than kMost of them take bits from the changes of places.
std::int64_t rules_of_group(std::int64_t rules, std::int64_t dim) {
  constexpr double kMost = 24.0;
  std::int64_t size = 4;
  while (static_cast<double>(rules) > static_cast<double>(size) * std::pow(kMost, static_cast<double>(dim))) size *= 2;
  return size;
}

enum class RowKind { near_group, near_twins, near_new_rule, near_second_far, first_far, second_far, third_far };

/// Which row comes when. Before the first far row no row touches group 0, so that its twins still tie there.
RowKind row_kind(const VerificationWorkload& work, std::int64_t position, std::int64_t groups, Random& random) {
  if (position < work.first_far) return RowKind::near_group;
  if (position == work.first_far) return RowKind::first_far;
  if (position == work.second_far) return RowKind::second_far;
  if (position == work.third_far) return RowKind::third_far;
  if (position == work.second_far + 1) return RowKind::near_second_far;
  switch (position - work.first_far) {
    case 1:
    case 3:
      return RowKind::near_twins;
    case 2:
      return RowKind::near_new_rule;
    default:
      break;
  }
  if (groups > 1 && random.below(4) != 0) return RowKind::near_group;
  return random.below(3) == 0 ? RowKind::near_new_rule : RowKind::near_twins;
}

}  // namespace

std::string OptionSet::text() const {
  return std::string(step == Step::plain ? "plain step" : "scaled step") +
         (width == Width::squared ? ", squared width" : ", distance width") + (deep ? ", deep" : ", shallow");
}

const std::array<OptionSet, 8>& option_sets() {
  static const std::array<OptionSet, 8> all = [] {
    std::array<OptionSet, 8> sets;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      sets[i] = {.step = (i & 1) != 0 ? Step::plain : Step::scaled,
                 .width = (i & 2) != 0 ? Width::squared : Width::distance,
                 .deep = (i & 4) != 0};
    }
    return sets;
  }();
  return all;
}

VerificationWorkload verification_workload(const Problem& problem, const OptionSet& set, std::int64_t max_rules,
                                           std::int64_t samples, std::uint64_t seed) {
  if (samples < 16) throw std::invalid_argument("a verification needs at least 16 samples");
  const std::int64_t dim = problem.at("dim"), outputs = problem.at("outputs"), present = problem.at("rules") - 1;
  Random random(seed);
  const std::int64_t group_size = rules_of_group(present, dim);
  const std::int64_t groups = 1 + (std::max<std::int64_t>(present - 2, 0) + group_size - 1) / group_size;
  const VerificationGeometry geometry(groups, dim, set.deep ? 110.0 : 6.0);
  const double unit = geometry.unit();

  VerificationWorkload work;
  static_cast<Workload&>(work) = empty_workload(present, dim, outputs, samples);
  Hyperparameters& options = work.options;
  options.step = set.step;
  options.width = set.width;
  options.threshold = std::exp(geometry.log_threshold());
  options.overlap = geometry.overlap(options.width);
  options.first_width = geometry.first_width() / options.overlap;
  options.antecedent_rate *= geometry.rate_factor(outputs);
  if (options.step == Step::plain) options.antecedent_rate *= square(geometry.width());
  options.max_rules = max_rules;
  // A quarter of the widths start at the floor.
  options.minimum_width = static_cast<float>(geometry.width() * (1.0 - 0.5 * geometry.jitter()));

  // The first far row, and from it to the twins: multiples of unit / 256, so that sums of them are exact.
  const std::vector<double> origin = geometry.anchor(0);
  std::vector<double> far(at(dim)), to_twin(at(dim));
  for (std::int64_t j = 0; j < dim; ++j) {
    to_twin[at(j)] =
        std::floor(256.0 * VerificationGeometry::kFar * (1.0 + geometry.jitter() * random.symmetric())) / 256.0 * unit;
    far[at(j)] = origin[at(j)] - to_twin[at(j)];
  }

  // Slot 0 and 1 are the twins; their ties go to the lower rule.
  std::vector<std::int64_t> rule_of_slot(at(present));
  std::iota(rule_of_slot.begin(), rule_of_slot.end(), 0);
  random.shuffle(rule_of_slot);
  if (present >= 2 && rule_of_slot[0] > rule_of_slot[1]) std::swap(rule_of_slot[0], rule_of_slot[1]);
  const auto group_of = [=](std::int64_t slot) { return slot < 2 ? 0 : 1 + (slot - 2) / group_size; };
  std::vector<double> anchor = origin;
  for (std::int64_t slot = 0; slot < present; ++slot) {
    if (slot > 0 && group_of(slot) != group_of(slot - 1)) anchor = geometry.anchor(group_of(slot));
    const double offset = slot == 0 ? 0.0 : geometry.jitter() * unit;  // the far row reaches the twins exactly
    float* const centre = work.network.centres.data() + rule_of_slot[at(slot)] * dim;
    float* const width = work.network.widths.data() + rule_of_slot[at(slot)] * dim;
    for (std::int64_t j = 0; j < dim; ++j) {
      if (slot == 1) {  // as far again from the far row as the first twin and twice as wide: the same l to the last bit
        centre[j] = static_cast<float>(far[at(j)] + 2.0 * to_twin[at(j)]);
        width[j] = 2.0F * work.network.widths[at(rule_of_slot[0] * dim + j)];
        continue;
      }
      centre[j] = static_cast<float>(anchor[at(j)] + offset * random.symmetric());
      width[j] = static_cast<float>(
          std::max(geometry.width() * (1.0 + geometry.jitter() * random.symmetric()), options.minimum_width));
    }
  }

  // Rows return to a few groups, so that their order matters; the first and the last rule are among them.
  std::vector<std::int64_t> visited;
  for (std::int64_t slot = 2; slot < present; ++slot) {
    const std::int64_t k = rule_of_slot[at(slot)];
    if (k == 0 || k == present - 1) visited.push_back(group_of(slot));
  }
  while (groups > 1 && static_cast<std::int64_t>(visited.size()) < samples / 4) {
    visited.push_back(1 + random.below(groups - 1));
  }

  std::vector<std::int64_t> topics(at(samples));
  std::vector<std::int64_t> groups_before;  // of the rows near a group so far
  random.shuffle(work.order);
  work.first_far = groups > 1 ? 1 + random.below(samples / 4) : 0;
  work.second_far = samples / 2 + 1 + random.below(samples / 9);
  work.third_far = work.second_far + 2 + random.below(samples / 9);
  for (std::int64_t position = 0; position < samples; ++position) {
    const RowKind kind = row_kind(work, position, groups, random);
    const std::int64_t row = work.order[at(position)];
    std::int64_t group = 0;
    if (kind == RowKind::near_group) {
      // Nobody sees when a row came that is alone at its group, or whose rule is. So the first two are together, at the
      // group that has as many rules as any. The rule that the second far row adds may fire so much more than the rules
      // of a group that these hardly move. So from there on rows go where others were before, which have moved them.
      const std::vector<std::int64_t>& among = position > work.second_far ? groups_before : visited;
      const std::int64_t drawn = among[at(random.below(static_cast<std::int64_t>(among.size())))];
      group = groups_before.size() < 2 ? 1 : drawn;
      groups_before.push_back(group);
    }
    // The rows after them contradict the lessons of far rows.
    const bool far_row = kind == RowKind::first_far || kind == RowKind::second_far;
    topics[at(row)] = kind == RowKind::near_group ? group : far_row ? 0 : 1;
    const std::vector<double> place = geometry.anchor(group);
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
      double x = place[at(j)] + step;
      if (kind == RowKind::first_far) x = far[at(j)];
      if (kind == RowKind::near_new_rule) x = far[at(j)] + 0.5 * step;
      const double second = origin[at(j)] - VerificationGeometry::kSecondFar * to_twin[at(j)];
      if (kind == RowKind::second_far) x = second;
      if (kind == RowKind::near_second_far) x = second + 0.5 * step;
      if (kind == RowKind::third_far) x = origin[at(j)] - VerificationGeometry::third_far(set.width) * to_twin[at(j)];
      work.rows[at(row * dim + j)] = static_cast<float>(x);
    }
  }
  fill_outputs(work, topics, random);
  // Nobody would miss the last row if it taught what is known. It goes on in the direction of the rows before it: one
  // that went back could end where a rule began, and of a change that is almost nothing rounding is a large part.
  const std::int64_t last = work.order[at(samples - 1)];
  for (std::int64_t l = 0; l < outputs; ++l) work.targets[at(last * outputs + l)] *= 2.0F;
  return work;
}

}  // namespace heddle::sonfin
