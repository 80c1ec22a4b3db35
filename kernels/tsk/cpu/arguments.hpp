// Arguments of the CPU kernels: what mapping.cpp passes, in the same order. Compiled at run time too.
#pragma once

#include "heddle/kernels/tsk/control.cuh"
#include "heddle/kernels/tsk/cpu/sizes.hpp"

namespace heddle::tsk::cpu {
namespace {

/// A centre or a width, and what float32 leaves out of it: kernels/tsk/train.hpp.
template <class Real>
struct Stored {
  float *values, *low_parts;

  [[nodiscard]] Real get(long long i) const {
    return static_cast<Real>(values[i]) + (sizeof(Real) > sizeof(float) ? static_cast<Real>(low_parts[i]) : Real(0));
  }
  void set(long long i, Real value) const {
    values[i] = static_cast<float>(value);
    if (sizeof(Real) > sizeof(float)) low_parts[i] = static_cast<float>(value - static_cast<Real>(values[i]));
  }
};

/// Takes the arguments of a launch one after the other.
class ArgumentReader {
 public:
  explicit ArgumentReader(void* const* next) : next_(next) {}
  template <class T>
  [[nodiscard]] T* buffer() {
    return static_cast<T*>(*next_++);
  }
  [[nodiscard]] int number() { return *buffer<const int>(); }

 private:
  void* const* next_;
};

/// What both kernels have. The members of these structs are read in the order of their declaration.
template <class Real>
struct CommonArguments {
  const float *rows, *targets;  ///< N x D, N x L
  float *centres, *widths;
  float* low_parts;  ///< of centres, and then of widths
  const Control* control;
  Progress* progress;
  Real* antecedents;  ///< centres and 1 / width, 2 x K x D
  char* own;          ///< of each thread: BatchSizes::own() bytes
  double* sums;       ///< of each part: BatchSizes::sums()
  Real* kept;         ///< [tile][K][B]
  Sizes sizes;
  int parts;

  explicit CommonArguments(ArgumentReader& next)
      : rows(next.buffer<const float>()),
        targets(next.buffer<const float>()),
        centres(next.buffer<float>()),
        widths(next.buffer<float>()),
        low_parts(next.buffer<float>()),
        control(next.buffer<const Control>()),
        progress(next.buffer<Progress>()),
        antecedents(next.buffer<Real>()),
        own(next.buffer<char>()),
        sums(next.buffer<double>()),
        kept(next.buffer<Real>()),
        sizes{next.number(), next.number(), next.number(), next.number()},
        parts(next.number()) {}

  [[nodiscard]] Stored<Real> stored_centres() const { return {centres, low_parts}; }
  [[nodiscard]] Stored<Real> stored_widths() const { return {widths, low_parts + sizes.tasks()}; }
  /// The scratch of a thread that works on tiles of so many rows.
  [[nodiscard]] BatchSizes room(int tile_rows) const {
    return {static_cast<int>(sizes.rules),
            static_cast<int>(sizes.dim),
            static_cast<int>(sizes.outputs),
            static_cast<int>(sizes.terms),
            tile_rows,
            sizeof(Real)};
  }
};

template <class Real>
struct AccumulateArguments : CommonArguments<Real> {
  double* gram;  ///< [A][pitch], lower triangle; A = P + L
  int pitch;

  explicit AccumulateArguments(ArgumentReader next)
      : CommonArguments<Real>(next), gram(next.buffer<double>()), pitch(next.number()) {}
};

template <class Real>
struct DescendArguments : CommonArguments<Real> {
  float* consequents;
  float *best_centres, *best_widths, *best_consequents;
  double* errors;          ///< [slots][2], learnt and held back
  const double* solution;  ///< P x L
  const int* info;         ///< an Info
  int slots;

  explicit DescendArguments(ArgumentReader next)
      : CommonArguments<Real>(next),
        consequents(next.buffer<float>()),
        best_centres(next.buffer<float>()),
        best_widths(next.buffer<float>()),
        best_consequents(next.buffer<float>()),
        errors(next.buffer<double>()),
        solution(next.buffer<const double>()),
        info(next.buffer<const int>()),
        slots(next.number()) {}
};

}  // namespace
}  // namespace heddle::tsk::cpu
