#include "heddle/tuner/model_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

using Point = FitPoints::Point;

// How fast an error counts for less with what is slower than the fastest at its problem: twice as slow, a quarter.
constexpr double kSlower = 2.0;
// Fewer do not say what left-out problems would show.
constexpr std::size_t kFewestFitted = 40, kFewestProblems = 6;
constexpr std::size_t kFolds = 10;  // parts of the problems, each left out once
// What the prior is worth, in measurements in which a term has its largest share; without a prior only enough to make
// terms that always occur together solvable.
constexpr double kPriorPoints = 0.3, kRidge = 1e-5;
constexpr int kSweeps = 20000;
constexpr double kConverged = 1e-7;  // change of a weight in a sweep, as a share of a typical time

/// Of a term about which nobody knows anything.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Weights w >= 0 that minimise the sum over points of (worth (w counts / time - 1))^2 and a ridge of (w - prior)^2:
/// least squares of the relative error. Unlike least squares of log(estimate / time) this is a convex problem with one
/// solution, and for errors of some percent the two are the same. Weights are not negative because a part of a step
/// cannot give time back; with negative ones sums of correlated terms cancel where it was measured, and nowhere else.
class Fit {
 public:
  /// `prior`: a weight for every term, kUnknown for some.
  Fit(std::size_t terms, std::vector<double> prior)
      : gram_(terms, std::vector<double>(terms)), right_(terms), prior_(std::move(prior)) {
    largest_.resize(terms);
    weights_.resize(terms);
    coupled_.resize(terms);
    for (std::size_t i = 0; i < terms; ++i) weights_[i] = std::isnan(prior_[i]) ? 0.0 : prior_[i];
  }

  void add(const Point& point) {
    for (std::size_t i = 0; i < point.counts.size(); ++i) {
      const double scale = point.worth / point.time, share = scale * point.counts[i];
      largest_[point.first + i] = std::max(largest_[point.first + i], share);
      right_[point.first + i] += point.worth * share;
      Range& coupled = coupled_[point.first + i];
      coupled.first = std::min(coupled.first, point.first);
      coupled.end = std::max(coupled.end, point.first + point.counts.size());
      for (std::size_t j = 0; j < point.counts.size(); ++j) {
        gram_[point.first + i][point.first + j] += share * (scale * point.counts[j]);
      }
    }
    ++points_;
  }

  /// By coordinate descent: every step solves one weight exactly, and cuts it at 0.
  [[nodiscard]] std::vector<double> solve() {
    const std::size_t terms = right_.size();
    std::vector<double> ridge(terms), right = right_;
    for (std::size_t i = 0; i < terms; ++i) {
      const bool known = !std::isnan(prior_[i]);
      ridge[i] = (known ? kPriorPoints : kRidge * static_cast<double>(points_)) * largest_[i] * largest_[i];
      if (known) right[i] += ridge[i] * prior_[i];
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      double moved = 0.0;
      for (std::size_t i = 0; i < terms; ++i) {
        if (largest_[i] == 0.0) continue;  // nothing was measured: the prior's weight, or 0
        double rest = right[i];
        for (std::size_t j = coupled_[i].first; j < coupled_[i].end; ++j)
          rest -= j == i ? 0.0 : gram_[i][j] * weights_[j];
        const double weight = std::max(0.0, rest / (gram_[i][i] + ridge[i]));
        moved = std::max(moved, std::abs(weight - weights_[i]) * largest_[i]);
        weights_[i] = weight;
      }
      if (moved < kConverged) break;
    }
    return weights_;
  }
  /// Whether a measurement or the prior says something about a term.
  [[nodiscard]] bool known(std::size_t term) const { return largest_[term] > 0.0 || !std::isnan(prior_[term]); }

 private:
  std::vector<std::vector<double>> gram_;
  std::vector<double> right_, prior_, largest_, weights_;
  struct Range {
    std::size_t first = std::numeric_limits<std::size_t>::max(), end = 0;
  };
  std::vector<Range> coupled_;  ///< by term: where gram_ is not 0, the terms of the same scheme
  std::size_t points_ = 0;
};

double estimate(const Point& point, const std::vector<double>& weights) {
  double microseconds = 0.0;
  for (std::size_t i = 0; i < point.counts.size(); ++i) {
    if (point.counts[i] > 0.0) microseconds += weights[point.first + i] * point.counts[i];
  }
  return microseconds;
}

/// The prior's weights on the scale of what was measured: another card may be faster in everything.
std::vector<double> scaled(std::vector<double> weights, const std::vector<const Point*>& points) {
  std::vector<double> ratios;
  ratios.reserve(points.size());
  for (const Point* point : points) {
    const double expected = estimate(*point, weights);
    if (expected > 0.0) ratios.push_back(point->time / expected);
  }
  const double scale = ratios.empty() ? 1.0 : median(ratios);
  for (double& weight : weights) weight *= scale;
  return weights;
}

Fit fit_to(const std::vector<const Point*>& points, const std::vector<double>& prior) {
  Fit fit(prior.size(), scaled(prior, points));
  for (const Point* point : points) fit.add(*point);
  return fit;
}

/// Root mean square of log(estimate / time) over all points, by what each is worth, with weights fitted without its
/// part of the problems.
double left_out_error(const std::vector<Point>& points, const std::vector<double>& prior) {
  std::map<Problem, std::size_t> fold_of;
  for (const Point& point : points) fold_of.try_emplace(point.problem, fold_of.size() % kFolds);
  double squares = 0.0, worth = 0.0;
  for (std::size_t fold = 0; fold < std::min(kFolds, fold_of.size()); ++fold) {
    std::vector<const Point*> others, left_out;
    for (const Point& point : points) (fold_of[point.problem] == fold ? left_out : others).push_back(&point);
    const std::vector<double> weights = fit_to(others, prior).solve();
    for (const Point* point : left_out) {
      // A scheme that only the left-out problems have tried is expected to take no time: as wrong as a factor of e.
      const double expected = std::max(estimate(*point, weights), point->time / std::exp(1.0));
      squares += std::pow(point->worth * std::log(expected / point->time), 2);
      worth += std::pow(point->worth, 2);
    }
  }
  return std::sqrt(squares / worth);
}

}  // namespace

FitPoints::FitPoints(const KernelFamily& family, DeviceIdentity device) : family_(family), device_(std::move(device)) {
  if (family.cost_terms(device_.backend).empty()) return;
  const SearchSpace space = family.space(device_);
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.chosen_last) chosen_last_.push_back(parameter.name);
  }
}

void FitPoints::add(const Problem& problem, const Configuration& configuration, double microseconds) {
  if (!std::isfinite(microseconds) || microseconds <= 0.0) return;
  if (std::ranges::any_of(chosen_last_, [&](const std::string& name) { return configuration.has(name); })) return;
  const TermCounts terms = family_.term_counts(configuration, device_);
  if (!terms.count) return;
  Point point{
      .problem = problem, .first = terms.first, .counts = std::vector<double>(terms.size), .time = microseconds};
  terms.count(problem, point.counts);
  points_.insert_or_assign({problem, configuration.text()}, std::move(point));
}

std::vector<Point> FitPoints::weighted() const {
  std::map<Problem, double> fastest;
  for (const auto& [key, point] : points_) {
    const auto [known, fresh] = fastest.try_emplace(point.problem, point.time);
    if (!fresh) known->second = std::min(known->second, point.time);
  }
  std::vector<Point> found;
  found.reserve(points_.size());
  for (const auto& [key, point] : points_) {
    found.push_back(point);
    found.back().worth = std::pow(fastest[point.problem] / point.time, kSlower);
  }
  return found;
}

std::optional<FittedModel> fit_model(const FitPoints& points, const CostModel* prior) {
  const auto names = points.family().cost_terms(points.device().backend);
  const std::vector<Point> all = points.weighted();
  std::set<Problem> problems;
  for (const Point& point : all) problems.insert(point.problem);
  if (names.empty() || all.size() < kFewestFitted || problems.size() < kFewestProblems) return std::nullopt;
  std::vector<double> before(names.size(), kUnknown);
  for (std::size_t i = 0; prior != nullptr && i < names.size(); ++i) {
    const auto& weights = prior->fitted().weights;
    const auto known = std::ranges::find(weights, names[i], &TermWeight::term);
    if (known != weights.end()) before[i] = known->microseconds;
  }
  std::vector<const Point*> everything;
  everything.reserve(all.size());
  for (const Point& point : all) everything.push_back(&point);
  Fit fit = fit_to(everything, before);
  const std::vector<double> weights = fit.solve();
  FittedModel model{.device = points.device(),
                    .family = std::string(points.family().name()),
                    .kernels = {},
                    .weights = {},
                    .left_out_error = left_out_error(all, before),
                    .measurements = static_cast<std::int64_t>(all.size()),
                    .problems = static_cast<std::int64_t>(problems.size()),
                    .remark = {},
                    .imported = false,
                    .provenance = {}};
  model.weights.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (fit.known(i)) model.weights.push_back({.term = std::string(names[i]), .microseconds = weights[i]});
  }
  std::ranges::sort(model.weights, {}, &TermWeight::term);  // as a database returns them
  return model;
}

std::optional<FittedModel> fit_model(const KernelFamily& family, const DeviceIdentity& device,
                                     const std::vector<Measurement>& measurements, const CostModel* prior) {
  if (family.cost_terms(device.backend).empty() || measurements.empty()) return std::nullopt;
  const SearchSpace space = family.space(device);
  FitPoints points(family, device);
  for (const Measurement& measurement : measurements) {
    if (measurement.status != Status::correct && measurement.status != Status::unverified) continue;
    if (!measurement.cost && measurement.times.empty()) continue;
    if (const auto configuration = parse_if_present(space, measurement.configuration)) {
      points.add(measurement.key.problem, *configuration,
                 measurement.cost ? *measurement.cost : median(measurement.times));
    }
  }
  auto model = fit_model(points, prior);
  if (model) {
    model->kernels = measurements.back().kernels;
    model->provenance = measurements.back().provenance;
  }
  return model;
}

}  // namespace heddle
