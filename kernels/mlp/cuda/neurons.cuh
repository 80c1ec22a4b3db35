// Mini-batches of a network with one hidden layer that fits into no block: scheme = neurons. All steps of a run in one
// launch, whose blocks run at the same time. Formulas: docs/design.md, "Perceptrons".
//
// A cluster of blocks has some of the hidden neurons, with all weights before and behind them, which nobody else needs.
// Its blocks divide the inputs among them, and for what is behind the hidden neurons the rows of a step. A step is, in
// this order:
//
// 1. Every block finds its part of its neurons' sums, for all rows, and sends them to the blocks of its cluster that
//    have the rows.
// 2. These make values of them, send them to their cluster, and the cluster's part of the outputs' sums to the blocks
//    of all clusters that have the same rows. Other warps bring the rows of the next step meanwhile.
// 3. All clusters find the same outputs, errors and deltas from the sums of all. A block sends the deltas of its rows,
//    of outputs and of the cluster's neurons, and its squares to its cluster.
// 4. Gradients of the cluster's weights, for all rows, in registers of the warps that have the weights. The last warp
//    counts the step.
// 5. They learn.
//
// So a step has one exchange with other clusters, and two within a cluster.
//
// | parameter | meaning |
// |---|---|
// | Block  | threads, at least two warps |
// | Blocks | of the grid |
// | Parts  | of the inputs: blocks of a cluster |
// | Rows   | of a step at most |
// | In, Hidden, Out | neurons of the inputs, of the hidden layer, of the outputs |
#pragma once

#include "heddle/kernels/mlp/cuda/neurons_sizes.cuh"
#include "heddle/kernels/mlp/cuda/resident_exchange.cuh"

namespace heddle::mlp {

#if __CUDA_ARCH__ >= 900

template <int Block, int Blocks, int Parts, int Rows, int In, int Hidden, int Out>
class NeuronsTraining {
 public:
  static constexpr NeuronsShape<int> kShape{In, Hidden, Out, Blocks, Parts, Rows, Block / kWarp};
  static constexpr NeuronsPieces<int> kPieces{kShape};

  /// Hands out the block's shared memory.
  struct Memory {
    float *rows, *weights, *output_weights, *output_biases, *sums, *values, *deltas, *ones, *errors, *own_sums,
        *output_sums, *targets, *squares;
    int* mailboxes;
    Verdict* verdict;

    __device__ __forceinline__ Memory() {
      SharedMemory shared;
      rows = shared.take<float>(2 * kPieces.rows);
      weights = shared.take<float>(kPieces.weights);
      output_weights = shared.take<float>(kPieces.output_weights);
      output_biases = shared.take<float>(kPieces.output_biases);
      sums = shared.take<float>(kPieces.sums);
      values = shared.take<float>(kPieces.by_slot);
      deltas = shared.take<float>(kPieces.by_slot);
      ones = shared.take<float>(kPieces.by_slot);
      errors = shared.take<float>(kPieces.errors);
      own_sums = shared.take<float>(kPieces.output_sums);
      output_sums = shared.take<float>(kPieces.output_sums);
      targets = shared.take<float>(2 * kPieces.targets);
      squares = shared.take<float>(kPieces.squares);
      mailboxes = shared.take<int>(kPieces.mailboxes);
      verdict = reinterpret_cast<Verdict*>(shared.take<float>(kPieces.verdict));
    }
  };

  __device__ __forceinline__ NeuronsTraining(const Memory& memory, const ResidentBuffers& buffers,
                                             const Control& control)
      : memory_(memory),
        buffers_(buffers),
        control_(control),
        part_(static_cast<int>(blockIdx.x) % Parts),
        cluster_(static_cast<int>(blockIdx.x) / Parts) {}

  /// Brings weights, states and the first step's rows on chip.
  __device__ __forceinline__ void fetch() {
    for (int i = thread(); i < 2 * kPieces.rows; i += Block) {
      memory_.rows[i] = i % kPitch == kInputs && part_ == 0 ? 1.0f : 0.0f;  // that of the biases
    }
    for (int i = thread(); i < kPieces.weights; i += Block) memory_.weights[i] = 0.0f;
    for (int i = thread(); i < kPieces.output_weights; i += Block) memory_.output_weights[i] = 0.0f;
    for (int i = thread(); i < kPieces.output_biases; i += Block) memory_.output_biases[i] = 0.0f;
    for (int i = thread(); i < kPieces.by_slot; i += Block) {
      memory_.values[i] = memory_.deltas[i] = 0.0f;
      memory_.ones[i] = i % kNeuronSlots == 0 ? 1.0f : 0.0f;
    }
    for (int i = thread(); i < kPieces.errors; i += Block) memory_.errors[i] = 0.0f;
    if (thread() == 0) {
      sums_box().open();
      rows_box().open();
      copies_box().open();
      sums_box().expect(kSumBytes);
      rows_box().expect(kRowBytes);
    }
    Mailbox::publish();
    __syncthreads();
    each_own([&](int j, int i, int unit, int from) {
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) states_[j][array][i] = buffers_.state[array * kParameters + from];
      }
      weights_[j][i] = weight(unit, i) = buffers_.parameters[from];
      there_ |= 1u << (4 * j + i);
    });
    const Progress now = memory_.verdict->progress;
    if (copies()) {
      find_places(now);
      start_rows(now, true);
      find_places(after(now));
    }
    rows_arrived();
    cluster_barrier();
  }
  __device__ __forceinline__ void store() {
    each_own([&](int j, int i, int unit, int to) {
      // Those that several blocks have are the same.
      if (unit >= kFirstTiles && part_ > 0) return;
      if (unit > kFirstTiles && cluster_ > 0) return;
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) buffers_.state[array * kParameters + to] = states_[j][array][i];
      }
      buffers_.parameters[to] = weights_[j][i];
      buffers_.gradient[to] = gradients_[j][i];
    });
  }

  /// One step. Returns false if a block is lost; every thread of the block the same.
  __device__ __forceinline__ bool step() {
    const Progress now = memory_.verdict->progress;
    const int rows = rows_of_step(control_, now);
    ++stamp_;
    send_sums();
    float values[kQuadsEach];
    if (warp() < kUpperWarps) {
      pass_sums(values);
    } else if (copies()) {
      const Progress next = after(now);
      start_rows(next, !even_);
      find_places(after(next));
    }
    if (thread() == Block - kWarp) prepare_step(control_, Out, *memory_.verdict);
    bool met = await_output_sums();
    met = __syncthreads_and(met ? 1 : 0) != 0;
    if (warp() < kUpperWarps) pass_back(values, rows, met);
    rows_box().wait(round_);
    if (warp() == kWarps - 1) {
      if (thread() % kWarp == 0) rows_box().expect(kRowBytes);
      count();
    } else {
      find_gradient();
    }
    __syncthreads();
    learn();
    met = memory_.verdict->met != 0;
    even_ = !even_;
    ++round_;
    rows_arrived();
    __syncthreads();
    return met;
  }

 private:
  static constexpr int kWarps = Block / kWarp, kUpperWarps = kShape.upper_warps();
  static constexpr int kCopyWarps = kWarps - kUpperWarps;
  static constexpr int kQuads = kShape.quads(), kQuadsEach = ceil_div(kQuads, kUpperWarps);
  static constexpr int kNeurons = kShape.neurons_each(), kInputs = kShape.inputs_each(), kPitch = kShape.pitch();
  static constexpr int kRowsEach = kShape.rows_each(), kTile = kShape.tile(), kSharing = kShape.sharing();
  static constexpr int kClusters = kShape.clusters();
  static constexpr int kFirstTiles = kShape.first_tiles(), kTiles = kShape.tiles(), kTilesEach = kShape.tiles_each();
  static constexpr int kParameters = (In + 1) * Hidden + (Hidden + 1) * Out;
  static constexpr int kErrorPacks = ceil_div(Out, 4);
  static constexpr int kPackBytes = 16;
  /// What a step brings to the mailboxes of a block.
  static constexpr int kSumBytes = kPackBytes * Parts * kSharing * kRowsEach * kNeuronSlots / 4;
  static constexpr int kRowBytes = kPackBytes * Parts * (kRowsEach * (2 * kNeuronSlots / 4 + kErrorPacks) + kQuads);
  static constexpr int kWide = In % 4 == 0 ? 4 : 1;

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }
  __device__ __forceinline__ static bool copies() { return warp() >= kUpperWarps; }
  [[nodiscard]] __device__ __forceinline__ Mailbox sums_box() const { return Mailbox(memory_.mailboxes); }
  [[nodiscard]] __device__ __forceinline__ Mailbox rows_box() const { return Mailbox(memory_.mailboxes + 2); }
  [[nodiscard]] __device__ __forceinline__ Mailbox copies_box() const { return Mailbox(memory_.mailboxes + 4); }
  [[nodiscard]] __device__ __forceinline__ float* rows_of(bool even) const {
    return memory_.rows + (even ? 0 : kPieces.rows);
  }
  [[nodiscard]] __device__ __forceinline__ float* targets_of(bool even) const {
    return memory_.targets + (even ? 0 : kPieces.targets);
  }

  // Rows.

  /// Where the step after the one at `at` begins.
  [[nodiscard]] __device__ __forceinline__ Progress after(Progress at) const {
    at.position += rows_of_step(control_, at);
    if (at.position >= control_.rows) {
      at.position = 0;
      ++at.epoch;
    }
    return at;
  }
  /// Asks for the numbers of the rows of the step at `at`, a step before they are needed: of those that the warp
  /// brings, and, in the last warp, of those whose targets the block needs.
  __device__ __forceinline__ void find_places(const Progress& at) {
    const int rows = rows_of_step(control_, at);
    const int slot = (at.epoch - control_.first_epoch) % buffers_.slots;
    const int* const order = buffers_.order + static_cast<long long>(slot) * control_.rows + at.position;
    const auto place = [&](int row) {
      if (row >= rows) return 0;
      return control_.shuffled != 0 ? order[row] : at.position + row;
    };
    place_ = place(warp() - kUpperWarps + lane() * kCopyWarps);
    if (warp() == kWarps - 1) own_place_ = lane() < kRowsEach ? place(part_ * kRowsEach + lane()) : 0;
  }
  /// Starts to bring the rows of the step at `at` on chip, and the targets of the block's own, for a step that is
  /// `even` or not. rows_arrived(), and a barrier, have to follow. Rows beyond those of the step stay as they are:
  /// their deltas are 0.
  __device__ __forceinline__ void start_rows(const Progress& at, bool even) const {
    const int rows = rows_of_step(control_, at);
    const int first = part_ * kInputs, count = min(kInputs, In - first);
    if constexpr (kWide == 4) {
      const int row = warp() - kUpperWarps + lane() * kCopyWarps;
      if (row < rows) {
        copies_box().fetch(rows_of(even) + row * kPitch, buffers_.rows + static_cast<long long>(place_) * In + first,
                           count);
      }
    } else {
#pragma unroll 1
      for (int row = warp() - kUpperWarps, j = 0; row < rows; row += kCopyWarps, ++j) {
        const float* const from =
            buffers_.rows + static_cast<long long>(__shfl_sync(kAllLanes, place_, j)) * In + first;
        for (int i = lane(); i < count; i += kWarp) start_copy(rows_of(even) + row * kPitch + i, from + i);
      }
    }
    if (warp() < kWarps - 1) return;
    if (kWide == 4 && lane() == 0) copies_box().expect(4 * rows * count);
    const int own = min(kRowsEach, rows - part_ * kRowsEach) * Out;
    for (int base = 0; base < own; base += kWarp) {
      const int i = base + lane(), place = __shfl_sync(kAllLanes, own_place_, min(i / Out, kWarp - 1));
      if (i < own) start_copy(targets_of(even) + i, buffers_.targets + static_cast<long long>(place) * Out + i % Out);
    }
  }

  /// Waits for the rows that start_rows() was last called for. The whole block; a barrier has to follow before more
  /// rows are started, see Mailbox::wait().
  __device__ __forceinline__ void rows_arrived() const {
    copies_arrived();
    if constexpr (kWide == 4) copies_box().wait(round_);
  }

  // Forward.

  /// The block's part of its neurons' sums, to the blocks of the cluster that have the rows.
  __device__ __forceinline__ void send_sums() const {
    constexpr int kRowTiles = kShape.row_tiles(), kSlices = kShape.slices();
    constexpr int kWhole = kSlices / kSharing;  // slices that every share has
    const int g = lane_group(), t = lane_of_group();
#pragma unroll 1
    for (int unit = warp(); unit < kRowTiles * kSharing; unit += kWarps) {
      const int share = unit / kRowTiles, first = unit % kRowTiles * kTileRows;
      const float* const upper = rows_of(even_) + (first + g) * kPitch + 2 * t;
      const float* const lower = upper + 8 * kPitch;
      const float* const weights = memory_.weights + g * kPitch + 2 * t;
      float sums[3][4] = {};
      const auto add = [&](int slice) {
        const Pack<2> u = load<2>(upper + slice * kSliceDepth), l = load<2>(lower + slice * kSliceDepth);
        const Pack<2> w = load<2>(weights + slice * kSliceDepth);
        add_product(sums, {u.value[0], l.value[0], u.value[1], l.value[1]}, {w.value[0], w.value[1]});
      };
#pragma unroll
      for (int j = 0; j < kWhole; ++j) add(share + j * kSharing);
      if (share + kWhole * kSharing < kSlices) add(share + kWhole * kSharing);
      float sum[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] = sums[0][i] + (sums[1][i] + sums[2][i]);
      // Of two neighbouring lanes one sends four neurons of the upper row, the other of the lower one.
      const bool odd = t % 2 != 0;
      const float a = __shfl_xor_sync(kAllLanes, odd ? sum[0] : sum[2], 1);
      const float b = __shfl_xor_sync(kAllLanes, odd ? sum[1] : sum[3], 1);
      const int row = first + g + (odd ? 8 : 0), rank = row / kRowsEach;
      if (rank < Parts) {
        float* const to =
            memory_.sums + ((part_ * kSharing + share) * kRowsEach + row % kRowsEach) * kNeuronSlots + t / 2 * 4;
        const Pack<4> own = odd ? Pack<4>{{a, b, sum[2], sum[3]}} : Pack<4>{{sum[0], sum[1], a, b}};
        sums_box().send(rank, to, own);
      }
    }
  }

  /// Values of the neurons for the block's rows, a lane for each of four rows' slots, and the outputs' sums of them.
  __device__ __forceinline__ void pass_sums(float (&values)[kQuadsEach]) const {
    const int slot = lane() % kNeuronSlots;
    Pack<4> of_output[2][2];  // weights of two outputs
    float of_bias[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      of_bias[h] = cluster_ == 0 ? memory_.output_biases[slot + 8 * h] : 0.0f;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        of_output[h][i] = load<4>(memory_.output_weights + (slot + 8 * h) * kNeuronSlots + 4 * i);
      }
    }
    sums_box().wait(round_);
    if (thread() == 0) sums_box().expect(kSumBytes);
#pragma unroll
    for (int j = 0; j < kQuadsEach; ++j) {
      const int quad = warp() + j * kUpperWarps;
      if (quad >= kQuads) break;
      const int row = quad * kQuadRows + lane() / kNeuronSlots;
      float part[Parts * kSharing];
#pragma unroll
      for (int p = 0; p < Parts * kSharing; ++p) part[p] = memory_.sums[(p * kRowsEach + row) * kNeuronSlots + slot];
#pragma unroll
      for (int apart = 1; apart < Parts * kSharing; apart *= 2) {
#pragma unroll
        for (int p = 0; p + apart < Parts * kSharing; p += 2 * apart) part[p] += part[p + apart];
      }
      const float value = values[j] = activate(control_.hidden, part[0]);
      float all[kNeuronSlots];
#pragma unroll
      for (int i = 0; i < kNeuronSlots; ++i) all[i] = __shfl_sync(kAllLanes, value, i, kNeuronSlots);
      float* const to = memory_.own_sums + row * Out;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float sum = of_bias[h];
#pragma unroll
        for (int i = 0; i < kNeuronSlots; ++i) sum += of_output[h][i / 4].value[i % 4] * all[i];
        if (slot + 8 * h < Out) to[slot + 8 * h] = sum;
      }
      __syncwarp();
      const float* const from = memory_.own_sums + quad * kQuadRows * Out;
      if (lane() < kShape.quad_packets()) {
        float value_of[kPacketValues];
#pragma unroll
        for (int i = 0; i < kPacketValues; ++i) {
          const int e = lane() * kPacketValues + i;
          value_of[i] = e < kQuadRows * Out ? from[e] : 0.0f;
        }
        post(packets(quad * kShape.quad_packets() + lane()) + cluster_,
             {value_of[0], value_of[1], value_of[2], stamp_});
      }
      send_slots(memory_.values, row, value);
    }
  }
  /// A lane's number of a row's slot, to the whole cluster.
  __device__ __forceinline__ void send_slots(float* to, int row, float value) const {
    const int slot = lane() % kNeuronSlots;
    Pack<4> pack;
#pragma unroll
    for (int i = 0; i < 4; ++i) pack.value[i] = __shfl_sync(kAllLanes, value, i, 4);
#pragma unroll
    for (int first = 0; first < Parts; first += 4) {
      const int rank = first + slot % 4;
      if (rank < Parts) rows_box().send(rank, to + (part_ * kRowsEach + row) * kNeuronSlots + slot / 4 * 4, pack);
    }
  }

  /// The sums of the outputs of the block's rows, of all clusters in their order. The whole block; every thread for
  /// itself.
  __device__ __forceinline__ bool await_output_sums() const {
    constexpr int kAll = kShape.packets_each(), kLanes = lanes_of_packet();
    constexpr int kLooks = smaller(ceil_div(kClusters, kLanes), kPolls);
    const int share = lane() % kLanes;
    bool met = true;
#pragma unroll 1
    for (int base = 0; base < kAll; base += Block / kLanes) {
      const int q = base + thread() / kLanes;
      const int mine = q < kAll && share < kClusters ? (kClusters - share - 1) / kLanes + 1 : 0;
      float sum[kPacketValues] = {};
      met = await_each<kLooks>(packets(q) + share, kLanes, mine, stamp_,
                               [&](int, const Packet& packet) { add_packet(sum, packet); }) &&
            met;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) sum[i] = sum_over_lanes<kLanes>(sum[i]);
      if (q >= kAll || share > 0) continue;
      const int quad = q / kShape.quad_packets(), at = q % kShape.quad_packets() * kPacketValues;
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) {
        if (at + i < kQuadRows * Out) memory_.output_sums[quad * kQuadRows * Out + at + i] = sum[i];
      }
    }
    return met;
  }
  static constexpr int lanes_of_packet() {
    int lanes = 1;
    while (lanes < kWarp && lanes < kClusters && 2 * lanes * kShape.packets_each() <= Block) lanes *= 2;
    return lanes;
  }
  /// Of a step: packet q of the sums of the block's rows, by the first cluster.
  [[nodiscard]] __device__ __forceinline__ Packet* packets(int q) const {
    return buffers_.packets + ((static_cast<int>(stamp_ & 1) * Parts + part_) * kShape.packets_each() + q) * kClusters;
  }

  // Back.

  /// Errors and deltas of the block's rows. A lane has a slot of four rows, and all outputs.
  __device__ __forceinline__ void pass_back(const float (&values)[kQuadsEach], int rows, bool met) const {
    const int slot = lane() % kNeuronSlots;
    float weights[Out];
#pragma unroll
    for (int k = 0; k < Out; ++k) weights[k] = memory_.output_weights[k * kNeuronSlots + slot];
#pragma unroll
    for (int j = 0; j < kQuadsEach; ++j) {
      const int quad = warp() + j * kUpperWarps;
      if (quad >= kQuads) break;
      const int row = quad * kQuadRows + lane() / kNeuronSlots;
      const bool there = part_ * kRowsEach + row < rows;
      float own[4 * kErrorPacks], target[Out];
#pragma unroll
      for (int k = 0; k < Out; ++k) {
        own[k] = memory_.output_sums[row * Out + k];
        target[k] = there ? targets_of(even_)[row * Out + k] : 0.0f;
      }
      float slopes[Out];
      finish(own, slopes);
      float row_squares = 0.0f, delta = 0.0f;
#pragma unroll
      for (int k = 0; k < Out; ++k) {
        const float error = there ? own[k] - target[k] : 0.0f;
        row_squares += error * error;
        own[k] = error * slopes[k];
        delta += own[k] * weights[k];
      }
#pragma unroll
      for (int k = Out; k < 4 * kErrorPacks; ++k) own[k] = 0.0f;
      send_slots(memory_.deltas, row, delta * slope(control_.hidden, values[j]));
      float* const to = memory_.errors + (part_ * kRowsEach + row) * kErrorPitch;
#pragma unroll
      for (int pack = 0; pack < kErrorPacks; ++pack) {
#pragma unroll
        for (int first = 0; first < Parts; first += kNeuronSlots) {
          if (first + slot < Parts) {
            rows_box().send(first + slot, to + 4 * pack,
                            {{own[4 * pack], own[4 * pack + 1], own[4 * pack + 2], own[4 * pack + 3]}});
          }
        }
      }
      double squares = static_cast<double>(row_squares);
      squares += __shfl_xor_sync(kAllLanes, squares, kNeuronSlots);
      squares += __shfl_xor_sync(kAllLanes, squares, 2 * kNeuronSlots);
      const Packet whole = packed(squares, 0);
      if (lane() < Parts) {
        rows_box().send(lane(), memory_.squares + 4 * (part_ * kQuads + quad),
                        {{whole.a, whole.b, met ? 1.0f : 0.0f, 0.0f}});
      }
    }
  }
  /// Outputs of their sums, in place, and their slopes: one branch for all.
  __device__ __forceinline__ void finish(float (&own)[4 * kErrorPacks], float (&slopes)[Out]) const {
    if (control_.output == kSoftmax) {
      soften<Out>(own);
#pragma unroll
      for (int k = 0; k < Out; ++k) slopes[k] = 1.0f;
    } else {
      activate_all(control_.output, own);
#pragma unroll
      for (int k = 0; k < Out; ++k) slopes[k] = slope(control_.output, own[k]);
    }
  }

  // Counting: the last warp.

  __device__ __forceinline__ void count() const {
    double squares = 0.0;
    bool met = true;
    for (int i = lane(); i < Parts * kQuads; i += kWarp) {
      const Pack<4> seen = load<4>(memory_.squares + 4 * i);
      squares += unpacked({seen.value[0], seen.value[1], 0.0f, 0});
      met = met && seen.value[2] != 0.0f;
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) squares += __shfl_xor_sync(kAllLanes, squares, offset);
    met = __all_sync(kAllLanes, met ? 1 : 0) != 0;
    if (lane() > 0) return;
    count_prepared(control_, squares, *memory_.verdict, buffers_.errors, buffers_.slots);
    memory_.verdict->met = met ? 1 : 0;
  }

  // Gradients, and the weights of the cluster's neurons: the warps before the last. A warp has units of 16 x 8; lane
  // (g, t) has in element i line 2 g + i / 2, slot 2 t + i % 2.

  __device__ __forceinline__ void find_gradient() {
    const int g = lane_group(), t = lane_of_group();
#pragma unroll
    for (int j = 0; j < kTilesEach; ++j) {
      const int unit = warp() + j * (kWarps - 1);
      if (unit >= kTiles) break;
      const bool first = unit < kFirstTiles;
      const int pitch = first ? kPitch : kErrorPitch;
      const float* const left = (first ? rows_of(even_) + 16 * unit : memory_.errors) + t * pitch + 2 * g;
      const float* const right = (first                 ? memory_.deltas
                                  : unit == kFirstTiles ? memory_.values
                                                        : memory_.ones) +
                                 t * kNeuronSlots + g;
      float sums[3][4] = {};
#pragma unroll
      for (int row = 0; row < kTile; row += kSliceDepth) {
        const Pack<2> u = load<2>(left + row * pitch), l = load<2>(left + (row + 4) * pitch);
        add_product(sums, {u.value[0], u.value[1], l.value[0], l.value[1]},
                    {right[row * kNeuronSlots], right[(row + 4) * kNeuronSlots]});
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) gradients_[j][i] = sums[0][i] + (sums[1][i] + sums[2][i]);
    }
  }
  __device__ __forceinline__ void learn() {
    const Step step = memory_.verdict->step;
    const int decision = memory_.verdict->decision;
    if (warp() == kWarps - 1) return;
#pragma unroll
    for (int j = 0; j < kTilesEach; ++j) {
      const int unit = warp() + j * (kWarps - 1);
      if (unit >= kTiles) break;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        gradients_[j][i] = (there_ >> (4 * j + i) & 1u) != 0 ? gradients_[j][i] * step.gradient_factor : 0.0f;
      }
      change_parameters(control_, step, decision, gradients_[j], weights_[j], states_[j]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool there = (there_ >> (4 * j + i) & 1u) != 0;
        if (unit <= kFirstTiles || slot_of(i) == 0) weight(unit, i) = there ? weights_[j][i] : 0.0f;
      }
    }
  }
  /// Calls use(j, i, unit, place) for the elements that a lane has: j-th unit of the warp, element i; `place`: in the
  /// layout of Layers.
  template <class Use>
  __device__ __forceinline__ void each_own(const Use& use) {
    if (warp() == kWarps - 1) return;
#pragma unroll
    for (int j = 0; j < kTilesEach; ++j) {
      const int unit = warp() + j * (kWarps - 1);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = unit < kTiles ? place(unit, i) : -1;
        if (at >= 0) use(j, i, unit, at);
      }
    }
  }
  __device__ __forceinline__ static int line_of(int i) { return 2 * lane_group() + i / 2; }
  __device__ __forceinline__ static int slot_of(int i) { return 2 * lane_of_group() + i % 2; }
  __device__ __forceinline__ float& weight(int unit, int i) const {
    const int line = line_of(i), slot = slot_of(i);
    if (unit < kFirstTiles) return memory_.weights[slot * kPitch + 16 * unit + line];
    return unit == kFirstTiles ? memory_.output_weights[line * kNeuronSlots + slot] : memory_.output_biases[line];
  }
  /// -1: the network has no such weight.
  __device__ __forceinline__ int place(int unit, int i) const {
    constexpr int kAtOutputs = (In + 1) * Hidden;
    const int slot = slot_of(i), neuron = cluster_ * kNeurons + slot;
    if (unit == kFirstTiles + 1) {
      return slot == 0 && line_of(i) < Out ? kAtOutputs + Hidden * Out + line_of(i) : -1;
    }
    if (slot >= kNeurons || neuron >= Hidden) return -1;
    if (unit == kFirstTiles) return line_of(i) < Out ? kAtOutputs + line_of(i) * Hidden + neuron : -1;
    const int column = 16 * unit + line_of(i), input = part_ * kInputs + column;
    if (column == kInputs) return part_ == 0 ? In * Hidden + neuron : -1;
    return column < kInputs && input < In ? neuron * In + input : -1;
  }

  /// sums += left right, of float32 factors: both leading terms, and the rest of either factor, apart.
  __device__ __forceinline__ static void add_product(float (&sums)[3][4], const float (&left)[4],
                                                     const float (&right)[2]) {
    float whole_left[4], rest_left[4], whole_right[2], rest_right[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      whole_left[i] = leading(left[i]);
      rest_left[i] = left[i] - whole_left[i];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      whole_right[i] = leading(right[i]);
      rest_right[i] = right[i] - whole_right[i];
    }
    multiply_add_16x8x8(sums[1], rest_left, whole_right);
    multiply_add_16x8x8(sums[2], whole_left, rest_right);
    multiply_add_16x8x8(sums[0], whole_left, whole_right);
  }

  const Memory memory_;
  const ResidentBuffers buffers_;
  const Control& control_;
  int part_, cluster_;
  int place_ = 0, own_place_ = 0;
  float states_[kTilesEach][kStateArrays][4] = {}, weights_[kTilesEach][4] = {}, gradients_[kTilesEach][4] = {};
  unsigned there_ = 0;  ///< bit 4 j + i: the network has that element
  unsigned stamp_ = 0;
  int round_ = 0;
  bool even_ = true;
};

/// At most `steps` steps; `order` and `errors`: of `slots` epochs.
template <int Block, int Blocks, int Parts, int Rows, int In, int Hidden, int Out>
__global__ void __launch_bounds__(Block, 1)
    train_neurons(const float* rows, const float* targets, const int* order, float* parameters, float* state,
                  float* gradient, const Control* control_at, const Progress* before, Progress* after, double* errors,
                  Packet* packets, int steps, int slots) {
  using Training = NeuronsTraining<Block, Blocks, Parts, Rows, In, Hidden, Out>;
  const Control control = *control_at;
  const typename Training::Memory memory;
  const Progress& progress = memory.verdict->progress;
  if (threadIdx.x == 0) memory.verdict->progress = *before;
  __syncthreads();
  if (!goes_on(control, progress, 0, steps)) return;
  Training work(memory, {rows, targets, order, parameters, state, gradient, errors, packets, nullptr, slots}, control);
  work.fetch();
  train_to_end(work, control, progress, after, steps);
  cluster_barrier();  // no block ends while others may still write to its memory
}

#endif

}  // namespace heddle::mlp
