// Sizes that the kernels of this folder and the host both compute: how many elements there are of what, and how a block
// divides its shared memory. Compiled by the C++ compiler too, so no other header is included.
//
// The pieces of a phase are what it takes from the shared memory of its block, in elements. The kernel takes as many as
// are written here, and the host launches it with the sum.
//
// `Int` is int in the kernels. On the host it has 64 bits: constraints are asked about sizes that fit nowhere.
#pragma once

namespace heddle::tsk {

template <class A, class B>
[[nodiscard]] constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

/// Elements of the lower triangle of a square matrix, its diagonal with them.
template <class Int>
[[nodiscard]] constexpr Int triangle(Int side) {
  return side * (side + 1) / 2;
}

/// The numbers of a system.
template <class Int>
struct Sizes {
  Int dim, outputs, rules, terms;  ///< D, L, K, T

  [[nodiscard]] constexpr Int unknowns() const { return rules * terms; }        ///< P
  [[nodiscard]] constexpr Int columns() const { return unknowns() + outputs; }  ///< of Phi and Y: A
  [[nodiscard]] constexpr Int tasks() const { return rules * dim; }             ///< centres, or widths
  [[nodiscard]] constexpr Int consequents() const { return unknowns() * outputs; }
  /// Sums of the second pass: the gradient by centres and by widths, and the squared errors of the rows learnt and held
  /// back.
  [[nodiscard]] constexpr Int slopes() const { return 2 * tasks() + 2; }
  /// Products of columns that the normal equations consist of: the lower triangle for Phi, and a row of P for each
  /// column of Y.
  [[nodiscard]] constexpr Int gram_elements() const { return triangle(unknowns()) + consequents(); }
  /// The product of the columns is computed in squares of side x side: how many squares its rows are.
  [[nodiscard]] constexpr Int sides(Int side) const { return ceil_div(columns(), side); }
};

/// Elements of the squares that cover the lower triangle.
template <class Result, class Int>
[[nodiscard]] constexpr Result elements_of_squares(Int sides, Int side) {
  return static_cast<Result>(sides) * (sides + 1) / 2 * side * side;
}

/// The pieces of accumulate(), of a block of rows x lanes threads.
template <class Int>
struct AccumulatePieces {
  Int columns;      ///< doubles: a tile of rows, `pitch` apart; in the end the square of each thread
  Int phi;          ///< floats: a tile of rows, `phi_pitch` apart
  Int antecedents;  ///< floats, twice: centres and 1 / widths

  constexpr AccumulatePieces(const Sizes<Int>& sizes, Int rows, Int lanes, Int side, Int pitch, Int phi_pitch)
      : columns(rows * pitch > rows * lanes * side * side ? rows * pitch : rows * lanes * side * side),
        phi(rows * phi_pitch),
        antecedents(sizes.tasks()) {}
  [[nodiscard]] constexpr Int words() const { return 2 * columns + phi + 2 * antecedents; }
};

/// The pieces of descend(), of a block of rows x lanes threads.
template <class Int>
struct DescendPieces {
  Int span;         ///< threads that take one row's slopes together
  Int groups;       ///< of so many threads
  Int slopes;       ///< doubles: of every group
  Int squares;      ///< doubles: two of every thread
  Int phi;          ///< floats: a tile of rows, `phi_pitch` apart
  Int outputs;      ///< floats, twice: errors and outputs of a tile
  Int consequents;  ///< floats
  Int antecedents;  ///< floats, twice: centres and 1 / widths

  constexpr DescendPieces(const Sizes<Int>& sizes, Int rows, Int lanes, Int phi_pitch)
      : span(sizes.tasks() < rows * lanes ? sizes.tasks() : rows * lanes),
        groups(rows * lanes / span),
        slopes(2 * sizes.tasks() * groups),
        squares(2 * rows * lanes),
        phi(rows * phi_pitch),
        outputs(rows * sizes.outputs),
        consequents(sizes.consequents()),
        antecedents(sizes.tasks()) {}
  [[nodiscard]] constexpr Int words() const {
    return 2 * (slopes + squares) + phi + 2 * outputs + consequents + 2 * antecedents;
  }
};

/// The pieces of solve().
template <class Int>
struct SolvePieces {
  Int pitch;    ///< doubles of a row: odd, so that the elements of a column lie in different banks
  Int matrix;   ///< doubles
  Int inverse;  ///< doubles: of the pivots

  explicit constexpr SolvePieces(const Sizes<Int>& sizes)
      : pitch(sizes.unknowns() | 1), matrix(sizes.columns() * pitch), inverse(sizes.unknowns()) {}
  [[nodiscard]] constexpr Int words() const { return 2 * (matrix + inverse); }
};

/// The piece of gather_gram(), gather_slopes() and move_parameters(): a double for each thread.
template <class Int>
struct SumPieces {
  Int parts;  ///< doubles

  explicit constexpr SumPieces(Int threads) : parts(threads) {}
  [[nodiscard]] constexpr Int words() const { return 2 * parts; }
};

}  // namespace heddle::tsk
