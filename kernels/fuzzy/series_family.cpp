#include "heddle/kernels/fuzzy/series_family.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/fuzzy/elementwise_family.hpp"
#include "heddle/kernels/fuzzy/host_cuts.hpp"
#include "heddle/kernels/fuzzy/series.hpp"

namespace heddle::fuzzy {
namespace {

/// The definition of the series: none of the shorter ways that kernels take.
template <class Number>
std::vector<std::byte> series_on_host(const ArrayShape& shape, const std::vector<std::span<const std::byte>>& inputs,
                                      int terms) {
  using T = typename Number::Real;
  std::vector<std::byte> result(static_cast<std::size_t>(shape.bytes()));
  T* const to = reinterpret_cast<T*>(result.data());
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    for (std::int64_t cut = 0; cut < shape.cuts; ++cut) {
      std::array<Number, 3> x;
      for (std::size_t which = 0; which < x.size(); ++which) {
        read_cut(shape, reinterpret_cast<const T*>(inputs[which].data()), i, cut, x[which]);
      }
      write_cut(shape, to, i, cut, plain_series(x[0], x[1], x[2], terms));
    }
  }
  return result;
}

class SeriesFamily final : public ElementwiseFamily {
 public:
  explicit SeriesFamily(Encoding encoding)
      : ElementwiseFamily(fmt::format("fuzzy-series-{}", suffix(encoding)),
                          "the series c = a c + b of fuzzy numbers, in one launch", encoding,
                          with_form_axes({numbers_axis(), {.name = "terms", .maximum = 1 << 20}})) {}

  const TemplateSource& source(std::string_view backend) const override {
    static const TemplateSource cpu("heddle/kernels/fuzzy/cpu/series.hpp", cpu_exact_options());
    static const TemplateSource cuda("heddle/kernels/fuzzy/cuda/series.cuh", compile_options());
    return backend == "cpu" ? cpu : cuda;
  }

 protected:
  const std::vector<std::string>& inputs() const override {
    static const std::vector<std::string> names{"a", "b", "c"};
    return names;
  }
  bool works_cut_by_cut() const override { return true; }
  /// Bounds need nothing of other cuts, and a few of them share the loop. Radii share the midpoint, as long as all of
  /// them fit into the registers.
  std::int64_t untuned_slice(const Problem& problem) const override {
    constexpr std::int64_t kMostRadii = 24;
    const std::int64_t cuts = problem.at("cuts");
    const bool radii = encoding() == Encoding::midpoint_radius;
    if (radii && cuts <= kMostRadii) return 0;
    for (const std::int64_t slice : {16, 12, 8, 6, 4, 3, 2}) {
      if (cuts % slice == 0 && (radii || slice <= 4)) return slice;
    }
    return 1;
  }
  std::string cuda_kernel() const override { return "heddle::fuzzy::series_of"; }
  std::string cpu_kernel(const Configuration& configuration, const ArrayShape&, std::int64_t width) const override {
    return fmt::format("heddle::fuzzy::cpu::series_{}<{}, {}>", suffix(encoding()), width,
                       configuration.number("tile"));
  }
  std::vector<Problem::Size> own_sizes(bool awkward) const override { return {{"terms", awkward ? 37 : 100}}; }
  std::vector<Argument> own_arguments(const Problem& problem) const override {
    return {static_cast<std::int32_t>(problem.at("terms"))};
  }
  /// Two for each bound; 3 for a midpoint and 4 for a radius.
  double operations(const Problem& problem) const override {
    const double cuts = static_cast<double>(problem.at("cuts"));
    const double step = encoding() == Encoding::lower_upper ? 4.0 : (3.0 + 4.0 * cuts) / cuts;
    return step * static_cast<double>(problem.at("terms"));
  }
  /// Short where the definition takes the host long: all primes.
  std::int64_t period(const Problem& problem) const override {
    constexpr double kMostSteps = 2e6;
    for (const std::int64_t period : {kPeriod, std::int64_t{1021}, std::int64_t{251}}) {
      if (static_cast<double>(period * problem.at("cuts") * problem.at("terms")) <= kMostSteps) return period;
    }
    return 61;
  }
  std::vector<std::byte> evaluated(const Problem& problem, const ArrayShape& shape,
                                   const std::vector<std::span<const std::byte>>& inputs) const override {
    const int terms = static_cast<int>(problem.at("terms"));
    return with_number_of(shape, [&](auto number) { return series_on_host<decltype(number)>(shape, inputs, terms); });
  }
};

}  // namespace

const KernelFamily& series_family(Encoding encoding) {
  static const SeriesFamily lower_upper(Encoding::lower_upper), midpoint_radius(Encoding::midpoint_radius);
  return encoding == Encoding::lower_upper ? lower_upper : midpoint_radius;
}

}  // namespace heddle::fuzzy
