#include "heddle/kernels/own/buffer_difference.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/own/small_real.hpp"
#include "heddle/kernels/usable_cores.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle {

namespace {

/// A single number may be so many times further off than all numbers together.
constexpr double kSingle = 10.0;

template <class Number>
double number_at(const std::vector<std::byte>& bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return static_cast<double>(number);
}

/// Whether something is there that was not there before the launch.
bool is_written(const std::vector<std::byte>& bytes, std::size_t at, std::size_t count) {
  return std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + count),
                     [](std::byte each) { return each != kPoison; });
}

/// 0 where nothing differs, and infinite where the quotient is not a number.
double relative(double difference, double size) {
  if (difference == 0.0) return 0.0;
  const double ratio = difference / size;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

/// Two arrays of numbers of one length, by number.
template <class Number>
class Pair {
 public:
  Pair(const std::vector<std::byte>& found, const std::vector<std::byte>& expected, double absolute)
      : found_(found), expected_(expected), absolute_(absolute) {}

  [[nodiscard]] std::size_t size() const { return expected_.size() / sizeof(Number); }
  [[nodiscard]] double found(std::size_t index) const { return number_at<Number>(found_, index * sizeof(Number)); }
  [[nodiscard]] double expected(std::size_t index) const {
    return number_at<Number>(expected_, index * sizeof(Number));
  }
  [[nodiscard]] bool same(std::size_t index) const {
    const double a = found(index), b = expected(index);
    if (a == b || std::abs(a - b) <= absolute_) return true;  // also of the same infinity
    if (!std::isnan(a) || !std::isnan(b)) return false;
    const std::size_t at = index * sizeof(Number);
    return std::memcmp(found_.data() + at, expected_.data() + at, sizeof(Number)) == 0 ||  // nothing was written there
           is_written(found_, at, sizeof(Number));
  }

 private:
  const std::vector<std::byte>& found_;
  const std::vector<std::byte>& expected_;
  double absolute_;
};

/// Calls `of` with the bounds of each piece of `count` numbers and returns the results in the order of the pieces,
/// which do not depend on the processor. A search waits for a comparison of millions of numbers: all cores share it.
template <class Of>
auto by_pieces(std::size_t count, const Of& of) {
  constexpr std::size_t kPiece = std::size_t{1} << 18U;
  std::vector<decltype(of(count, count))> results((count + kPiece - 1) / kPiece);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t piece = next++; piece < results.size(); piece = next++) {
      results[piece] = of(piece * kPiece, std::min(count, (piece + 1) * kPiece));
    }
  };
  const std::size_t workers = std::min<std::size_t>(results.size(), usable_cores());
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
  others.clear();  // waits for them
  return results;
}

struct Squares {
  double error = 0.0, norm = 0.0;
};

template <class Number>
Squares squares(const Pair<Number>& pair, std::size_t first, std::size_t last) {
  Squares sums;
  for (std::size_t i = first; i < last; ++i) {
    const double b = pair.expected(i);
    const bool same = pair.same(i);
    if (!same) sums.error += square(pair.found(i) - b);
    if (!same || std::isfinite(b)) sums.norm += square(b);
  }
  return sums;
}

template <class Number>
double relative_difference(const Pair<Number>& pair) {
  Squares all;
  for (const Squares& piece : by_pieces(pair.size(), [&](auto... bounds) { return squares(pair, bounds...); })) {
    all.error += piece.error;
    all.norm += piece.norm;
  }
  if (all.error == 0.0) return 0.0;
  const double root_mean_square = std::sqrt(all.norm / static_cast<double>(pair.size()));
  const auto worst_of = [&](std::size_t first, std::size_t last) {
    double worst = 0.0;
    for (std::size_t i = first; i < last; ++i) {
      if (pair.same(i)) continue;
      const double b = pair.expected(i);
      worst = std::max(worst, relative(std::abs(pair.found(i) - b), kSingle * std::max(std::abs(b), root_mean_square)));
    }
    return worst;
  };
  const auto worst = by_pieces(pair.size(), worst_of);
  return std::max(relative(std::sqrt(all.error), std::sqrt(all.norm)), *std::ranges::max_element(worst));
}

}  // namespace

double buffer_difference(ElementType type, const std::vector<std::byte>& found, const std::vector<std::byte>& expected,
                         double absolute) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  if (found == expected) return 0.0;  // most configurations add up in the same order
  if (type == ElementType::float32) return relative_difference(Pair<float>(found, expected, absolute));
  if (type == ElementType::float64) return relative_difference(Pair<double>(found, expected, absolute));
  if (type == ElementType::float16) return relative_difference(Pair<Float16>(found, expected, absolute));
  if (type == ElementType::bfloat16) return relative_difference(Pair<BFloat16>(found, expected, absolute));
  return found == expected ? 0.0 : std::numeric_limits<double>::infinity();
}

}  // namespace heddle
