// Whether the bounds of exp and log contain the exact value, for every argument that a float can be: all 2^32 of them.
//
//   fuzzy_every_float [STRIDE] > fuzzy_every_float.txt
//
// STRIDE: only each such pattern of bits, for a quick look. The exact value is known from the host's double function,
// whose error is below 2^-51 of the value (glibc states one unit of the last place), and where that leaves a doubt,
// from MPFR with 200 bits. What is no number is left out, and so are logarithms of what is not above 0. Ends with exit
// code 1 if a bound is wrong.
#include <fmt/format.h>
#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/elementary.hpp"
#include "heddle/kernels/usable_cores.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t kFloats = std::uint64_t{1} << 32U;

struct Tally {
  std::uint64_t arguments = 0, by_mpfr = 0, wrong = 0;
  std::uint64_t loose = 0;  ///< neighbouring floats would do, and the bounds lie farther apart
};

struct Range {
  double least, most;
};

/// What the exact value lies in: `near` but for the error of the host's function.
Range around(double near) {
  const double error = std::abs(near) * 0x1p-51;
  return {near - error, near + error};
}

/// Most arguments are so small or so large that no function of the host is needed to know enough.
Range range_of_exp(float x) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::denorm_min();
  if (x > 89.0F) return {kLargest, kInfinite};  // e^89 is above 4.4e38
  if (x < -104.0F) return {0.0, kSmallest};     // e^-104 is below 0.7e-45
  const auto argument = static_cast<double>(x);
  // Between 1 and 1 + x + x^2, and between 1 + x and 1.
  if (std::abs(argument) < 0x1p-26) return {std::min(1.0, 1.0 + argument), std::max(1.0, 1.0 + 2.0 * argument)};
  return around(std::exp(argument));
}
Range range_of_log(float x) { return around(std::log(static_cast<double>(x))); }

/// A function with bounds, and the two ways to know its exact value.
struct Function {
  const char* name;
  fuzzy::Enclosed<float> (*bounds)(float);
  Range (*range)(float);
  int (*exact)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
  bool (*has_value)(float);
};

bool contains_at_200_bits(const Function& function, float x, const fuzzy::Enclosed<float>& found) {
  mpfr_t value;
  mpfr_init2(value, 200);
  mpfr_set_flt(value, x, MPFR_RNDN);
  function.exact(value, value, MPFR_RNDN);
  const bool contained = mpfr_cmp_d(value, static_cast<double>(found.lower)) >= 0 &&
                         mpfr_cmp_d(value, static_cast<double>(found.upper)) <= 0;
  mpfr_clear(value);
  return contained;
}

void check(const Function& function, float x, Tally& tally) {
  if (!function.has_value(x)) return;
  ++tally.arguments;
  const fuzzy::Enclosed<float> found = function.bounds(x);
  const Range range = function.range(x);
  if (!(static_cast<double>(found.lower) <= range.least && range.most <= static_cast<double>(found.upper))) {
    ++tally.by_mpfr;
    if (!contains_at_200_bits(function, x, found)) ++tally.wrong;
  }
  if (found.lower != found.upper &&
      std::nextafter(found.lower, std::numeric_limits<float>::infinity()) != found.upper) {
    ++tally.loose;
  }
}

Tally check_all(const Function& function, std::uint64_t stride) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 22U;
  std::vector<Tally> tallies(usable_cores());
  std::atomic<std::uint64_t> next = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(tallies.size());
    for (Tally& tally : tallies) {
      threads.emplace_back([&function, &tally, &next, stride] {
        for (std::uint64_t first = next.fetch_add(kPiece); first < kFloats; first = next.fetch_add(kPiece)) {
          const std::uint64_t begin = (first + stride - 1) / stride * stride;
          for (std::uint64_t bits = begin; bits < first + kPiece; bits += stride) {
            check(function, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), tally);
          }
        }
      });
    }
  }
  Tally all;
  for (const Tally& tally : tallies) {
    all.arguments += tally.arguments;
    all.by_mpfr += tally.by_mpfr;
    all.wrong += tally.wrong;
    all.loose += tally.loose;
  }
  return all;
}

int run(std::uint64_t stride) {
  const Function functions[] = {
      {"exp", [](float x) { return fuzzy::exp_of(x); }, range_of_exp, mpfr_exp,
       [](float x) { return std::isfinite(x); }},
      {"log", [](float x) { return fuzzy::log_of(x); }, range_of_log, mpfr_log,
       [](float x) { return std::isfinite(x) && x > 0.0F; }},
  };
  std::uint64_t wrong = 0;
  for (const Function& function : functions) {
    const Tally all = check_all(function, stride);
    fmt::print(
        "{}: {} of {} floats are arguments, {} of them decided by 200 bits; wrong {}, wider than neighbouring floats "
        "{}\n",
        function.name, all.arguments, (kFloats + stride - 1) / stride, all.by_mpfr, all.wrong, all.loose);
    wrong += all.wrong;
  }
  return wrong == 0 ? 0 : 1;
}

std::uint64_t stride_of(const std::string& text) {
  std::uint64_t stride = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stride);
  if (error != std::errc() || end != text.data() + text.size() || stride == 0 || stride > kFloats) {
    throw Error(ErrorKind::usage, fmt::format("stride: found '{}', expected a whole number from 1 to 2^32", text));
  }
  return stride;
}

}  // namespace
}  // namespace heddle

int main(int count, char** arguments) {
  return heddle::bench::exit_code("fuzzy_every_float", [&] {
    if (count > 2) throw heddle::Error(heddle::ErrorKind::usage, "usage: fuzzy_every_float [STRIDE]");
    return heddle::run(count > 1 ? heddle::stride_of(arguments[1]) : 1);
  });
}
