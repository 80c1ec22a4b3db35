// One iteration of batch least squares and gradient on a CPU, in two kernels with the solution of the least squares
// between them. Compiled at run time, and at build time for the configurations that need no compiler.
//
//   accumulate   Phi^T Phi and Phi^T Y of the rows learnt
//   descend      outputs, errors and gradient with the solution; the step; the bookkeeping
//
// Threads take tiles of B rows in turn; inside a tile the row moves fastest, so that vector lanes run over rows and no
// sum crosses lanes before the end of a tile. The columns of Phi and Y together are the columns of one matrix: the
// lower triangle of its product with itself holds all that least squares need. Sums over rows are float64.
//
//   parameter  meaning
//   W          floats in a vector
//   B          rows in a tile, a multiple of W
//   Side       columns x columns of the product that stay in registers
//   Kept       1: activations are stored for the second kernel; 0: it computes them again
//
//   buffer     contents
//   inverse    1 / width, K x D
//   gram       [A][pitch] doubles, lower triangle; A = P + L
//   own        of each thread: BatchSizes::own() floats
//   sums       of each thread: BatchSizes::sums() doubles
//   kept       [tile][K][B]
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/common/cpu_vector.hpp"
#include "heddle/kernels/tsk/control.cuh"
#include "heddle/kernels/tsk/cpu/sizes.hpp"

namespace heddle::tsk::cpu {
namespace {

using namespace heddle::cpu;

template <int W>
struct Doubles {
  static constexpr int kLanes = W / 2;
  typedef double Vector __attribute__((vector_size(4 * W)));
  typedef double Loose __attribute__((vector_size(4 * W), aligned(8), may_alias));
};
template <int W>
using DoubleVector = typename Doubles<W>::Vector;
template <int W>
inline DoubleVector<W> load_doubles(const double* from) {
  return *reinterpret_cast<const typename Doubles<W>::Loose*>(from);
}
template <int W>
inline double sum_of_doubles(DoubleVector<W> v) {
  double total = 0.0;
  for (int i = 0; i < Doubles<W>::kLanes; ++i) total += v[i];
  return total;
}

/// The problem, the same for both kernels.
struct Sizes {
  long long dim, outputs, rules, terms;
  [[nodiscard]] long long unknowns() const { return rules * terms; }
  [[nodiscard]] long long columns() const { return unknowns() + outputs; }
};

/// Activations of the rows of one tile.
template <int W, int B>
class Activator {
 public:
  using F = Float<W>;
  Activator(const float* rows, const float* centres, const float* inverse, float* x, const Sizes& sizes)
      : rows_(rows), centres_(centres), inverse_(inverse), x_(x), sizes_(sizes) {}

  /// x[j][b] of `count` rows from `first` on; a tile that is not full repeats its last row.
  void fetch(long long first, int count) const {
    for (int b = 0; b < B; ++b) {
      const float* row = rows_ + (first + (b < count ? b : count - 1)) * sizes_.dim;
      for (long long j = 0; j < sizes_.dim; ++j) x_[j * B + b] = row[j];
    }
  }

  /// phi[k][b] of the rows fetched.
  void activate(float* phi) const {
    for (int b = 0; b < B; b += W) {
      F best = broadcast<W>(-kInfinity);
      long long k = 0;
      for (; k + 4 <= sizes_.rules; k += 4) fire<4>(phi, k, b, best);
      for (; k < sizes_.rules; ++k) fire<1>(phi, k, b, best);
      F sum{};
      for (k = 0; k < sizes_.rules; ++k) {
        const F weight = exp_of_negative<W>(load<W>(phi + k * B + b) - best);
        store<W>(phi + k * B + b, weight);
        sum += weight;
      }
      const F scale = 1.0f / sum;
      for (k = 0; k < sizes_.rules; ++k) store<W>(phi + k * B + b, load<W>(phi + k * B + b) * scale);
    }
  }

 private:
  template <int Rules>
  void fire(float* phi, long long k, int b, F& best) const {
    F sum[Rules] = {};
    const float* c = centres_ + k * sizes_.dim;
    const float* r = inverse_ + k * sizes_.dim;
    for (long long j = 0; j < sizes_.dim; ++j) {
      const F x = load<W>(x_ + j * B + b);
#pragma GCC unroll 4
      for (int i = 0; i < Rules; ++i) {
        const F u = (x - broadcast<W>(c[i * sizes_.dim + j])) * broadcast<W>(r[i * sizes_.dim + j]);
        sum[i] += u * u;
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < Rules; ++i) {
      const F log_firing = sum[i] * -0.5f;
      store<W>(phi + (k + i) * B + b, log_firing);
      best = larger<W>(best, log_firing);
    }
  }

  const float *rows_, *centres_, *inverse_;
  float* x_;
  const Sizes& sizes_;
};

template <int W, int B, int Side, int Kept>
class Accumulator {
 public:
  Accumulator(const LaunchContext& context, void* const* a)
      : context_(context),
        rows_(static_cast<const float*>(a[0])),
        targets_(static_cast<const float*>(a[1])),
        centres_(static_cast<const float*>(a[2])),
        widths_(static_cast<const float*>(a[3])),
        control_(*static_cast<const Control*>(a[4])),
        progress_(*static_cast<const Progress*>(a[5])),
        inverse_(static_cast<float*>(a[6])),
        gram_(static_cast<double*>(a[7])),
        sums_(static_cast<double*>(a[9])),
        kept_(static_cast<float*>(a[10])),
        sizes_{*static_cast<const int*>(a[11]), *static_cast<const int*>(a[12]), *static_cast<const int*>(a[13]),
               *static_cast<const int*>(a[14])},
        pitch_(*static_cast<const int*>(a[15])),
        room_{static_cast<int>(sizes_.rules), static_cast<int>(sizes_.dim), static_cast<int>(sizes_.outputs),
              static_cast<int>(sizes_.terms), B},
        x_(static_cast<float*>(a[8]) + context.thread * room_.own()),
        phi_(x_ + room_.inputs()),
        columns_(reinterpret_cast<double*>(phi_ + room_.activations())) {}

  void run() {
    if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;
    const long long tasks = sizes_.rules * sizes_.dim;
    for (long long i = context_.thread; i < tasks; i += context_.threads) inverse_[i] = 1.0f / widths_[i];
    meet(context_, 1);

    double* own = sums_ + context_.thread * room_.sums();
    for (long long i = 0; i < pairs() * Side * Side; ++i) own[i] = 0.0;
    const Activator<W, B> activator(rows_, centres_, inverse_, x_, sizes_);
    const long long all = static_cast<long long>(control_.rows) + (Kept != 0 ? control_.held_back : 0);
    for (long long tile = context_.thread; tile * B < all; tile += context_.threads) {
      const long long first = tile * B;
      activator.fetch(first, static_cast<int>(all - first < B ? all - first : B));
      float* phi = Kept != 0 ? kept_ + tile * sizes_.rules * B : phi_;
      activator.activate(phi);
      const long long learnt = control_.rows - first;
      if (learnt <= 0) continue;
      fill_columns(first, static_cast<int>(learnt < B ? learnt : B), phi);
      for (long long i = 0, pair = 0; i < sides(); ++i) {
        for (long long j = 0; j <= i; ++j, ++pair) multiply(i * Side, j * Side, own + pair * Side * Side);
      }
    }
    meet(context_, 2);
    gather();
  }

 private:
  [[nodiscard]] long long sides() const { return (sizes_.columns() + Side - 1) / Side; }
  [[nodiscard]] long long pairs() const { return sides() * (sides() + 1) / 2; }

  /// columns[c][b]: Phi, then Y, then zeros up to whole sides; rows that are not learnt are 0.
  void fill_columns(long long first, int learnt, const float* phi) {
    double* to = columns_;
    for (long long k = 0; k < sizes_.rules; ++k) {
      const float* own = phi + k * B;
      for (int b = 0; b < B; ++b) to[b] = b < learnt ? static_cast<double>(own[b]) : 0.0;
      for (long long t = 1; t < sizes_.terms; ++t) {
        const float* x = x_ + (t - 1) * B;
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
    DoubleVector<W> part[Side][Side] = {};
    const double* a = columns_ + i * B;
    const double* c = columns_ + j * B;
    for (int b = 0; b < B; b += Doubles<W>::kLanes) {
      DoubleVector<W> right[Side];
#pragma GCC unroll 8
      for (int s = 0; s < Side; ++s) right[s] = load_doubles<W>(c + s * B + b);
#pragma GCC unroll 8
      for (int r = 0; r < Side; ++r) {
        const DoubleVector<W> left = load_doubles<W>(a + r * B + b);
#pragma GCC unroll 8
        for (int s = 0; s < Side; ++s) part[r][s] += left * right[s];
      }
    }
    for (int r = 0; r < Side; ++r) {
      for (int s = 0; s < Side; ++s) sums[r * Side + s] += sum_of_doubles<W>(part[r][s]);
    }
  }

  /// The sums of all threads, in the order of the threads.
  void gather() const {
    for (long long i = 0, pair = 0; i < sides(); ++i) {
      for (long long j = 0; j <= i; ++j, ++pair) {
        if (pair % context_.threads != context_.thread) continue;
        for (int r = 0; r < Side; ++r) {
          for (int s = 0; s < Side; ++s) {
            const long long row = i * Side + r, column = j * Side + s;
            if (row >= sizes_.columns() || column > row) continue;
            double sum = 0.0;
            for (int thread = 0; thread < context_.threads; ++thread) {
              sum += sums_[thread * room_.sums() + pair * Side * Side + r * Side + s];
            }
            gram_[row * pitch_ + column] = sum;
          }
        }
      }
    }
  }

  const LaunchContext& context_;
  const float *rows_, *targets_, *centres_, *widths_;
  const Control control_;
  const Progress progress_;
  float* inverse_;
  double *gram_, *sums_;
  float* kept_;
  const Sizes sizes_;
  const long long pitch_;
  const BatchSizes room_;
  float *x_, *phi_;
  double* columns_;
};

template <int W, int B, int Kept>
class Descent {
 public:
  Descent(const LaunchContext& context, void* const* a)
      : context_(context),
        rows_(static_cast<const float*>(a[0])),
        targets_(static_cast<const float*>(a[1])),
        centres_(static_cast<float*>(a[2])),
        widths_(static_cast<float*>(a[3])),
        consequents_(static_cast<float*>(a[4])),
        best_centres_(static_cast<float*>(a[5])),
        best_widths_(static_cast<float*>(a[6])),
        best_consequents_(static_cast<float*>(a[7])),
        errors_(static_cast<double*>(a[8])),
        control_(*static_cast<const Control*>(a[9])),
        progress_at_(static_cast<Progress*>(a[10])),
        progress_(*progress_at_),
        inverse_(static_cast<float*>(a[11])),
        solution_(static_cast<const double*>(a[12])),
        info_(*static_cast<const int*>(a[13])),
        sums_(static_cast<double*>(a[15])),
        kept_(static_cast<const float*>(a[16])),
        sizes_{*static_cast<const int*>(a[17]), *static_cast<const int*>(a[18]), *static_cast<const int*>(a[19]),
               *static_cast<const int*>(a[20])},
        slots_(*static_cast<const int*>(a[21])),
        room_{static_cast<int>(sizes_.rules), static_cast<int>(sizes_.dim), static_cast<int>(sizes_.outputs),
              static_cast<int>(sizes_.terms), B},
        x_(static_cast<float*>(a[14]) + context.thread * room_.own()),
        phi_(x_ + room_.inputs()),
        outputs_(phi_ + room_.activations()),
        own_(sums_ + context.thread * room_.sums()) {}

  void run() {
    if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;
    const long long numbers = sizes_.unknowns() * sizes_.outputs;
    for (long long i = context_.thread; i < numbers; i += context_.threads) {
      consequents_[i] = static_cast<float>(solution_[i]);
    }
    meet(context_, 1);

    for (long long i = 0; i < 2 * tasks() + 3; ++i) own_[i] = 0.0;
    const Activator<W, B> activator(rows_, centres_, inverse_, x_, sizes_);
    const long long all = static_cast<long long>(control_.rows) + control_.held_back;
    for (long long tile = context_.thread; tile * B < all; tile += context_.threads) {
      const long long first = tile * B;
      const int count = static_cast<int>(all - first < B ? all - first : B);
      activator.fetch(first, count);
      if (Kept == 0) activator.activate(phi_);
      const float* phi = Kept != 0 ? kept_ + tile * sizes_.rules * B : phi_;
      const long long learnt = control_.rows - first;
      compare(first, static_cast<int>(learnt < 0 ? 0 : learnt < count ? learnt : count), count, phi);
      if (learnt > 0) {
        for (long long k = 0; k < sizes_.rules; ++k) differentiate(k, phi + k * B);
      }
    }
    meet(context_, 2);
    const double squares = gather();
    own_[2 * tasks() + 2] = squares;
    meet(context_, 3);
    step();
  }

 private:
  using F = Float<W>;
  [[nodiscard]] long long tasks() const { return sizes_.rules * sizes_.dim; }
  [[nodiscard]] float* errors_of(long long l) const { return outputs_ + (sizes_.outputs + l) * B; }

  /// theta_k (1, x) of one output for the rows b, b + 1, ...
  [[nodiscard]] F consequent(long long k, long long l, int b) const {
    const float* theta = consequents_ + k * sizes_.terms * sizes_.outputs + l;
    F value = broadcast<W>(theta[0]);
    for (long long t = 1; t < sizes_.terms; ++t) {
      value += broadcast<W>(theta[t * sizes_.outputs]) * load<W>(x_ + (t - 1) * B + b);
    }
    return value;
  }

  /// Outputs and errors of a tile; errors of rows that are not learnt count elsewhere and then become 0.
  void compare(long long first, int learnt, int count, const float* phi) {
    for (long long l = 0; l < sizes_.outputs; ++l) {
      float* y = outputs_ + l * B;
      float* e = errors_of(l);
      for (int b = 0; b < B; b += W) {
        F sum{};
        for (long long k = 0; k < sizes_.rules; ++k) sum += load<W>(phi + k * B + b) * consequent(k, l, b);
        store<W>(y + b, sum);
      }
      for (int b = 0; b < B; ++b) e[b] = b < count ? y[b] - targets_[(first + b) * sizes_.outputs + l] : 0.0f;
      own_[2 * tasks()] += squares(e, 0, learnt);
      own_[2 * tasks() + 1] += squares(e, learnt, count);
      for (int b = learnt; b < count; ++b) e[b] = 0.0f;
    }
  }

  static double squares(const float* e, int first, int end) {
    double sum = 0.0;
    for (int b = first; b < end; ++b) sum += static_cast<double>(e[b]) * static_cast<double>(e[b]);
    return sum;
  }

  /// Half the gradient of a tile's summed squared error by the centres and widths of rule k, times those widths.
  void differentiate(long long k, const float* phi) {
    float g[B];
    for (int b = 0; b < B; b += W) {
      F sum{};
      for (long long l = 0; l < sizes_.outputs; ++l) {
        sum += load<W>(errors_of(l) + b) * (consequent(k, l, b) - load<W>(outputs_ + l * B + b));
      }
      store<W>(g + b, sum * load<W>(phi + b));
    }
    for (long long j = 0; j < sizes_.dim; ++j) {
      const F centre = broadcast<W>(centres_[k * sizes_.dim + j]), inverse = broadcast<W>(inverse_[k * sizes_.dim + j]);
      F first{}, second{};
      for (int b = 0; b < B; b += W) {
        const F u = (load<W>(x_ + j * B + b) - centre) * inverse;
        const F part = load<W>(g + b) * u;
        first += part;
        second += part * u;
      }
      own_[k * sizes_.dim + j] += static_cast<double>(sum_of_lanes<W>(first));
      own_[tasks() + k * sizes_.dim + j] += static_cast<double>(sum_of_lanes<W>(second));
    }
  }

  /// The gradient over the sums of thread 0, by the thread that owns an entry. Returns the sum of their squares.
  double gather() const {
    double squares = 0.0;
    const double scale = 2.0 / static_cast<double>(control_.rows);
    for (long long i = context_.thread; i < 2 * tasks(); i += context_.threads) {
      double sum = 0.0;
      for (int thread = 0; thread < context_.threads; ++thread) sum += sums_[thread * room_.sums() + i];
      sum *= scale * static_cast<double>(inverse_[i < tasks() ? i : i - tasks()]);
      sums_[i] = sum;
      squares += sum * sum;
    }
    return squares;
  }

  void step() const {
    double error = 0.0, held_back = 0.0, squares = 0.0;
    for (int thread = 0; thread < context_.threads; ++thread) {
      const double* own = sums_ + thread * room_.sums() + 2 * tasks();
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
        best_centres_[i] = centres_[i];
        best_widths_[i] = widths_[i];
      }
      centres_[i] -= static_cast<float>(factor * sums_[i]);
      widths_[i] = no_smaller(widths_[i] - static_cast<float>(factor * sums_[tasks() + i]), control_.minimum_width);
    }
    const long long numbers = sizes_.unknowns() * sizes_.outputs;
    for (long long i = context_.thread; best && i < numbers; i += context_.threads) {
      best_consequents_[i] = consequents_[i];
    }
  }

  const LaunchContext& context_;
  const float *rows_, *targets_;
  float *centres_, *widths_, *consequents_;
  float *best_centres_, *best_widths_, *best_consequents_;
  double* errors_;  // [slots][2], learnt and held back
  const Control control_;
  Progress* progress_at_;
  const Progress progress_;
  const float* inverse_;
  const double* solution_;
  const int info_;
  double* sums_;
  const float* kept_;
  const Sizes sizes_;
  const int slots_;
  const BatchSizes room_;
  float *x_, *phi_, *outputs_;
  double* own_;
};

template <int W, int B, int Side, int Kept>
void accumulate(const LaunchContext& context, void* const* arguments) {
  Accumulator<W, B, Side, Kept>(context, arguments).run();
}

template <int W, int B, int Kept>
void descend(const LaunchContext& context, void* const* arguments) {
  Descent<W, B, Kept>(context, arguments).run();
}

}  // namespace
}  // namespace heddle::tsk::cpu
