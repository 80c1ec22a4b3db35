#include "heddle/kernels/fuzzy/sum_reference.hpp"

#include <algorithm>
#include <cstring>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/fuzzy/cut_view.hpp"
#include "heddle/kernels/fuzzy/host_cuts.hpp"
#include "heddle/kernels/fuzzy/sums.hpp"

namespace heddle::fuzzy {
namespace {

CutView view_of(const ArrayShape& shape, std::int64_t cut) {
  return cut_view(shape.layout, shape.numbers, static_cast<int>(shape.components()), static_cast<int>(cut));
}

template <class Number>
Number number_at(std::span<const std::byte> array, const CutView& view, std::int64_t i) {
  Number number;
  load_cut(reinterpret_cast<const typename Number::Real*>(array.data()), view, i, number);
  return number;
}
template <class Number>
void store_number(std::vector<std::byte>& array, const CutView& view, std::int64_t i, const Number& number) {
  store_cut(reinterpret_cast<typename Number::Real*>(array.data()), view, i, number);
}

/// Whether `count` elements from `i` on have the same bytes as those from `j` on.
bool same_numbers(const ArrayShape& shape, std::span<const std::byte> array, std::int64_t i, std::int64_t j,
                  std::int64_t count) {
  const std::int64_t real = shape.is_double() ? 8 : 4;
  const bool together = shape.layout == kNumbers;
  for (std::int64_t c = 0; c < (together ? 1 : shape.components()); ++c) {
    const auto place = [&](std::int64_t number) { return array.data() + real * shape.place(number, c); };
    const std::int64_t bytes = real * count * (together ? shape.components() : 1);
    if (std::memcmp(place(i), place(j), at(bytes)) != 0) return false;
  }
  return true;
}

/// Arrays for tests and timing repeat. A part whose operands have been met is not computed again: `met(part, before)`
/// says whether those of two parts are the same. The parts before that are looked at: those of the first period.
constexpr std::int64_t kMostPeriod = 64;

template <class Number, class Same, class Make>
std::vector<Number> parts(std::int64_t count, const Same& same, const Make& make) {
  std::vector<Number> all;
  all.reserve(at(count));
  std::int64_t period = 0;
  for (std::int64_t part = 0; part < count; ++part) {
    if (period == 0 && part > 0 && part <= kMostPeriod && same(part, 0)) period = part;
    const bool known = period > 0 && same(part, part % period);
    all.push_back(known ? all[at(part % period)] : make(part));
  }
  return all;
}

/// Adds up numbers, level by level.
template <class Number>
Number sum_of_numbers(std::vector<Number> numbers) {
  while (numbers.size() > 1) {
    std::vector<Number> next;
    const auto count = static_cast<std::int64_t>(numbers.size());
    next.reserve(at(blocks_of(count)));
    for (std::int64_t first = 0; first < count; first += kBlockTerms) {
      const auto terms = static_cast<int>(std::min<std::int64_t>(kBlockTerms, count - first));
      next.push_back(sum_of_block<Number>(terms, [&](Number& sum, int i) { add_term(sum, numbers[at(first + i)]); }));
    }
    numbers = std::move(next);
  }
  return numbers.front();
}

template <class T>
const T* reals(std::span<const std::byte> bytes) {
  return reinterpret_cast<const T*>(bytes.data());
}

/// Of one cut; `add(sum, i)` adds term i.
template <class Number, class Same, class Add>
Number sum_of_terms(std::int64_t count, const Same& same, const Add& add) {
  const auto terms_of = [&](std::int64_t block) {
    return std::min<std::int64_t>(kBlockTerms, count - block * kBlockTerms);
  };
  return sum_of_numbers(parts<Number>(
      std::max<std::int64_t>(blocks_of(count), 1),
      [&](std::int64_t block, std::int64_t before) {
        return terms_of(block) == kBlockTerms && same(block * kBlockTerms, before * kBlockTerms);
      },
      [&](std::int64_t block) {
        return sum_of_block<Number>(static_cast<int>(terms_of(block)),
                                    [&](Number& sum, int i) { add(sum, block * kBlockTerms + i); });
      }));
}

/// `y`: empty for a sum.
template <class Number>
std::vector<std::byte> sum_of_arrays(const ArrayShape& shape, std::span<const std::byte> x,
                                     std::span<const std::byte> y) {
  ArrayShape one = shape;
  one.numbers = 1;
  std::vector<std::byte> result(at(one.bytes()));
  const auto same = [&](std::int64_t i, std::int64_t j) {
    return same_numbers(shape, x, i, j, kBlockTerms) && (y.empty() || same_numbers(shape, y, i, j, kBlockTerms));
  };
  for (std::int64_t cut = 0; cut < shape.cuts; ++cut) {
    const CutView view = view_of(shape, cut);
    const Number sum = sum_of_terms<Number>(shape.numbers, same, [&](Number& so_far, std::int64_t i) {
      if (y.empty()) {
        add_term(so_far, number_at<Number>(x, view, i));
      } else {
        add_product(so_far, number_at<Number>(x, view, i), number_at<Number>(y, view, i));
      }
    });
    store_number(result, view_of(one, cut), 0, sum);
  }
  return result;
}

template <class Number>
std::vector<std::byte> product_of_matrix(MatrixKind kind, std::int64_t rows, std::span<const std::byte> matrix,
                                         const ArrayShape& shape, std::span<const std::byte> vector) {
  using T = typename Number::Real;
  const std::int64_t columns = shape.numbers;
  ArrayShape elements = shape, outputs = shape;
  elements.numbers = rows * columns;
  outputs.numbers = rows;
  std::vector<std::byte> result(at(outputs.bytes()));
  const auto same = [&](std::int64_t row, std::int64_t before) {
    if (kind == MatrixKind::fuzzy) return same_numbers(elements, matrix, row * columns, before * columns, columns);
    const auto place = [&](std::int64_t r) { return reals<T>(matrix) + r * columns; };
    return std::memcmp(place(row), place(before), at(columns) * sizeof(T)) == 0;
  };
  for (std::int64_t cut = 0; cut < shape.cuts; ++cut) {
    const CutView of_vector = view_of(shape, cut), of_matrix = view_of(elements, cut);
    const std::vector<Number> sums = parts<Number>(rows, same, [&](std::int64_t row) {
      Number total;
      clear(total);
      for (std::int64_t first = 0; first < columns; first += kBlockTerms) {
        const auto terms = static_cast<int>(std::min<std::int64_t>(kBlockTerms, columns - first));
        add_term(total, sum_of_block<Number>(terms, [&](Number& sum, int i) {
                   const std::int64_t place = row * columns + first + i;
                   const Number x = number_at<Number>(vector, of_vector, first + i);
                   if (kind == MatrixKind::crisp) {
                     add_product(sum, reals<T>(matrix)[place], x);
                   } else {
                     add_product(sum, number_at<Number>(matrix, of_matrix, place), x);
                   }
                 }));
      }
      return closed_sum(total);
    });
    for (std::int64_t row = 0; row < rows; ++row) {
      store_number(result, view_of(outputs, cut), row, sums[at(row)]);
    }
  }
  return result;
}

}  // namespace

std::vector<std::byte> sum_of(const ArrayShape& shape, std::span<const std::byte> x) {
  return with_number_of(shape, [&](auto number) { return sum_of_arrays<decltype(number)>(shape, x, {}); });
}

std::vector<std::byte> dot_product(const ArrayShape& shape, std::span<const std::byte> x,
                                   std::span<const std::byte> y) {
  return with_number_of(shape, [&](auto number) { return sum_of_arrays<decltype(number)>(shape, x, y); });
}

std::vector<std::byte> matrix_vector_product(MatrixKind kind, std::int64_t rows, std::span<const std::byte> matrix,
                                             const ArrayShape& vector_shape, std::span<const std::byte> vector) {
  return with_number_of(vector_shape, [&](auto number) {
    return product_of_matrix<decltype(number)>(kind, rows, matrix, vector_shape, vector);
  });
}

}  // namespace heddle::fuzzy
