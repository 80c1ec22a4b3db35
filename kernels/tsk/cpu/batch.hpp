// One iteration of batch least squares and gradient on a CPU, in two kernels with the solution of the least squares
// between them. Compiled at run time, and at build time for the configurations that need no compiler.
//
//   accumulate   Phi^T Phi and Phi^T Y of the rows learnt
//   descend      outputs, errors and gradient with the solution; the step; the bookkeeping
//
// Tiles of B rows are dealt to as many parts as the configuration has threads, and each part sums on its own; the sums
// of all parts are added in their order. So the result does not depend on how many threads do the parts. Inside a tile
// the row moves fastest, so that vector lanes run over rows and no sum crosses lanes before the end of a tile. The
// columns of Phi and Y together are the columns of one matrix: the lower triangle of its product with itself holds all
// that least squares need. Sums over rows are float64.
//
//   parameter  meaning
//   W          floats in a vector register
//   B          rows in a tile, a multiple of W
//   Side       columns x columns of the product that stay in registers
//   Kept       1: activations are stored for the second kernel; 0: it computes them again
//   Real       of activations, outputs and gradient, and of centres and widths: float, or double where rows are few
//              (why: kernels/tsk/cuda/resident.cuh)
//
// Buffers and sizes: arguments.hpp.
#pragma once

#include "heddle/kernels/tsk/cpu/accumulate.hpp"
#include "heddle/kernels/tsk/cpu/descend.hpp"

namespace heddle::tsk::cpu {
namespace {

template <int W, int B, int Side, int Kept, class Real>
void accumulate(const LaunchContext& context, void* const* arguments) {
  Accumulator<kLanes<Real, W>, B, Side, Kept, Real>(context, arguments).run();
}

template <int W, int B, int Kept, class Real>
void descend(const LaunchContext& context, void* const* arguments) {
  Descent<kLanes<Real, W>, B, Kept, Real>(context, arguments).run();
}

}  // namespace
}  // namespace heddle::tsk::cpu
