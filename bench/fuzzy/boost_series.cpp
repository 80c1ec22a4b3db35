#include "heddle/bench/fuzzy/boost_series.hpp"

#include <boost/numeric/interval.hpp>

namespace heddle::bench {

void boost_series(std::span<const double> a, std::span<const double> b, std::span<double> c, std::int64_t terms) {
  using Protected = boost::numeric::interval<double>;
  using Interval = boost::numeric::interval_lib::unprotect<Protected>::type;
  const Protected::traits_type::rounding rounding;  // the mode, until the end of the function
  for (std::size_t i = 0; i < c.size(); i += 2) {
    const Interval factor(a[i], a[i + 1]), summand(b[i], b[i + 1]);
    Interval value(c[i], c[i + 1]);
    for (std::int64_t term = 0; term < terms; ++term) value = factor * value + summand;
    c[i] = value.lower();
    c[i + 1] = value.upper();
  }
}

}  // namespace heddle::bench
