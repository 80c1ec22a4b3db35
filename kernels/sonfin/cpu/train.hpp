// Online training steps on a CPU: docs/design.md, "The network", for all samples of a run in one launch. Compiled at
// run time, and at build time for the configurations that need no compiler.
//
// Rules lie in tiles of W. Tile t belongs to thread t mod threads; what a thread has lies in one piece, since
// neighbouring cache lines of different cores get in each other's way. The threads meet once per sample: each publishes
// a record (largest log firing, sums relative to it), then each combines all records in the same order. The update for
// a sample is carried out in the same pass over centres and widths as the firing of the next.
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
#include "heddle/kernels/sonfin/cpu/train_dims.hpp"
#include "heddle/kernels/sonfin/cpu/train_rules.hpp"

namespace heddle::sonfin::cpu {
namespace {

/// One thread's part of a run. `Antecedents`: Dims or Rules.
template <int W, class Antecedents>
class Trainer {
 public:
  Trainer(const LaunchContext& context, void* const* arguments)
      : context_(context),
        a_(arguments),
        control_(*a_.control),
        now_(*a_.progress),
        sizes_{round_up(a_.rules, W * context.threads), a_.outputs, context.threads, W},
        own_(a_.own + static_cast<long long>(context.thread) * sizes_.own(), sizes_),
        antecedents_{a_, 1.0f / control_.minimum_width},
        negligible_(log_at_most(control_.negligible_gradient)) {
    a_.enter_bank(context.thread, sizes_);
  }

  void run() {
    if (now_.halted != 0 || now_.position >= control_.end) return;
    invert_widths();
    const float* learned = nullptr;
    unsigned round = 0;
    for (int sample = 0; sample < a_.samples && now_.position < control_.end; ++sample) {
      const int row = a_.order[now_.position];
      const float* x = a_.rows + row * a_.stride;
      const float* target = a_.targets + row * a_.target_stride;
      fire({learned, x}, record(context_.thread, sample));
      learned = nullptr;
      prefetch_next();
      meet(context_, ++round);
      if (!decide(x, target, sample)) break;
      learn_consequents();
      learned = x;
      ++now_.position;
      added_ = -1;
    }
    if (learned != nullptr) {
      for (int i = 0; i < own_tiles(); ++i) {
        if (own_.moves[i] != kStill)
          antecedents_.learn(learned, i, own_.step + i * W, static_cast<Move>(own_.moves[i]));
      }
    }
    restore_widths();
    // Everybody has read the progress, or this thread would not have met them.
    if (context_.thread == 0) *a_.progress = now_;
  }

 private:
  using F = Float<W>;
  using I = Int<W>;

  static F absent() { return broadcast<W>(-kInfinity); }
  /// A multiple of log 2 at or a little below log(value).
  static float log_at_most(float value) {
    int bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return static_cast<float>((bits >> 23) - 127) * 0.6931472f;
  }
  /// exp(value - top), 0 for a value that is absent, even if the top is absent too.
  static float exp_below(float value, float top) { return value == -kInfinity ? 0.0f : exp_of_negative(value - top); }

  /// The first rule of this thread's tile i, and back from a rule of this thread to its place in the bank.
  int first_rule(int i) const { return (i * context_.threads + context_.thread) * W; }
  int place(int rule) const { return rule / W / context_.threads * W + rule % W; }
  int own_tiles() const {
    const int tiles = (now_.rules + W - 1) / W;
    return (tiles - context_.thread + context_.threads - 1) / context_.threads;
  }
  Record& record(int thread, int sample) const {
    return *reinterpret_cast<Record*>(a_.records + ((sample & 1) * context_.threads + thread) * sizes_.record());
  }
  float* consequents(long long i) const { return a_.consequents + i * a_.outputs * W; }

  void invert_widths() {
    for (int i = 0; i < sizes_.own_tiles(); ++i) own_.moves[i] = kStill;
    // Of rules to come as well: whatever their lanes hold then depends on nothing but what was there before.
    for (long long j = 0; j < sizes_.own_tiles() * a_.stride * W; j += W) {
      store<W>(a_.inverse + j, 1.0f / load<W>(a_.widths + j));
    }
  }

  /// Widths that did not change keep every bit.
  void restore_widths() {
    for (long long j = 0; j < own_tiles() * a_.stride * W; j += W) {
      const F before = load<W>(a_.widths + j), inverse = load<W>(a_.inverse + j);
      const F after = larger<W>(1.0f / inverse, broadcast<W>(control_.minimum_width));
      store<W>(a_.widths + j, 1.0f / before == inverse ? before : after);
    }
  }

  /// Rows come in any order: the next one is on its way while the threads meet.
  void prefetch_next() const {
    if (now_.position + 1 >= control_.end) return;
    const float* row = a_.rows + a_.order[now_.position + 1] * a_.stride;
    for (long long j = 0; j < a_.stride; j += 16) __builtin_prefetch(row + j);
  }

  /// Learns what is left of the sample before, fires this one, and publishes what the others need to know.
  void fire(const Samples& x, Record& mine) {
    top_ = -kInfinity;
    best_ = absent();
    best_tile_ = I{};
    const int tiles = own_tiles();
    int i = 0;
    for (; i + Antecedents::kTiles <= tiles; i += Antecedents::kTiles) fire_tiles<Antecedents::kTiles>(x, i);
    for (; i < tiles; ++i) fire_tiles<1>(x, i);

    mine.largest = top_;
    mine.rule = leader();
    mine.squared_distance = 0.0f;
    if (top_ <= control_.log_threshold && now_.rules < control_.max_rules && mine.rule >= 0) {
      mine.squared_distance = antecedents_.squared_distance(x.fired, place(mine.rule));
    }
    active_ = 0;
    F sum{};
    for (i = 0; i < tiles; ++i) {
      own_.moves[i] = kStill;
      store<W>(own_.step + i * W, F{});
      if (!(own_.largest[i] >= top_ + negligible_) || top_ == -kInfinity) continue;
      own_.active[active_++] = i;
      const F weight = exp_of_negative<W>(load<W>(own_.firing + i * W) - top_);
      store<W>(own_.weight + i * W, weight);
      sum += weight;
    }
    mine.sum = sum_of_lanes<W>(sum);
    for (int l = 0; l < a_.outputs; l += W) {
      F part[W] = {};
      int k = 0;
      for (; k + 8 <= W && l + k + 8 <= a_.outputs; k += 8) weigh<8>(part + k, l + k);
      for (; k < W && l + k + 2 <= a_.outputs; k += 2) weigh<2>(part + k, l + k);
      for (; k < W && l + k < a_.outputs; ++k) weigh<1>(part + k, l + k);
      store<W>(mine.weighted() + l, sums_of_each<W>(part));
    }
  }

  template <int Count>
  void fire_tiles(const Samples& x, int i) {
    F log_firing[Count];
    const int room = now_.rules - first_rule(i);
    antecedents_.template fire<Count>(x, i, room < W ? room : W, own_.step + i * W, own_.moves + i, top_ + negligible_,
                                      log_firing);
    for (int c = 0; c < Count; ++c) {
      const I live = lanes<W>() < now_.rules - first_rule(i + c);
      F firing = live ? log_firing[c] : absent();
      firing = firing >= top_ + negligible_ ? firing : absent();  // given up, or as good as that
      store<W>(own_.firing + (i + c) * W, firing);
      const I better = firing > best_;
      best_ = better ? firing : best_;
      best_tile_ = better ? I{} + (i + c) : best_tile_;
      own_.largest[i + c] = largest_lane<W>(firing);
      top_ = own_.largest[i + c] > top_ ? own_.largest[i + c] : top_;
    }
  }

  /// The rule whose firing is top_, the lowest of equals; -1 without rules.
  int leader() const {
    int rule = -1;
    for (int k = 0; k < W && top_ > -kInfinity; ++k) {
      const int candidate = first_rule(best_tile_[k]) + k;
      if (best_[k] == top_ && candidate < now_.rules && (rule < 0 || candidate < rule)) rule = candidate;
    }
    return rule;
  }

  /// part[o]: by lane, the sum over active tiles of weight times consequent of output `first` + o.
  template <int Outputs>
  void weigh(F* part, int first) const {
    F sum[Outputs] = {};
    for (int n = 0; n < active_; ++n) {
      const int i = own_.active[n];
      const F weight = load<W>(own_.weight + i * W);
      const float* w = consequents(i) + static_cast<long long>(first) * W;
#pragma GCC unroll 8
      for (int o = 0; o < Outputs; ++o) sum[o] += weight * load<W>(w + o * W);
    }
#pragma GCC unroll 8
    for (int o = 0; o < Outputs; ++o) part[o] = sum[o];
  }

  /// Combines the records, adds a rule where one is wanted, and finds output and error. False: there is no room.
  bool decide(const float* x, const float* target, int sample) {
    Record lead = record(0, sample);
    for (int thread = 1; thread < context_.threads; ++thread) {
      const Record& other = record(thread, sample);
      if (other.largest > lead.largest || (other.largest == lead.largest && other.rule < lead.rule)) lead = other;
    }
    const bool adds = now_.rules == 0 || (lead.largest <= control_.log_threshold && now_.rules < control_.max_rules);
    if (adds && now_.rules >= a_.rules) {
      now_.halted = 1;
      return false;
    }
    // A new rule fires with 0 in the logarithm, the largest there is.
    all_top_ = adds ? 0.0f : lead.largest;
    float sum = adds ? 1.0f : 0.0f;
    for (int thread = 0; thread < context_.threads; ++thread) {
      const Record& part = record(thread, sample);
      sum += exp_below(part.largest, all_top_) * part.sum;
    }
    inverse_sum_ = 1.0f / sum;
    F squares{};
    for (int l = 0; l < a_.outputs; l += W) {
      const F wanted = load<W>(target + l);
      F weighted = adds ? wanted : F{};
      for (int thread = 0; thread < context_.threads; ++thread) {
        Record& part = record(thread, sample);
        weighted += exp_below(part.largest, all_top_) * load<W>(part.weighted() + l);
      }
      const F output = weighted * inverse_sum_;
      const F error = output - wanted;
      store<W>(own_.output + l, output);
      store<W>(own_.error + l, error);
      squares += error * error;
    }
    now_.loss += 0.5 * static_cast<double>(sum_of_lanes<W>(squares));
    if (adds) add_rule(x, target, lead.squared_distance);
    return true;
  }

  void add_rule(const float* x, const float* target, float squared_distance) {
    added_ = now_.rules++;
    if (added_ / W % context_.threads != context_.thread) return;
    const float distance = control_.squared_width != 0 ? squared_distance : __builtin_sqrtf(squared_distance);
    const float wanted = added_ == 0 ? control_.first_width : control_.overlap * distance;
    antecedents_.add(x, place(added_), wanted > control_.minimum_width ? wanted : control_.minimum_width);
    const int i = place(added_) / W;
    float* w = consequents(i) + added_ % W;
    for (int l = 0; l < a_.outputs; ++l) w[l * W] = target[l];
    if (active_ > 0 && own_.active[active_ - 1] == i) return;  // the last tile is the last of the active ones
    own_.active[active_++] = i;
    own_.largest[i] = -kInfinity;
    store<W>(own_.weight + i * W, F{});
    own_.moves[i] = kStill;
    store<W>(own_.step + i * W, F{});
  }

  /// Moves the consequents, and leaves behind by how much the antecedents have to move.
  void learn_consequents() {
    const float factor = exp_below(top_, all_top_) * inverse_sum_;
    const bool adds_here = added_ >= 0 && added_ / W % context_.threads == context_.thread;
    const int added_tile = adds_here ? place(added_) / W : -1;
    for (int n = 0; n < active_; ++n) {
      const int i = own_.active[n];
      const bool grows = i == added_tile;
      if (!grows && !(own_.largest[i] - all_top_ >= negligible_)) continue;
      F normalised = load<W>(own_.weight + i * W) * factor;
      const I fresh = lanes<W>() == (grows ? added_ % W : -1);
      normalised = fresh ? broadcast<W>(inverse_sum_) : normalised;
      const F change = normalised * control_.consequent_rate;
      F slope{};
      float* w = consequents(i);
      for (int l = 0; l < a_.outputs; ++l) {
        const F value = load<W>(w + l * W);
        slope += (value - own_.output[l]) * own_.error[l];
        store<W>(w + l * W, value - change * own_.error[l]);
      }
      const F gradient = normalised * slope;
      const I counts = magnitude<W>(gradient) >= control_.negligible_gradient;
      // The centre of a new rule is the sample itself: it has nothing to move by.
      const F step = counts & ~fresh ? gradient * (-2.0f * control_.antecedent_rate) : F{};
      store<W>(own_.step + i * W, step);
      // A lane that was given up has no step, and its firing would make that 0 no number.
      const F growth = step != 0.0f ? step * load<W>(own_.firing + i * W) : F{};
      const float largest_growth = largest_lane<W>(magnitude<W>(growth));
      const Move any = control_.plain_step != 0 ? kPlain : largest_growth < kSmallGrowth ? kSmall : kLarge;
      own_.moves[i] = largest_lane<W>(magnitude<W>(step)) > 0.0f ? any : kStill;
    }
  }

  const LaunchContext& context_;
  TrainArguments a_;
  const Control control_;
  Progress now_;
  const TrainSizes sizes_;
  const Own own_;
  const Antecedents antecedents_;
  const float negligible_;  // log of the normalised firing below which a rule does not matter

  float top_ = 0.0f;  // largest log firing of this thread's rules
  F best_;            // by lane, the largest log firing and its tile
  I best_tile_;
  int active_ = 0;        // entries of Own::active
  float all_top_ = 0.0f;  // largest log firing of all
  float inverse_sum_ = 0.0f;
  int added_ = -1;  // the rule this sample added
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
