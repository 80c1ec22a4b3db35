#include "heddle/tuner/strategies/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_set>
#include <utility>

#include "heddle/tuner/draw.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kProcessPurpose = 16;
constexpr std::size_t kMostBins = 64;  // finer differences than that between the values of one parameter do not matter
constexpr double kLeastPivot = 1e-8;

// Priors, in units of a parameter's range: an inverse length of about 0.8 (evenness 0.5), give or take a factor of e;
// a noise of a hundredth of the variance, give or take a factor of e^2.
constexpr double kUsualScale = 0.8;
constexpr double kUsualEvennessScale = 0.5;
constexpr double kUsualNoise = 1e-2;
constexpr double kLeastScale = 0.02;
constexpr double kMostScale = 20.0;

// Products and quotients: their inverse length is half an octave's, and too little is known to fit it.
constexpr double kProductScale = 0.5;
constexpr int kStepsPerOctave = 16;
constexpr int kMostSteps = 24 * kStepsPerOctave;  // farther apart they have nothing in common
constexpr int kNoHeight = -1;

double matern(double distance) {
  const double r = std::numbers::sqrt3 * distance;
  return (1.0 + r) * std::exp(-r);
}

double squared_log_ratio(double a, double b) { return std::log(a / b) * std::log(a / b); }

// The loops that take the time, for wider vectors where there are any. No operation changes its order or is fused with
// another: the results are the same everywhere.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEDDLE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HEDDLE_WIDE
#endif

/// to += by * from.
HEDDLE_WIDE void add(float* to, float by, const float* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] += by * from[i];
}

HEDDLE_WIDE void add(double* to, double by, const double* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] += by * from[i];
}

/// Steps of the random walk: the covariance of n points costs n^2, its factor n^3, so that many points get fewer.
std::size_t walk_length(std::size_t points) {
  constexpr std::size_t kEffort = 1500;
  return std::clamp<std::size_t>(kEffort / std::max<std::size_t>(points, 1), 6, 400);
}

}  // namespace

GaussianProcess::GaussianProcess(const CandidateSpace& space) : space_(space) {
  const std::size_t count = space.parameters().size();
  bin_of_.resize(count);
  for (std::size_t p = 0; p < count; ++p) {
    const CandidateSpace::Parameter& from = space.parameters()[p];
    Parameter& to = parameters_.emplace_back();
    to.bins = std::min(from.levels, kMostBins);
    std::vector<std::size_t> first(to.bins, 0);  // a level that stands for the bin
    for (std::size_t level = from.levels; level-- > 0;) {
      const std::size_t bin = from.levels <= kMostBins ? level : level * to.bins / from.levels;
      first[bin] = level;
      bin_of_[p].push_back(static_cast<Bin>(bin));
    }
    std::reverse(bin_of_[p].begin(), bin_of_[p].end());
    for (std::size_t a = 0; a < to.bins; ++a) {
      for (std::size_t b = 0; b < to.bins; ++b) {
        const float x = from.position[first[a]];
        const float y = from.position[first[b]];
        to.position_gap.push_back(a == b ? 0.0F : x < 0.0F || y < 0.0F ? 1.0F : std::abs(x - y));
        const float evenness_gap = std::abs(from.evenness[first[a]] - from.evenness[first[b]]);
        to.evenness_gap.push_back(evenness_gap);
        to.has_evenness = to.has_evenness || evenness_gap > 0.0F;
      }
    }
    to.kernel.resize(to.bins * to.bins);
    for (std::size_t bin = 0; bin < to.bins; ++bin) {
      const float position = from.position[first[bin]];
      const bool ordered = position >= 0.0F && from.octaves > 0.0F;
      to.height.push_back(ordered ? static_cast<int>(std::lround(kStepsPerOctave * position * from.octaves))
                                  : kNoHeight);
    }
  }
  for (std::size_t p = 0; p < count; ++p) {
    for (std::size_t q = p + 1; q < count; ++q) {
      const auto takes_part = [&](std::size_t i) {
        const CandidateSpace::Parameter& parameter = space.parameters()[i];
        return parameter.levels > 2 && parameter.octaves > 0.0F;
      };
      if (takes_part(p) && takes_part(q)) products_of_.emplace_back(p, q);
    }
  }
  for (int step = 0; step <= kMostSteps; ++step) {
    falloff_.push_back(static_cast<float>(matern(kProductScale * step / kStepsPerOctave)));
  }
  bin_configurations();
  hyperparameters_.position_scale.assign(count, kUsualScale);
  hyperparameters_.evenness_scale.assign(count, kUsualEvennessScale);
  tabulate(hyperparameters_);
}

void GaussianProcess::bin_configurations() {
  const std::size_t count = parameters_.size();
  if (count == 0) return;
  const std::size_t known = bins_.size() / count;
  bins_.resize(space_.numbered() * count);
  for (std::size_t i = known; i < space_.numbered(); ++i) {
    for (std::size_t p = 0; p < count; ++p) bins_[i * count + p] = bin_of_[p][space_.levels(i)[p]];
  }
}

void GaussianProcess::tabulate(const Hyperparameters& hyperparameters, std::size_t p) {
  Parameter& parameter = parameters_[p];
  for (std::size_t i = 0; i < parameter.kernel.size(); ++i) {
    double kernel = matern(parameter.position_gap[i] * hyperparameters.position_scale[p]);
    if (parameter.has_evenness) kernel *= matern(parameter.evenness_gap[i] * hyperparameters.evenness_scale[p]);
    parameter.kernel[i] = static_cast<float>(kernel);
  }
}

void GaussianProcess::tabulate(const Hyperparameters& hyperparameters) {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const std::pair scales(hyperparameters.position_scale[p], hyperparameters.evenness_scale[p]);
    if (scales == parameters_[p].tabulated) continue;
    tabulate(hyperparameters, p);
    parameters_[p].tabulated = scales;
  }
  // A mean over pairs needs two parameters, and one parameter is the same alone and together with all others.
  products_ = products_of_.empty() ? 0.0F : static_cast<float>(hyperparameters.products);
  const float rest = 1.0F - products_;
  alone_ = rest * static_cast<float>(hyperparameters.alone);
  pairs_ = parameters_.size() > 1 ? rest * static_cast<float>(hyperparameters.pairs) : 0.0F;
  together_ = rest - alone_ - pairs_;
}

namespace {

/// Of one product and one quotient. `apart`: steps of height between two configurations, for either parameter.
float both(const std::vector<float>& falloff, int apart, int apart_too) {
  const int product = std::min(std::abs(apart + apart_too), kMostSteps);
  const int quotient = std::min(std::abs(apart - apart_too), kMostSteps);
  return 0.5F * (falloff[static_cast<std::size_t>(product)] + falloff[static_cast<std::size_t>(quotient)]);
}

}  // namespace

float GaussianProcess::likeness(std::size_t a, std::size_t b) const {
  const std::size_t count = parameters_.size();
  const Bin* x = bins_.data() + a * count;
  const Bin* y = bins_.data() + b * count;
  float sum = 0.0F;
  for (const auto& [p, q] : products_of_) {
    const std::vector<int>& height = parameters_[p].height;
    const std::vector<int>& height_too = parameters_[q].height;
    if (height[x[p]] == kNoHeight || height[y[p]] == kNoHeight || height_too[x[q]] == kNoHeight ||
        height_too[y[q]] == kNoHeight) {
      sum += x[p] == y[p] && x[q] == y[q] ? 1.0F : 0.0F;
    } else {
      sum += both(falloff_, height[x[p]] - height[y[p]], height_too[x[q]] - height_too[y[q]]);
    }
  }
  return products_of_.empty() ? 0.0F : sum / static_cast<float>(products_of_.size());
}

float GaussianProcess::covariance(std::size_t a, std::size_t b, float likeness) const {
  const std::size_t count = parameters_.size();
  if (count == 0) return 1.0F;
  const Bin* x = bins_.data() + a * count;
  const Bin* y = bins_.data() + b * count;
  float sum = 0.0F;
  float squares = 0.0F;
  float product = 1.0F;
  for (std::size_t p = 0; p < count; ++p) {
    const float kernel = parameters_[p].kernel[x[p] * parameters_[p].bins + y[p]];
    sum += kernel;
    squares += kernel * kernel;
    product *= kernel;
  }
  const auto n = static_cast<float>(count);
  const float in_pairs = count > 1 ? (sum * sum - squares) / (n * (n - 1.0F)) : 0.0F;
  return alone_ * sum / n + pairs_ * in_pairs + together_ * product + products_ * likeness;
}

double GaussianProcess::log_posterior(const Hyperparameters& h, const std::vector<std::size_t>& points,
                                      const std::vector<float>& likenesses, const std::vector<double>& values) {
  tabulate(h);
  const std::size_t n = points.size();
  std::vector<double> factor(n * n);  // upper triangle: row i of L^T from the diagonal on
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) factor[i * n + j] = covariance(points[i], points[j], likenesses[i * n + j]);
    factor[i * n + i] += h.noise;
  }
  std::vector<double> white = values;
  double log_determinant = 0.0;
  double square = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    double* row = factor.data() + k * n;
    const double pivot = std::sqrt(std::max(row[k], kLeastPivot));
    log_determinant += std::log(pivot);
    for (std::size_t j = k + 1; j < n; ++j) row[j] /= pivot;
    white[k] /= pivot;
    square += white[k] * white[k];
    for (std::size_t i = k + 1; i < n; ++i) {
      double* below = factor.data() + i * n;
      const double by = row[i];
      add(below + i, -by, row + i, n - i);
      white[i] -= by * white[k];
    }
  }
  // The amplitude is integrated out under a weak prior worth two points of variance 1.
  const double size = static_cast<double>(n) + 2.0;
  double log_density = -0.5 * size * std::log((square + 2.0) / size) - log_determinant;

  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    log_density -= 0.5 * squared_log_ratio(h.position_scale[p], kUsualScale);
    if (parameters_[p].has_evenness) {
      log_density -= 0.5 * squared_log_ratio(h.evenness_scale[p], kUsualEvennessScale);
    }
  }
  log_density -= 0.125 * squared_log_ratio(h.noise, kUsualNoise);
  const double together = 1.0 - h.alone - h.pairs;
  log_density += 0.5 * (std::log(h.alone) + std::log(h.pairs) + std::log(together));
  log_density += 0.5 * (std::log(h.products) + std::log(1.0 - h.products));
  return log_density;
}

void GaussianProcess::fit(const std::vector<std::size_t>& points, const std::vector<double>& values,
                          std::uint64_t seed) {
  bin_configurations();
  const std::size_t count = parameters_.size();
  Draw draw(seed, kProcessPurpose, points.size());
  const std::size_t n = points.size();
  if (likenesses_.size() > n) {
    const std::unordered_set<std::size_t> wanted(points.begin(), points.end());
    std::erase_if(likenesses_, [&](const auto& row) { return !wanted.contains(row.first); });
  }
  std::vector<float> likenesses(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) likenesses[i * n + j] = likeness(points[i], points[j]);
  }
  double best = log_posterior(hyperparameters_, points, likenesses, values);
  for (std::size_t step = count == 0 ? walk_length(0) : 0; step < walk_length(points.size()); ++step) {
    Hyperparameters next = hyperparameters_;
    const auto stretch = [&](double& value, double by, double least, double most) {
      value = std::clamp(value * std::exp(by * draw.normal()), least, most);
    };
    const std::size_t what = draw.below(count + (products_of_.empty() ? 3 : 4));
    if (what < count) {
      const bool evenness = parameters_[what].has_evenness && draw.uniform() < 0.5;
      stretch(evenness ? next.evenness_scale[what] : next.position_scale[what], 0.8, kLeastScale, kMostScale);
    } else if (what == count) {
      stretch(next.noise, 1.0, 1e-6, 1.0);
    } else if (what == count + 1) {
      const double factor = std::exp(0.4 * draw.normal());
      for (double& scale : next.position_scale) scale = std::clamp(scale * factor, kLeastScale, kMostScale);
    } else if (what == count + 3) {
      double products = next.products / (1.0 - next.products);
      stretch(products, 0.8, 0.01, 100.0);
      next.products = products / (1.0 + products);
    } else {
      const double together = 1.0 - next.alone - next.pairs;
      double alone = next.alone / together;
      double pairs = next.pairs / together;
      stretch(alone, 0.8, 0.01, 100.0);
      stretch(pairs, 0.8, 0.01, 100.0);
      next.alone = alone / (1.0 + alone + pairs);
      next.pairs = pairs / (1.0 + alone + pairs);
    }
    const double density = log_posterior(next, points, likenesses, values);
    if (density > best) {
      best = density;
      hyperparameters_ = std::move(next);
    }
  }
  tabulate(hyperparameters_);

  forget_points();
}

void GaussianProcess::forget_points() {
  points_.clear();
  factor_.clear();
  whitened_.clear();
  variance_.assign(candidates_.size(), 1.0F);
  ++generation_;
}

void GaussianProcess::replace_candidates(const std::vector<std::size_t>& candidates) {
  candidates_.clear();
  candidate_bins_.assign(parameters_.size(), {});
  likenesses_.clear();
  forget_points();
  consider(candidates);
}

void GaussianProcess::consider(const std::vector<std::size_t>& candidates) {
  bin_configurations();
  const std::size_t first = candidates_.size();
  const std::size_t count = parameters_.size();
  candidates_.insert(candidates_.end(), candidates.begin(), candidates.end());
  for (std::size_t p = 0; p < count; ++p) {
    for (const std::size_t each : candidates) candidate_bins_[p].push_back(bins_[each * count + p]);
  }
  variance_.resize(candidates_.size(), 1.0F);
  ++generation_;
  for (std::size_t row = 0; row < points_.size(); ++row) project(row, first);
}

void GaussianProcess::condition(const std::vector<std::size_t>& points) {
  bin_configurations();
  const auto [kept, wanted] = std::mismatch(points_.begin(), points_.end(), points.begin(), points.end());
  if (kept != points_.end()) {
    const auto rows = static_cast<std::size_t>(kept - points_.begin());
    points_.resize(rows);
    factor_.resize(rows);
    whitened_.resize(rows);
    variance_.assign(candidates_.size(), 1.0F);
    for (const auto& row : whitened_) {
      for (std::size_t c = 0; c < row.size(); ++c) variance_[c] -= row[c] * row[c];
    }
  }
  for (std::size_t i = points_.size(); i < points.size(); ++i) append(points[i]);
}

void GaussianProcess::append(std::size_t point) {
  const std::size_t rows = points_.size();
  std::vector<double> row(rows + 1);
  double pivot = covariance(point, point) + hyperparameters_.noise;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = covariance(point, points_[i]);
    for (std::size_t j = 0; j < i; ++j) sum -= row[j] * factor_[i][j];
    row[i] = sum / factor_[i][i];
    pivot -= row[i] * row[i];
  }
  row[rows] = std::sqrt(std::max(pivot, kLeastPivot));
  points_.push_back(point);
  factor_.push_back(std::move(row));
  whitened_.emplace_back();
  project(rows, 0);
}

const std::vector<float>& GaussianProcess::likenesses(std::size_t point) {
  std::vector<float>& row = likenesses_[point];
  const std::size_t first = row.size();
  const std::size_t size = candidates_.size() - first;
  row.resize(candidates_.size(), 0.0F);
  if (size == 0) return row;
  const Bin* bins = bins_.data() + point * parameters_.size();
  std::vector<float> table;
  for (const auto& [p, q] : products_of_) {
    const std::vector<int>& height = parameters_[p].height;
    const std::vector<int>& height_too = parameters_[q].height;
    const std::size_t columns = height_too.size();
    table.assign(height.size() * columns, 0.0F);
    const int here = height[bins[p]];
    const int here_too = height_too[bins[q]];
    for (std::size_t x = 0; x < height.size(); ++x) {
      for (std::size_t y = 0; y < columns; ++y) {
        const bool ordered =
            here != kNoHeight && here_too != kNoHeight && height[x] != kNoHeight && height_too[y] != kNoHeight;
        table[x * columns + y] = ordered ? both(falloff_, height[x] - here, height_too[y] - here_too)
                                 : x == bins[p] && y == bins[q] ? 1.0F
                                                                : 0.0F;
      }
    }
    const float weight = 1.0F / static_cast<float>(products_of_.size());
    for (float& entry : table) entry *= weight;
    const Bin* other = candidate_bins_[p].data() + first;
    const Bin* other_too = candidate_bins_[q].data() + first;
    for (std::size_t c = 0; c < size; ++c) row[first + c] += table[other[c] * columns + other_too[c]];
  }
  return row;
}

std::vector<float> GaussianProcess::covariances(std::size_t point, std::size_t first) {
  const std::size_t count = parameters_.size();
  const std::size_t size = candidates_.size() - first;
  std::vector<float> sum(size, 0.0F);
  std::vector<float> squares(size, 0.0F);
  std::vector<float> product(size, 1.0F);
  const Bin* bins = bins_.data() + point * count;
  for (std::size_t p = 0; p < count; ++p) {
    const float* kernel = parameters_[p].kernel.data() + bins[p] * parameters_[p].bins;
    const Bin* other = candidate_bins_[p].data() + first;
    for (std::size_t c = 0; c < size; ++c) {
      const float each = kernel[other[c]];
      sum[c] += each;
      squares[c] += each * each;
      product[c] *= each;
    }
  }
  const auto n = static_cast<float>(std::max<std::size_t>(count, 1));
  const float each = alone_ / n;
  const float in_pairs = count > 1 ? pairs_ / (n * (n - 1.0F)) : 0.0F;
  for (std::size_t c = 0; c < size; ++c) {
    product[c] = each * sum[c] + in_pairs * (sum[c] * sum[c] - squares[c]) + together_ * product[c];
  }
  if (!products_of_.empty()) add(product.data(), products_, likenesses(point).data() + first, size);
  return product;
}

void GaussianProcess::project(std::size_t row, std::size_t first) {
  std::vector<float> white = covariances(points_[row], first);
  const std::size_t size = white.size();
  const std::vector<double>& factor = factor_[row];
  for (std::size_t i = 0; i < row; ++i) {
    const auto by = static_cast<float>(factor[i]);
    add(white.data(), -by, whitened_[i].data() + first, size);
  }
  const auto scale = static_cast<float>(1.0 / factor[row]);
  float* variance = variance_.data() + first;
  for (std::size_t c = 0; c < size; ++c) {
    white[c] *= scale;
    variance[c] -= white[c] * white[c];
  }
  whitened_[row].insert(whitened_[row].end(), white.begin(), white.end());
}

void GaussianProcess::update(Mean& mean, const std::vector<double>& values) const {
  const auto changed = std::mismatch(mean.values.begin(), mean.values.end(), values.begin(), values.end()).first;
  if (mean.generation != generation_ || changed != mean.values.end()) {
    mean.generation = generation_;
    mean.white.clear();
    mean.at.assign(candidates_.size(), 0.0F);
  }
  mean.values = values;
  for (std::size_t i = mean.white.size(); i < values.size(); ++i) {
    double rest = values[i];
    for (std::size_t j = 0; j < i; ++j) rest -= factor_[i][j] * mean.white[j];
    mean.white.push_back(rest / factor_[i][i]);
    add(mean.at.data(), static_cast<float>(mean.white[i]), whitened_[i].data(), mean.at.size());
  }
}

}  // namespace heddle
