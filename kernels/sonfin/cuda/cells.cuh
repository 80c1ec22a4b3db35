// The task matrix of a resident training kernel: every thread keeps the centres and widths of its tasks for as long as
// the launch lasts, the widths as their reciprocals 1 / sigma, so that firing does not divide.
//
// | parameter | meaning |
// |---|---|
// | Lanes   | threads that share one rule: a power of two up to the block |
// | Packs   | packs of inputs of one rule that one thread keeps; Lanes * Packs * Vector is at least the padded dim |
// | Rules   | rules that the same threads keep |
// | Vector  | inputs in one pack |
// | Storage | where: see storage.cuh |
// | RowsAhead | rows in shared memory that arrive while one is learnt |
// | PacksAhead | packs that are requested ahead of those that are not on chip, streamed_rules.cuh |
// | PacksMoved | of every rule in registers, packs that are in shared memory all the same (kHalves) |
//
// Group q of block b keeps rules (b * Groups + q) * Rules + 0 .. Rules - 1. Inside a group, lane i keeps packs
// i, i + Lanes, ... of each. What is kept in shared memory belongs to one thread alone: no barrier is needed.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cuda/group_sums.cuh"
#include "heddle/kernels/sonfin/cuda/storage.cuh"
#include "heddle/kernels/sonfin/cuda/streamed_rules.cuh"

namespace heddle::sonfin {

template <int Block, int Lanes, int Packs, int Rules, int Vector, int Storage, int RowsAhead = 1,
          int PacksAhead = kPacksAhead, int PacksMoved = 0>
class Cells {
  static_assert(Block % kWarp == 0 && Block <= 1024, "whole warps");
  static_assert(Lanes >= 1 && Lanes <= Block && (Lanes & (Lanes - 1)) == 0, "a power of two up to the block");
  static_assert(Vector == 1 || Vector == 2 || Vector == 4, "one access");

 public:
  static constexpr int kLanes = Lanes;
  static constexpr int kGroups = Block / Lanes;
  static constexpr int kOwn = kGroups * Rules;  ///< rules of a block
  static constexpr bool kWide = Lanes > kWarp;  ///< several warps share a rule
  /// Different sums of rules in a block: of every warp, or of every group if that is several warps.
  static constexpr int kRecords = kWide ? kGroups : Block / kWarp;
  /// Rules of a thread, its first ones, whose centres and whose widths are in registers.
  static constexpr int kCentresHeld = centres_in_registers(Storage, Rules);
  static constexpr int kWidthsHeld = widths_in_registers(Storage, Rules);
  /// Packs of these that are in registers; the last ones are in shared memory, behind those of the other rules. Without
  /// registers to work with, the compiler lines up all that is done for one input behind what is done for another.
  static constexpr int kPacksHeld = Packs - PacksMoved;
  static_assert(PacksMoved == 0 || (Storage == kHalves && PacksMoved > 0 && PacksMoved < Packs),
                "some of half of the rules");
  /// Its first rules, which are on chip; the others are streamed.
  static constexpr int kOnChip = rules_on_chip(Storage, Rules), kStreamed = Rules - kOnChip;
  static constexpr int kCentresShared = kOnChip - kCentresHeld, kWidthsShared = kOnChip - kWidthsHeld;
  static_assert(kOnChip >= 0 && kOnChip <= Rules && (kStreamed == 0 || kWide),
                "streamed where several warps share a rule");
  /// Registers of a thread for the parameters and, if they are in registers too, two rows.
  static constexpr int kRegisterWords =
      Vector * kPacksHeld * (kCentresHeld + kWidthsHeld) + (Storage == kRegisters ? 2 * Vector * Packs : 0);

  /// Rows of inputs: this thread's share in registers, if the parameters are there too; else whole, in shared memory.
  static constexpr bool kRowsInRegisters = Storage == kRegisters;
  static constexpr int kSpan = Lanes * Packs * Vector;
  /// One is learnt, one arrives or two, and a slower warp may still learn the one before, unless sums over several
  /// warps have made it wait.
  static constexpr int kRowsInShared = RowsAhead + (kWide ? 1 : 2);
  struct Row {
    Pack<Vector> own[kRowsInRegisters ? Packs : 1];
    const float* whole;
    __device__ __forceinline__ Pack<Vector> operator[](int i) const {
      if constexpr (kRowsInRegisters) {
        return own[i];
      } else {
        return load<Vector>(whole + input(i));
      }
    }
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % Lanes; }
  __device__ static int group() { return static_cast<int>(threadIdx.x) / Lanes; }
  __device__ static int first_rule() { return (static_cast<int>(blockIdx.x) * kGroups + group()) * Rules; }
  __device__ static int input(int i) { return (i * Lanes + lane()) * Vector; }

  /// `streamed`: global memory for what is not on chip, ResidentShape::streamed_bytes().
  __device__ __forceinline__ Cells(SharedMemory& shared, float* streamed)
      : group_sums_(shared), streamed_(shared, streamed) {
    constexpr int kMoved = Block * Vector * PacksMoved;
    if constexpr (kCentresShared > 0) {
      shared_centres_ = shared.take<float>(Block * Vector * Packs * kCentresShared + kMoved * kCentresHeld);
    }
    if constexpr (kWidthsShared > 0) {
      shared_inverses_ = shared.take<float>(Block * Vector * Packs * kWidthsShared + kMoved * kWidthsHeld);
    }
    if constexpr (!kRowsInRegisters) {
      rows_ = shared.take<float>(kRowsInShared * kSpan);
      for (int j = static_cast<int>(threadIdx.x); j < kRowsInShared * kSpan; j += Block) rows_[j] = 0.0f;
      __syncthreads();
    }
  }

  /// A cell that is not there looks like padding (m = 0, sigma = 1), so that nothing else has to ask.
  __device__ __forceinline__ void fetch(const float* centres, const float* widths, int stride, int capacity) {
    each_cell([&](int r, int i) {
      const bool there = input(i) < stride && first_rule() + r < capacity;
      const long long at = static_cast<long long>(first_rule() + r) * stride + input(i);
      const Pack<Vector> m = there ? load<Vector>(centres + at) : filled<Vector>(0.0f);
      const Pack<Vector> s = there ? load<Vector>(widths + at) : filled<Vector>(1.0f);
      set(r, i, m, reciprocal(s));
    });
    if constexpr (kStreamed > 0) streamed_.restart();
  }

  /// Rules that never moved are left alone: their widths would come back rounded.
  __device__ __forceinline__ void write_back(float* centres, float* widths, int stride) const {
    each_cell([&](int r, int i) {
      if ((moved_ >> r & 1u) != 0 && input(i) < stride) {
        const long long at = static_cast<long long>(first_rule() + r) * stride + input(i);
        store<Vector>(centres + at, centre(r, i));
        store<Vector>(widths + at, reciprocal(inverse(r, i)));
      }
    });
  }

  /// Starts to load the row of the sample with this number. In shared memory it is there after copies_arrived() and a
  /// barrier of the block.
  __device__ __forceinline__ void request(Row& row, const float* from, int stride, int sample) {
    if constexpr (kRowsInRegisters) {
      const float* own = from + lane() * Vector;  // one address, and all others at known distances from it
#pragma unroll
      for (int i = 0; i < Packs; ++i) {
        const bool there = i + 1 < Packs || input(i) < stride;
        row.own[i] = there ? load<Vector>(own + i * Lanes * Vector) : filled<Vector>(0.0f);
      }
    } else {
      float* to = rows_ + sample % kRowsInShared * kSpan;
      for (int j = 4 * static_cast<int>(threadIdx.x); j < stride; j += 4 * Block) start_copy<4>(to + j, from + j);
      row.whole = to;
    }
  }

  /// A row that will be requested: the blocks together bring it into the L2 cache, each its lines.
  __device__ __forceinline__ static void announce(const float* from, int stride) {
    constexpr int kLine = 32;  // floats
    const int at = kLine * static_cast<int>(blockIdx.x + gridDim.x * threadIdx.x);
    if (at < stride) bring_into_cache(from + at);
  }

  /// log firing of the rules of a group within a warp: -sum ((x - m) / sigma)^2; every lane of the group gets it.
  __device__ __forceinline__ void fire(const Row& row, float (&log_firing)[Rules]) const {
    static_assert(!kWide, "fire_own() and add_up()");
    Pack<Vector> sums[Rules];  // added up in parallel
#pragma unroll
    for (int r = 0; r < Rules; ++r) sums[r] = filled<Vector>(0.0f);
    each_cell([&](int r, int i) {
      const Pack<Vector> x = row[i], m = centre(r, i), u = inverse(r, i);
#pragma unroll
      for (int v = 0; v < Vector; ++v) {
        const float z = (x.value[v] - m.value[v]) * u.value[v];
        sums[r].value[v] += z * z;
      }
    });
#pragma unroll
    for (int r = 0; r < Rules; ++r) {
      float sum = sums[r].value[0];
      if constexpr (Vector == 2) sum += sums[r].value[1];
      if constexpr (Vector == 4) sum = (sum + sums[r].value[1]) + (sums[r].value[2] + sums[r].value[3]);
      log_firing[r] = -sum_over_lanes<Lanes>(sum);
    }
  }

  /// Of rules that several warps share: the sums of fire_own() over all of them.
  __device__ __forceinline__ void add_up(const float (&own)[Rules], float (&log_firing)[Rules]) {
#pragma unroll
    for (int r = 0; r < Rules; ++r) log_firing[r] = own[r];
    group_sums_.add_up(log_firing);
  }

  /// This thread's part of the log firing of the group's rules.
  __device__ __forceinline__ void fire_own(const Row& row, float (&own)[Rules]) {
    const float still[Rules] = {};
    pass<false>(row, row, still, 0.0f, own);
  }

  /// Scaled steps of the group's rules along these gradients, 0 for a rule that is to stay; and this thread's part of
  /// what they then fire for the next row: one pass over the parameters. `largest_inverse`: 1 / the least sigma.
  __device__ __forceinline__ void move_and_fire(const Row& row, const Row& next, const float (&gradient)[Rules],
                                                const Control& control, float largest_inverse, float (&own)[Rules]) {
    float rate[Rules];
#pragma unroll
    for (int r = 0; r < Rules; ++r) {
      rate[r] = rate_of(gradient[r], control);
      if (gradient[r] != 0.0f) moved_ |= 1u << r;
    }
    pass<true>(row, next, rate, largest_inverse, own);
  }

  /// |x - m|^2 of rule r of the group, 0 if the group has no such rule; every lane of the group gets it.
  __device__ __forceinline__ float squared_distance(const Row& row, int wanted) {
    float squared = 0.0f;
    each_cell([&](int r, int i) {
      const Pack<Vector> x = row[i], m = centre(r, i);
#pragma unroll
      for (int v = 0; v < Vector; ++v) {
        const float offset = x.value[v] - m.value[v];
        squared += r == wanted ? offset * offset : 0.0f;
      }
    });
    if constexpr (kWide) {
      float sums[Rules] = {squared};
      group_sums_.add_up(sums);
      return sums[0];
    } else {
      return sum_over_lanes<Lanes>(squared);
    }
  }

  /// Moves m and sigma of rule r of the group along its gradient g_k. With z = (x - m) / sigma the scaled step is
  /// m - c (x - m), sigma (1 - c z^2), where c = 2 tau_a g_k; the plain one has c / sigma^2 in its place.
  __device__ __forceinline__ void move(const Row& row, int r, float gradient, const Control& control) {
    const float rate = rate_of(gradient, control);
    const float largest_inverse = __fdividef(1.0f, control.minimum_width);
    moved_ |= 1u << r;
    if (control.plain_step != 0) {
      move<true>(row, r, rate, largest_inverse);
    } else {
      move<false>(row, r, rate, largest_inverse);
    }
    if constexpr (kStreamed > 0) {
      if (r >= kOnChip) streamed_.restart();
    }
  }

  /// Rule r of the group becomes a new rule: m = x, all widths the same.
  __device__ __forceinline__ void add(const Row& row, int r, float width) {
    moved_ |= 1u << r;
    each_pack_of(r, [&](int i) { set(r, i, row[i], filled<Vector>(__frcp_rn(width))); });
    if constexpr (kStreamed > 0) {
      if (r >= kOnChip) streamed_.restart();
    }
  }

 private:
  __device__ __forceinline__ static float rate_of(float gradient, const Control& control) {
    return -2.0f * control.antecedent_rate * gradient;
  }

  /// u = 1 / sigma after a step of sigma by `change` of itself, at most `largest`. A step to zero or beyond makes the
  /// reciprocal infinite or negative; as unsigned numbers, those are larger than any that is allowed.
  __device__ __forceinline__ static float stepped(float u, float change, float largest) {
    return __uint_as_float(min(__float_as_uint(__fdividef(u, 1.0f + change)), __float_as_uint(largest)));
  }

  /// move_and_fire(), or without Moves fire_own(): first the rules whose parameters are in registers, then the others,
  /// in a loop, which takes fewer registers. All of them together where registers have been left for that.
  template <bool Moves>
  __device__ __forceinline__ void pass(const Row& row, const Row& next, const float (&rate)[Rules],
                                       float largest_inverse, float (&own)[Rules]) {
    if constexpr (PacksMoved > 0) {
      pass_of_both<Moves>(row, next, rate, largest_inverse, own);
    } else if constexpr (Storage == kHalves || (kStreamed > 0 && kCentresHeld > 0)) {
      pass_of<Moves, 0, kCentresHeld>(row, next, rate, largest_inverse, own);
      pass_of<Moves, kCentresHeld, Rules>(row, next, rate, largest_inverse, own);
    } else {
      pass_of<Moves, 0, Rules>(row, next, rate, largest_inverse, own);
    }
  }

  /// Sums of a rule that are added up in parallel, if few rules are passed at once. The same for all rules of a thread:
  /// those that are equally far from a row must fire equally to the last bit, since the lowest of them leads. Where
  /// rules are streamed they are as many as without that, so that results are the same.
  static constexpr int kChains = (Storage == kHalves ? Rules - kCentresHeld : Rules) < 4 ? Vector : 1;

  /// The pass of rules First to Last - 1. Pack by pack, so that a pack of the rows is read once for all rules.
  template <bool Moves, int First, int Last>
  __device__ __forceinline__ void pass_of(const Row& row, const Row& next, const float (&rate)[Rules],
                                          float largest_inverse, float (&own)[Rules]) {
    float sums[Last - First][kChains];
#pragma unroll
    for (int r = First; r < Last; ++r) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) sums[r - First][c] = 0.0f;
    }
    each_pack_of(First, [&](int i) {
      const Pack<Vector> x = row[i], y = Moves ? next[i] : x;
#pragma unroll
      for (int r = First; r < Last; ++r) {
        Pack<Vector> m, u;
        if (kStreamed > 0 && r >= kOnChip) {
          if constexpr (kStreamed > 0) streamed_.take(m, u);
        } else {
          m = centre(r, i);
          u = inverse(r, i);
        }
        move_and_add<Moves>(x, y, m, u, rate[r], largest_inverse, sums[r - First]);
        if constexpr (kStreamed > 0) {
          if (r < kOnChip) {
            if constexpr (Moves) set(r, i, m, u);
          } else {
            if (Moves && rate[r] != 0.0f) set(r, i, m, u);
            streamed_.release();
          }
        } else if constexpr (Moves) {
          set(r, i, m, u);
        }
      }
    });
#pragma unroll
    for (int r = First; r < Last; ++r) own[r] = -sum_of(sums[r - First]);
  }

  /// The pass of all rules together: a pack of the rows is read once for the rules in registers and the others, and
  /// what is done for the former passes the time in which the latter are loaded. The next pack of the rows is loaded
  /// before anything is stored, because the compiler does not know that they are apart.
  template <bool Moves>
  __device__ __forceinline__ void pass_of_both(const Row& row, const Row& next, const float (&rate)[Rules],
                                               float largest_inverse, float (&own)[Rules]) {
    float sums[Rules][kChains] = {};
    Pack<Vector> x = row[0], y = Moves ? next[0] : x;
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      Pack<Vector> later_x = x, later_y = y;
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        Pack<Vector> m = centre(r, i), u = inverse(r, i);
        if (r == Rules - 1 && i + 1 < Packs) {
          later_x = row[i + 1];
          later_y = Moves ? next[i + 1] : later_x;
        }
        move_and_add<Moves>(x, y, m, u, rate[r], largest_inverse, sums[r]);
        if constexpr (Moves) set(r, i, m, u);
      }
      x = later_x;
      y = later_y;
    }
#pragma unroll
    for (int r = 0; r < Rules; ++r) own[r] = -sum_of(sums[r]);
  }

  /// What the pass does with a pack of a rule: moves it for x, at this rate, and adds its part of what it fires for y.
  template <bool Moves, int Chains>
  __device__ __forceinline__ static void move_and_add(const Pack<Vector>& x, const Pack<Vector>& y, Pack<Vector>& m,
                                                      Pack<Vector>& u, float rate, float largest_inverse,
                                                      float (&sums)[Chains]) {
    // A rule that stays may be narrower than new ones.
    const float bound = rate != 0.0f ? largest_inverse : infinity();
#pragma unroll
    for (int v = 0; v < Vector; ++v) {
      if constexpr (Moves) {
        const float offset = x.value[v] - m.value[v];
        const float z = offset * u.value[v];
        m.value[v] += rate * offset;
        u.value[v] = stepped(u.value[v], rate * z * z, bound);
      }
      const float z = (y.value[v] - m.value[v]) * u.value[v];
      sums[v % Chains] += z * z;
    }
  }

  template <int Chains>
  __device__ __forceinline__ static float sum_of(const float (&chains)[Chains]) {
    float sum = chains[0];
#pragma unroll
    for (int c = 1; c < Chains; ++c) sum += chains[c];
    return sum;
  }

  __device__ __forceinline__ static Pack<Vector> reciprocal(Pack<Vector> of) {
#pragma unroll
    for (int v = 0; v < Vector; ++v) of.value[v] = __frcp_rn(of.value[v]);
    return of;
  }

  template <bool Plain>
  __device__ __forceinline__ void move(const Row& row, int r, float rate, float largest_inverse) {
    each_pack_of(r, [&](int i) {
      const Pack<Vector> x = row[i];
      Pack<Vector> m = centre(r, i), u = inverse(r, i);
#pragma unroll
      for (int v = 0; v < Vector; ++v) {
        const float offset = x.value[v] - m.value[v];
        const float z = offset * u.value[v];
        const float own_rate = Plain ? rate * u.value[v] * u.value[v] : rate;
        m.value[v] += own_rate * offset;
        u.value[v] = stepped(u.value[v], own_rate * z * z, largest_inverse);
      }
      set(r, i, m, u);
    });
  }

  /// Packs of a turn of the loop over those in shared memory: about four for all rules, so that there is work while one
  /// waits.
  static constexpr int kLooped = kCentresShared + kStreamed;
  static constexpr int kPacksAtOnce = kLooped == 1 ? 4 : kLooped == 2 ? 2 : 1;

  /// action(i) for the packs of rule r. Those in registers are known by number when the code is compiled.
  template <class Action>
  __device__ __forceinline__ static void each_pack_of(int r, Action action) {
    if constexpr (Storage == kShared) {
#pragma unroll(Packs < 4 ? Packs : 4)
      for (int i = 0; i < Packs; ++i) action(i);
    } else if ((Storage == kHalves || kStreamed > 0) && r >= kCentresHeld) {
#pragma unroll(kPacksAtOnce)
      for (int i = 0; i < Packs; ++i) action(i);
    } else {
#pragma unroll
      for (int i = 0; i < Packs; ++i) action(i);
    }
  }
  template <class Action>
  __device__ __forceinline__ static void each_cell(Action action) {
#pragma unroll
    for (int r = 0; r < Rules; ++r) each_pack_of(r, [&](int i) { action(r, i); });
  }

  /// Of a pack in this thread's share of shared memory, if the first `Held` rules are in registers.
  template <int Held>
  __device__ __forceinline__ static int place(int r, int i) {
    const int number = r < Held ? (Rules - Held) * Packs + r * PacksMoved + i - kPacksHeld : (r - Held) * Packs + i;
    return (number * Block + static_cast<int>(threadIdx.x)) * Vector;
  }
  /// Whether this pack is in registers, if the first `held` rules are.
  __device__ __forceinline__ static constexpr bool in_registers(int held, int r, int i) {
    return r < held && i < kPacksHeld;
  }
  __device__ __forceinline__ Pack<Vector> centre(int r, int i) const {
    if (in_registers(kCentresHeld, r, i)) return centre_[r < kCentresHeld ? r : 0][i < kPacksHeld ? i : 0];
    if constexpr (kStreamed > 0) {
      if (r >= kOnChip) return streamed_.centre(r - kOnChip, i);
    }
    return load<Vector>(shared_centres_ + place<kCentresHeld>(r, i));
  }
  __device__ __forceinline__ Pack<Vector> inverse(int r, int i) const {
    if (in_registers(kWidthsHeld, r, i)) return inverse_[r < kWidthsHeld ? r : 0][i < kPacksHeld ? i : 0];
    if constexpr (kStreamed > 0) {
      if (r >= kOnChip) return streamed_.width(r - kOnChip, i);
    }
    return load<Vector>(shared_inverses_ + place<kWidthsHeld>(r, i));
  }
  __device__ __forceinline__ void set(int r, int i, const Pack<Vector>& m, const Pack<Vector>& u) {
    if constexpr (kStreamed > 0) {
      if (r >= kOnChip) {
        streamed_.set(r - kOnChip, i, m, u);
        return;
      }
    }
    if (in_registers(kCentresHeld, r, i)) {
      centre_[r < kCentresHeld ? r : 0][i < kPacksHeld ? i : 0] = m;
    } else {
      store<Vector>(shared_centres_ + place<kCentresHeld>(r, i), m);
    }
    if (in_registers(kWidthsHeld, r, i)) {
      inverse_[r < kWidthsHeld ? r : 0][i < kPacksHeld ? i : 0] = u;
    } else {
      store<Vector>(shared_inverses_ + place<kWidthsHeld>(r, i), u);
    }
  }

  GroupSums<Block, Lanes, Rules> group_sums_;
  StreamedRules<Block, Packs, kStreamed, Vector, PacksAhead> streamed_;
  Pack<Vector> centre_[kCentresHeld > 0 ? kCentresHeld : 1][kCentresHeld > 0 ? kPacksHeld : 1];
  Pack<Vector> inverse_[kWidthsHeld > 0 ? kWidthsHeld : 1][kWidthsHeld > 0 ? kPacksHeld : 1];
  float* shared_centres_ = nullptr;
  float* shared_inverses_ = nullptr;
  float* rows_ = nullptr;
  unsigned moved_ = 0;  ///< bit r: rule r of the group
};

}  // namespace heddle::sonfin
