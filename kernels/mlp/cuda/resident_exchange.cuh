// How the blocks of the resident schemes learn together. Every block owns some of the parameters: it gets the parts of
// their gradient from all blocks that have rows, adds them up in the order of the blocks, changes the parameters, and
// sends them to all. The squared errors go to all blocks ahead of the gradient, and each counts the step.
#pragma once

#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/resident_tile.cuh"

namespace heddle::mlp {

/// Tile: a ResidentTile, whose parameters begin at First among those of the whole network.
template <class Tile, int First>
class ResidentExchange {
 public:
  static constexpr int kLayers = Tile::kLayers, kBlock = Tile::kBlock, kWarps = Tile::kWarps;
  static constexpr ResidentShape<int> kShape = Tile::kShape;
  static constexpr int kPackets = kShape.packets(), kOutputs = Tile::kOutputs;

  /// `parameters`: of the whole network.
  __device__ __forceinline__ ResidentExchange(const ResidentMemory& memory, const ResidentBuffers& buffers,
                                              const Control& control, int parameters)
      : memory_(memory), buffers_(buffers), control_(control), parameters_(parameters) {
    owned_ = ceil_div(kPackets, static_cast<int>(gridDim.x));
    first_owned_ = static_cast<int>(blockIdx.x) * owned_;
    own_ = max(0, min(owned_, kPackets - first_owned_));
    parts_ = static_cast<int>(gridDim.x);
  }

  /// Brings parameters and states on chip.
  __device__ __forceinline__ void fetch(const Tile& tile) const {
    tile.prepare();
    for (int q = thread(); q < kPackets; q += kBlock) {
      at_packet(q, [&](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          tile.weight(layer, neuron, column + i) = buffers_.parameters[place<layer.value>(neuron, column + i)];
        }
      });
    }
    for (int slot = thread(); slot < own_; slot += kBlock) {
      at_packet(first_owned_ + slot, [&](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          const int from = place<layer.value>(neuron, column + i);
#pragma unroll
          for (int array = 0; array < kStateArrays; ++array) {
            own(array, i, slot) = has_state(control_, array) ? buffers_.state[array * parameters_ + from] : 0.0f;
          }
          own(kWeight, i, slot) = buffers_.parameters[from];
        }
      });
    }
    Tile::sync();
  }

  /// Writes what the block owns.
  __device__ __forceinline__ void store() const {
    for (int slot = thread(); slot < own_; slot += kBlock) {
      at_packet(first_owned_ + slot, [&](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          const int to = place<layer.value>(neuron, column + i);
#pragma unroll
          for (int array = 0; array < kStateArrays; ++array) {
            if (has_state(control_, array)) buffers_.state[array * parameters_ + to] = own(array, i, slot);
          }
          buffers_.parameters[to] = own(kWeight, i, slot);
          buffers_.gradient[to] = own(kGradient, i, slot);
        }
      });
    }
  }

  /// A step begins: its packets have a stamp of their own.
  __device__ __forceinline__ void begin_step() { ++stamp_; }
  /// Only the first `parts` blocks have rows: the others leave squares and parts of the gradient out. All blocks say
  /// so.
  __device__ __forceinline__ void share_among(int parts) { parts_ = parts; }
  [[nodiscard]] __device__ __forceinline__ unsigned stamp() const { return stamp_; }

  /// Sum of squared errors of the block's rows: of neighbours first, so that few sums wait for each other.
  __device__ __forceinline__ double own_squares() const {
    double squares[kWarps];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) squares[w] = memory_.losses[w];
#pragma unroll
    for (int apart = 1; apart < kWarps; apart *= 2) {
#pragma unroll
      for (int w = 0; w + apart < kWarps; w += 2 * apart) squares[w] += squares[w + apart];
    }
    return squares[0];
  }

  /// The only block.
  __device__ __forceinline__ void learn_alone(const Tile& tile) const {
    const Step step = memory_.verdict->step;
    const int decision = memory_.verdict->decision;
    for (int slot = thread(); slot < kPackets; slot += kBlock) {
      at_packet(slot, [&](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          const float sum = tile.part(layer, neuron, column + i);
          tile.weight(layer, neuron, column + i) = change(step, decision, i, slot, sum);
        }
      });
    }
  }

  // The only block, with a thread for every parameter.

  /// Where an element of a packet is on chip.
  struct Element {
    int part;     ///< where Tile::sum_of_parts() finds its gradient; -1: there is none
    int weight;   ///< its place among the weights
    int slot, i;  ///< packet and element
  };
  /// Those of a thread that find_element() has found, where it has only one.
  static constexpr bool kOneElement = kPackets * kPacketValues <= kBlock;
  __device__ __forceinline__ Element find_element(const Tile& tile, int e) const {
    Element element{-1, 0, e / kPacketValues, e % kPacketValues};
    if (element.slot >= kPackets) return element;
    at_packet(element.slot, [&](auto layer, int neuron, int column, int values) {
      if (element.i >= values) return;
      element.part = Tile::part_at(layer, neuron, column + element.i);
      element.weight = static_cast<int>(&tile.weight(layer, neuron, column + element.i) - memory_.weights);
    });
    return element;
  }
  /// `own`: the element of the calling thread, where it has one.
  __device__ __forceinline__ void learn_alone_apart(const Tile& tile, Element own) const {
    const Step step = memory_.verdict->step;
    const int decision = memory_.verdict->decision;
    for (int e = thread(); e < kPackets * kPacketValues; e += kBlock) {
      Element at = own;
      if constexpr (!kOneElement) at = find_element(tile, e);
      if (at.part >= 0) memory_.weights[at.weight] = change(step, decision, at.i, at.slot, tile.sum_of_parts(at.part));
    }
  }

  /// After a barrier that follows Tile::find_deltas().
  __device__ __forceinline__ void post_squares() const { post_squares(thread()); }
  /// A thread for each copy.
  __device__ __forceinline__ void post_squares(int copy) const {
    if (gridDim.x > 1 && copy < packets().error_copies()) post_squares(copy, own_squares());
  }
  /// The same where they are known.
  __device__ __forceinline__ void post_squares(int copy, double squares) const {
    if (copy < packets().error_copies()) post(error_packets(copy) + blockIdx.x, packed(squares, stamp_));
  }

  /// One warp, before gather_prepared(), as soon as it has nothing else to do: what counting a step needs beside the
  /// squares.
  __device__ __forceinline__ void prepare_count() const {
    if (lane() == 0) prepare_step(control_, kOutputs, *memory_.verdict);
  }
  /// Both in one go.
  __device__ __forceinline__ bool gather_squares() const {
    prepare_count();
    __syncwarp();
    return gather_prepared();
  }
  /// The same warp: counts the step with the squares of all blocks.
  __device__ __forceinline__ bool gather_prepared() const {
    const int blocks = static_cast<int>(gridDim.x);
    if (blocks == 1) {
      if (lane() == 0) decide(own_squares());
      return true;
    }
    double squares = 0.0;
    const int mine = lane() < parts_ ? (parts_ - lane() - 1) / kWarp + 1 : 0;
    const bool met = await_most(ceil_div(parts_, kWarp),
                                error_packets(static_cast<int>(blockIdx.x) % packets().error_copies()) + lane(), kWarp,
                                mine, stamp_, [&](int, const Packet& packet) { squares += unpacked(packet); });
    __syncwarp();
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) squares += __shfl_xor_sync(kAllLanes, squares, offset);
    if (lane() == 0) decide(squares);
    return met;
  }

  // Counting in two halves: one thread of the only block. Others may learn as soon as the first one has been done.

  /// Returns the squares that end_count() counts.
  __device__ __forceinline__ double decide_alone(double squares) const {
    Verdict& verdict = *memory_.verdict;
    verdict.decision = decide_step(control_, verdict.next, squares, verdict.progress);
    return squares;
  }
  __device__ __forceinline__ void end_count(double squares) const {
    Verdict& verdict = *memory_.verdict;
    if (verdict.decision == kLeave) return;
    Progress progress = verdict.progress;  // in registers while it is counted
    end_step(control_, verdict.next, squares, progress, blockIdx.x == 0 ? buffers_.errors : nullptr, buffers_.slots);
    verdict.progress = progress;
  }

  /// Sends every owner the block's part of the gradient.
  __device__ __forceinline__ void post_parts(const Tile& tile) const { post_parts_by<kBlock>(tile, thread()); }
  /// The same by `Threads` threads of the block, of which the calling one is number `thread`.
  template <int Threads>
  __device__ __forceinline__ void post_parts_by(const Tile& tile, int thread) const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    for (int q = thread; q < kPackets; q += Threads) {
      float value[kPacketValues] = {};
      at_packet(q, [&](auto layer, int neuron, int column, int values) {
#pragma unroll
        for (int i = 0; i < kPacketValues; ++i) {
          if (i < values) value[i] = tile.part(layer, neuron, column + i);
        }
      });
      const int owner = q / owned_, slot = q - owner * owned_;
      post(buffers_.packets + (owner * blocks + block) * owned_ + slot, {value[0], value[1], value[2], stamp_});
    }
  }

  /// The same by the first kWarps warps, with a thread for every parameter, where each warp has to do it once at most.
  __device__ __forceinline__ void post_parts_by_warps(const Tile& tile) const {
    constexpr int kAtOnce = kWarp / kPacketValues;  // packets of a warp
    if constexpr (kPackets > kWarps * kAtOnce) {
      post_parts(tile);
    } else {
      if (warp() >= kWarps) return;
      const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
      const int first = lane() % kAtOnce, i = lane() / kAtOnce, q = warp() * kAtOnce + first;
      float value = 0.0f;
      if (i < kPacketValues && q < kPackets) {
        at_packet(q, [&](auto layer, int neuron, int column, int values) {
          if (i < values) value = tile.part(layer, neuron, column + i);
        });
      }
      __syncwarp();
      const float b = __shfl_sync(kAllLanes, value, kAtOnce + first);
      const float c = __shfl_sync(kAllLanes, value, 2 * kAtOnce + first);
      if (i > 0 || q >= kPackets) return;
      const int owner = q / owned_, slot = q - owner * owned_;
      post(buffers_.packets + (owner * blocks + block) * owned_ + slot, {value, b, c, stamp_});
    }
  }

  // Learning in two halves, for blocks that await the parts of the gradient while the step is still being counted. The
  // first kWarps warps take part.

  /// Adds up the parts of what the block owns, to sums[packet][value].
  __device__ __forceinline__ bool gather_owned(float* sums) const {
    bool met = true;
    for (int slot = warp(); slot < own_; slot += kWarps) {
      float sum[kPacketValues];
      met = gather(slot, sum) && met;
      if (lane() < kPacketValues) sums[slot * kPacketValues + lane()] = of_lane(sum);
    }
    return met;
  }
  /// After a barrier that follows gather_owned() and gather_squares().
  __device__ __forceinline__ void learn_gathered(const float* sums) const {
    if (!changes()) return;
    for (int slot = warp(); slot < own_; slot += kWarps) {
      learn_and_post(slot, lane() < kPacketValues ? sums[slot * kPacketValues + lane()] : 0.0f);
    }
  }

  static constexpr int kFewOwned = 2 * kWarp;  ///< packets of an owner that a warp each awaits, without the workspace

  /// The owner's part of learning.
  __device__ __forceinline__ bool learn_owned() const {
    return owned_ <= kFewOwned ? learn_by_warps(changes()) : learn_by_threads(changes());
  }
  /// Whether the step changes anything.
  [[nodiscard]] __device__ __forceinline__ bool changes() const { return memory_.verdict->decision != kLeave; }

  /// Brings the new parameters of all owners on chip, those of the step that is `ago` steps before this one.
  __device__ __forceinline__ bool fetch_totals(const Tile& tile, unsigned ago = 0) const {
    return fetch_by<kBlock>(tile, thread(), ago);
  }
  /// The same by `Threads` threads of the block, of which the calling one is number `thread`.
  template <int Threads>
  __device__ __forceinline__ bool fetch_by(const Tile& tile, int thread, unsigned ago = 0) const {
    const unsigned step = stamp_ - ago;
    const Packet* from = totals(step, static_cast<int>(blockIdx.x) % packets().copies()) + thread;
    const int mine = thread < kPackets ? (kPackets - thread - 1) / Threads + 1 : 0;
    constexpr int kEach = ceil_div(kPackets, Threads);
    return await_each<(kEach > kPolls ? kManyPolls : kEach)>(
        from, Threads, mine, step, [&](int i, const Packet& packet) {
          at_packet(thread + i * Threads, [&](auto layer, int neuron, int column, int values) {
            const float value[kPacketValues] = {packet.a, packet.b, packet.c};
#pragma unroll
            for (int j = 0; j < kPacketValues; ++j) {
              if (j < values) tile.weight(layer, neuron, column + j) = value[j];
            }
          });
        });
  }

 private:
  static constexpr int kWeight = kStateArrays, kGradient = kStateArrays + 1;  // after the states

  __device__ __forceinline__ static int thread() { return Tile::thread(); }
  __device__ __forceinline__ static int lane() { return Tile::lane(); }
  __device__ __forceinline__ static int warp() { return Tile::warp(); }

  struct Places {
    int at[kLayers] = {}, all = First;
    constexpr Places() {
      for (int l = 0; l < kLayers; ++l) {
        at[l] = all;
        all += (kShape.in(l) + 1) * kShape.out(l);
      }
    }
  };
  static constexpr Places kPlaces{};
  /// Of a weight in the layout of Layers; column in(L): the bias.
  template <int L>
  __device__ __forceinline__ static int place(int neuron, int column) {
    constexpr int kAt = kPlaces.at[L], kIn = kShape.in(L), kOut = kShape.out(L);
    return kAt + (column < kIn ? neuron * kIn + column : kIn * kOut + neuron);
  }
  /// Calls use(layer, neuron, column, values): where the values of packet q belong.
  template <int L = 0, class Use>
  __device__ __forceinline__ static void at_packet(int q, const Use& use) {
    constexpr int kFirst = kShape.packets_at(L), kEnd = kShape.packets_at(L + 1), kEach = kShape.packets_of(L);
    if (L + 1 == kLayers || q < kEnd) {
      const int neuron = (q - kFirst) / kEach, column = (q - kFirst) % kEach * kPacketValues;
      use(Constant<L>{}, neuron, column, min(kPacketValues, kShape.in(L) + 1 - column));
      return;
    }
    if constexpr (L + 1 < kLayers) at_packet<L + 1>(q, use);
  }
  __device__ __forceinline__ static int values_of(int q) {
    int of_packet = 0;
    at_packet(q, [&](auto, int, int, int values) { of_packet = values; });
    return of_packet;
  }
  /// One thread: counts the step.
  __device__ __forceinline__ void decide(double squares) const {
    count_prepared(control_, squares, *memory_.verdict, buffers_.errors, buffers_.slots);
  }

  /// A parameter that the block owns learns from the sum of its gradients. Returns the new one.
  __device__ __forceinline__ float change(const Step& step, int decision, int i, int slot, float sum) const {
    const float gradient = sum * step.gradient_factor;
    own(kGradient, i, slot) = gradient;
    float& weight = own(kWeight, i, slot);
    change_parameter(control_, step, decision, gradient, weight,
                     [&](int array) -> float& { return own(array, i, slot); });
    return weight;
  }

  // Packets: see ResidentPackets.

  __device__ __forceinline__ static ResidentPackets<int> packets() { return {static_cast<int>(gridDim.x), kPackets}; }
  __device__ __forceinline__ Packet* error_packets(int copy) const {
    const ResidentPackets<int> of = packets();
    return buffers_.packets + of.errors_at() +
           (static_cast<int>(stamp_ & 1) * of.error_copies() + copy) * static_cast<int>(gridDim.x);
  }

  /// Of an owner of few packets: a warp for each, whose lanes await the blocks' parts in one go. `changes`: the
  /// decision is not to leave all as it is.
  __device__ __forceinline__ bool learn_by_warps(bool changes) const {
    bool met = true;
    // From the last warp on, because the first ones have more of other work.
    for (int slot = kWarps - 1 - warp(); slot < own_; slot += kWarps) {
      float sum[kPacketValues];
      met = gather(slot, sum) && met;
      if (changes) learn_and_post(slot, of_lane(sum));
    }
    return met;
  }
  /// One warp: the sum of all parts of an owned packet. All lanes get it.
  __device__ __forceinline__ bool gather(int slot, float (&sum)[kPacketValues]) const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    const int mine = lane() < parts_ ? (parts_ - lane() - 1) / kWarp + 1 : 0;
    const Packet* const from = buffers_.packets + (block * blocks + lane()) * owned_ + slot;
#pragma unroll
    for (int i = 0; i < kPacketValues; ++i) sum[i] = 0.0f;
    const bool met = await_most(ceil_div(parts_, kWarp), from, kWarp * owned_, mine, stamp_,
                                [&](int, const Packet& packet) { add_packet(sum, packet); });
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kPacketValues; ++i) sum[i] = sum_over_lanes<kWarp>(sum[i]);
    return met;
  }
  __device__ __forceinline__ static float of_lane(const float (&sum)[kPacketValues]) {
    return lane() == 0 ? sum[0] : lane() == 1 ? sum[1] : sum[2];
  }
  /// One warp: an owned packet learns and goes to all blocks. `sum`: lane i has that of value i.
  __device__ __forceinline__ void learn_and_post(int slot, float sum) const {
    float value = 0.0f;
    const int i = lane();
    if (i < values_of(first_owned_ + slot)) {
      value = change(memory_.verdict->step, memory_.verdict->decision, i, slot, sum);
    }
    __syncwarp();
    const float a = __shfl_sync(kAllLanes, value, 0), b = __shfl_sync(kAllLanes, value, 1);
    const float c = __shfl_sync(kAllLanes, value, 2);
    if (lane() < packets().copies()) post(totals(stamp_, lane()) + first_owned_ + slot, {a, b, c, stamp_});
  }

  /// Of an owner of many packets: threads next to each other have packets next to each other.
  __device__ __forceinline__ bool learn_by_threads(bool changes) const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    bool met = true;
    for (int base = 0; base < own_; base += kBlock) {
      // Threads that add up the parts of one packet: each those of some of the blocks.
      const int slots = min(own_ - base, kBlock), sharing = min(kBlock / slots, parts_);
      const int slot = thread() % slots, share = thread() / slots;
      if (share < sharing) {
        float sum[kPacketValues] = {};
        const Packet* from = buffers_.packets + (block * blocks + share) * owned_ + base + slot;
        met = await_each<kManyPolls>(from, sharing * owned_, (parts_ - share - 1) / sharing + 1, stamp_,
                                     [&](int, const Packet& packet) { add_packet(sum, packet); }) &&
              met;
#pragma unroll
        for (int i = 0; i < kPacketValues; ++i) memory_.workspace[(share * kPacketValues + i) * slots + slot] = sum[i];
      }
      Tile::sync();
      if (thread() < slots && changes) {
        const Step step = memory_.verdict->step;
        const int decision = memory_.verdict->decision;
        float value[kPacketValues] = {};
        const int values = values_of(first_owned_ + base + slot);
#pragma unroll
        for (int i = 0; i < kPacketValues; ++i) {
          if (i >= values) break;
          float sum = 0.0f;
          for (int s = 0; s < sharing; ++s) sum += memory_.workspace[(s * kPacketValues + i) * slots + slot];
          value[i] = change(step, decision, i, base + slot, sum);
        }
        for (int copy = 0; copy < packets().copies(); ++copy) {
          post(totals(stamp_, copy) + first_owned_ + base + slot, {value[0], value[1], value[2], stamp_});
        }
      }
      if (base + kBlock < own_) Tile::sync();
    }
    return met;
  }

  /// The packets of the new parameters of a step: those of the one before may still be read.
  __device__ __forceinline__ Packet* totals(unsigned step, int copy) const {
    const ResidentPackets<int> of = packets();
    return buffers_.packets + of.totals_at() + (static_cast<int>(step & 1) * of.copies() + copy) * kPackets;
  }

  __device__ __forceinline__ float& own(int array, int i, int slot) const {
    return memory_.own[(array * kPacketValues + i) * owned_ + slot];
  }

  const ResidentMemory memory_;
  const ResidentBuffers buffers_;
  const Control& control_;
  int parameters_;
  int owned_, first_owned_, own_;  // packets of an owner at most; the first of this block, and how many
  int parts_;                      // blocks that have parts of the gradient
  unsigned stamp_ = 0;
};

/// The steps of a launch: at most `steps`, until training ends or a block is lost. Then `work` stores what it owns, and
/// one thread of the grid where training stands. The whole grid.
template <class Work>
__device__ __forceinline__ void train_to_end(Work& work, const Control& control, const Progress& progress,
                                             Progress* after, int steps) {
  bool met = true;
#pragma unroll 1
  for (int done = 0; met && goes_on(control, progress, done, steps); ++done) met = work.step();
  work.store();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *after = progress;
    if (!met) after->halted = kLostBlock;
  }
}

}  // namespace heddle::mlp
