// Online training steps on a CPU: docs/design.md, "The network", for all samples of a run in one launch. Compiled at
// run time, and at build time for the configurations that need no compiler.
//
// Rules lie in tiles of W. Tile t belongs to bank t mod banks; a bank lies in one piece, since neighbouring cache lines
// of different cores get in each other's way. Each thread has one bank, or several where fewer threads run than there
// are banks. The threads meet once per sample: they publish a record of each bank (largest log firing, sums relative to
// it), then every thread combines all records in the order of the banks. What a run computes therefore does not depend
// on the number of threads. The update for a sample is carried out in the same pass over centres and widths as the
// firing of the next.
//
//   centres, widths, inverse   dims:  rule after rule, `stride` inputs each (a multiple of W)
//                              rules: [tile][input][W]
//   consequents                [tile][output][W]
//
//   parameter  meaning
//   W          floats in a vector; rules in a tile
//   N          dims: vectors of one rule's inputs in flight; rules: tiles that share a loaded input
//
// Rules that cannot change any float are left out: where the normalised firing is below Control::negligible_gradient
// there is neither sum nor update. With `prune` > 0 firing is given up on the way there: it can only fall further.
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/sonfin/cpu/train_bank.hpp"
#include "heddle/kernels/sonfin/cpu/train_dims.hpp"
#include "heddle/kernels/sonfin/cpu/train_rules.hpp"

namespace heddle::sonfin::cpu {
namespace {

/// One thread's part of a run. `Coarsening`: Dims or Rules.
template <int W, class Coarsening>
class Trainer {
 public:
  Trainer(const LaunchContext& context, void* const* arguments)
      : context_(context),
        a_(arguments),
        control_(*a_.control),
        now_(*a_.progress),
        sizes_{round_up(a_.rules, W * a_.banks), a_.outputs, a_.banks, W},
        negligible_(log_at_most(control_.negligible_gradient)) {
    float* answers = a_.scratch + static_cast<long long>(a_.banks) * sizes_.notes();
    answer_.output = answers + static_cast<long long>(context.thread) * sizes_.answer();
    answer_.error = answer_.output + sizes_.padded_outputs();
  }

  void run() {
    if (now_.halted != 0 || now_.position >= control_.end) return;
    for_each_bank([](int, const auto& bank) { bank.invert_widths(); });
    const float* learned = nullptr;
    unsigned round = 0;
    for (int sample = 0; sample < a_.samples && now_.position < control_.end; ++sample) {
      const int row = a_.order[now_.position];
      const float* x = a_.rows + row * a_.stride;
      const float* target = a_.targets + row * a_.target_stride;
      for_each_bank([&](int b, auto bank) { bank.fire({learned, x}, record(b, sample)); });
      learned = nullptr;
      prefetch_next();
      meet(context_, ++round);
      if (!decide(x, target, sample)) break;
      for_each_bank([&](int b, const auto& bank) { bank.learn_consequents(record(b, sample), answer_); });
      learned = x;
      ++now_.position;
    }
    for_each_bank([&](int, const auto& bank) {
      if (learned != nullptr) bank.learn_antecedents(learned);
      bank.restore_widths();
    });
    // Everybody has read the progress, or this thread would not have met them.
    if (context_.thread == 0) *a_.progress = now_;
  }

 private:
  using F = Float<W>;

  /// A multiple of log 2 at or a little below log(value).
  static float log_at_most(float value) {
    int bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return static_cast<float>((bits >> 23) - 127) * 0.6931472f;
  }

  Bank<W, Coarsening> bank(int b) const { return {a_, sizes_, control_, negligible_, b, now_.rules}; }
  bool mine(int b) const { return b % context_.threads == context_.thread; }
  /// Those of this thread: do(b, bank).
  template <class Do>
  void for_each_bank(Do act) const {
    for (int b = context_.thread; b < a_.banks; b += context_.threads) act(b, bank(b));
  }

  Record& record(int b, int sample) const {
    return *reinterpret_cast<Record*>(a_.records + ((sample & 1) * a_.banks + b) * sizes_.record());
  }

  /// Rows come in any order: the next one is on its way while the threads meet.
  void prefetch_next() const {
    if (now_.position + 1 >= control_.end) return;
    const float* row = a_.rows + a_.order[now_.position + 1] * a_.stride;
    for (long long j = 0; j < a_.stride; j += 16) __builtin_prefetch(row + j);
  }

  /// Combines the records, adds a rule where one is wanted, and finds output and error. False: there is no room.
  bool decide(const float* x, const float* target, int sample) {
    Record lead = record(0, sample);
    for (int b = 1; b < a_.banks; ++b) {
      const Record& other = record(b, sample);
      if (other.largest > lead.largest || (other.largest == lead.largest && other.rule < lead.rule)) lead = other;
    }
    const bool adds = now_.rules == 0 || (lead.largest <= control_.log_threshold && now_.rules < control_.max_rules);
    if (adds && now_.rules >= a_.rules) {
      now_.halted = 1;
      return false;
    }
    // A new rule fires with 0 in the logarithm, the largest there is.
    answer_.largest = adds ? 0.0f : lead.largest;
    float sum = adds ? 1.0f : 0.0f;
    for (int b = 0; b < a_.banks; ++b) {
      const Record& part = record(b, sample);
      sum += exp_below(part.largest, answer_.largest) * part.sum;
    }
    answer_.inverse_sum = 1.0f / sum;
    F squares{};
    for (int l = 0; l < a_.outputs; l += W) {
      const F wanted = load<W>(target + l);
      F weighted = adds ? wanted : F{};
      for (int b = 0; b < a_.banks; ++b) {
        Record& part = record(b, sample);
        weighted += exp_below(part.largest, answer_.largest) * load<W>(part.weighted() + l);
      }
      const F output = weighted * answer_.inverse_sum;
      const F error = output - wanted;
      store<W>(answer_.output + l, output);
      store<W>(answer_.error + l, error);
      squares += error * error;
    }
    now_.loss += 0.5 * static_cast<double>(sum_of_lanes<W>(squares));
    answer_.added = adds ? now_.rules++ : -1;
    if (adds) add_rule(x, target, lead.squared_distance);
    return true;
  }

  void add_rule(const float* x, const float* target, float squared_distance) const {
    const int b = answer_.added / W % a_.banks;
    if (!mine(b)) return;
    const float distance = control_.squared_width != 0 ? squared_distance : __builtin_sqrtf(squared_distance);
    const float wanted = answer_.added == 0 ? control_.first_width : control_.overlap * distance;
    bank(b).add(answer_.added, x, target, wanted > control_.minimum_width ? wanted : control_.minimum_width);
  }

  const LaunchContext& context_;
  const TrainArguments a_;
  const Control control_;
  Progress now_;
  const TrainSizes sizes_;
  const float negligible_;  // log of the normalised firing below which a rule does not matter
  Answer answer_{};
};

template <int W, int N>
void train_dims(const LaunchContext& context, void* const* arguments) {
  Trainer<W, Dims<W, N>>(context, arguments).run();
}

template <int W, int N>
void train_rules(const LaunchContext& context, void* const* arguments) {
  Trainer<W, Rules<W, N>>(context, arguments).run();
}

}  // namespace
}  // namespace heddle::sonfin::cpu
