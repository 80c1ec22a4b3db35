// Sums and products of arrays of fuzzy numbers on the host, by the number types and in the order of sums.hpp: what
// every kernel gives bit by bit, but for the sign of a zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::fuzzy {

/// The elements of a matrix: real numbers of the vector's type, or fuzzy numbers of its form. The values of the axis
/// "matrix".
enum class MatrixKind : std::int64_t { crisp = 1, fuzzy = 2 };

/// The sum of an array's numbers: an array of one number. 0 if there are none.
[[nodiscard]] std::vector<std::byte> sum_of(const ArrayShape& shape, std::span<const std::byte> x);
/// The sum of the products of the numbers of two arrays of the same shape.
[[nodiscard]] std::vector<std::byte> dot_product(const ArrayShape& shape, std::span<const std::byte> x,
                                                 std::span<const std::byte> y);
/// The product of a matrix of `rows` rows and a vector: an array of `rows` numbers of the vector's form. The matrix is
/// stored row after row; one of fuzzy numbers is an array of rows * vector_shape.numbers numbers.
[[nodiscard]] std::vector<std::byte> matrix_vector_product(MatrixKind kind, std::int64_t rows,
                                                           std::span<const std::byte> matrix,
                                                           const ArrayShape& vector_shape,
                                                           std::span<const std::byte> vector);

}  // namespace heddle::fuzzy
