#include "heddle/kernels/fuzzy/sum_workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/random.hpp"

namespace heddle::fuzzy {
namespace {

template <class T>
void bound(const ArrayShape& shape, std::vector<std::byte>& bytes) {
  constexpr T most = 0x1p40, infinity = std::numeric_limits<T>::infinity(), largest = std::numeric_limits<T>::max();
  constexpr std::int64_t every = 61;  // number that overflows
  const bool bounds = shape.encoding == Encoding::lower_upper;
  auto* const array = reinterpret_cast<T*>(bytes.data());
  const auto set_cut = [&](std::int64_t i, std::int64_t cut, T size) {
    if (bounds) array[shape.place(i, 2 * cut)] = -size;
    array[shape.place(i, bounds ? 2 * cut + 1 : 1 + cut)] = size;
  };
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    for (std::int64_t c = 0; c < shape.components(); ++c) {
      T& real = array[shape.place(i, c)];
      if (std::abs(real) < infinity || shape.cuts == 1) real = std::clamp(real, -most, most);
    }
    if (shape.cuts < 3 || i % every != 0) continue;
    set_cut(i, 0, infinity);
    set_cut(i, 1, largest);
  }
}

template <class T>
T element(Random& random, NumberKind kind) {
  using Limits = std::numeric_limits<T>;
  if (kind == NumberKind::hostile) {
    switch (random.below(8)) {
      case 0:
        return T(0);
      case 1:
        return static_cast<T>(random.sign()) * Limits::denorm_min() * 3;
      case 2:
        return static_cast<T>(std::ldexp(random.symmetric(), static_cast<int>(random.below(61)) - 30));
      default:
        break;
    }
  }
  return static_cast<T>(random.symmetric());
}

template <class T>
std::vector<std::byte> drawn_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed, NumberKind kind,
                                    std::int64_t period) {
  Random random(seed);
  std::vector<T> first(at(std::min(rows, period) * columns));
  for (T& real : first) real = element<T>(random, kind);
  std::vector<std::byte> all(at(rows * columns) * sizeof(T));
  const std::size_t bytes = first.size() * sizeof(T);
  for (std::size_t done = 0; done < all.size(); done += bytes) {
    std::memcpy(all.data() + done, first.data(), std::min(bytes, all.size() - done));
  }
  return all;
}

}  // namespace

std::vector<std::byte> random_terms(const ArrayShape& shape, std::uint64_t seed, NumberKind kind, std::int64_t period) {
  ArrayShape first = shape;
  first.numbers = std::min(shape.numbers, period);
  std::vector<std::byte> bytes = random_array(first, seed, kind, first.numbers);
  if (kind == NumberKind::hostile) {
    if (shape.is_double()) {
      bound<double>(first, bytes);
    } else {
      bound<float>(first, bytes);
    }
  }
  return repeated(bytes, first, shape);
}

std::vector<std::byte> random_matrix(std::int64_t rows, std::int64_t columns, bool is_double, std::uint64_t seed,
                                     NumberKind kind, std::int64_t period) {
  return is_double ? drawn_matrix<double>(rows, columns, seed, kind, period)
                   : drawn_matrix<float>(rows, columns, seed, kind, period);
}

}  // namespace heddle::fuzzy
