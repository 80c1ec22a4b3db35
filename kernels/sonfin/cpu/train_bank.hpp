// The rules of one bank on a CPU: what they say about a sample, and how they learn it. Compiled at run time too.
#pragma once

#include "heddle/kernels/sonfin/cpu/train_state.hpp"

namespace heddle::sonfin::cpu {
namespace {

/// Every `banks`-th tile of W rules. Cheap to make wherever it is needed: all that lasts lies in the kernel's buffers.
/// `Coarsening`: Dims or Rules.
template <int W, class Coarsening>
class Bank {
 public:
  /// `negligible`: log of the normalised firing below which a rule does not matter; `rules`: live in all banks.
  Bank(const TrainArguments& a, const TrainSizes& sizes, const Control& control, float negligible, int bank, int rules)
      : control_(control),
        negligible_(negligible),
        bank_(bank),
        banks_(sizes.banks),
        tiles_(sizes.bank_tiles()),
        outputs_(a.outputs),
        rules_(rules),
        notes_(a.scratch + static_cast<long long>(bank) * sizes.notes(), sizes),
        consequents_(a.consequents + first_place() * a.outputs),
        antecedents_{{.centres = a.centres + first_place() * a.stride,
                      .widths = a.widths + first_place() * a.stride,
                      .inverse = a.inverse + first_place() * a.stride,
                      .stride = a.stride,
                      .prune = a.prune,
                      .largest_inverse = 1.0f / control.minimum_width}} {}

  /// Before the first sample of a run.
  void invert_widths() const {
    const Antecedents& a = antecedents_.a;
    for (int i = 0; i < tiles_; ++i) notes_.moves[i] = kStill;
    // Of rules to come as well: whatever their lanes hold then depends on nothing but what was there before.
    for (long long j = 0; j < tiles_ * a.stride * W; j += W) store<W>(a.inverse + j, 1.0f / load<W>(a.widths + j));
  }

  /// After the last sample of a run. Widths that did not change keep every bit.
  void restore_widths() const {
    const Antecedents& a = antecedents_.a;
    for (long long j = 0; j < live_tiles() * a.stride * W; j += W) {
      const F before = load<W>(a.widths + j), inverse = load<W>(a.inverse + j);
      const F after = larger<W>(1.0f / inverse, broadcast<W>(control_.minimum_width));
      store<W>(a.widths + j, 1.0f / before == inverse ? before : after);
    }
  }

  /// Learns what is left of the sample before, fires this one, and publishes what the other banks need to know.
  void fire(const Samples& x, Record& mine) {
    const int tiles = live_tiles();
    int i = 0;
    for (; i + Coarsening::kTiles <= tiles; i += Coarsening::kTiles) fire_tiles<Coarsening::kTiles>(x, i);
    for (; i < tiles; ++i) fire_tiles<1>(x, i);

    mine.largest = top_;
    mine.rule = leader();
    mine.squared_distance = 0.0f;
    if (top_ <= control_.log_threshold && rules_ < control_.max_rules && mine.rule >= 0) {
      mine.squared_distance = antecedents_.squared_distance(x.fired, place(mine.rule));
    }
    int active = 0;
    F sum{};
    for (i = 0; i < tiles; ++i) {
      notes_.moves[i] = kStill;
      store<W>(notes_.step + i * W, F{});
      if (!(notes_.largest[i] >= top_ + negligible_) || top_ == -kInfinity) continue;
      notes_.active[++active] = i;
      const F weight = exp_of_negative<W>(load<W>(notes_.firing + i * W) - top_);
      store<W>(notes_.weight + i * W, weight);
      sum += weight;
    }
    notes_.active[0] = active;
    mine.sum = sum_of_lanes<W>(sum);
    for (int l = 0; l < outputs_; l += W) {
      F part[W] = {};
      int k = 0;
      for (; k + 8 <= W && l + k + 8 <= outputs_; k += 8) weigh<8>(part + k, l + k);
      for (; k < W && l + k + 2 <= outputs_; k += 2) weigh<2>(part + k, l + k);
      for (; k < W && l + k < outputs_; ++k) weigh<1>(part + k, l + k);
      store<W>(mine.weighted() + l, sums_of_each<W>(part));
    }
  }

  /// A new rule of this bank at the sample that was fired last.
  void add(int rule, const float* x, const float* target, float width) const {
    antecedents_.add(x, place(rule), width);
    const int i = place(rule) / W;
    float* w = consequents(i) + rule % W;
    for (int l = 0; l < outputs_; ++l) w[l * W] = target[l];
    int& active = notes_.active[0];
    if (active > 0 && notes_.active[active] == i) return;  // the last tile is the last of the active ones
    notes_.active[++active] = i;
    notes_.largest[i] = -kInfinity;
    store<W>(notes_.weight + i * W, F{});
    notes_.moves[i] = kStill;
    store<W>(notes_.step + i * W, F{});
  }

  /// Moves the consequents, and leaves behind by how much the antecedents have to move. `mine`: of this sample.
  void learn_consequents(const Record& mine, const Answer& answer) const {
    const float factor = exp_below(mine.largest, answer.largest) * answer.inverse_sum;
    const bool adds_here = answer.added >= 0 && answer.added / W % banks_ == bank_;
    const int added_tile = adds_here ? place(answer.added) / W : -1;
    for (int n = 1; n <= notes_.active[0]; ++n) {
      const int i = notes_.active[n];
      const bool grows = i == added_tile;
      if (!grows && !(notes_.largest[i] - answer.largest >= negligible_)) continue;
      F normalised = load<W>(notes_.weight + i * W) * factor;
      const I fresh = lanes<W>() == (grows ? answer.added % W : -1);
      normalised = fresh ? broadcast<W>(answer.inverse_sum) : normalised;
      const F change = normalised * control_.consequent_rate;
      F slope{};
      float* w = consequents(i);
      for (int l = 0; l < outputs_; ++l) {
        const F value = load<W>(w + l * W);
        slope += (value - answer.output[l]) * answer.error[l];
        store<W>(w + l * W, value - change * answer.error[l]);
      }
      const F gradient = normalised * slope;
      const I counts = magnitude<W>(gradient) >= control_.negligible_gradient;
      // The centre of a new rule is the sample itself: it has nothing to move by.
      const F step = counts & ~fresh ? gradient * (-2.0f * control_.antecedent_rate) : F{};
      store<W>(notes_.step + i * W, step);
      // A lane that was given up has no step, and its firing would make that 0 no number.
      const F growth = step != 0.0f ? step * load<W>(notes_.firing + i * W) : F{};
      const float largest_growth = largest_lane<W>(magnitude<W>(growth));
      const Move any = control_.plain_step != 0 ? kPlain : largest_growth < kSmallGrowth ? kSmall : kLarge;
      notes_.moves[i] = largest_lane<W>(magnitude<W>(step)) > 0.0f ? any : kStill;
    }
  }

  /// Moves the antecedents for a sample that no other follows.
  void learn_antecedents(const float* learned) const {
    for (int i = 0; i < live_tiles(); ++i) {
      if (notes_.moves[i] == kStill) continue;
      antecedents_.learn(learned, i, notes_.step + i * W, static_cast<Move>(notes_.moves[i]));
    }
  }

 private:
  using F = Float<W>;
  using I = Int<W>;

  static F absent() { return broadcast<W>(-kInfinity); }

  /// Where the bank begins, in rules.
  long long first_place() const { return static_cast<long long>(bank_) * tiles_ * W; }
  /// The first rule of this bank's tile i, and back from a rule of this bank to its place in it.
  int first_rule(int i) const { return (i * banks_ + bank_) * W; }
  int place(int rule) const { return rule / W / banks_ * W + rule % W; }
  int live_tiles() const {
    const int tiles = (rules_ + W - 1) / W;
    return (tiles - bank_ + banks_ - 1) / banks_;
  }
  float* consequents(long long i) const { return consequents_ + i * outputs_ * W; }

  template <int Count>
  void fire_tiles(const Samples& x, int i) {
    F log_firing[Count];
    const int room = rules_ - first_rule(i);
    antecedents_.template fire<Count>(x, i, room < W ? room : W, notes_.step + i * W, notes_.moves + i,
                                      top_ + negligible_, log_firing);
    for (int c = 0; c < Count; ++c) {
      const I live = lanes<W>() < rules_ - first_rule(i + c);
      F firing = live ? log_firing[c] : absent();
      firing = firing >= top_ + negligible_ ? firing : absent();  // given up, or as good as that
      store<W>(notes_.firing + (i + c) * W, firing);
      const I better = firing > best_;
      best_ = better ? firing : best_;
      best_tile_ = better ? I{} + (i + c) : best_tile_;
      notes_.largest[i + c] = largest_lane<W>(firing);
      top_ = notes_.largest[i + c] > top_ ? notes_.largest[i + c] : top_;
    }
  }

  /// The rule whose firing is top_, the lowest of equals; -1 without rules.
  int leader() const {
    int rule = -1;
    for (int k = 0; k < W && top_ > -kInfinity; ++k) {
      const int candidate = first_rule(best_tile_[k]) + k;
      if (best_[k] == top_ && candidate < rules_ && (rule < 0 || candidate < rule)) rule = candidate;
    }
    return rule;
  }

  /// part[o]: by lane, the sum over active tiles of weight times consequent of output `first` + o.
  template <int Outputs>
  void weigh(F* part, int first) const {
    F sum[Outputs] = {};
    for (int n = 1; n <= notes_.active[0]; ++n) {
      const int i = notes_.active[n];
      const F weight = load<W>(notes_.weight + i * W);
      const float* w = consequents(i) + static_cast<long long>(first) * W;
#pragma GCC unroll 8
      for (int o = 0; o < Outputs; ++o) sum[o] += weight * load<W>(w + o * W);
    }
#pragma GCC unroll 8
    for (int o = 0; o < Outputs; ++o) part[o] = sum[o];
  }

  const Control& control_;
  const float negligible_;
  const int bank_, banks_;
  const int tiles_;  // of this bank, live or not
  const int outputs_;
  const int rules_;
  const Notes notes_;
  float* const consequents_;
  const Coarsening antecedents_;

  // Of the sample that is fired.
  float top_ = -kInfinity;  // largest log firing
  F best_ = absent();       // by lane, the largest log firing and its tile
  I best_tile_{};
};

}  // namespace
}  // namespace heddle::sonfin::cpu
