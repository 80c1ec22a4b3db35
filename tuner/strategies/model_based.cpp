// Bayesian optimisation. One Gaussian process learns the cost of the configurations tried, another whether they work.
// The configuration with the largest expected improvement (Jones, Schonlau, Welch 1998) is tried next. Some proposals
// come only from the neighbours of the fastest configuration, where a wrong model does least harm.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/strategies/gaussian_process.hpp"
#include "heddle/tuner/strategies/searcher.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kModelPurpose = 32;
constexpr std::size_t kDesignDraws = 20;        // random draws, of which the one farthest from all others is tried
constexpr std::size_t kNearbyFrom = 10;         // only after so many observations
constexpr double kNoGain = 0.015;               // a gain by a smaller part counts as none
constexpr double kMostWanted = 0.5;             // as a logarithm: the largest gain that is asked for because of ties
constexpr double kStart = 100.0;                // evaluations, after which ties ask for nothing any more
constexpr double kRefit = 1.25;                 // growth of the history after which the hyperparameters are chosen anew
constexpr std::size_t kMostPoints = 300;        // in the model when it is fitted: the fastest, and some of the others
constexpr std::size_t kAllCandidates = 6144;    // up to that many configurations are all candidates
constexpr std::size_t kDrawnCandidates = 2048;  // candidates drawn from larger spaces
constexpr std::size_t kMostDrawnValues = std::size_t{1} << 18U;  // that all these draws look at
constexpr std::size_t kAroundFastest = 4;  // this many of the fastest: their neighbours are always candidates
constexpr float kLeastChance = 0.02F;      // lower bound of the probability that a configuration works

/// Expected improvement of a normal variable of deviation 1 below a goal that lies `u` above its mean. Grows with u.
double expected_improvement(double u) {
  const double density = std::exp(-0.5 * u * u) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const double below = 0.5 * std::erfc(-u / std::numbers::sqrt2);
  return std::max(u * below + density, std::numeric_limits<double>::min() * (2.0 + std::tanh(u)));
}

class ModelBased final : public Searcher {
 public:
  ModelBased(const CandidateSpace& space, const SearchConstants& constants)
      : constants_(constants), model_(space), next_fit_(constants.design), next_draw_(constants.design) {}

  std::optional<std::size_t> propose(const Knowledge& known) override {
    if (known.history().size() < constants_.design) return known.step() == 0 ? central(known) : spread(known);
    std::vector<std::size_t> points = points_;
    points.insert(points.end(), known.under_way().begin(), known.under_way().end());
    model_.condition(points);
    if (!forecast_) forecast_ = forecast(known);
    const bool nearby = points.size() >= kNearbyFrom &&
                        Draw(known.seed(), kModelPurpose + 2, known.step()).uniform() < constants_.nearby;
    if (nearby) {
      if (const auto chosen = most_promising(known, *forecast_, 0.0, true)) return chosen;
    }
    const auto chosen = most_promising(known, *forecast_, gain_for_ties(known), false);
    return chosen ? chosen : known.untouched();
  }

  void learn(const Knowledge& known, std::size_t configuration) override {
    points_.push_back(configuration);
    forecast_.reset();
    const std::size_t count = known.history().size();
    const bool faster = known.cost(configuration) < best_;
    if (faster) {
      best_ = known.cost(configuration);
      for (const std::size_t each : best_neighbours_) near_best_[each] = false;
      best_neighbours_ = neighbours(known, configuration);
      near_best_.resize(known.space().numbered(), false);
      for (const std::size_t each : best_neighbours_) near_best_[each] = true;
    }
    if (count < next_fit_) {
      if (faster && count >= constants_.design) model_.consider(missing(known));
      return;
    }
    const auto later = static_cast<std::size_t>(std::ceil(kRefit * static_cast<double>(count)));
    next_fit_ = std::clamp(later, count + 1, count + kMostPoints / 3);
    if (count > kMostPoints) thin_out(known);
    const ScaledCosts costs = scaled_costs(known);
    std::vector<double> values;
    for (const double cost : costs.at) values.push_back((cost - costs.mean) / costs.deviation);
    model_.fit(points_, values, known.seed());
    if (count >= next_draw_) {
      next_draw_ = all_are_candidates(known) ? std::numeric_limits<std::size_t>::max() : 2 * count;
      model_.replace_candidates(candidates(known));
    } else {
      model_.consider(missing(known));
    }
  }

 private:
  /// The most central configuration, on a linear scale: values at the end of their range are seldom best, and the
  /// author of a range of 1 to 128 rather expects 64 than 8.
  static std::optional<std::size_t> central(const Knowledge& known) {
    CandidateSpace::Costs off_middle;
    for (const CandidateSpace::Parameter& parameter : known.space().parameters()) {
      off_middle.push_back(parameter.off_middle);
    }
    return known.space().cheapest(off_middle, known.open());
  }

  /// Far from everything tried.
  static std::optional<std::size_t> spread(const Knowledge& known) {
    std::optional<std::size_t> farthest = known.untouched();
    if (!farthest) return farthest;
    Draw draw(known.seed(), kModelPurpose, known.step());
    float most = -1.0F;
    for (std::size_t i = 0; i < kDesignDraws; ++i) {
      const auto drawn = i == 0 ? farthest : known.space().draw(draw);
      if (!drawn || !known.open(*drawn)) continue;
      const std::size_t candidate = *drawn;
      float nearest = std::numeric_limits<float>::infinity();
      for (const auto* list : {&known.history(), &known.under_way()}) {
        for (const std::size_t other : *list) nearest = std::min(nearest, known.space().distance(candidate, other));
      }
      if (nearest > most) {
        most = nearest;
        farthest = candidate;
      }
    }
    return farthest;
  }

  /// Costs as the model sees them, once their mean and deviation are made 0 and 1.
  struct ScaledCosts {
    std::vector<double> at;  ///< each point
    double mean = 0.0;
    double deviation = 1.0;
  };
  /// Compresses high costs: how slow the slow configurations are matters little.
  static double flattened(double log_ratio) { return log_ratio > 0.0 ? std::log1p(log_ratio) : log_ratio; }

  /// Logarithm of the logarithm of the cost, 0 for the fastest; a failed configuration counts as one of the slowest.
  /// The expected cost from other problems is subtracted: it is the mean of the process, which learns the difference.
  [[nodiscard]] ScaledCosts scaled_costs(const Knowledge& known) const {
    const auto fastest = known.fastest(1);
    if (fastest.empty()) return {.at = std::vector<double>(points_.size(), 0.0)};
    std::vector<double> costs;
    const double best = known.cost(fastest.front());
    std::vector<double> worked;
    for (const std::size_t point : points_) {
      costs.push_back(flattened(std::log(known.cost(point) / best)));
      if (std::isfinite(costs.back())) worked.push_back(costs.back());
    }
    double slow = 0.0;
    if (!worked.empty()) {
      const auto rank = std::min(worked.size() - 1, worked.size() * 9 / 10);
      std::nth_element(worked.begin(), worked.begin() + static_cast<std::ptrdiff_t>(rank), worked.end());
      slow = worked[rank];
    }
    double mean = 0.0;
    double square = 0.0;
    const auto count = static_cast<double>(costs.size());
    for (std::size_t i = 0; i < costs.size(); ++i) {
      double& cost = costs[i];
      if (!std::isfinite(cost)) cost = slow;
      cost -= flattened(known.expected(points_[i]));
      mean += cost / count;
    }
    for (const double cost : costs) square += (cost - mean) * (cost - mean) / count;
    return {.at = std::move(costs), .mean = mean, .deviation = std::sqrt(square) + 1e-9};
  }

  /// What a configuration has to gain beyond kNoGain, as a logarithm of the cost. Where many configurations are as fast
  /// as the fastest, something bounds them all that their differences do not touch, and the next one that the model
  /// expects to be as fast, too, says nothing new. The more there are, the farther away the search looks; in the
  /// beginning only, since later the finest differences count.
  [[nodiscard]] double gain_for_ties(const Knowledge& known) const {
    if (best_ == Knowledge::kFailed) return 0.0;
    const auto ties = static_cast<double>(std::ranges::count_if(
        points_, [&](std::size_t point) { return known.cost(point) <= best_ * (1.0 + kNoGain); }));
    const double left = std::max(0.0, 1.0 - static_cast<double>(known.step()) / kStart);
    return std::min(kMostWanted, constants_.gain_per_tie * std::max(0.0, ties - 1.0) * left);
  }

  /// The predictions for all candidates.
  struct Forecast {
    std::vector<float> cost;
    double amplitude = 0.0;      ///< variance far from all points
    double goal = 0.0;           ///< what is to be improved upon
    double unit = 1.0;           ///< of cost and goal, as a logarithm
    std::vector<float> working;  ///< chance; empty: certain
  };
  [[nodiscard]] Forecast forecast(const Knowledge& known) {
    const ScaledCosts costs = scaled_costs(known);
    // Mean and deviation change with every observation, the rest seldom does.
    model_.update(costs_, costs.at);
    model_.update(ones_, std::vector<double>(points_.size(), 1.0));
    const std::size_t size = model_.candidates().size();
    Forecast forecast{.cost = std::vector<float>(size),
                      .amplitude = 2.0,
                      .goal = (-kNoGain - costs.mean) / costs.deviation,
                      .unit = costs.deviation,
                      .working = {}};
    const auto mean = static_cast<float>(costs.mean);
    const auto scale = static_cast<float>(1.0 / costs.deviation);
    for (std::size_t c = 0; c < size; ++c) {
      const auto expected = static_cast<float>(flattened(known.expected(model_.candidates()[c])));
      forecast.cost[c] = scale * (expected + costs_.at[c] - mean * ones_.at[c]);
    }
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double white = (costs_.white[i] - costs.mean * ones_.white[i]) / costs.deviation;
      forecast.amplitude += white * white;
    }
    forecast.amplitude /= static_cast<double>(points_.size()) + 2.0;

    std::vector<double> failures;
    for (const std::size_t point : points_) failures.push_back(known.cost(point) == Knowledge::kFailed ? 1.0 : 0.0);
    const double rate = std::accumulate(failures.begin(), failures.end(), 0.0) / static_cast<double>(failures.size());
    if (rate == 0.0) return forecast;
    model_.update(failures_, failures);
    const auto usual = static_cast<float>(rate);
    for (std::size_t c = 0; c < size; ++c) {
      const float failing = usual + failures_.at[c] - usual * ones_.at[c];
      forecast.working.push_back(std::clamp(1.0F - failing, kLeastChance, 1.0F));
    }
    return forecast;
  }

  /// Nothing if no candidate is open. `gain`: what is wanted beyond the goal, as a logarithm. `nearby`: of the
  /// neighbours of the fastest.
  std::optional<std::size_t> most_promising(const Knowledge& known, const Forecast& forecast, double gain,
                                            bool nearby) const {
    const double goal = forecast.goal - gain / forecast.unit;
    const std::vector<float>& variances = model_.variance();
    if (variances.empty()) return std::nullopt;
    const auto deviation = [&](float variance) {
      return std::sqrt(std::max(1e-9, static_cast<double>(variance)) * forecast.amplitude);
    };
    const double widest = deviation(*std::max_element(variances.begin(), variances.end()));
    double most = -1.0;
    double least_u = -std::numeric_limits<double>::infinity();  // whose goal is farther below its mean cannot be most
    std::optional<std::size_t> chosen;
    for (std::size_t c = 0; c < variances.size(); ++c) {
      const std::size_t candidate = model_.candidates()[c];
      if (!known.open(candidate) || (nearby && !is_near_best(candidate))) continue;
      const double spread = deviation(variances[c]);
      const double u = (goal - forecast.cost[c]) / spread;
      if (u < least_u) continue;
      double promise = spread * expected_improvement(u);
      if (!forecast.working.empty()) promise *= forecast.working[c];
      if (promise <= most) continue;
      most = promise;
      chosen = candidate;
      while (widest * expected_improvement(std::max(-30.0, least_u + 0.25)) < most) {
        least_u = std::max(-30.0, least_u + 0.25);
      }
    }
    return chosen;
  }

  const std::vector<std::size_t>& neighbours(const Knowledge& known, std::size_t configuration) {
    auto& found = neighbours_[configuration];
    if (found.empty()) found = known.space().neighbours(configuration);
    return found;
  }

  /// Neighbours of the fastest that are no candidates yet.
  [[nodiscard]] std::vector<std::size_t> missing(const Knowledge& known) const {
    std::vector<std::size_t> list;
    for (const std::size_t each : best_neighbours_) {
      if (known.observed(each)) continue;
      const std::vector<std::size_t>& there = model_.candidates();
      if (std::find(there.begin(), there.end(), each) == there.end()) list.push_back(each);
    }
    return list;
  }

  static bool all_are_candidates(const Knowledge& known) {
    return known.space().listed() && known.space().numbered() <= kAllCandidates;
  }

  /// Fewer where a draw looks at very many values: their constraints may be dear.
  static std::size_t drawn_candidates(const CandidateSpace& space) {
    if (space.listed()) return kDrawnCandidates;
    std::size_t values = 1;
    for (const CandidateSpace::Parameter& parameter : space.parameters()) values += parameter.levels;
    return std::clamp(kMostDrawnValues / values, std::size_t{32}, kDrawnCandidates);
  }

  [[nodiscard]] bool is_near_best(std::size_t configuration) const {
    return configuration < near_best_.size() && near_best_[configuration];
  }

  /// Everything, or around the fastest and at random.
  [[nodiscard]] std::vector<std::size_t> candidates(const Knowledge& known) {
    CandidateSpace& space = known.space();
    const bool all = all_are_candidates(known);
    const std::size_t most = all ? space.numbered() : drawn_candidates(space);
    std::vector<std::size_t> list;
    std::unordered_set<std::size_t> taken;
    const auto take = [&](std::size_t each) {
      if (list.size() < most && !known.observed(each) && taken.insert(each).second) list.push_back(each);
    };
    if (!all) {
      for (const std::size_t fast : known.fastest(kAroundFastest)) {
        for (const std::size_t each : neighbours(known, fast)) take(each);
      }
      Draw draw(known.seed(), kModelPurpose + 1, known.history().size());
      // Of a list one of each stretch: none twice and all equally likely.
      const double stretch = static_cast<double>(space.numbered()) / static_cast<double>(most);
      for (std::size_t i = 0; i < most; ++i) {
        if (space.listed()) {
          take(static_cast<std::size_t>((static_cast<double>(i) + draw.uniform()) * stretch));
        } else if (const auto drawn = space.draw(draw)) {
          take(*drawn);
        }
      }
    } else {
      for (std::size_t each = 0; each < space.numbered(); ++each) take(each);
    }
    return list;
  }

  /// Keeps the fastest, and of the rest an even selection.
  void thin_out(const Knowledge& known) {
    std::vector<bool> keep(known.space().numbered(), false);
    for (const std::size_t fast : known.fastest(kMostPoints / 2)) keep[fast] = true;
    points_.clear();
    const std::vector<std::size_t>& history = known.history();
    const std::size_t stride = (history.size() - 1) / (kMostPoints / 2) + 1;
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (keep[history[i]] || i % stride == 0) points_.push_back(history[i]);
    }
  }

  SearchConstants constants_;
  GaussianProcess model_;
  std::vector<std::size_t> points_;                                       // what the model knows
  std::unordered_map<std::size_t, std::vector<std::size_t>> neighbours_;  // of those that were among the fastest
  double best_ = Knowledge::kFailed;
  std::vector<std::size_t> best_neighbours_;  // of the fastest
  std::vector<bool> near_best_;               // those
  GaussianProcess::Mean costs_, ones_, failures_;
  std::optional<Forecast> forecast_;  // for what is known
  std::size_t next_fit_;
  std::size_t next_draw_;  // when the candidates are drawn anew
};

}  // namespace

std::unique_ptr<Searcher> model_searcher(const CandidateSpace& space, const SearchConstants& constants) {
  return std::make_unique<ModelBased>(space, constants);
}

std::unique_ptr<Strategy> make_model_based(const SearchTask& task) { return search_with(task, model_searcher); }

}  // namespace heddle
