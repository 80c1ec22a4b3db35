// The sums over the rows learnt that least squares need: Phi^T Phi and Phi^T Y. Compiled at run time too.
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/tsk/cpu/activate.hpp"
#include "heddle/kernels/tsk/cpu/arguments.hpp"

namespace heddle::tsk::cpu {
namespace {

/// One thread's part of the kernel; parameters as in batch.hpp.
template <int W, int B, int Side, int Kept, class Real>
class Accumulator {
 public:
  Accumulator(const LaunchContext& context, void* const* arguments)
      : context_(context),
        a_(ArgumentReader(arguments)),
        control_(*a_.control),
        progress_(*a_.progress),
        centres_(a_.stored_centres()),
        widths_(a_.stored_widths()),
        sizes_(a_.sizes),
        room_(a_.room(B)),
        x_(reinterpret_cast<Real*>(a_.own + context.thread * room_.own())),
        phi_(x_ + room_.inputs()),
        columns_(reinterpret_cast<double*>(phi_ + room_.activations())) {}

  void run() {
    if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;
    const long long tasks = sizes_.tasks();
    for (long long i = context_.thread; i < tasks; i += context_.threads) {
      a_.antecedents[i] = centres_.get(i);
      a_.antecedents[tasks + i] = Real(1) / widths_.get(i);
    }
    meet(context_, 1);

    for (int part = context_.thread; part < a_.parts; part += context_.threads) accumulate(part);
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
    double* own = a_.sums + part * room_.sums();
    for (long long i = 0; i < pairs() * Side * Side; ++i) own[i] = 0.0;
    const Activator<Real, W, B> activator(a_.rows, a_.antecedents, x_, sizes_);
    const long long all = static_cast<long long>(control_.rows) + (Kept != 0 ? control_.held_back : 0);
    for (long long tile = part; tile * B < all; tile += a_.parts) {
      const long long first = tile * B;
      activator.fetch(first, static_cast<int>(all - first < B ? all - first : B));
      Real* phi = Kept != 0 ? a_.kept + tile * sizes_.rules * B : phi_;
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
        to[b] = b < learnt ? static_cast<double>(a_.targets[(first + b) * sizes_.outputs + l]) : 0.0;
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
            for (int part = 0; part < a_.parts; ++part) {
              sum += a_.sums[part * room_.sums() + pair * Side * Side + r * Side + s];
            }
            a_.gram[row * a_.pitch + column] = sum;
          }
        }
      }
    }
  }

  const LaunchContext& context_;
  const AccumulateArguments<Real> a_;
  const Control control_;
  const Progress progress_;
  const Stored<Real> centres_, widths_;
  const Sizes sizes_;
  const BatchSizes room_;
  Real *x_, *phi_;
  double* columns_;
};

}  // namespace
}  // namespace heddle::tsk::cpu
