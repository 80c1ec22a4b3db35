#include "heddle/tuner/transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <variant>

#include "heddle/kernels/lapack.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

// Chosen by leaving out one problem of a tuned grid at a time (docs/performance.md). Twice or half of any value makes
// little difference.
constexpr std::size_t kNearest = 16;      // problems whose measurements are used
constexpr std::size_t kFewestPoints = 8;  // with fewer measurements nothing is predicted
constexpr double kOtherText = 0.6;        // correlation of two configurations that differ in one text value
constexpr double kPerOctave = 0.3;  // inverse length scale, per octave of parameters, and per unit of axis_distance()
constexpr double kNoise = 0.01;     // variance relative to the prior's
constexpr double kNoiseOfModel = 0.1;  // likewise, where the target is the error of a model: more of that is chance
constexpr double kSlow = 0.5;          // log cost ratio: larger ratios are cut to this

double matern(double distance) {
  const double r = std::numbers::sqrt3 * distance;
  return (1.0 + r) * std::exp(-r);
}

/// Correlation of two configurations that differ only in these values of a parameter.
double likeness(const Value& a, const Value& b) {
  if (a == b) return 1.0;
  const auto x = as_number(a), y = as_number(b);
  if (!x || !y || *x <= 0.0 || *y <= 0.0) return kOtherText;
  return matern(kPerOctave * std::abs(std::log2(*x / *y)));
}

/// Correlation of one configuration at two problems that are at a finite distance.
double likeness(const Problem& a, const Problem& b, const std::vector<Axis>& axes) {
  const std::vector<AxisValue> of_a = axis_values(a, axes), of_b = axis_values(b, axes);
  double product = 1.0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    product *= matern(kPerOctave * std::sqrt(axes[i].weight) * axis_distance(axes[i], of_a[i], of_b[i]));
  }
  return product;
}

/// Encodes each configuration as two numbers, so that one can be compared with many quickly. One number stands for the
/// values of the first half of the parameters, the other for those of the second half. The likeness of two
/// configurations is then a product of two table look-ups.
class Codes {
 public:
  explicit Codes(const std::vector<const Configuration*>& configurations) {
    std::map<std::string, std::size_t> column_of;
    std::vector<std::vector<Value>> values;  // [column]
    std::vector<std::vector<std::size_t>> rows;
    for (const Configuration* configuration : configurations) {
      std::vector<std::size_t>& row = rows.emplace_back(values.size(), 0);  // 0: the parameter has no meaning there
      for (const auto& [name, value] : configuration->entries()) {
        const auto [at, fresh] = column_of.emplace(name, values.size());
        if (fresh) {
          values.emplace_back();
          row.push_back(0);
        }
        std::vector<Value>& known = values[at->second];
        const auto found = std::find(known.begin(), known.end(), value);
        row[at->second] = static_cast<std::size_t>(found - known.begin()) + 1;
        if (found == known.end()) known.push_back(value);
      }
    }
    const std::size_t middle = values.size() / 2;
    halves_[0] = Half(values, rows, 0, middle);
    halves_[1] = Half(values, rows, middle, values.size());
  }

  /// likeness() of `point` and the `count` configurations from `first` on, times `scale`.
  void likenesses(std::size_t point, double scale, std::size_t first, std::size_t count, std::vector<float>& product) {
    product.resize(count);
    const std::vector<float>& one = halves_[0].row(point);
    const std::vector<float>& other = halves_[1].row(point);
    const std::uint32_t* a = halves_[0].code.data() + first;
    const std::uint32_t* b = halves_[1].code.data() + first;
    for (std::size_t i = 0; i < count; ++i) product[i] = static_cast<float>(scale) * one[a[i]] * other[b[i]];
  }

 private:
  struct Half {
    std::vector<std::uint32_t> code;                       // by configuration
    std::vector<std::vector<std::size_t>> levels_of_code;  // [code][column]
    std::vector<std::vector<float>> level_likeness;        // [column][value x value]
    std::vector<std::size_t> sizes;                        // values of each column, and one for "no meaning"
    std::vector<std::vector<float>> likeness_rows;         // [code]: likeness to every other code, once it is needed

    Half() = default;
    Half(const std::vector<std::vector<Value>>& values, const std::vector<std::vector<std::size_t>>& all,
         std::size_t begin, std::size_t end) {
      for (std::size_t column = begin; column < end; ++column) {
        const std::size_t size = values[column].size() + 1;
        std::vector<float>& table = level_likeness.emplace_back(size * size, static_cast<float>(kOtherText));
        table[0] = 1.0F;
        for (std::size_t x = 1; x < size; ++x) {
          for (std::size_t y = 1; y < size; ++y) {
            table[x * size + y] = static_cast<float>(likeness(values[column][x - 1], values[column][y - 1]));
          }
        }
        sizes.push_back(size);
      }
      std::map<std::vector<std::size_t>, std::uint32_t> known;
      for (const std::vector<std::size_t>& row : all) {
        std::vector<std::size_t> own(end - begin, 0);
        for (std::size_t column = begin; column < std::min(end, row.size()); ++column)
          own[column - begin] = row[column];
        const auto [place, fresh] = known.emplace(own, static_cast<std::uint32_t>(levels_of_code.size()));
        if (fresh) levels_of_code.push_back(std::move(own));
        code.push_back(place->second);
      }
      likeness_rows.resize(levels_of_code.size());
    }

    const std::vector<float>& row(std::size_t configuration) {
      std::vector<float>& known = likeness_rows[code[configuration]];
      if (!known.empty()) return known;
      const std::vector<std::size_t>& own = levels_of_code[code[configuration]];
      for (const std::vector<std::size_t>& other : levels_of_code) {
        float product = 1.0F;
        for (std::size_t c = 0; c < sizes.size(); ++c) product *= level_likeness[c][own[c] * sizes[c] + other[c]];
        known.push_back(product);
      }
      return known;
    }
  };
  std::array<Half, 2> halves_;
};

}  // namespace

double likeness(const Configuration& a, const Configuration& b) {
  double product = 1.0;
  std::size_t shared = 0;
  for (const auto& [name, value] : a.entries()) {
    const auto other = std::ranges::find(b.entries(), name, &Configuration::Entry::first);
    if (other != b.entries().end()) ++shared;
    product *= other == b.entries().end() ? kOtherText : likeness(value, other->second);
  }
  return product * std::pow(kOtherText, static_cast<double>(b.entries().size() - shared));
}

void Transfer::learn(const Problem& problem, const Costs& costs) {
  if (costs.empty()) return;
  auto lesson = std::find_if(lessons_.begin(), lessons_.end(), [&](const Lesson& l) { return l.problem == problem; });
  if (lesson == lessons_.end()) lesson = lessons_.insert(lessons_.end(), {.problem = problem, .costs = {}});
  Costs& known = lesson->costs;
  for (const auto& measured : costs) {
    if (!std::isfinite(measured.second) || measured.second <= 0.0) continue;  // a recording may hold anything
    std::erase_if(known, [&](const auto& before) { return before.first == measured.first; });
    known.push_back(measured);
  }
}

std::optional<double> Transfer::modelled(const Configuration& configuration, const Problem& problem) const {
  const std::optional<double> cost = model_ ? model_(configuration, problem) : std::nullopt;
  return cost && std::isfinite(*cost) && *cost > 0.0 ? std::optional(std::log(*cost)) : std::nullopt;
}

std::vector<const Transfer::Lesson*> Transfer::nearest(const Problem& problem) const {
  std::vector<const Lesson*> lessons;
  for (const Lesson& lesson : lessons_) {
    if (separating_axis(lesson.problem, problem, axes_) == nullptr) lessons.push_back(&lesson);
  }
  std::stable_sort(lessons.begin(), lessons.end(), [&](const Lesson* a, const Lesson* b) {
    return squared_distance(a->problem, problem, axes_) < squared_distance(b->problem, problem, axes_);
  });
  lessons.resize(std::min(lessons.size(), kNearest));
  return lessons;
}

double Transfer::bias(const std::vector<const Lesson*>& lessons) const {
  std::vector<double> log_ratios;
  for (const Lesson* lesson : lessons) {
    for (const auto& [configuration, cost] : lesson->costs) {
      if (const auto expected = modelled(configuration, lesson->problem))
        log_ratios.push_back(std::log(cost) - *expected);
    }
  }
  return log_ratios.empty() ? 0.0 : median(log_ratios);
}

/// A configuration for which the model has no estimate is assumed to be as fast, beside those with one, as the fastest
/// such configuration was somewhere, and to be slow where none was measured: a model knows what its family was written
/// for.
double Transfer::loss_without_estimate(const std::vector<const Lesson*>& lessons) const {
  double least = kSlow;
  for (const Lesson* lesson : lessons) {
    double with = HUGE_VAL, without = HUGE_VAL;  // the lowest costs
    for (const auto& [configuration, cost] : lesson->costs) {
      double& lowest = modelled(configuration, lesson->problem) ? with : without;
      lowest = std::min(lowest, cost);
    }
    if (with < HUGE_VAL && without < HUGE_VAL) least = std::min(least, std::max(0.0, std::log(without / with)));
  }
  return least;
}

std::vector<float> Transfer::expected(const Problem& problem, const std::vector<Configuration>& configurations) const {
  const std::vector<const Lesson*> lessons = nearest(problem);
  const double bias_here = bias(lessons);
  std::vector<std::optional<double>> prior;
  std::optional<double> fastest;
  for (const Configuration& configuration : configurations) {
    std::optional<double>& value = prior.emplace_back(modelled(configuration, problem));
    if (!value) continue;
    *value += bias_here;
    if (!fastest || *value < *fastest) fastest = value;
  }
  const double without_estimate = fastest ? loss_without_estimate(lessons) : 0.0;
  const std::vector<double> residuals = residuals_of(problem, configurations, lessons, bias_here, without_estimate);
  if (residuals.empty() && !fastest) return {};
  std::vector<double> log_costs;
  for (std::size_t c = 0; c < configurations.size(); ++c) {
    log_costs.push_back(prior[c].value_or(fastest.value_or(0.0) + without_estimate) +
                        (residuals.empty() ? 0.0 : residuals[c]));
  }
  const double least = log_costs.empty() ? 0.0 : *std::min_element(log_costs.begin(), log_costs.end());
  std::vector<float> result;
  result.reserve(log_costs.size());
  for (const double log_cost : log_costs) result.push_back(static_cast<float>(log_cost - least));
  return result;
}

std::vector<double> Transfer::residuals_of(const Problem& problem, const std::vector<Configuration>& configurations,
                                           const std::vector<const Lesson*>& nearest, double bias,
                                           double without_estimate) const {
  std::vector<const Configuration*> all;
  std::vector<double> residuals, noise;
  std::vector<std::size_t> lesson_of;
  for (std::size_t l = 0; l < nearest.size(); ++l) {
    const Costs& costs = nearest[l]->costs;
    if (costs.empty()) continue;
    const auto cheaper = [](const auto& a, const auto& b) { return a.second < b.second; };
    const double fastest = std::log(std::min_element(costs.begin(), costs.end(), cheaper)->second);
    for (const auto& [configuration, cost] : costs) {
      all.push_back(&configuration);
      const std::optional<double> modelled_here = modelled(configuration, nearest[l]->problem);
      noise.push_back(modelled_here ? kNoiseOfModel : kNoise);
      residuals.push_back(modelled_here ? std::min(kSlow, std::log(cost) - *modelled_here - bias)
                                        : std::min(kSlow, std::log(cost) - fastest) - without_estimate);
      lesson_of.push_back(l);
    }
  }
  const std::size_t points = residuals.size();
  if (points < kFewestPoints) return {};
  for (const Configuration& configuration : configurations) all.push_back(&configuration);
  Codes codes(all);

  std::vector<double> between(nearest.size() * nearest.size());
  for (std::size_t a = 0; a < nearest.size(); ++a) {
    for (std::size_t b = 0; b < nearest.size(); ++b) {
      between[a * nearest.size() + b] = likeness(nearest[a]->problem, nearest[b]->problem, axes_);
    }
  }
  std::vector<double> covariance(points * points);
  std::vector<float> row;
  for (std::size_t i = 0; i < points; ++i) {
    codes.likenesses(i, 1.0, 0, points, row);
    for (std::size_t j = 0; j < points; ++j) {
      covariance[i * points + j] = row[j] * between[lesson_of[i] * nearest.size() + lesson_of[j]];
    }
    covariance[i * points + i] += noise[i];
  }
  // The mean is the one that makes the residuals likeliest: 1' K^-1 residuals / 1' K^-1 1.
  std::vector<double> right(2 * points, 1.0);
  std::copy(residuals.begin(), residuals.end(), right.begin());
  const OneThread one_thread;
  const auto n = static_cast<lapack_int>(points);
  if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', n, 2, covariance.data(), n, right.data(), n) != 0) return {};
  double sum_of_residuals = 0.0, sum_of_ones = 0.0;  // of the solved right-hand sides
  for (std::size_t i = 0; i < points; ++i) {
    sum_of_residuals += right[i];
    sum_of_ones += right[points + i];
  }
  const double mean = sum_of_residuals / sum_of_ones;

  std::vector<double> likeness_here;
  likeness_here.reserve(nearest.size());
  for (const Lesson* lesson : nearest) likeness_here.push_back(likeness(lesson->problem, problem, axes_));
  std::vector<double> result(configurations.size(), mean);
  for (std::size_t i = 0; i < points; ++i) {
    const double weight = right[i] - mean * right[points + i];
    codes.likenesses(i, weight * likeness_here[lesson_of[i]], points, configurations.size(), row);
    for (std::size_t c = 0; c < row.size(); ++c) result[c] += row[c];
  }
  return result;
}

}  // namespace heddle
