#include "heddle/runtime/device/cpu/cpu_routine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/lapack.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/device/routine.hpp"

namespace heddle {
namespace {

std::int64_t whole(const void* argument) { return *static_cast<const int*>(argument); }

/// The answer of a least-squares routine where `attempt(ridge)` says whether A has full rank with a ridge times
/// `largest`.
template <class Attempt>
Info with_ridge(double asked, double largest, const Attempt& attempt) {
  if (!std::isfinite(largest)) return Info::failed;
  if (attempt(asked * largest)) return Info::solved;
  return largest > 0.0 && attempt(std::max(asked, kOwnRidge) * largest) ? Info::own_ridge : Info::failed;
}

/// Where there is no solution, nobody shall mistake what is there for one. A of zeros has one: zeros.
void finish(Info info, double largest, double* x, std::int64_t count, void* info_at) {
  if (info == Info::failed) {
    std::fill(x, x + count, largest == 0.0 ? 0.0 : std::numeric_limits<double>::quiet_NaN());
    if (largest == 0.0) info = Info::own_ridge;
  }
  *static_cast<int*>(info_at) = static_cast<int>(info);
}

void normal_equations(void* const* a) {
  const OneThread alone;
  const auto* gram = static_cast<const double*>(a[0]);
  auto* x = static_cast<double*>(a[1]);
  const std::int64_t unknowns = whole(a[4]), outputs = whole(a[5]), pitch = whole(a[6]);
  double largest = 0.0;
  for (std::int64_t i = 0; i < unknowns; ++i) {
    const double element = gram[i * pitch + i];
    largest = element > largest || std::isnan(element) ? element : largest;
  }
  const auto n = static_cast<lapack_int>(unknowns);
  std::vector<double> factor(at(unknowns * unknowns));
  const auto attempt = [&](double ridge) {
    // The lower triangle row after row is the upper one column after column.
    for (std::int64_t i = 0; i < unknowns; ++i) {
      std::copy_n(gram + i * pitch, i + 1, factor.begin() + i * unknowns);
      factor[at(i * unknowns + i)] += ridge;
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, factor.data(), n) != 0) return false;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < unknowns; ++i) least = std::min(least, factor[at(i * unknowns + i)]);
    return least * least > kRankTolerance * largest;
  };
  const Info info = with_ridge(static_cast<double>(*static_cast<const float*>(a[2])), largest, attempt);
  if (info != Info::failed) {
    std::vector<double> solution(at(unknowns * outputs));
    for (std::int64_t l = 0; l < outputs; ++l) {
      std::copy_n(gram + (unknowns + l) * pitch, unknowns, solution.begin() + l * unknowns);
    }
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', n, static_cast<lapack_int>(outputs), factor.data(), n, solution.data(),
                        n);
    for (std::int64_t p = 0; p < unknowns; ++p) {
      for (std::int64_t l = 0; l < outputs; ++l) x[p * outputs + l] = solution[at(l * unknowns + p)];
    }
  }
  finish(info, largest, x, unknowns * outputs, a[3]);
}

void least_squares(void* const* a) {
  const OneThread alone;
  auto* columns = static_cast<double*>(a[0]);
  auto* x = static_cast<double*>(a[1]);
  const std::int64_t rows = whole(a[4]), unknowns = whole(a[5]), outputs = whole(a[6]), pitch = whole(a[7]);
  double largest = 0.0;
  for (std::int64_t p = 0; p < unknowns; ++p) {
    double squares = 0.0;
    for (std::int64_t i = 0; i < rows; ++i) squares += columns[p * pitch + i] * columns[p * pitch + i];
    largest = squares > largest || std::isnan(squares) ? squares : largest;
  }
  std::vector<double> work, tau(at(unknowns));
  const auto n = static_cast<lapack_int>(unknowns), m = static_cast<lapack_int>(rows + unknowns);
  const auto k = static_cast<lapack_int>(pitch);
  const auto attempt = [&](double ridge) {
    work.assign(columns, columns + (unknowns + outputs) * pitch);
    for (std::int64_t c = 0; c < unknowns + outputs; ++c) {
      std::fill_n(work.begin() + c * pitch + rows, unknowns, 0.0);
      if (c < unknowns) work[at(c * pitch + rows + c)] = std::sqrt(ridge);
    }
    if (LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, work.data(), k, tau.data()) != 0) return false;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t p = 0; p < unknowns; ++p) least = std::min(least, std::abs(work[at(p * pitch + p)]));
    return least * least > kRankTolerance * largest;
  };
  const Info info = with_ridge(static_cast<double>(*static_cast<const float*>(a[2])), largest, attempt);
  if (info != Info::failed) {
    double* y = work.data() + unknowns * pitch;
    LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', m, static_cast<lapack_int>(outputs), n, work.data(), k, tau.data(), y,
                   k);
    LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'N', 'N', n, static_cast<lapack_int>(outputs), work.data(), k, y, k);
    for (std::int64_t p = 0; p < unknowns; ++p) {
      for (std::int64_t l = 0; l < outputs; ++l) x[p * outputs + l] = y[l * pitch + p];
    }
  }
  finish(info, largest, x, unknowns * outputs, a[3]);
}

void matrix_product(void* const* arguments) {
  const auto* a = static_cast<const float*>(arguments[0]);
  const auto* b = static_cast<const float*>(arguments[1]);
  auto* c = static_cast<float*>(arguments[2]);
  const std::int64_t m = whole(arguments[3]), n = whole(arguments[4]), k = whole(arguments[5]);
  const bool transposed_a = whole(arguments[6]) != 0, transposed_b = whole(arguments[7]) != 0;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      float sum = 0.0F;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += a[transposed_a ? i * m + row : row * k + i] * b[transposed_b ? column * k + i : i * n + column];
      }
      c[row * n + column] = sum;
    }
  }
}

}  // namespace

CpuRoutine cpu_routine(std::string_view name) {
  if (name == "normal_equations") return normal_equations;
  if (name == "least_squares") return least_squares;
  if (name == "matrix_product") return matrix_product;
  throw DeviceFailure(Status::launch, fmt::format("cpu: no routine '{}'", name));
}

}  // namespace heddle
