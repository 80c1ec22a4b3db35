#include "heddle/kernels/fuzzy/sort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "heddle/kernels/random.hpp"

namespace heddle::fuzzy {
namespace {

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Usual ones have some equal ones among them. Hostile ones are any bits, few different ones, zeros of both signs,
/// infinities, and what is no number.
template <class T>
std::vector<std::byte> random_keys(std::int64_t numbers, std::uint64_t seed, NumberKind kind) {
  using Limits = std::numeric_limits<T>;
  Random random(seed);
  std::vector<T> keys(static_cast<std::size_t>(numbers));
  for (T& key : keys) {
    const std::int64_t form = kind == NumberKind::usual ? 0 : random.below(8);
    if (form == 0) {
      key = static_cast<T>(random.symmetric());
    } else if (form <= 3) {
      key = static_cast<T>(random.below(5) - 2);
    } else if (form == 4) {
      key = static_cast<T>(random.sign()) * T(0);
    } else if (form == 5) {
      const std::array extremes{Limits::infinity(), Limits::max(), Limits::denorm_min(), Limits::quiet_NaN()};
      key = std::copysign(extremes[static_cast<std::size_t>(random.below(4))], static_cast<T>(random.sign()));
    } else {
      const std::uint64_t bits = random.bits();
      std::memcpy(&key, &bits, sizeof key);
    }
  }
  return bytes_of(keys);
}

template <class T>
HostImage sorted(const ArrayShape& shape, const HostImage& contents) {
  const std::vector<T> keys = values_of<T>(contents.at("keys")), numbers = values_of<T>(contents.at("numbers"));
  std::vector<std::uint32_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), 0U);
  std::stable_sort(positions.begin(), positions.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (std::isnan(keys[a]) || std::isnan(keys[b])) return !std::isnan(keys[a]) && std::isnan(keys[b]);
    return keys[a] < keys[b];
  });
  std::vector<T> moved(numbers.size());
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    const auto from = static_cast<std::int64_t>(positions[static_cast<std::size_t>(i)]);
    for (std::int64_t c = 0; c < shape.components(); ++c) {
      moved[static_cast<std::size_t>(shape.place(i, c))] = numbers[static_cast<std::size_t>(shape.place(from, c))];
    }
  }
  return {{"sorted", bytes_of(moved)}, {"positions", bytes_of(positions)}};
}

class SortFamily final : public ArrayFamily {
 public:
  explicit SortFamily(Encoding encoding)
      : ArrayFamily(fmt::format("fuzzy-sort-{}", suffix(encoding)), "fuzzy numbers in the order of their keys",
                    encoding, with_form_axes({numbers_axis()})) {}

  std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    // As many as keep the device busy for about a millisecond.
    const std::int64_t numbers = device.backend == "cpu" ? 100'000 : 1'000'000;
    return {Problem::from(axes(), {numbers, 4, 32, kNumbers}), Problem::from(axes(), {numbers, 4, 64, kNumbers})};
  }
  Problem awkward_problem() const override { return Problem::from(axes(), {1237, 3, 64, kCuts}); }

  const TemplateSource& source(std::string_view backend) const override { return mapping(backend).source(); }
  SearchSpace space(const DeviceIdentity& device) const override {
    return mapping(device.backend).space(device, encoding());
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    return mapping(device.backend).default_configuration(device, encoding(), shape(problem));
  }

  Plan once(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device) const override {
    const ArrayShape array = shape(problem);
    Plan plan;
    plan.buffers = {{"keys", array.numbers * (array.bits / 8), Role::input},
                    {"numbers", array.bytes(), Role::input},
                    {"sorted", array.bytes(), Role::output},
                    {"positions", array.numbers * 4, Role::output}};
    plan.samples = 1;
    mapping(device.backend).add(plan, configuration, array);
    return plan;
  }
  HostImage contents(const Problem& problem, std::uint64_t seed, NumberKind kind) const override {
    const ArrayShape array = shape(problem);
    return {{"keys", array.is_double() ? random_keys<double>(array.numbers, ~seed, kind)
                                       : random_keys<float>(array.numbers, ~seed, kind)},
            {"numbers", random_array(array, seed, kind)}};
  }
  HostImage expected(const Problem& problem, const HostImage& contents) const override {
    const ArrayShape array = shape(problem);
    return array.is_double() ? sorted<double>(array, contents) : sorted<float>(array, contents);
  }
  /// Keys and numbers are read; numbers and positions are written. No arithmetic.
  Work work(const Problem& problem) const override {
    const ArrayShape array = shape(problem);
    return {.bytes = 2.0 * static_cast<double>(array.bytes()) +
                     static_cast<double>(array.numbers) * (static_cast<double>(array.bits) / 8.0 + 4.0),
            .operations = 0.0};
  }

 private:
  [[nodiscard]] static const SortMapping& mapping(std::string_view backend) {
    return backend == "cpu" ? cpu_sort_mapping() : cuda_sort_mapping();
  }
  [[nodiscard]] ArrayShape shape(const Problem& problem) const {
    return shape_of(problem, encoding(), problem.at("numbers"));
  }
};

}  // namespace

const KernelFamily& sort_family(Encoding encoding) {
  static const SortFamily lower_upper(Encoding::lower_upper), midpoint_radius(Encoding::midpoint_radius);
  return encoding == Encoding::lower_upper ? lower_upper : midpoint_radius;
}

std::vector<Constraint> sort_constraints() {
  std::vector<Constraint> all = form_constraints();
  all.push_back({.name = fmt::format("at most {} numbers", kMostSorted),
                 .last = {},
                 .holds = [](const Configuration&, const Problem& problem, const DeviceIdentity&) {
                   return problem.at("numbers") <= kMostSorted;
                 }});
  return all;
}

}  // namespace heddle::fuzzy
