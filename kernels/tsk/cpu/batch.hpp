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
//   buffer     contents
//   antecedents  centres and 1 / width, 2 x K x D
//   gram       [A][pitch] doubles, lower triangle; A = P + L
//   own        of each thread: BatchSizes::own() bytes
//   sums       of each part: BatchSizes::sums() doubles
//   kept       [tile][K][B]
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/common/cpu_vector.hpp"
#include "heddle/kernels/tsk/control.cuh"
#include "heddle/kernels/tsk/cpu/sizes.hpp"

namespace heddle::tsk::cpu {
namespace {

using namespace heddle::cpu;

/// W numbers.
template <class Real, int W>
struct Lanes {
  typedef Real Vector __attribute__((vector_size(sizeof(Real) * W)));
  /// The same in memory, at any address.
  typedef Real Loose __attribute__((vector_size(sizeof(Real) * W), aligned(sizeof(Real)), may_alias));
};
/// Of a register that has so many floats.
template <class Real, int Floats>
constexpr int kLanes = Floats * sizeof(float) / sizeof(Real);
template <class Real, int W>
using Vector = typename Lanes<Real, W>::Vector;
template <class Real, int W>
inline Vector<Real, W> load_lanes(const Real* from) {
  return *reinterpret_cast<const typename Lanes<Real, W>::Loose*>(from);
}
template <class Real, int W>
inline void store_lanes(Real* to, Vector<Real, W> value) {
  *reinterpret_cast<typename Lanes<Real, W>::Loose*>(to) = value;
}
template <class Real, int W>
inline Vector<Real, W> in_all_lanes(Real value) {
  return value - Vector<Real, W>{};  // adding 0 would change -0, so it costs an instruction
}
template <class Real, int W>
inline double sum_of_all(Vector<Real, W> v) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return static_cast<double>(sum_of_lanes<W>(v));
  } else {
    double total = 0.0;
    for (int i = 0; i < W; ++i) total += v[i];
    return total;
  }
}

/// exp_of_negative() in float64: Taylor's polynomial on [-ln 2 / 2, ln 2 / 2]; exactly 0 below -700.
template <int W>
inline Vector<double, W> exp_in_double(Vector<double, W> x) {
  typedef long long Bits __attribute__((vector_size(8 * W)));
  constexpr double kLeast = -700.0;
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to whole numbers, in the low bits
  const Vector<double, W> clamped = x > kLeast ? x : in_all_lanes<double, W>(kLeast);
  const Vector<double, W> shifted = clamped * 1.4426950408889634 + shift;
  const Vector<double, W> whole = shifted - shift;
  // ln 2 in two parts, the first of few enough bits for its product to be exact.
  const Vector<double, W> rest = (clamped - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
  Vector<double, W> p = in_all_lanes<double, W>(1.0 / 479001600.0);  // 1 / 12!, and then 1 / 11!, ...
  constexpr double kFactorials[] = {39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0,
                                    120.0,      24.0,      6.0,      2.0,     1.0,    1.0};
#pragma GCC unroll 16
  for (const double factorial : kFactorials) p = p * rest + 1.0 / factorial;
  const Bits power = ((Bits)shifted << 52) + (Bits)p;  // times 2^whole; the constant part shifts out
  return x < kLeast ? Vector<double, W>{} : (Vector<double, W>)power;
}
template <class Real, int W>
inline Vector<Real, W> exponential(Vector<Real, W> x) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return exp_of_negative<W>(x);
  } else {
    return exp_in_double<W>(x);
  }
}

/// The problem, the same for both kernels.
struct Sizes {
  long long dim, outputs, rules, terms;
  [[nodiscard]] long long unknowns() const { return rules * terms; }
  [[nodiscard]] long long columns() const { return unknowns() + outputs; }
};

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

/// Activations of the rows of one tile.
template <class Real, int W, int B>
class Activator {
 public:
  using V = Vector<Real, W>;
  Activator(const float* rows, const Real* antecedents, Real* x, const Sizes& sizes)
      : rows_(rows), centres_(antecedents), inverse_(antecedents + sizes.rules * sizes.dim), x_(x), sizes_(sizes) {}

  /// x[j][b] of `count` rows from `first` on; a tile that is not full repeats its last row.
  void fetch(long long first, int count) const {
    for (int b = 0; b < B; ++b) {
      const float* row = rows_ + (first + (b < count ? b : count - 1)) * sizes_.dim;
      for (long long j = 0; j < sizes_.dim; ++j) x_[j * B + b] = static_cast<Real>(row[j]);
    }
  }

  /// phi[k][b] of the rows fetched.
  void activate(Real* phi) const {
    for (int b = 0; b < B; b += W) {
      V best = in_all_lanes<Real, W>(-static_cast<Real>(kInfinity));
      long long k = 0;
      for (; k + 4 <= sizes_.rules; k += 4) fire<4>(phi, k, b, best);
      for (; k < sizes_.rules; ++k) fire<1>(phi, k, b, best);
      V sum{};
      for (k = 0; k < sizes_.rules; ++k) {
        const V weight = exponential<Real, W>(load_lanes<Real, W>(phi + k * B + b) - best);
        store_lanes<Real, W>(phi + k * B + b, weight);
        sum += weight;
      }
      const V scale = Real(1) / sum;
      for (k = 0; k < sizes_.rules; ++k)
        store_lanes<Real, W>(phi + k * B + b, load_lanes<Real, W>(phi + k * B + b) * scale);
    }
  }

 private:
  template <int Rules>
  void fire(Real* phi, long long k, int b, V& best) const {
    V sum[Rules] = {};
    const Real* c = centres_ + k * sizes_.dim;
    const Real* r = inverse_ + k * sizes_.dim;
    for (long long j = 0; j < sizes_.dim; ++j) {
      const V x = load_lanes<Real, W>(x_ + j * B + b);
#pragma GCC unroll 4
      for (int i = 0; i < Rules; ++i) {
        const V u = (x - in_all_lanes<Real, W>(c[i * sizes_.dim + j])) * in_all_lanes<Real, W>(r[i * sizes_.dim + j]);
        sum[i] += u * u;
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < Rules; ++i) {
      const V log_firing = sum[i] * Real(-0.5);
      store_lanes<Real, W>(phi + (k + i) * B + b, log_firing);
      best = best > log_firing ? best : log_firing;
    }
  }

  const float* rows_;
  const Real *centres_, *inverse_;
  Real* x_;
  const Sizes& sizes_;
};

template <int W, int B, int Side, int Kept, class Real>
class Accumulator {
 public:
  Accumulator(const LaunchContext& context, void* const* a)
      : context_(context),
        rows_(static_cast<const float*>(a[0])),
        targets_(static_cast<const float*>(a[1])),
        centres_{static_cast<float*>(a[2]), static_cast<float*>(a[11])},
        widths_{static_cast<float*>(a[3]),
                centres_.low_parts + *static_cast<const int*>(a[14]) * *static_cast<const int*>(a[12])},
        control_(*static_cast<const Control*>(a[4])),
        progress_(*static_cast<const Progress*>(a[5])),
        antecedents_(static_cast<Real*>(a[6])),
        gram_(static_cast<double*>(a[7])),
        sums_(static_cast<double*>(a[9])),
        kept_(static_cast<Real*>(a[10])),
        sizes_{*static_cast<const int*>(a[12]), *static_cast<const int*>(a[13]), *static_cast<const int*>(a[14]),
               *static_cast<const int*>(a[15])},
        pitch_(*static_cast<const int*>(a[16])),
        parts_(*static_cast<const int*>(a[17])),
        room_{static_cast<int>(sizes_.rules),
              static_cast<int>(sizes_.dim),
              static_cast<int>(sizes_.outputs),
              static_cast<int>(sizes_.terms),
              B,
              sizeof(Real)},
        x_(reinterpret_cast<Real*>(static_cast<char*>(a[8]) + context.thread * room_.own())),
        phi_(x_ + room_.inputs()),
        columns_(reinterpret_cast<double*>(phi_ + room_.activations())) {}

  void run() {
    if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;
    const long long tasks = sizes_.rules * sizes_.dim;
    for (long long i = context_.thread; i < tasks; i += context_.threads) {
      antecedents_[i] = centres_.get(i);
      antecedents_[tasks + i] = Real(1) / widths_.get(i);
    }
    meet(context_, 1);

    for (int part = context_.thread; part < parts_; part += context_.threads) accumulate(part);
    meet(context_, 2);
    gather();
  }

 private:
  static constexpr int kDoubles = W * sizeof(Real) / sizeof(double);  // in one register
  using Doubles = Vector<double, kDoubles>;
  [[nodiscard]] long long sides() const { return (sizes_.columns() + Side - 1) / Side; }
  [[nodiscard]] long long pairs() const { return sides() * (sides() + 1) / 2; }

  /// Products of the columns of all rows of a part.
  void accumulate(int part) {
    double* own = sums_ + part * room_.sums();
    for (long long i = 0; i < pairs() * Side * Side; ++i) own[i] = 0.0;
    const Activator<Real, W, B> activator(rows_, antecedents_, x_, sizes_);
    const long long all = static_cast<long long>(control_.rows) + (Kept != 0 ? control_.held_back : 0);
    for (long long tile = part; tile * B < all; tile += parts_) {
      const long long first = tile * B;
      activator.fetch(first, static_cast<int>(all - first < B ? all - first : B));
      Real* phi = Kept != 0 ? kept_ + tile * sizes_.rules * B : phi_;
      activator.activate(phi);
      const long long learnt = control_.rows - first;
      if (learnt <= 0) continue;
      fill_columns(first, static_cast<int>(learnt < B ? learnt : B), phi);
      for (long long i = 0, pair = 0; i < sides(); ++i) {
        for (long long j = 0; j <= i; ++j, ++pair) multiply(i * Side, j * Side, own + pair * Side * Side);
      }
    }
  }

  /// columns[c][b]: Phi, then Y, then zeros up to whole sides; rows that are not learnt are 0.
  void fill_columns(long long first, int learnt, const Real* phi) {
    double* to = columns_;
    for (long long k = 0; k < sizes_.rules; ++k) {
      const Real* own = phi + k * B;
      for (int b = 0; b < B; ++b) to[b] = b < learnt ? static_cast<double>(own[b]) : 0.0;
      for (long long t = 1; t < sizes_.terms; ++t) {
        const Real* x = x_ + (t - 1) * B;
        for (int b = 0; b < B; ++b) to[t * B + b] = to[b] * static_cast<double>(x[b]);
      }
      to += sizes_.terms * B;
    }
    for (long long l = 0; l < sizes_.outputs; ++l, to += B) {
      for (int b = 0; b < B; ++b) {
        to[b] = b < learnt ? static_cast<double>(targets_[(first + b) * sizes_.outputs + l]) : 0.0;
      }
    }
    for (double* end = columns_ + sides() * Side * B; to < end; ++to) *to = 0.0;
  }

  /// Products of columns i, i + 1, ... with columns j, j + 1, ..., added to `sums`.
  void multiply(long long i, long long j, double* sums) const {
    Doubles part[Side][Side] = {};
    const double* a = columns_ + i * B;
    const double* c = columns_ + j * B;
    for (int b = 0; b < B; b += kDoubles) {
      Doubles right[Side];
#pragma GCC unroll 8
      for (int s = 0; s < Side; ++s) right[s] = load_lanes<double, kDoubles>(c + s * B + b);
#pragma GCC unroll 8
      for (int r = 0; r < Side; ++r) {
        const Doubles left = load_lanes<double, kDoubles>(a + r * B + b);
#pragma GCC unroll 8
        for (int s = 0; s < Side; ++s) part[r][s] += left * right[s];
      }
    }
    for (int r = 0; r < Side; ++r) {
      for (int s = 0; s < Side; ++s) sums[r * Side + s] += sum_of_all<double, kDoubles>(part[r][s]);
    }
  }

  /// The sums of all parts, in their order.
  void gather() const {
    for (long long i = 0, pair = 0; i < sides(); ++i) {
      for (long long j = 0; j <= i; ++j, ++pair) {
        if (pair % context_.threads != context_.thread) continue;
        for (int r = 0; r < Side; ++r) {
          for (int s = 0; s < Side; ++s) {
            const long long row = i * Side + r, column = j * Side + s;
            if (row >= sizes_.columns() || column > row) continue;
            double sum = 0.0;
            for (int part = 0; part < parts_; ++part) {
              sum += sums_[part * room_.sums() + pair * Side * Side + r * Side + s];
            }
            gram_[row * pitch_ + column] = sum;
          }
        }
      }
    }
  }

  const LaunchContext& context_;
  const float *rows_, *targets_;
  const Stored<Real> centres_, widths_;
  const Control control_;
  const Progress progress_;
  Real* antecedents_;
  double *gram_, *sums_;
  Real* kept_;
  const Sizes sizes_;
  const long long pitch_;
  const int parts_;
  const BatchSizes room_;
  Real *x_, *phi_;
  double* columns_;
};

template <int W, int B, int Kept, class Real>
class Descent {
 public:
  Descent(const LaunchContext& context, void* const* a)
      : context_(context),
        rows_(static_cast<const float*>(a[0])),
        targets_(static_cast<const float*>(a[1])),
        centres_{static_cast<float*>(a[2]), static_cast<float*>(a[17])},
        widths_{static_cast<float*>(a[3]),
                centres_.low_parts + *static_cast<const int*>(a[20]) * *static_cast<const int*>(a[18])},
        consequents_(static_cast<float*>(a[4])),
        best_centres_(static_cast<float*>(a[5])),
        best_widths_(static_cast<float*>(a[6])),
        best_consequents_(static_cast<float*>(a[7])),
        errors_(static_cast<double*>(a[8])),
        control_(*static_cast<const Control*>(a[9])),
        progress_at_(static_cast<Progress*>(a[10])),
        progress_(*progress_at_),
        antecedents_(static_cast<const Real*>(a[11])),
        solution_(static_cast<const double*>(a[12])),
        info_(*static_cast<const int*>(a[13])),
        sums_(static_cast<double*>(a[15])),
        kept_(static_cast<const Real*>(a[16])),
        sizes_{*static_cast<const int*>(a[18]), *static_cast<const int*>(a[19]), *static_cast<const int*>(a[20]),
               *static_cast<const int*>(a[21])},
        slots_(*static_cast<const int*>(a[22])),
        parts_(*static_cast<const int*>(a[23])),
        room_{static_cast<int>(sizes_.rules),
              static_cast<int>(sizes_.dim),
              static_cast<int>(sizes_.outputs),
              static_cast<int>(sizes_.terms),
              B,
              sizeof(Real)},
        x_(reinterpret_cast<Real*>(static_cast<char*>(a[14]) + context.thread * room_.own())),
        phi_(x_ + room_.inputs()),
        outputs_(phi_ + room_.activations()) {}

  void run() {
    if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;
    const long long numbers = sizes_.unknowns() * sizes_.outputs;
    for (long long i = context_.thread; i < numbers; i += context_.threads) {
      consequents_[i] = static_cast<float>(solution_[i]);
    }
    meet(context_, 1);

    for (int part = context_.thread; part < parts_; part += context_.threads) differentiate_rows(part);
    meet(context_, 2);
    for (int part = context_.thread; part < parts_; part += context_.threads) gather(part);
    meet(context_, 3);
    step();
  }

 private:
  using V = Vector<Real, W>;
  [[nodiscard]] long long tasks() const { return sizes_.rules * sizes_.dim; }
  [[nodiscard]] Real* errors_of(long long l) const { return outputs_ + (sizes_.outputs + l) * B; }
  [[nodiscard]] double* sums_of(int part) const { return sums_ + part * room_.sums(); }

  /// Errors and gradient of all rows of a part.
  void differentiate_rows(int part) {
    double* own = sums_of(part);
    for (long long i = 0; i < 2 * tasks() + 3; ++i) own[i] = 0.0;
    const Activator<Real, W, B> activator(rows_, antecedents_, x_, sizes_);
    const long long all = static_cast<long long>(control_.rows) + control_.held_back;
    for (long long tile = part; tile * B < all; tile += parts_) {
      const long long first = tile * B;
      const int count = static_cast<int>(all - first < B ? all - first : B);
      activator.fetch(first, count);
      if (Kept == 0) activator.activate(phi_);
      const Real* phi = Kept != 0 ? kept_ + tile * sizes_.rules * B : phi_;
      const long long learnt = control_.rows - first;
      compare(first, static_cast<int>(learnt < 0 ? 0 : learnt < count ? learnt : count), count, phi, own);
      if (learnt > 0) {
        for (long long k = 0; k < sizes_.rules; ++k) differentiate(k, phi + k * B, own);
      }
    }
  }

  /// theta_k (1, x) of one output for the rows b, b + 1, ...
  [[nodiscard]] V consequent(long long k, long long l, int b) const {
    const long long first = k * sizes_.terms * sizes_.outputs + l;
    V value = in_all_lanes<Real, W>(theta(first));
    for (long long t = 1; t < sizes_.terms; ++t) {
      value += in_all_lanes<Real, W>(theta(first + t * sizes_.outputs)) * load_lanes<Real, W>(x_ + (t - 1) * B + b);
    }
    return value;
  }
  [[nodiscard]] Real theta(long long i) const {
    if constexpr (sizeof(Real) > sizeof(float)) {
      return solution_[i];
    } else {
      return consequents_[i];
    }
  }

  /// Outputs and errors of a tile; errors of rows that are not learnt count elsewhere and then become 0.
  void compare(long long first, int learnt, int count, const Real* phi, double* own) {
    for (long long l = 0; l < sizes_.outputs; ++l) {
      Real* y = outputs_ + l * B;
      Real* e = errors_of(l);
      for (int b = 0; b < B; b += W) {
        V sum{};
        for (long long k = 0; k < sizes_.rules; ++k) sum += load_lanes<Real, W>(phi + k * B + b) * consequent(k, l, b);
        store_lanes<Real, W>(y + b, sum);
      }
      for (int b = 0; b < B; ++b) {
        e[b] = b < count ? y[b] - static_cast<Real>(targets_[(first + b) * sizes_.outputs + l]) : Real(0);
      }
      own[2 * tasks()] += squares(e, 0, learnt);
      own[2 * tasks() + 1] += squares(e, learnt, count);
      for (int b = learnt; b < count; ++b) e[b] = 0;
    }
  }

  static double squares(const Real* e, int first, int end) {
    double sum = 0.0;
    for (int b = first; b < end; ++b) sum += static_cast<double>(e[b]) * static_cast<double>(e[b]);
    return sum;
  }

  /// Half the gradient of a tile's summed squared error by the centres and widths of rule k, times those widths.
  void differentiate(long long k, const Real* phi, double* own) {
    Real g[B];
    for (int b = 0; b < B; b += W) {
      V sum{};
      for (long long l = 0; l < sizes_.outputs; ++l) {
        sum +=
            load_lanes<Real, W>(errors_of(l) + b) * (consequent(k, l, b) - load_lanes<Real, W>(outputs_ + l * B + b));
      }
      store_lanes<Real, W>(g + b, sum * load_lanes<Real, W>(phi + b));
    }
    for (long long j = 0; j < sizes_.dim; ++j) {
      const V centre = in_all_lanes<Real, W>(antecedents_[k * sizes_.dim + j]);
      const V inverse = in_all_lanes<Real, W>(antecedents_[tasks() + k * sizes_.dim + j]);
      V first{}, second{};
      for (int b = 0; b < B; b += W) {
        const V u = (load_lanes<Real, W>(x_ + j * B + b) - centre) * inverse;
        const V part = load_lanes<Real, W>(g + b) * u;
        first += part;
        second += part * u;
      }
      own[k * sizes_.dim + j] += sum_of_all<Real, W>(first);
      own[tasks() + k * sizes_.dim + j] += sum_of_all<Real, W>(second);
    }
  }

  /// Every `parts`-th entry of the gradient, in the place of the first part's sums, and the sum of their squares.
  void gather(int own_part) const {
    double squares = 0.0;
    const double scale = 2.0 / static_cast<double>(control_.rows);
    for (long long i = own_part; i < 2 * tasks(); i += parts_) {
      double sum = 0.0;
      for (int part = 0; part < parts_; ++part) sum += sums_of(part)[i];
      sum *= scale * static_cast<double>(antecedents_[i < tasks() ? tasks() + i : i]);
      sums_[i] = sum;
      squares += sum * sum;
    }
    sums_of(own_part)[2 * tasks() + 2] = squares;
  }

  void step() const {
    double error = 0.0, held_back = 0.0, squares = 0.0;
    for (int part = 0; part < parts_; ++part) {
      const double* own = sums_of(part) + 2 * tasks();
      error += own[0];
      held_back += own[1];
      squares += own[2];
    }
    error /= control_.rows;
    if (control_.held_back > 0) held_back /= control_.held_back;
    if (info_ == kNoSolution) error = __builtin_nan("");
    Progress next = progress_;
    const bool best = count_iteration(control_, next, error, held_back, info_ == kOwnRidgeTaken);
    if (context_.thread == 0) {
      if (next.halted != kDiverged) {
        errors_[2 * (progress_.iteration % slots_)] = error;
        errors_[2 * (progress_.iteration % slots_) + 1] = held_back;
      }
      *progress_at_ = next;
    }
    if (next.halted == kDiverged) return;
    const double length = __builtin_sqrt(squares);
    const double factor = control_.plain_step != 0 ? static_cast<double>(control_.rate)
                          : length > 0.0           ? progress_.step / length
                                                   : 0.0;
    for (long long i = context_.thread; i < tasks(); i += context_.threads) {
      if (best) {
        best_centres_[i] = centres_.values[i];
        best_widths_[i] = widths_.values[i];
      }
      centres_.set(i, centres_.get(i) - static_cast<Real>(factor * sums_[i]));
      widths_.set(i, no_smaller(widths_.get(i) - static_cast<Real>(factor * sums_[tasks() + i]),
                                static_cast<Real>(control_.minimum_width)));
    }
    const long long numbers = sizes_.unknowns() * sizes_.outputs;
    for (long long i = context_.thread; best && i < numbers; i += context_.threads) {
      best_consequents_[i] = consequents_[i];
    }
  }

  const LaunchContext& context_;
  const float *rows_, *targets_;
  const Stored<Real> centres_, widths_;
  float* consequents_;
  float *best_centres_, *best_widths_, *best_consequents_;
  double* errors_;  // [slots][2], learnt and held back
  const Control control_;
  Progress* progress_at_;
  const Progress progress_;
  const Real* antecedents_;
  const double* solution_;
  const int info_;
  double* sums_;
  const Real* kept_;
  const Sizes sizes_;
  const int slots_;
  const int parts_;
  const BatchSizes room_;
  Real *x_, *phi_, *outputs_;
};

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
