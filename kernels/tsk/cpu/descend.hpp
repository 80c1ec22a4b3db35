// Outputs, errors and gradient of all rows with the solution of the least squares, the step and the bookkeeping.
// Compiled at run time too.
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/tsk/cpu/activate.hpp"
#include "heddle/kernels/tsk/cpu/arguments.hpp"

namespace heddle::tsk::cpu {
namespace {

/// One thread's part of the kernel; parameters as in batch.hpp.
template <int W, int B, int Kept, class Real>
class Descent {
 public:
  Descent(const LaunchContext& context, void* const* arguments)
      : context_(context),
        a_(ArgumentReader(arguments)),
        control_(*a_.control),
        progress_(*a_.progress),
        info_(*a_.info),
        centres_(a_.stored_centres()),
        widths_(a_.stored_widths()),
        sizes_(a_.sizes),
        room_(a_.room(B)),
        x_(reinterpret_cast<Real*>(a_.own + context.thread * room_.own())),
        phi_(x_ + room_.inputs()),
        outputs_(phi_ + room_.activations()) {}

  void run() {
    if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;
    const long long numbers = sizes_.consequents();
    for (long long i = context_.thread; i < numbers; i += context_.threads) {
      a_.consequents[i] = static_cast<float>(a_.solution[i]);
    }
    meet(context_, 1);

    for (int part = context_.thread; part < a_.parts; part += context_.threads) differentiate_rows(part);
    meet(context_, 2);
    for (int part = context_.thread; part < a_.parts; part += context_.threads) gather(part);
    meet(context_, 3);
    step();
  }

 private:
  using V = Vector<Real, W>;
  [[nodiscard]] long long tasks() const { return sizes_.tasks(); }
  [[nodiscard]] Real* errors_of(long long l) const { return outputs_ + (sizes_.outputs + l) * B; }
  [[nodiscard]] double* sums_of(int part) const { return a_.sums + part * room_.sums(); }

  /// Errors and gradient of all rows of a part.
  void differentiate_rows(int part) {
    double* own = sums_of(part);
    for (long long i = 0; i < 2 * tasks() + 3; ++i) own[i] = 0.0;
    const Activator<Real, W, B> activator(a_.rows, a_.antecedents, x_, sizes_);
    const long long all = static_cast<long long>(control_.rows) + control_.held_back;
    for (long long tile = part; tile * B < all; tile += a_.parts) {
      const long long first = tile * B;
      const int count = static_cast<int>(all - first < B ? all - first : B);
      activator.fetch(first, count);
      if (Kept == 0) activator.activate(phi_);
      const Real* phi = Kept != 0 ? a_.kept + tile * sizes_.rules * B : phi_;
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
      return a_.solution[i];
    } else {
      return a_.consequents[i];
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
        e[b] = b < count ? y[b] - static_cast<Real>(a_.targets[(first + b) * sizes_.outputs + l]) : Real(0);
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
      const V centre = in_all_lanes<Real, W>(a_.antecedents[k * sizes_.dim + j]);
      const V inverse = in_all_lanes<Real, W>(a_.antecedents[tasks() + k * sizes_.dim + j]);
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
    for (long long i = own_part; i < 2 * tasks(); i += a_.parts) {
      double sum = 0.0;
      for (int part = 0; part < a_.parts; ++part) sum += sums_of(part)[i];
      sum *= scale * static_cast<double>(a_.antecedents[i < tasks() ? tasks() + i : i]);
      a_.sums[i] = sum;
      squares += sum * sum;
    }
    sums_of(own_part)[2 * tasks() + 2] = squares;
  }

  void step() const {
    double error = 0.0, held_back = 0.0, squares = 0.0;
    for (int part = 0; part < a_.parts; ++part) {
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
        a_.errors[2 * (progress_.iteration % a_.slots)] = error;
        a_.errors[2 * (progress_.iteration % a_.slots) + 1] = held_back;
      }
      *a_.progress = next;
    }
    if (next.halted == kDiverged) return;
    const double length = __builtin_sqrt(squares);
    const double factor = control_.plain_step != 0 ? static_cast<double>(control_.rate)
                          : length > 0.0           ? progress_.step / length
                                                   : 0.0;
    for (long long i = context_.thread; i < tasks(); i += context_.threads) {
      if (best) {
        a_.best_centres[i] = centres_.values[i];
        a_.best_widths[i] = widths_.values[i];
      }
      centres_.set(i, centres_.get(i) - static_cast<Real>(factor * a_.sums[i]));
      widths_.set(i, no_smaller(widths_.get(i) - static_cast<Real>(factor * a_.sums[tasks() + i]),
                                static_cast<Real>(control_.minimum_width)));
    }
    const long long numbers = sizes_.consequents();
    for (long long i = context_.thread; best && i < numbers; i += context_.threads) {
      a_.best_consequents[i] = a_.consequents[i];
    }
  }

  const LaunchContext& context_;
  const DescendArguments<Real> a_;
  const Control control_;
  const Progress progress_;
  const int info_;
  const Stored<Real> centres_, widths_;
  const Sizes sizes_;
  const BatchSizes room_;
  Real *x_, *phi_, *outputs_;
};

}  // namespace
}  // namespace heddle::tsk::cpu
