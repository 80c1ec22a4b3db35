#include "heddle/kernels/tsk/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/lapack.hpp"

namespace heddle::tsk {
namespace {

/// Of what kernels compute, at Rounding::kernels, and of the parameters that they keep.
constexpr int kBitsOfLogarithms = 21, kBitsOfActivations = 22, kBitsOfSums = 22, kBitsOfConsequents = 24;
constexpr int kBitsOfParameters = 24;
constexpr int kCoarser = 5;  // bits less at Rounding::coarse

std::span<const float> row(std::span<const float> values, std::int64_t index, std::int64_t width) {
  return values.subspan(at(index * width), at(width));
}

double count_of(const Batch& batch, std::int64_t row) { return batch.counts.empty() ? 1.0 : batch.counts[at(row)]; }

void check_lapack(lapack_int info) {
  if (info != 0) throw std::runtime_error("LAPACK failed");
}

/// A column-major matrix.
struct Matrix {
  Matrix(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count), columns(column_count), values(at(row_count * column_count)) {}
  double& operator()(std::int64_t i, std::int64_t j) { return values[at(j * rows + i)]; }
  std::int64_t rows, columns;
  std::vector<double> values;
};

double squared_distance(std::span<const double> x, const double* centre, const double* inverse_width) {
  constexpr std::size_t kParts = 8;  // sums that do not wait for each other
  double parts[kParts] = {};
  const auto add = [&](std::size_t j, double& sum) {
    const double u = (x[j] - centre[j]) * inverse_width[j];
    sum += u * u;
  };
  std::size_t j = 0;
  for (; j + kParts <= x.size(); j += kParts) {
    for (std::size_t i = 0; i < kParts; ++i) add(j + i, parts[i]);
  }
  for (; j < x.size(); ++j) add(j, parts[0]);
  return std::accumulate(parts, parts + kParts, 0.0);
}

/// R of A = QR over its upper triangle, and Q^T B over B.
void factorise(Matrix& a, Matrix& b) {
  const auto m = static_cast<lapack_int>(a.rows), n = static_cast<lapack_int>(a.columns);
  std::vector<double> tau(at(a.columns));
  check_lapack(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, a.values.data(), m, tau.data()));
  check_lapack(LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', m, static_cast<lapack_int>(b.columns), n, a.values.data(), m,
                              tau.data(), b.values.data(), m));
}

}  // namespace

Reference::Reference(const System& system, Rounding rounding)
    : rounding_(rounding),
      dim_(system.dim),
      outputs_(system.outputs),
      order_(system.order),
      centres_(system.centres.begin(), system.centres.end()),
      widths_(system.widths.begin(), system.widths.end()),
      consequents_(system.consequents.begin(), system.consequents.end()) {
  consequents_.resize(at(rules() * terms() * outputs_));
}

int Reference::bits_of(int bits) const { return rounding_ == Rounding::coarse ? bits - kCoarser : bits; }

double Reference::rounded(double value, int bits) const {
  if (rounding_ == Rounding::none) return value;
  int exponent = 0;
  const double mantissa = std::nearbyint(std::ldexp(std::frexp(value, &exponent), bits));
  return std::ldexp(mantissa, exponent - bits);
}

std::vector<double> Reference::activations(std::span<const float> rows) const {
  std::vector<double> inverse(widths_.size());
  for (std::size_t i = 0; i < widths_.size(); ++i) inverse[i] = 1.0 / widths_[i];
  std::vector<double> all(at(count(rows) * rules())), x(at(dim_));
  for (std::int64_t i = 0; i < count(rows); ++i) {
    const std::span<const float> values = row(rows, i, dim_);
    std::copy(values.begin(), values.end(), x.begin());
    const std::span<double> phi(all.data() + i * rules(), at(rules()));
    for (std::int64_t k = 0; k < rules(); ++k) {
      phi[at(k)] = rounded(-0.5 * squared_distance(x, centres_.data() + k * dim_, inverse.data() + k * dim_),
                           bits_of(kBitsOfLogarithms));
    }
    const double largest = *std::max_element(phi.begin(), phi.end());
    double total = 0.0;
    for (double& value : phi) total += value = std::exp(value - largest);
    for (double& value : phi) value = rounded(value / total, bits_of(kBitsOfActivations));
  }
  return all;
}

void Reference::consequent(std::int64_t rule, std::span<const float> x, std::span<double> values) const {
  const auto theta = consequents_.begin() + rule * terms() * outputs_;
  std::copy(theta, theta + outputs_, values.begin());
  for (std::int64_t t = 1; t < terms(); ++t) {
    for (std::int64_t l = 0; l < outputs_; ++l) {
      values[at(l)] += theta[t * outputs_ + l] * static_cast<double>(x[at(t - 1)]);
    }
  }
}

std::int64_t Reference::count(std::span<const float> rows) const {
  return static_cast<std::int64_t>(rows.size()) / dim_;
}

std::vector<double> Reference::outputs(std::span<const float> rows, std::span<const double> phi) const {
  std::vector<double> y(at(count(rows) * outputs_)), largest(at(outputs_)), p(at(outputs_));
  for (std::int64_t i = 0; i < count(rows); ++i) {
    std::fill(largest.begin(), largest.end(), 0.0);
    for (std::int64_t k = 0; k < rules(); ++k) {
      consequent(k, row(rows, i, dim_), p);
      for (std::int64_t l = 0; l < outputs_; ++l) {
        const double part = phi[at(i * rules() + k)] * p[at(l)];
        y[at(i * outputs_ + l)] += part;
        largest[at(l)] = std::max(largest[at(l)], std::abs(part));
      }
    }
    if (rounding_ == Rounding::none) continue;
    // A sum in float32 is as exact as its largest part.
    for (std::int64_t l = 0; l < outputs_; ++l) {
      if (largest[at(l)] == 0.0) continue;
      const double unit = std::ldexp(1.0, std::ilogb(largest[at(l)]) - bits_of(kBitsOfSums));
      double& sum = y[at(i * outputs_ + l)];
      sum = std::nearbyint(sum / unit) * unit;
    }
  }
  return y;
}

std::vector<double> Reference::predict(std::span<const float> x) const { return outputs(x, activations(x)); }

double Reference::error(std::span<const double> outputs, const Batch& batch) const {
  double sum = 0.0, rows = 0.0;
  for (std::int64_t i = 0; i < count(batch.rows); ++i) {
    double of_row = 0.0;
    for (std::int64_t l = i * outputs_; l < (i + 1) * outputs_; ++l) {
      const double e = outputs[at(l)] - static_cast<double>(batch.targets[at(l)]);
      of_row += e * e;
    }
    sum += count_of(batch, i) * of_row;
    rows += count_of(batch, i);
  }
  return rows == 0.0 ? 0.0 : sum / rows;
}

double Reference::error(std::span<const float> rows, std::span<const float> targets) const {
  return error(outputs(rows, activations(rows)), {.rows = rows, .targets = targets});
}

bool Reference::solve(const Batch& batch, double ridge) { return solve(batch, activations(batch.rows), ridge); }

bool Reference::solve(const Batch& batch, std::span<const double> activation, double ridge) {
  const OneThread alone;
  const std::int64_t n = count(batch.rows), unknowns = rules() * terms();
  // With room below for the ridge: sqrt(ridge) times the identity, and targets of 0.
  Matrix phi(n + unknowns, unknowns), y(n + unknowns, outputs_);
  std::vector<double> squares(at(unknowns));
  for (std::int64_t k = 0; k < rules(); ++k) {
    for (std::int64_t t = 0; t < terms(); ++t) {
      for (std::int64_t i = 0; i < n; ++i) {
        // A row that occurs n times counts as one that is sqrt(n) times as large, and its target too.
        const double value = std::sqrt(count_of(batch, i)) * activation[at(i * rules() + k)] *
                             (t == 0 ? 1.0 : static_cast<double>(batch.rows[at(i * dim_ + t - 1)]));
        phi(i, k * terms() + t) = value;
        squares[at(k * terms() + t)] += value * value;
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t l = 0; l < outputs_; ++l) {
      y(i, l) = std::sqrt(count_of(batch, i)) * static_cast<double>(batch.targets[at(i * outputs_ + l)]);
    }
  }
  const double largest = *std::max_element(squares.begin(), squares.end());
  const auto factorised = [&](double asked) {
    std::pair<Matrix, Matrix> result(phi, y);
    for (std::int64_t j = 0; j < unknowns; ++j) result.first(n + j, j) = std::sqrt(asked * largest);
    factorise(result.first, result.second);
    return result;
  };
  auto [r, b] = factorised(ridge);
  bool deficient = largest == 0.0;
  for (std::int64_t j = 0; j < unknowns; ++j) deficient |= r(j, j) * r(j, j) <= kRankTolerance * largest;
  if (deficient) {
    auto [r2, b2] = factorised(std::max(ridge, kOwnRidge));
    r = std::move(r2);
    b = std::move(b2);
  }
  if (largest > 0.0) {
    check_lapack(LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'N', 'N', static_cast<lapack_int>(unknowns),
                                static_cast<lapack_int>(outputs_), r.values.data(), static_cast<lapack_int>(r.rows),
                                b.values.data(), static_cast<lapack_int>(b.rows)));
  }
  for (std::int64_t p = 0; p < unknowns; ++p) {
    for (std::int64_t l = 0; l < outputs_; ++l) {
      consequents_[at(p * outputs_ + l)] = largest > 0.0 ? rounded(b(p, l), bits_of(kBitsOfConsequents)) : 0.0;
    }
  }
  return deficient;
}

Reference::Gradient Reference::gradient(const Batch& batch) const {
  const std::vector<double> phi = activations(batch.rows);
  return gradient(batch, phi, outputs(batch.rows, phi));
}

Reference::Gradient Reference::gradient(const Batch& batch, std::span<const double> phi,
                                        std::span<const double> y) const {
  const std::int64_t n = count(batch.rows);
  Gradient result{.centres = std::vector<double>(centres_.size()), .widths = std::vector<double>(widths_.size())};
  std::vector<double> p(at(outputs_));
  double rows = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::span<const float> x = row(batch.rows, i, dim_);
    const double times = count_of(batch, i);
    rows += times;
    for (std::int64_t k = 0; k < rules(); ++k) {
      consequent(k, x, p);
      double g = 0.0;  // of the squared error, by the log of the activation
      for (std::int64_t l = 0; l < outputs_; ++l) {
        const double output = y[at(i * outputs_ + l)];
        const double e = output - static_cast<double>(batch.targets[at(i * outputs_ + l)]);
        g += times * 2.0 * phi[at(i * rules() + k)] * e * (p[at(l)] - output);
      }
      const double* centre = centres_.data() + k * dim_;
      const double* width = widths_.data() + k * dim_;
      double* by_centre = result.centres.data() + k * dim_;
      double* by_width = result.widths.data() + k * dim_;
      for (std::int64_t j = 0; j < dim_; ++j) {
        const double inverse = 1.0 / width[j];
        const double u = (static_cast<double>(x[at(j)]) - centre[j]) * inverse;
        by_centre[j] += g * u * inverse;
        by_width[j] += g * u * u * inverse;
      }
    }
  }
  for (std::vector<double>* values : {&result.centres, &result.widths}) {
    for (double& value : *values) value /= rows;
  }
  return result;
}

Reference::Errors Reference::iterate(const Batch& batch, const Control& control, Progress& progress) {
  if (progress.halted != kGoesOn || progress.iteration >= control.end) return {};
  const auto part = [&](std::int64_t first, std::int64_t rows) {
    return Batch{.rows = batch.rows.subspan(at(first * dim_), at(rows * dim_)),
                 .targets = batch.targets.subspan(at(first * outputs_), at(rows * outputs_)),
                 .counts = batch.counts.empty() ? batch.counts : batch.counts.subspan(at(first), at(rows))};
  };
  const Batch learnt = part(0, control.rows), held_back = part(control.rows, control.held_back);
  const std::vector<double> phi = activations(learnt.rows);
  const bool own_ridge = solve(learnt, phi, static_cast<double>(control.ridge));
  const std::vector<double> y = outputs(learnt.rows, phi);
  const Errors errors{.learnt = error(y, learnt),
                      .held_back = error(outputs(held_back.rows, activations(held_back.rows)), held_back)};
  const double step = progress.step;
  count_iteration(control, progress, errors.learnt, errors.held_back, own_ridge);
  if (progress.halted == kDiverged) return errors;
  const Gradient slope = gradient(learnt, phi, y);
  double squares = 0.0;
  for (const double value : slope.centres) squares += value * value;
  for (const double value : slope.widths) squares += value * value;
  const double factor = control.plain_step != 0 ? static_cast<double>(control.rate)
                        : squares > 0.0         ? step / std::sqrt(squares)
                                                : 0.0;
  for (std::size_t i = 0; i < centres_.size(); ++i) {
    centres_[i] = rounded(centres_[i] - factor * slope.centres[i], kBitsOfParameters);
    widths_[i] = rounded(std::max(widths_[i] - factor * slope.widths[i], static_cast<double>(control.minimum_width)),
                         kBitsOfParameters);
  }
  return errors;
}

}  // namespace heddle::tsk
