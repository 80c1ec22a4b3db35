// Data that the host and the kernels of the Takagi-Sugeno-Kang families exchange, and the rule for the step size:
// compiled by the C++ compiler, by NVRTC and by the run-time C++ compiler alike, so only headers of that kind are
// included.
#pragma once

#include "heddle/kernels/sonfin/control.cuh"

#ifdef __CUDACC__
#define HEDDLE_EVERYWHERE __device__ __forceinline__
#else
#define HEDDLE_EVERYWHERE [[maybe_unused]] inline
#endif

namespace heddle::tsk {

/// Written by the host before a run; the kernels only read it. Formulas: docs/design.md, "Batch least squares and
/// gradient".
struct Control {
  sonfin::PredictControl all;  ///< rules, and all rows: what kernels for activations alone read
  int rows;                    ///< learnt: the first rows of the buffer
  int held_back;               ///< rows after them whose error is measured and that teach nothing
  int end;                     ///< iterations to be done: a run that gets there changes nothing more
  int patience;                ///< iterations without a better error on the rows held back; 0: any number
  int plain_step;              ///< 1: step = rate * gradient; 0: of length Progress::step along the gradient
  float rate;                  ///< of the plain step
  float minimum_width;         ///< no width becomes smaller
  float ridge;                 ///< times the largest diagonal element of Phi^T Phi, added to the diagonal
  float target_error;          ///< halt at this error; 0: never
};

/// The outcome of the least squares, an int in the buffer "info".
enum Info { kSolved = 0, kOwnRidgeTaken = 1, kNoSolution = 2 };

/// kLostBlock: a block waited in vain for another.
enum Halt { kGoesOn = 0, kTargetReached = 1, kNoImprovement = 2, kDiverged = 3, kLostBlock = 4 };

constexpr int kRecent = 5;

/// Carried by the kernels from iteration to iteration; the host reads it after a run.
struct Progress {
  int iteration;       ///< done
  int halted;          ///< a Halt
  int best_iteration;  ///< from 1; 0: none
  int ridges;          ///< iterations that were rank deficient and got a ridge unasked
  int grown;           ///< iteration in which the step last grew
  int shrunk;          ///< or shrank
  double step;
  double best_error;       ///< mean squared error of best_iteration, on the rows held back if there are any
  double recent[kRecent];  ///< errors of the rows learnt, newest first
};

/// Diagonal elements of the factor of Phi^T Phi whose square is no more than this times the largest diagonal element
/// make it rank deficient.
constexpr double kRankTolerance = 1e-12;
/// The ridge of a rank deficient Phi, in units of Control::ridge.
constexpr double kOwnRidge = 1e-9;

// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

/// Whether a number is neither infinite nor NaN.
HEDDLE_EVERYWHERE bool is_finite(double value) { return value - value == 0.0; }

/// Counts an iteration whose errors are known: whether its system is the best so far, whether training ends here, and
/// how long the next step is (Jang 1993: 10 % longer after four falling errors, 10 % shorter after two swings).
/// Returns whether it is the best.
HEDDLE_EVERYWHERE bool count_iteration(const Control& control, Progress& progress, double error, double held_back,
                                       bool own_ridge) {
  if (!is_finite(error)) {
    progress.halted = kDiverged;
    return false;
  }
  const int iteration = ++progress.iteration;
  if (own_ridge) progress.ridges += 1;
  for (int i = kRecent - 1; i > 0; --i) progress.recent[i] = progress.recent[i - 1];
  progress.recent[0] = error;

  const double judged = control.held_back > 0 ? held_back : error;
  const bool best = progress.best_iteration == 0 || judged < progress.best_error;
  if (best) {
    progress.best_iteration = iteration;
    progress.best_error = judged;
  } else if (control.held_back > 0 && control.patience > 0 && iteration - progress.best_iteration >= control.patience) {
    progress.halted = kNoImprovement;
  }
  if (control.target_error > 0.0f && error <= static_cast<double>(control.target_error)) {
    progress.halted = kTargetReached;
  }

  int falls = 0, swings = 0;
  for (int i = 0; i + 1 < kRecent; ++i) {
    const bool falling = progress.recent[i] < progress.recent[i + 1];
    if (falling) ++falls;
    if (i > 0 && falling != (progress.recent[i - 1] < progress.recent[i])) ++swings;
  }
  const bool known = iteration >= kRecent;
  if (known && falls == kRecent - 1 && iteration - progress.grown >= kRecent - 1) {
    progress.step *= 1.1;
    progress.grown = iteration;
  } else if (known && swings == kRecent - 2 && iteration - progress.shrunk >= kRecent - 1) {
    progress.step *= 0.9;
    progress.shrunk = iteration;
  }
  return best;
}

template <class Real>
HEDDLE_EVERYWHERE Real no_smaller(Real value, Real least) {
  return value < least ? least : value;
}

}  // namespace
}  // namespace heddle::tsk
