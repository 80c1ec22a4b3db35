// How much wider the cuts of both encodings become than the same chain of operations at 200 bits.
//
//   fuzzy_width [SAMPLES] > fuzzy_width.csv
//
// A chain begins with a random number and does one operation again and again, each time with a fresh random number.
// Its numbers have one symmetric cut, which both encodings represent exactly. "excess" is the width of the cut over
// that of the interval of 200 bits (MPFI), less 1: the median and the largest over all samples. What has no bounds any
// more, because it overflowed, counts as infinite in both encodings and is left out where the 200 bits overflow too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "exact_interval.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/midpoint_radius.hpp"
#include "heddle/kernels/random.hpp"

namespace heddle {
namespace {

using test::Exact;

constexpr std::array kSteps{1, 3, 10, 30, 100, 300, 1000};

/// A number whose bounds, midpoint and radius are exact in every type.
struct Drawn {
  double midpoint, radius;
};

/// The operations. `turn`: how many steps were done before.
enum class Chain {
  sum,
  difference,
  product,
  quotient,
  step,
  mixed,
  smaller,
  larger,
  root,
  square,
  exponential,
  logarithm,
  roots,
  exponentials
};
struct Operation {
  Chain chain;
  std::string_view name;
  int most_steps;
};
constexpr std::array kOperations{
    Operation{Chain::sum, "a + b", 1000},          Operation{Chain::difference, "a - b", 1000},
    Operation{Chain::product, "a * b", 1000},      Operation{Chain::quotient, "a / b", 1000},
    Operation{Chain::step, "c = a * c + b", 1000}, Operation{Chain::mixed, "+ - * / in turns", 1000},
    Operation{Chain::smaller, "min(a, b)", 1},     Operation{Chain::larger, "max(a, b)", 1},
    Operation{Chain::root, "sqrt(a)", 1},          Operation{Chain::square, "a^2", 1},
    Operation{Chain::exponential, "exp(a)", 1},    Operation{Chain::logarithm, "log(a)", 1},
    Operation{Chain::roots, "sqrt(a^2)", 1000},    Operation{Chain::exponentials, "log(exp(a))", 1000}};

/// One step of a chain, for a fuzzy number as for an exact interval.
template <class Number>
Number next(Chain chain, const Number& c, const Number& a, const Number& b, int turn) {
  switch (chain) {
    case Chain::sum:
      return c + b;
    case Chain::difference:
      return c - b;
    case Chain::product:
      return c * a;
    case Chain::quotient:
      return c / a;
    case Chain::step:
      return a * c + b;
    case Chain::mixed:
      return turn % 4 == 0 ? c + b : turn % 4 == 1 ? c * a : turn % 4 == 2 ? c - b : c / a;
    case Chain::smaller:
      return min(c, b);
    case Chain::larger:
      return max(c, b);
    case Chain::root:
      return sqrt(c);
    case Chain::square:
      return pow(c, 2);
    case Chain::exponential:
      return exp(c);
    case Chain::logarithm:
      return log(c);
    case Chain::roots:
      return sqrt(pow(c, 2));
    case Chain::exponentials:
      return log(exp(c));
  }
  return c;
}

/// The same names for MPFI.
class Wide {
 public:
  Wide() = default;
  explicit Wide(const Drawn& drawn) {
    mpfr_set_d(value_.lower(), drawn.midpoint - drawn.radius, MPFR_RNDD);
    mpfr_set_d(value_.upper(), drawn.midpoint + drawn.radius, MPFR_RNDU);
  }
  Wide(const Wide& other) { mpfi_set(value_.get(), other.value_.get()); }
  Wide& operator=(const Wide& other) {
    mpfi_set(value_.get(), other.value_.get());
    return *this;
  }
  ~Wide() = default;

  friend Wide operator+(const Wide& a, const Wide& b) { return made(mpfi_add, a, b); }
  friend Wide operator-(const Wide& a, const Wide& b) { return made(mpfi_sub, a, b); }
  friend Wide operator*(const Wide& a, const Wide& b) { return made(mpfi_mul, a, b); }
  friend Wide operator/(const Wide& a, const Wide& b) { return made(mpfi_div, a, b); }
  friend Wide min(const Wide& a, const Wide& b) { return bound_by_bound(mpfr_min, a, b); }
  friend Wide max(const Wide& a, const Wide& b) { return bound_by_bound(mpfr_max, a, b); }
  friend Wide pow(const Wide& a, int) { return made(mpfi_sqr, a); }
  friend Wide exp(const Wide& a) { return made(mpfi_exp, a); }
  friend Wide log(const Wide& a) { return made(mpfi_log, a); }
  friend Wide sqrt(const Wide& a) { return made(mpfi_sqrt, a); }

  /// Upper less lower bound, to 53 bits.
  [[nodiscard]] double width() const {
    Exact width;
    mpfr_sub(width.upper(), value_.upper(), value_.lower(), MPFR_RNDN);
    return mpfr_get_d(width.upper(), MPFR_RNDN);
  }

 private:
  template <class Function, class... Arguments>
  static Wide made(Function function, const Arguments&... arguments) {
    Wide result;
    function(result.value_.get(), arguments.value_.get()...);
    return result;
  }
  template <class Function>
  static Wide bound_by_bound(Function function, const Wide& a, const Wide& b) {
    Wide result;
    function(result.value_.lower(), a.value_.lower(), b.value_.lower(), MPFR_RNDD);
    function(result.value_.upper(), a.value_.upper(), b.value_.upper(), MPFR_RNDU);
    return result;
  }
  Exact value_;
};

template <class T>
fuzzy::LowerUpper<T, 1> as_number(const Drawn& drawn, fuzzy::LowerUpper<T, 1>*) {
  return {{static_cast<T>(drawn.midpoint - drawn.radius)}, {static_cast<T>(drawn.midpoint + drawn.radius)}};
}
template <class T>
fuzzy::MidpointRadius<T, 1> as_number(const Drawn& drawn, fuzzy::MidpointRadius<T, 1>*) {
  return {static_cast<T>(drawn.midpoint), {static_cast<T>(drawn.radius)}};
}

template <class T>
double width_of(const fuzzy::LowerUpper<T, 1>& number) {
  return static_cast<double>(number.upper[0]) - static_cast<double>(number.lower[0]);
}
template <class T>
double width_of(const fuzzy::MidpointRadius<T, 1>& number) {
  return 2.0 * static_cast<double>(number.radius[0]);
}

/// About `around`, to a factor of e^spread either way, with a radius of 2^radius_bits to twice that. A multiple of
/// 2^-20 or, in a double, of 2^-44, below 4: bounds are exact.
Drawn draw(Random& random, double around, double spread, int radius_bits, int fraction_bits) {
  const auto multiple = [&](double value) {
    return std::ldexp(std::round(std::ldexp(value, fraction_bits)), -fraction_bits);
  };
  return {multiple(around * std::exp(spread * random.symmetric())),
          multiple(std::ldexp(1.0 + random.unit(), radius_bits))};
}

struct Excess {
  double median = 0.0, worst = 0.0;
};
Excess excess_of(std::vector<double>& all) {
  if (all.empty()) return {std::nan(""), std::nan("")};
  std::ranges::sort(all);
  return {all[all.size() / 2], all.back()};
}

/// Both encodings and the intervals of 200 bits do the same chain; notes how wide they are after kSteps steps.
template <class T>
void run_chain(const Operation& operation, int radius_bits, int samples) {
  using LowerUpper = fuzzy::LowerUpper<T, 1>;
  using MidpointRadius = fuzzy::MidpointRadius<T, 1>;
  constexpr int fraction_bits = sizeof(T) == 4 ? 20 : 44;
  std::array<std::vector<double>, kSteps.size()> of_lower_upper, of_midpoint_radius;
  Random random(2026);
  for (int sample = 0; sample < samples; ++sample) {
    const Drawn begin = draw(random, 1.5, 0.3, radius_bits, fraction_bits);
    Wide wide(begin);
    auto lower_upper = as_number(begin, static_cast<LowerUpper*>(nullptr));
    auto midpoint_radius = as_number(begin, static_cast<MidpointRadius*>(nullptr));
    std::size_t noted = 0;
    for (int step = 0; step < operation.most_steps; ++step) {
      // Factors about 1, so that products neither overflow nor vanish; those of c = a c + b below it.
      const double around = operation.chain == Chain::step ? 0.75 : 1.0;
      const Drawn a = draw(random, around, 0.25, radius_bits, fraction_bits);
      const Drawn b = draw(random, 1.0, 0.3, radius_bits, fraction_bits);
      wide = next(operation.chain, wide, Wide(a), Wide(b), step);
      lower_upper = next(operation.chain, lower_upper, as_number(a, &lower_upper), as_number(b, &lower_upper), step);
      midpoint_radius =
          next(operation.chain, midpoint_radius, as_number(a, &midpoint_radius), as_number(b, &midpoint_radius), step);
      if (step + 1 != kSteps[noted]) continue;
      const double exact = wide.width();
      if (exact <= static_cast<double>(fuzzy::Traits<T>::largest)) {
        of_lower_upper[noted].push_back(width_of(lower_upper) / exact - 1.0);
        of_midpoint_radius[noted].push_back(width_of(midpoint_radius) / exact - 1.0);
      }
      ++noted;
    }
  }
  for (std::size_t i = 0; i < kSteps.size() && kSteps[i] <= operation.most_steps; ++i) {
    const Excess lu = excess_of(of_lower_upper[i]), mr = excess_of(of_midpoint_radius[i]);
    fmt::print("{},\"{}\",{},{},{},{:.4g},{:.4g},{:.4g},{:.4g}\n", sizeof(T) == 4 ? "float" : "double", operation.name,
               radius_bits, kSteps[i], of_lower_upper[i].size(), lu.median, lu.worst, mr.median, mr.worst);
  }
}

int measure(int samples) {
  fmt::print("type,operation,radius_bits,steps,samples,lu_median,lu_worst,mr_median,mr_worst\n");
  for (const Operation& operation : kOperations) {
    for (const int radius_bits : {-18, -10, -5}) run_chain<float>(operation, radius_bits, samples);
    for (const int radius_bits : {-40, -18, -10, -5}) run_chain<double>(operation, radius_bits, samples);
  }
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** words) {
  return heddle::bench::exit_code("fuzzy_width", [&] {
    int samples = 201;
    if (count > 1) {
      const std::string_view text = words[1];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), samples);
      if (error != std::errc() || end != text.data() + text.size() || samples < 1 || count > 2) {
        throw heddle::Error(heddle::ErrorKind::usage, "usage: fuzzy_width [SAMPLES], at least 1");
      }
    }
    return heddle::measure(samples);
  });
}
