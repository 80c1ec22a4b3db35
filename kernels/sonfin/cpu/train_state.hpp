// Data of the CPU training templates: arguments, records that threads publish, notes from one phase to the next.
// Compiled at run time too.
#pragma once

#include "heddle/kernels/common/cpu_vector.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cpu/sizes.hpp"

namespace heddle::sonfin::cpu {
namespace {

using namespace heddle::cpu;

/// Arguments of the training kernels, in their order.
struct TrainArguments {
  float *centres, *widths, *consequents;
  Progress* progress;
  const Control* control;
  const float *rows, *targets;
  const int* order;
  float* inverse;  ///< 1 / widths, laid out like them: what changes during a run
  float *records, *scratch;
  int samples;
  long long stride, target_stride;
  int outputs;
  int rules;  ///< there is room for; more are never live
  int prune;  ///< give up rules at multiples of this many inputs; 0: never
  int banks;

  explicit TrainArguments(void* const* a)
      : centres(static_cast<float*>(a[0])),
        widths(static_cast<float*>(a[1])),
        consequents(static_cast<float*>(a[2])),
        progress(static_cast<Progress*>(a[3])),
        control(static_cast<const Control*>(a[4])),
        rows(static_cast<const float*>(a[5])),
        targets(static_cast<const float*>(a[6])),
        order(static_cast<const int*>(a[7])),
        inverse(static_cast<float*>(a[8])),
        records(static_cast<float*>(a[9])),
        scratch(static_cast<float*>(a[10])),
        samples(*static_cast<const int*>(a[11])),
        stride(*static_cast<const int*>(a[12])),
        target_stride(*static_cast<const int*>(a[13])),
        outputs(*static_cast<const int*>(a[14])),
        rules(*static_cast<const int*>(a[15])),
        prune(*static_cast<const int*>(a[16])),
        banks(*static_cast<const int*>(a[17])) {}
};

/// The antecedents of one bank.
struct Antecedents {
  float *centres, *widths, *inverse;
  long long stride;
  int prune;
  float largest_inverse;  ///< 1 / sigma_min
};

/// Of `count` inputs and a centre whose values are `apart` floats from each other. The sum is in float64: thousands of
/// squares in one of float32 would lose three digits, and with them those of a new rule's widths.
inline float squared_distance_between(const float* x, const float* centre, long long apart, long long count) {
  double sum = 0.0;
  for (long long j = 0; j < count; ++j) {
    const double distance = x[j] - centre[j * apart];
    sum += distance * distance;
  }
  return static_cast<float>(sum);
}

/// The record that a bank publishes about its rules at one sample. The sums weighted by each output's consequents
/// follow it in memory.
struct Record {
  float largest;           ///< log firing; -infinity if the bank has no rule
  int rule;                ///< whose that is, the lowest of equals
  float sum;               ///< of exp(log firing - largest)
  float squared_distance;  ///< |x - m|^2 of that rule, where a new rule may be wanted

  float* weighted() { return reinterpret_cast<float*>(this + 1); }
};

/// Notes of a bank from one phase of a sample to the next; tiles are numbered within the bank.
struct Notes {
  float* weight;   ///< [tile][W]: exp(log firing - largest of this bank)
  float* firing;   ///< [tile][W]: log firing; -infinity: no such rule, or one that cannot matter
  float* step;     ///< [tile][W]: -2 tau_a g_k, 0 where negligible
  float* largest;  ///< [tile]: of firing
  int* moves;      ///< [tile]: a Move
  int* active;     ///< how many tiles have a rule that matters at this sample, and then which

  Notes(float* from, const TrainSizes& sizes)
      : weight(from),
        firing(weight + sizes.bank_tiles() * sizes.width),
        step(firing + sizes.bank_tiles() * sizes.width),
        largest(step + sizes.bank_tiles() * sizes.width),
        moves(reinterpret_cast<int*>(largest + sizes.bank_tiles())),
        active(moves + sizes.bank_tiles()) {}
};

/// The result of all records for a sample. Every thread computes the same.
struct Answer {
  float* output;      ///< y; padding 0
  float* error;       ///< e; padding 0
  float largest;      ///< log firing of all rules
  float inverse_sum;  ///< 1 / sum of exp(log firing - largest)
  int added;          ///< the rule that this sample added; -1: none
};

/// One sample to be learnt, and one to be fired after that. Null: none.
struct Samples {
  const float *learned, *fired;
};

/// How the rules of a tile move: not at all; by so little that kSmallGrowth holds; by any amount; by the plain step.
enum Move : int { kStill, kSmall, kLarge, kPlain };

/// Bound of |step u^2| below which 1 / (1 + step u^2) needs no division. A step's u^2 sum to minus the log firing,
/// which therefore bounds each.
constexpr float kSmallGrowth = 1.0f / 256.0f;

/// New centres and inverse widths of W tasks, whose rules have `step` = -2 tau_a g; x: the sample learnt. With u =
/// (x - m) / sigma the scaled step multiplies sigma by 1 + step u^2, the plain one by 1 + step u^2 / sigma^2.
template <int W, Move How>
inline void move(Float<W>& centre, Float<W>& inverse, Float<W> x, Float<W> step, float largest_inverse) {
  const Float<W> distance = x - centre;
  const Float<W> scaled = How == kPlain ? step * inverse * inverse : step;
  const Float<W> u = distance * inverse;
  centre += scaled * distance;
  const Float<W> growth = scaled * u * u;
  if constexpr (How == kSmall) {
    inverse -= inverse * growth * (1.0f - growth);  // to the cube of growth, half a unit in the last place
  } else {
    inverse /= larger<W>(1.0f + growth, broadcast<W>(1e-20f));  // below 0 the width shrinks to its least
  }
  inverse = smaller<W>(inverse, broadcast<W>(largest_inverse));
}

/// exp(value - top), 0 for a value that is absent, even if the top is absent too.
inline float exp_below(float value, float top) { return value == -kInfinity ? 0.0f : exp_of_negative(value - top); }

}  // namespace
}  // namespace heddle::sonfin::cpu
