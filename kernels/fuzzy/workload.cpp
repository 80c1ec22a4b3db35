#include "heddle/kernels/fuzzy/workload.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "heddle/kernels/random.hpp"

namespace heddle::fuzzy {
namespace {

template <class T>
T hostile_real(Random& random) {
  using Limits = std::numeric_limits<T>;
  const std::array reals{T(0),
                         T(1),
                         Limits::denorm_min(),
                         Limits::denorm_min() * 3,
                         Limits::min(),
                         1 + Limits::epsilon(),
                         1 - Limits::epsilon() / 2,
                         Limits::max(),
                         Limits::max() / 2,
                         T(0.1),
                         std::sqrt(Limits::max()),
                         std::sqrt(Limits::min()),
                         Limits::epsilon(),
                         T(3)};
  return static_cast<T>(random.sign()) *
         reals[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(reals.size())))];
}

template <class T>
T usual_real(Random& random) {
  return static_cast<T>(random.sign() * (0.25 + 0.5 * random.unit()));
}

template <class T>
T real_of(Random& random, NumberKind kind) {
  if (kind == NumberKind::usual || random.below(4) == 0) return usual_real<T>(random);
  if (random.below(2) == 0) return hostile_real<T>(random);
  return static_cast<T>(std::ldexp(random.symmetric(), static_cast<int>(random.below(61)) - 30));
}

/// Bounds from the outermost lower one to the outermost upper one.
template <class T>
void draw_bounds(Random& random, NumberKind kind, std::vector<T>& number) {
  const T at = real_of<T>(random, kind);
  const std::int64_t form = kind == NumberKind::usual ? 4 : random.below(8);
  for (T& bound : number) {
    if (form == 0) {
      bound = at;
    } else if (form == 1) {
      bound = random.below(2) == 0 ? at : std::nextafter(at, std::numeric_limits<T>::max());
    } else if (form <= 5) {
      bound = static_cast<T>(static_cast<double>(at) * (1.0 + random.symmetric() / 8));
    } else {
      bound = real_of<T>(random, kind);
    }
    if (std::isinf(bound)) bound = std::copysign(std::numeric_limits<T>::max(), bound);
  }
  std::ranges::sort(number);
  std::vector<T> ordered(number.size());
  for (std::size_t cut = 0; cut < number.size() / 2; ++cut) {
    ordered[2 * cut] = number[cut];
    ordered[2 * cut + 1] = number[number.size() - 1 - cut];
  }
  number = std::move(ordered);
  if (kind == NumberKind::hostile && random.below(32) == 0) {
    number[0] = -std::numeric_limits<T>::infinity();
    number[1] = std::numeric_limits<T>::infinity();
  }
}

template <class T>
void draw_radii(Random& random, NumberKind kind, std::vector<T>& number) {
  const T at = number[0] = real_of<T>(random, kind);
  const std::int64_t form = kind == NumberKind::usual ? 4 : random.below(8);
  for (auto radius = number.begin() + 1; radius != number.end(); ++radius) {
    *radius = form == 0   ? T(0)
              : form == 1 ? static_cast<T>(std::abs(std::nextafter(at, std::numeric_limits<T>::max()) - at))
              : form <= 5 ? static_cast<T>(std::abs(static_cast<double>(at) * random.symmetric() / 8))
                          : std::abs(real_of<T>(random, kind));
  }
  std::sort(number.begin() + 1, number.end(), std::greater<>());
  if (kind == NumberKind::hostile && random.below(32) == 0) number[1] = std::numeric_limits<T>::infinity();
}

template <class T>
std::vector<std::byte> drawn(const ArrayShape& shape, std::uint64_t seed, NumberKind kind) {
  Random random(seed);
  std::vector<T> array(static_cast<std::size_t>(shape.numbers * shape.components()));
  std::vector<T> number(static_cast<std::size_t>(shape.components()));
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    if (shape.encoding == Encoding::lower_upper) {
      draw_bounds(random, kind, number);
    } else {
      draw_radii(random, kind, number);
    }
    for (std::int64_t c = 0; c < shape.components(); ++c) {
      array[static_cast<std::size_t>(shape.place(i, c))] = number[static_cast<std::size_t>(c)];
    }
  }
  std::vector<std::byte> bytes(array.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), array.data(), bytes.size());
  return bytes;
}

std::size_t row_bytes(const ArrayShape& shape) {
  return static_cast<std::size_t>(shape.bytes() / (shape.layout == kNumbers ? 1 : shape.components()));
}

}  // namespace

std::vector<std::byte> random_array(const ArrayShape& shape, std::uint64_t seed, NumberKind kind, std::int64_t period) {
  ArrayShape first = shape;
  first.numbers = std::min(shape.numbers, period);
  const std::vector<std::byte> bytes =
      shape.is_double() ? drawn<double>(first, seed, kind) : drawn<float>(first, seed, kind);
  return repeated(bytes, first, shape);
}

// In either layout an array is made of rows, of which each repeats.

std::vector<std::byte> repeated(const std::vector<std::byte>& period, const ArrayShape& period_shape,
                                const ArrayShape& shape) {
  const std::size_t from_row = row_bytes(period_shape), to_row = row_bytes(shape);
  std::vector<std::byte> all(static_cast<std::size_t>(shape.bytes()));
  for (std::size_t from = 0, to = 0; to < all.size(); from += from_row, to += to_row) {
    for (std::size_t done = 0; done < to_row; done += from_row) {
      std::memcpy(all.data() + to + done, period.data() + from, std::min(from_row, to_row - done));
    }
  }
  return all;
}

std::vector<std::byte> first_numbers(const std::vector<std::byte>& array, const ArrayShape& shape,
                                     const ArrayShape& first) {
  const std::size_t from_row = row_bytes(shape), to_row = row_bytes(first);
  std::vector<std::byte> begin(static_cast<std::size_t>(first.bytes()));
  for (std::size_t from = 0, to = 0; to < begin.size(); from += from_row, to += to_row) {
    std::memcpy(begin.data() + to, array.data() + from, to_row);
  }
  return begin;
}

}  // namespace heddle::fuzzy
