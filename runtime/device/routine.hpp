// Routines that a plan may call between its kernels (Launch::routine), the same on every device that has them. Matrices
// are of doubles, where nothing else is said. What a solution says about itself is an int: see Info.
//
//   matrix_product    C = op(A) op(B) in float32, row after row; the same bits whenever it is called on a device
//       A         in      floats [m][k], or transposed [k][m]
//       B         in      floats [k][n], or transposed [n][k]
//       C         out     floats [m][n]
//       m, n, k, transposed A, transposed B   ints; the last two 0 or 1
//   normal_equations  min ||A X - Y||^2 + r ||X||^2 from its normal equations, by a Cholesky factorisation
//       gram      in      [P + L][pitch], lower triangle of (A|Y)^T (A|Y), row after row
//       X         out     [P][L], row after row
//       ridge     in      float: r over the largest diagonal element of A^T A
//       info      out     Info
//       P, L, pitch       ints
//   least_squares     the same from A itself, by an orthogonal factorisation
//       columns   in,out  A and then Y, column after column; overwritten
//       X, ridge, info    as above
//       N, P, L, pitch    ints; pitch: doubles from column to column, at least N + P. The rows N to N + P belong to the
//                         routine
#pragma once

#include "heddle/kernels/tsk/control.cuh"

namespace heddle {

/// Where A is rank deficient, a ridge of at least kOwnRidge is taken unasked: where the square of a diagonal element of
/// the triangular factor is no more than kRankTolerance times the largest diagonal element of A^T A.
enum class Info : int { solved = 0, own_ridge = 1, failed = 2 };
using tsk::kOwnRidge;
using tsk::kRankTolerance;

}  // namespace heddle
