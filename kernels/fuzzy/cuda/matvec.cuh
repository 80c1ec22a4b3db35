// A matrix times a vector of fuzzy numbers. Each row is a dot product: its blocks of 2048 columns are summed as
// sums.hpp says, and then added one after the other. A warp takes some neighbouring rows, so that what it reads of the
// vector serves all of them.
//
//   parameter  meaning
//   Array      where components of vectors lie: LowerUpperArray, MidpointRadiusArray
//   Elements   of the matrix: RealElements, FuzzyRowElements
//   Cuts       cuts that a thread adds up; divides those of the array
//   Rows       that a warp takes
//   Ahead      steps of 32 columns that a warp reads the matrix ahead: into registers a divisor of the steps of a tile,
//              through a ring in shared memory a multiple of the 4 steps of a stage
//   Threads    of a block
//   Steps      of 32 columns in a tile of the vector, where the matrix goes through a ring: each tile is a barrier
//   Products   cuts with a product for either sign of an element, in place of a selected bound; of a real matrix in
//              lower-upper form
//   Wide       reals of the matrix that a lane copies at once: 16 bytes, where rows begin on a multiple of them
//
// A block of columns is added up as if all bounds and radii were finite (add_usual_product). Where that leaves
// something that is no number, the lane does it once more from memory as the number types define it.
#pragma once

#include "heddle/kernels/fuzzy/cuda/register_matvec.cuh"
#include "heddle/kernels/fuzzy/cuda/ring_matvec.cuh"
