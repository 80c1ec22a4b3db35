// A block's share of the first layer, for all rows of its cluster: scheme = cluster. ClusterShape says what it has.
//
// In comments, g is lane / 4 and t is lane % 4. Of an item of a product a lane has neurons 4 t to 4 t + 3 of a half:
// the first two are columns 2 t and 2 t + 1 of the first tile of each digit, the others those of the second tile.
#pragma once

#include "heddle/kernels/common/byte_matrix.cuh"
#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/cluster_memory.cuh"
#include "heddle/kernels/mlp/cuda/products.cuh"

namespace heddle::mlp {

#if __CUDA_ARCH__ >= 900

template <int Block, int Blocks, int Parts, int Tile, int Passes, int In, int Out>
class ClusterLayer {
 public:
  static constexpr ClusterShape<int> kShape{In, Out, Blocks, Parts, Tile, Passes};

  /// `packed`: room for the block's columns of all rows, if there are several passes.
  __device__ __forceinline__ ClusterLayer(const ClusterMemory& memory, const float* rows, float* packed,
                                          const Control& control)
      : memory_(memory),
        rows_(rows),
        packed_(packed + static_cast<long long>(blockIdx.x) * Passes * kShape.rows_words()),
        now_(memory.rows),
        all_(control.rows),
        hidden_(control.hidden),
        part_(static_cast<int>(blockIdx.x) % Parts),
        columns_(min(kColumns, In + 1 - part_ * kColumns)) {}

  /// The whole block, once, before fetch_rows().
  __device__ __forceinline__ void open() const {
    if (thread() == 0) rows_box().open();
  }

  /// Makes bytes of the block's columns of the cluster's rows: on chip with one pass, for start_rows() with several. If
  /// some number is none, the rows stay where they are, and products are those of float32 numbers. The whole block.
  __device__ __forceinline__ void fetch_rows() {
    bool whole = true, fractions = true;
    for (int i = thread(); i < Passes * kShape.room() * kColumns; i += Block) {
      const int row = i / kColumns % kShape.room(), column = i % kColumns;
      const float value = value_of(i / kColumns / kShape.room(), row, column);
      if (part_ * kColumns + column >= In) continue;
      whole = whole && is_byte(value);
      fractions = fractions && is_byte(255.0f * value);
    }
    const bool all_whole = __syncthreads_and(whole ? 1 : 0) != 0;
    const bool all_fractions = __syncthreads_and(fractions ? 1 : 0) != 0;
    bytes_ = all_whole || all_fractions;
    if (!bytes_) return;
    const float scale = all_whole ? 1.0f : 255.0f;
    factor_ = 1.0f / scale;
    for (int i = thread(); i < Passes * kShape.rows_words(); i += Block) {
      const int half = i % 2, further = i / 2 % 2, of_lane = i / 4 % kWarp, chunk = i / 128 % kChunks;
      const int tile = i / 128 / kChunks, row = tile * kTileRows + of_lane / 4 + 8 * half;
      const int column = chunk * kByteDepth + 16 * further + of_lane % 4 * 4;
      unsigned word = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float value = value_of(row / kShape.room(), row % kShape.room(), column + j);
        word |= static_cast<unsigned>(floorf(scale * value + 0.5f)) << (8 * j);
      }
      (Passes == 1 ? memory_.rows : reinterpret_cast<unsigned*>(packed_))[i] = word;
    }
  }
  /// Of several passes: starts to bring the rows of one on chip, for a pass that is `even` or not.
  __device__ __forceinline__ void start_rows(int pass, bool even) const {
    if (!bytes_ || thread() > 0) return;
    rows_box().expect(kShape.rows_words() * 4);
    rows_box().fetch(reinterpret_cast<float*>(rows_of(even)), packed_ + pass * kShape.rows_words(),
                     kShape.rows_words());
  }
  /// Waits for what start_rows() has started. `round`: the passes whose rows were there before.
  __device__ __forceinline__ void await_rows(int round) const {
    if (bytes_) rows_box().wait(round);
  }

  /// Of several passes: works with the rows of this one, which is `even` or not.
  __device__ __forceinline__ void use_rows(int pass, bool even) {
    pass_ = pass;
    now_ = rows_of(even);
  }

  /// Quads of a neuron's columns that a lane has: lane, lane + kWarp, ...
  static constexpr int kLaneQuads = ceil_div(kShape.column_chunks() * kByteDepth / kQuad, kWarp);

  /// One warp: makes digits of a neuron's weights, or keeps them. A barrier goes before it, and another has to follow.
  __device__ __forceinline__ void leave_weights(int neuron, const Pack<kQuad> (&weights)[kLaneQuads]) const {
    constexpr int kQuads = kChunks * kByteDepth / kQuad;
    if (!bytes_) return keep_weights(neuron, weights);
    unsigned largest = 0;
#pragma unroll
    for (int e = 0; e < kLaneQuads; ++e) {
#pragma unroll
      for (int i = 0; i < kQuad; ++i) largest = max(largest, absolute_bits(weights[e].value[i]));
    }
    const DigitScale scale(__reduce_max_sync(kAllLanes, largest));
    if (lane() == 0) memory_.weight_factors[neuron] = scale.factor;
#pragma unroll
    for (int e = 0; e < kLaneQuads; ++e) {
      const int quad = lane() + e * kWarp;
      if (quad < kQuads) {
        leave_digits<kChunks>(memory_.weight_digits, neuron, quad / 8, quad % 4, quad / 4 % 2, scale, weights[e].value);
      }
    }
  }
  /// The same of all neurons, those that only fill up their half with them, before the first step: first(neuron, quad).
  template <class First>
  __device__ __forceinline__ void leave_all_weights(const First& first) const {
    for (int neuron = warp(); neuron < kShape.halves() * kHalfNeurons; neuron += kWarps) {
      Pack<kQuad> weights[kLaneQuads];
#pragma unroll
      for (int e = 0; e < kLaneQuads; ++e) {
        const int quad = lane() + e * kWarp;
        weights[e] = neuron < Out && quad < kShape.packets_of() ? first(neuron, quad) : filled<kQuad>(0.0f);
      }
      leave_weights(neuron, weights);
    }
  }

  /// The block's part of the sums of all neurons, of all rows of the cluster. A cluster_barrier() has to follow.
  __device__ __forceinline__ void find_sums() const {
    if (bytes_) {
      find_sums_of_bytes();
    } else {
      find_sums_of_floats();
    }
  }

  /// Values of the block's own rows, to[row][pitch].
  __device__ __forceinline__ void find_values(float* to, int pitch) const {
    for (int e = thread(); e < Tile * kShape.quads(); e += Block) {
      const int row = e % Tile, quad = e / Tile;
      Pack<4> part[Parts], sum = filled<4>(0.0f);
#pragma unroll
      for (int p = 0; p < Parts; ++p) part[p] = load_from_block(p, sums_of(part_) + place_of(row, quad));
#pragma unroll
      for (int p = 0; p < Parts; ++p) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) sum.value[i] += part[p].value[i];
      }
      activate_all(hidden_, sum.value);
      if (quad * kQuad + kQuad <= Out) {
        store<4>(to + row * pitch + quad * kQuad, sum);
      } else {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
          if (quad * kQuad + i < Out) to[row * pitch + quad * kQuad + i] = sum.value[i];
        }
      }
    }
  }

  /// A delta of the block's own rows.
  __device__ __forceinline__ void leave_delta(int row, int neuron, float delta) const {
    if (row < Tile) memory_.deltas[place_of(row, neuron / kQuad) + neuron % kQuad] = delta;
  }
  /// After a barrier that follows leave_delta(), a warp for a quad: the largest of the block's deltas. A
  /// cluster_barrier() has to follow.
  __device__ __forceinline__ void find_largest_deltas() const {
    for (int quad = warp(); quad < kShape.quads(); quad += kWarps) {
      unsigned largest[kQuad] = {};
#pragma unroll
      for (int first = 0; first < Tile; first += kWarp) {
        const int row = first + lane();
        if (row >= Tile) continue;
        float* const own = memory_.deltas + place_of(row, quad);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
          if (quad * kQuad + i >= Out) own[i] = 0.0f;
        }
        const Pack<4> delta = load<4>(own);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) largest[i] = max(largest[i], absolute_bits(delta.value[i]));
      }
      Pack<4> of_quad;
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        of_quad.value[i] = __uint_as_float(__reduce_max_sync(kAllLanes, largest[i]));
      }
      if (lane() == 0) store<4>(largest_deltas(quad), of_quad);
    }
  }

  /// Makes digits of the deltas of all rows of the cluster, or keeps them. The first `Threads` threads; a barrier has
  /// to follow.
  template <int Threads>
  __device__ __forceinline__ void divide_deltas() const {
    constexpr int kQuads = kShape.halves() * kHalfNeurons / kQuad, kRowChunks = kShape.row_chunks();
    if (!bytes_) return keep_deltas<Threads>();
    constexpr int kAcross = smaller(kQuads, Threads), kAlong = Threads / kAcross;
    if (thread() >= kAlong * kAcross) return;
    for (int quad = thread() / kAlong; quad < kQuads; quad += kAcross) {
      const bool there = quad < kShape.quads();
      unsigned largest[kQuad] = {};
#pragma unroll
      for (int rank = 0; rank < Parts; ++rank) {
        if (!there) break;
        const Pack<4> seen = load_from_block(rank, largest_deltas(quad));
#pragma unroll
        for (int i = 0; i < kQuad; ++i) largest[i] = max(largest[i], __float_as_uint(seen.value[i]));
      }
      const DigitScale scale[kQuad] = {DigitScale(largest[0]), DigitScale(largest[1]), DigitScale(largest[2]),
                                       DigitScale(largest[3])};
      if (thread() % kAlong == 0) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) memory_.delta_factors[quad * kQuad + i] = scale[i].factor;
      }
#pragma unroll 1
      for (int four = thread() % kAlong; four < kRowChunks * 8; four += kAlong) {
        const int chunk = four / 8, further = four / 4 % 2, t = four % 4;
        Pack<4> delta[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = row_of(chunk, further, t, i);
          delta[i] = there ? delta_of(row, quad) : filled<4>(0.0f);
        }
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
          const float value[4] = {delta[0].value[i], delta[1].value[i], delta[2].value[i], delta[3].value[i]};
          leave_digits<kRowChunks>(memory_.delta_digits, quad * kQuad + i, chunk, t, further, scale[i], value);
        }
      }
    }
  }

  /// The gradient of the block's columns over the cluster's rows of all passes up to this one. That of the last pass
  /// goes to post(neuron, quad of columns, gradient).
  template <class Post>
  __device__ __forceinline__ void find_gradient(int pass, const Post& post) const {
    if (!bytes_) return find_gradient_of_floats(pass, post);
    constexpr int kRowChunks = kShape.row_chunks();
    const int g = lane_group(), t = lane_of_group();
#pragma unroll 1
    for (int item = warp(); item < kChunks * kShape.halves(); item += kWarps) {
      const int half = item % kShape.halves(), columns = item / kShape.halves();
      const unsigned* const digits = memory_.delta_digits + half * kShape.half_words(kRowChunks) + lane() * 2;
      // The lane's four columns of the four rows that it has of a chunk, further by 16 rows or not.
      const unsigned* const rows = now_ + columns * 128 + (t % 2 * 4 + g % 4) * 4 + t / 2 + g / 4 * 2;
      int sums[kItemRowTiles][kHalfTiles][4] = {};
#pragma unroll 2
      for (int chunk = 0; chunk < kRowChunks; ++chunk) {
        unsigned seen[2][4];
#pragma unroll
        for (int further = 0; further < 2; ++further) {
#pragma unroll
          for (int i = 0; i < 4; ++i) seen[further][i] = rows[(2 * chunk + further) * kChunks * 128 + i * 32];
          transpose_bytes(seen[further]);
        }
        const unsigned left[kItemRowTiles][4] = {{seen[0][0], seen[0][1], seen[1][0], seen[1][1]},
                                                 {seen[0][2], seen[0][3], seen[1][2], seen[1][3]}};
        multiply_add<kRowChunks>(sums, left, digits + chunk * kChunkWords);
      }
      const int quad = columns * (kByteDepth / kQuad) + g / 4 * 4 + g % 4;
      if (quad >= kShape.packets_of()) continue;
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        const int neuron = half * kHalfNeurons + t * kQuad + i;
        if (neuron >= Out) break;
        const float factor = factor_ * memory_.delta_factors[neuron];
        leave_gradient(pass, neuron, quad,
                       {{factor * number_of(sums[0], i, 0), factor * number_of(sums[0], i, 2),
                         factor * number_of(sums[1], i, 0), factor * number_of(sums[1], i, 2)}},
                       post);
      }
    }
  }
  /// Of warps that have fewer items of find_gradient() than others the first one, or 0.
  static constexpr int kLessBusy = kShape.column_chunks() * kShape.halves() % (Block / kWarp);

 private:
  static constexpr int kWarps = Block / kWarp, kColumns = kShape.columns(), kChunks = kShape.column_chunks();
  static constexpr int kRowWords = kShape.row_words();

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }

  __device__ __forceinline__ Mailbox rows_box() const { return Mailbox(memory_.box); }

  // The rows of a pass: [block][row of its tile] of the cluster.

  __device__ __forceinline__ unsigned* rows_of(bool even) const {
    return memory_.rows + (even ? 0 : kShape.rows_words());
  }

  /// The block's columns of a row; null: there is no such row.
  __device__ __forceinline__ const float* row_at(int pass, int row) const {
    const int each = ceil_div(all_, Blocks), block = static_cast<int>(blockIdx.x) - part_ + row / Tile;
    const int of_block = pass * Tile + row % Tile, place = block * each + of_block;
    if (of_block >= each || place >= all_) return nullptr;
    return rows_ + static_cast<long long>(place) * In + part_ * kColumns;
  }
  /// With the column of ones, and zeros.
  __device__ __forceinline__ float value_of(int pass, int row, int column) const {
    const float* const from = row_at(pass, row);
    if (from == nullptr || column >= columns_) return 0.0f;
    return part_ * kColumns + column == In ? 1.0f : from[column];
  }
  /// Addend 4 t + i of a chunk of the gradient, or 16 more. A warp reads these rows of eight quads from different
  /// banks.
  __device__ __forceinline__ static int row_of(int chunk, int further, int t, int i) {
    return chunk * kByteDepth + 16 * further + 8 * (t / 2) + 2 * i + t % 2;
  }

  // What blocks of the cluster load from each other.

  /// Of a row, and a quad of neurons.
  __device__ __forceinline__ static int place_of(int row, int quad) { return quad * kShape.quad_words() + row * kQuad; }
  /// The block's part of the sums of the rows that block `rank` has.
  __device__ __forceinline__ float* sums_of(int rank) const { return memory_.sums + rank * kShape.sum_words(); }
  /// Of the block's rows.
  __device__ __forceinline__ float* largest_deltas(int quad) const {
    return memory_.deltas + kShape.sum_words() + quad * kQuad;
  }
  /// Of a row of the cluster.
  __device__ __forceinline__ Pack<4> delta_of(int row, int quad) const {
    return load_from_block(row / Tile, memory_.deltas + place_of(row % Tile, quad));
  }

  /// Products of bytes: the block's part of all sums.
  __device__ __forceinline__ void find_sums_of_bytes() const {
#pragma unroll 1
    for (int item = warp(); item < kShape.row_chunks() * kShape.halves(); item += kWarps) {
      const int half = item % kShape.halves(), pair = item / kShape.halves();
      const unsigned* const rows = now_ + pair * kItemRowTiles * kChunks * 128 + lane() * 4;
      const unsigned* const digits = memory_.weight_digits + half * kShape.half_words(kChunks) + lane() * 2;
      int sums[kItemRowTiles][kHalfTiles][4] = {};
#pragma unroll 2
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        unsigned left[kItemRowTiles][4];
#pragma unroll
        for (int m = 0; m < kItemRowTiles; ++m) read(left[m], rows + (m * kChunks + chunk) * 128);
        multiply_add<kChunks>(sums, left, digits + chunk * kChunkWords);
      }
      const int quad = half * 4 + lane_of_group();
      if (quad >= kShape.quads()) continue;
      const Pack<4> factors = load<4>(memory_.weight_factors + quad * kQuad);
#pragma unroll
      for (int m = 0; m < kItemRowTiles; ++m) {
#pragma unroll
        for (int lower = 0; lower < 2; ++lower) {
          const int row = (pair * kItemRowTiles + m) * kTileRows + 8 * lower + lane_group();
          Pack<4> value;
#pragma unroll
          for (int i = 0; i < kQuad; ++i) {
            value.value[i] = factor_ * factors.value[i] * number_of(sums[m], i, 2 * lower);
          }
          store<4>(sums_of(row / Tile) + place_of(row % Tile, quad), value);
        }
      }
    }
  }

  /// Adds the gradient of a pass to that of the passes before.
  template <class Post>
  __device__ __forceinline__ void leave_gradient(int pass, int neuron, int quad, Pack<kQuad> gradient,
                                                 const Post& post) const {
    if constexpr (Passes > 1) {
      float* const all = memory_.numbers + neuron * kShape.pitch() + quad * kQuad;
      if (pass > 0) {
        const Pack<kQuad> before = load<kQuad>(all);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) gradient.value[i] += before.value[i];
      }
      if (pass + 1 < Passes) return store<kQuad>(all, gradient);
    }
    post(neuron, quad, gradient);
  }

  // Products with rows that are no bytes, from global memory: right, but slow.

  __device__ __forceinline__ void keep_weights(int neuron, const Pack<kQuad> (&weights)[kLaneQuads]) const {
#pragma unroll
    for (int e = 0; e < kLaneQuads; ++e) {
      const int quad = lane() + e * kWarp;
      if (neuron < Out && quad < kShape.packets_of()) {
        store<4>(memory_.weight_floats + neuron * kShape.pitch() + quad * kQuad, weights[e]);
      }
    }
  }
  __device__ __forceinline__ void find_sums_of_floats() const {
    for (int e = thread(); e < kShape.room() * kShape.quads(); e += Block) {
      const int row = e / kShape.quads(), quad = e % kShape.quads();
      const float* const from = row_at(pass_, row);
      Pack<4> sum = filled<4>(0.0f);
      for (int column = 0; from != nullptr && column < columns_; ++column) {
        const float value = part_ * kColumns + column < In ? from[column] : 1.0f;
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
          const int neuron = quad * kQuad + i;
          if (neuron < Out) sum.value[i] += value * memory_.weight_floats[neuron * kShape.pitch() + column];
        }
      }
      store<4>(sums_of(row / Tile) + place_of(row % Tile, quad), sum);
    }
  }
  /// Of the deltas that keep_deltas() has left.
  template <class Post>
  __device__ __forceinline__ void find_gradient_of_floats(int pass, const Post& post) const {
#pragma unroll 1
    for (int e = thread(); e < kShape.packets_of() * Out; e += Block) {
      const int neuron = e / kShape.packets_of(), quad = e % kShape.packets_of();
      Pack<kQuad> sum = filled<kQuad>(0.0f);
#pragma unroll 1
      for (int row = 0; row < kShape.room(); ++row) {
        const float delta = memory_.sums[row * kRowWords + neuron];
#pragma unroll
        for (int i = 0; i < kQuad; ++i) sum.value[i] += value_of(pass, row, quad * kQuad + i) * delta;
      }
      leave_gradient(pass, neuron, quad, sum, post);
    }
  }
  /// Out of the way of the gradient. The first `Threads` threads.
  template <int Threads>
  __device__ __forceinline__ void keep_deltas() const {
    for (int e = thread(); e < kShape.room() * kShape.quads(); e += Threads) {
      const int row = e % kShape.room(), quad = e / kShape.room();
      store<4>(memory_.sums + row * kRowWords + quad * kQuad, delta_of(row, quad));
    }
  }

  // Products.

  template <int Count>
  __device__ __forceinline__ static void read(unsigned (&to)[Count], const unsigned* from) {
    const Pack<Count> seen = load<Count>(reinterpret_cast<const float*>(from));
#pragma unroll
    for (int i = 0; i < Count; ++i) to[i] = __float_as_uint(seen.value[i]);
  }
  /// Of `Chunks` chunks of addends, one; `digits`: where the lane's first word of it is.
  template <int Chunks>
  __device__ __forceinline__ static void multiply_add(int (&sums)[kItemRowTiles][kHalfTiles][4],
                                                      const unsigned (&left)[kItemRowTiles][4],
                                                      const unsigned* digits) {
    unsigned right[kHalfTiles][2];
#pragma unroll
    for (int n = 0; n < kHalfTiles; ++n) read(right[n], digits + n * Chunks * kChunkWords);
#pragma unroll
    for (int m = 0; m < kItemRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kHalfTiles; ++n) multiply_add_16x8x32(sums[m][n], left[m], right[n]);
    }
  }
  /// The lane's neuron i of an item, of the sums of its digits. `row`: 0, or 2 for the row 8 further on.
  __device__ __forceinline__ static float number_of(const int (&sums)[kHalfTiles][4], int i, int row) {
    const int first = i / 2 * kDigits, at = i % 2 + row;
    return static_cast<float>(sums[first + 2][at]) * 65536.0f + static_cast<float>(sums[first + 1][at]) * 256.0f +
           static_cast<float>(sums[first][at]);
  }
  /// Leaves the digits of four numbers, addends 4 t to 4 t + 3 of a chunk or those 16 further on.
  template <int Chunks>
  __device__ __forceinline__ static void leave_digits(unsigned* to, int neuron, int chunk, int t, int further,
                                                      const DigitScale& scale, const float (&value)[4]) {
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = scale.digits(value[i]);
    transpose_bytes(words);
    const int of_half = neuron % kHalfNeurons, column = of_half / 4 * 2 + neuron % 2;
    const int first = neuron / kHalfNeurons * kShape.half_words(Chunks) + (column * 4 + t) * 2 + further;
#pragma unroll
    for (int digit = 0; digit < kDigits; ++digit) {
      to[first + ((of_half / 2 % 2 * kDigits + digit) * Chunks + chunk) * kChunkWords] = words[digit];
    }
  }

  const ClusterMemory memory_;
  const float* rows_;
  float* packed_;
  const unsigned* now_;  ///< the rows of this pass
  int pass_ = 0;
  int all_, hidden_, part_;
  int columns_;  ///< of this part
  float factor_ = 1.0f;
  bool bytes_ = true;  ///< that the block's columns of the cluster's rows are
};

#endif

}  // namespace heddle::mlp
