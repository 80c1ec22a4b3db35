// A matrix times a vector of fuzzy numbers. Each row is a dot product: its blocks of 2048 columns are summed as
// sums.hpp says, and then added one after the other. A warp takes some neighbouring rows, so that what it reads of the
// vector serves all of them.
//
//   parameter  meaning
//   Array      where components of vectors lie: LowerUpperArray, MidpointRadiusArray
//   Cuts       cuts that a thread adds up; divides those of the array
//   Rows       that a warp takes
//   Ahead      steps of 32 columns that a warp reads the matrix ahead: of a fuzzy matrix into registers, a divisor of
//   the
//              steps of a tile; of a real one into shared memory, a multiple of them
//   Threads    of a block
//   Products   cuts whose bounds a product with 0 leaves out, not a selection; of a real matrix in lower-upper form
#pragma once

#include "heddle/kernels/fuzzy/cuda/fuzzy_matvec.cuh"
#include "heddle/kernels/fuzzy/cuda/real_matvec.cuh"
