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

  /// `packed`: room for what a block with several passes has in global memory.
  __device__ __forceinline__ ClusterLayer(const ClusterMemory& memory, const float* rows, float* packed,
                                          const Control& control)
      : memory_(memory),
        rows_(rows),
        packed_(packed + static_cast<long long>(blockIdx.x) * kShape.padded_words()),
        all_(control.rows),
        hidden_(control.hidden),
        part_(static_cast<int>(blockIdx.x) % Parts),
        columns_(min(kColumns, In + 1 - part_ * kColumns)) {}

  /// The whole block, once, before fetch_rows().
  __device__ __forceinline__ void open() const {
    if (thread() > 0) return;
    rows_box(true).open();
    rows_box(false).open();
  }

  /// Makes bytes of the block's columns of the cluster's rows: on chip with one pass, for start_rows() with several. If
  /// they are neither whole numbers nor fractions of 255, the rows stay where they are, and products are those of
  /// float32 numbers. The whole block.
  __device__ __forceinline__ void fetch_rows() { bytes_ = fetch_rows_times(1.0f) || fetch_rows_times(255.0f); }
  // Of several passes. The rows of one come in two parts, early chunks of columns and the other ones.

  /// One thread: starts to bring a part of the rows of a pass on chip, which is `even` or not.
  __device__ __forceinline__ void start_rows(bool early, int pass, bool even) const {
    const int first = early ? 0 : kEarlyChunks, words = (early ? kEarlyChunks : kChunks - kEarlyChunks) * kChunkRows;
    if (rare(!bytes_) || words == 0) return;
    const Mailbox box = rows_box(early);
    box.expect(words * 4);
    box.fetch(reinterpret_cast<float*>(rows_of(even)) + first * kChunkRows,
              packed_ + pass * kShape.rows_words() + first * kChunkRows, words);
  }
  /// Waits for what start_rows() has started. `round`: the passes whose rows were there before.
  __device__ __forceinline__ void await_rows(bool early, int round) const {
    if (bytes_ && (!early || kEarlyChunks > 0)) rows_box(early).wait(round);
  }

  /// Quads of a neuron's columns that a lane has: lane, lane + kWarp, ...
  static constexpr int kLaneQuads = ceil_div(kShape.column_chunks() * kByteDepth / kQuad, kWarp);

  /// One warp: makes digits of a neuron's weights, or keeps them. A barrier goes before it, and another has to follow.
  __device__ __forceinline__ void leave_weights(int neuron, const Pack<kQuad> (&weights)[kLaneQuads]) const {
    constexpr int kQuads = kChunks * kByteDepth / kQuad;
    if (rare(!bytes_)) return keep_weights(neuron, weights);
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

  /// The block's part of the sums of all neurons, of all rows of the cluster in a pass, whose early rows are there.
  /// `round`: see await_rows(). By its first `warps` warps. A cluster_barrier() has to follow.
  __device__ __forceinline__ void find_sums(int warps, int pass, int round) const {
    if (rare(!bytes_)) return find_sums_of_floats(warps, pass);
    find_sums_of_bytes(warps, round);
  }

  /// Values of the block's own rows, to[row][pitch]. By a Team.
  template <class Workers>
  __device__ __forceinline__ void find_values(float* to, int pitch) const {
    for (int e = Workers::thread(); e < Tile * kShape.quads(); e += Workers::kThreads) {
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

  /// Deltas of neighbouring neurons of a quad, of a row of the block's own; 0 of those that are not there.
  template <int Count>
  __device__ __forceinline__ void leave_deltas(int row, int neuron, const Pack<Count>& found) const {
    if (row < Tile) store<Count>(memory_.deltas + place_of(row, neuron / kQuad) + neuron % kQuad, found);
  }
  /// After a barrier that follows leave_deltas(), a warp of a Team for a quad: the largest of the block's deltas. A
  /// cluster_barrier() has to follow.
  template <class Workers>
  __device__ __forceinline__ void find_largest_deltas() const {
    for (int quad = Workers::warp(); quad < kShape.quads(); quad += Workers::kWarps) {
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

  /// Makes digits of the deltas of all rows of the cluster, or keeps them. A barrier has to follow. By a Team.
  template <class Workers>
  __device__ __forceinline__ void divide_deltas() const {
    constexpr int kQuads = kShape.halves() * kHalfNeurons / kQuad, kFours = kShape.row_chunks() * 8;
    if (rare(!bytes_)) return keep_deltas<Workers>();
    constexpr int kAcross = smaller(kQuads, Workers::kThreads), kAlong = Workers::kThreads / kAcross;
    const int thread = Workers::thread();
    if (thread >= kAlong * kAcross) return;
    for (int quad = thread / kAlong; quad < kQuads; quad += kAcross) {
      // Loads from other blocks take long: the first deltas are on their way while their scale is found.
      const bool there = quad < kShape.quads();
      Pack<4> of_block[Parts], delta[4];
#pragma unroll
      for (int rank = 0; rank < Parts; ++rank) {
        of_block[rank] = there ? load_from_block(rank, largest_deltas(quad)) : filled<4>(0.0f);
      }
      int four = thread % kAlong;
      load_deltas(delta, four, quad, there && four < kFours);
      unsigned largest[kQuad] = {};
#pragma unroll
      for (const Pack<4>& seen : of_block) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) largest[i] = max(largest[i], __float_as_uint(seen.value[i]));
      }
      const DigitScale scale[kQuad] = {DigitScale(largest[0]), DigitScale(largest[1]), DigitScale(largest[2]),
                                       DigitScale(largest[3])};
      if (thread % kAlong == 0) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) memory_.delta_factors[quad * kQuad + i] = scale[i].factor;
      }
#pragma unroll 1
      for (; four < kFours; four += kAlong) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
          const float value[4] = {delta[0].value[i], delta[1].value[i], delta[2].value[i], delta[3].value[i]};
          leave_digits<kShape.row_chunks()>(memory_.delta_digits, quad * kQuad + i, four / 8, four % 4, four / 4 % 2,
                                            scale[i], value);
        }
        load_deltas(delta, four + kAlong, quad, there && four + kAlong < kFours);
      }
    }
  }

  /// The gradient of the block's columns over the cluster's rows of all passes up to this one, which is `even` or not.
  /// That of the last pass goes to post(neuron, quad of columns, gradient). By the block's first `warps` warps, which
  /// call before_last() when all of them have only one item left, if they had more.
  template <class Before, class Post>
  __device__ __forceinline__ void find_gradient(int warps, int pass, bool even, const Before& before_last,
                                                const Post& post) const {
    if (rare(!bytes_)) return find_gradient_of_floats(warps, pass, post);
    constexpr int kRowChunks = kShape.row_chunks();
    const int g = lane_group(), t = lane_of_group();
#pragma unroll 1
    for (int first = 0; first < kShape.gradient_items(); first += warps) {
      if (first > 0 && first + warps >= kShape.gradient_items()) before_last();
      const int item = first + warp();
      if (item >= kShape.gradient_items()) break;
      const int half = item % kShape.halves(), columns = item / kShape.halves();
      const unsigned* const digits = memory_.delta_digits + half * kShape.half_words(kRowChunks) + lane() * 2;
      // The lane's four columns of the four rows that it has of a chunk, further by 16 rows or not.
      const unsigned* const rows = rows_of(even) + columns * kChunkRows + (t % 2 * 4 + g % 4) * 4 + t / 2 + g / 4 * 2;
      // That of the passes before comes while the product is found.
      float* const kept = gradient_so_far() + (item * kQuad * kWarp + lane()) * kQuad;
      Pack<kQuad> before[kQuad];
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        before[i] = pass > 0 ? load<kQuad>(kept + i * kWarp * kQuad) : filled<kQuad>(0.0f);
      }
      int sums[kItemRowTiles][kHalfTiles][4] = {};
#pragma unroll 2
      for (int chunk = 0; chunk < kRowChunks; ++chunk) {
        unsigned seen[2][4];
#pragma unroll
        for (int further = 0; further < 2; ++further) {
#pragma unroll
          for (int i = 0; i < 4; ++i) seen[further][i] = rows[(2 * chunk + further) * 128 + i * 32];
          transpose_bytes(seen[further]);
        }
        const unsigned left[kItemRowTiles][4] = {{seen[0][0], seen[0][1], seen[1][0], seen[1][1]},
                                                 {seen[0][2], seen[0][3], seen[1][2], seen[1][3]}};
        multiply_add<kRowChunks>(sums, left, digits + chunk * kChunkWords);
      }
      Pack<kQuad> found[kQuad];
      const Pack<kQuad> factors = load<kQuad>(memory_.delta_factors + half * kHalfNeurons + t * kQuad);
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        const float factor = factor_ * factors.value[i];
        found[i] = {{factor * number_of<kRowChunks>(sums[0], i, 0), factor * number_of<kRowChunks>(sums[0], i, 2),
                     factor * number_of<kRowChunks>(sums[1], i, 0), factor * number_of<kRowChunks>(sums[1], i, 2)}};
        add_to(found[i], before[i]);
      }
      if (pass + 1 < Passes) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i) store<kQuad>(kept + i * kWarp * kQuad, found[i]);
        continue;
      }
      const int quad = columns * (kByteDepth / kQuad) + g / 4 * 4 + g % 4;
      if (quad >= kShape.packets_of()) continue;
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        const int neuron = half * kHalfNeurons + t * kQuad + i;
        if (neuron < Out) post(neuron, quad, found[i]);
      }
    }
  }
  /// Of warps that have fewer items of find_gradient() than others the first one, or 0.
  static constexpr int kLessBusy = kShape.column_chunks() * kShape.halves() % (Block / kWarp);

 private:
  static constexpr int kWarps = Block / kWarp, kColumns = kShape.columns(), kChunks = kShape.column_chunks();
  static constexpr int kRowWords = kShape.row_words(), kChunkRows = kShape.chunk_words();
  static constexpr int kEarlyChunks = kShape.early_chunks(first_warps(kWarps, Passes));
  static constexpr int kTogether = 8;  ///< rows of a tile that follow each other among all rows
  static_assert(Tile % kTogether == 0, "as ClusterLayout rounds it");

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }

  __device__ __forceinline__ Mailbox rows_box(bool early) const { return Mailbox(memory_.box + (early ? 0 : 2)); }

  // The rows of a pass: [block][row of its tile] of the cluster.

  __device__ __forceinline__ unsigned* rows_of(bool even) const {
    return memory_.rows + (even ? 0 : kShape.rows_words());
  }

  /// Where a row is among all rows, and how many of its block's there are from it on: 0 or less: there is no such row.
  struct Place {
    int row, left;
  };
  __device__ __forceinline__ Place place_of_row(int pass, int row) const {
    const int each = ceil_div(all_, Blocks), block = static_cast<int>(blockIdx.x) - part_ + row / Tile;
    const int of_block = pass * Tile + row % Tile, place = block * each + of_block;
    return {place, min(each - of_block, all_ - place)};
  }
  /// The block's columns of a row among all rows.
  __device__ __forceinline__ const float* columns_of(int row) const {
    return rows_ + static_cast<long long>(row) * In + part_ * kColumns;
  }
  /// Those of a row of a pass; null: there is no such row.
  __device__ __forceinline__ const float* row_at(int pass, int row) const {
    const Place place = place_of_row(pass, row);
    return place.left > 0 ? columns_of(place.row) : nullptr;
  }
  /// With the column of ones, and zeros. `from`: see row_at(). Loads in any case, so that no load waits for a branch.
  __device__ __forceinline__ float value_of(const float* from, int column) const {
    return value_in(column, (from == nullptr ? columns_of(0) : from)[nearest(column)], from != nullptr);
  }
  /// A column that the rows have.
  __device__ __forceinline__ int nearest(int column) const { return min(column, In - 1 - part_ * kColumns); }
  /// What a column has where its nearest one has `value`.
  __device__ __forceinline__ float value_in(int column, float value, bool there) const {
    return !there || column >= columns_ ? 0.0f : part_ * kColumns + column == In ? 1.0f : value;
  }
  /// fetch_rows() of numbers that `scale` makes bytes of. Returns whether it does. A warp takes a tile of rows and a
  /// chunk of columns at a time, a lane has a column of it: neighbours load neighbours, and 16 loads of a lane are on
  /// their way. They are asked for at the end of the turn before: a compiler that sees what is done with a number may
  /// do that before it asks for the next one.
  __device__ __forceinline__ bool fetch_rows_times(float scale) {
    unsigned* const to = Passes == 1 ? memory_.rows : reinterpret_cast<unsigned*>(packed_);
    bool fits = true;
    float number[kTileRows];
    load_column(number, warp());
    for (int e = warp(); e < Passes * kShape.rows_words() / 128; e += kWarps) {
      const int column = column_of(e);
      unsigned words[4] = {};  // four rows each
#pragma unroll
      for (int some = 0; some < kTileRows; some += kTogether) {
        const int left = first_of(e, some).left;
#pragma unroll
        for (int r = some; r < some + kTogether; ++r) {
          const float value = scale * value_in(column, number[r], r - some < left);
          const bool is_one = is_byte(value);
          fits = fits && is_one;
          words[r / 4] |= static_cast<unsigned>(is_one ? floorf(value + 0.5f) : 0.0f) << (8 * (r % 4));
        }
      }
      if (!__all_sync(kAllLanes, fits)) break;
      load_column(number, e + kWarps);
      // Lane 4 q + i of four lanes gets rows 4 i to 4 i + 3 of their columns, then a word for each of these rows.
      transpose_words(words);
      transpose_bytes(words);
      const int q = lane() / 4;
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = lane() % 4 * 4 + r;
        to[place_of_piece(e) + (row % 8 * 4 + q % 4) * 4 + row / 8 + q / 4 * 2] = words[r];
      }
    }
    if (__syncthreads_and(fits ? 1 : 0) == 0) return false;
    factor_ = 1.0f / scale;
    return true;
  }
  /// Where piece `e` of the rows of all passes, [tile of 16 rows][chunk of columns], goes.
  __device__ __forceinline__ static int place_of_piece(int e) {
    constexpr int kTiles = kChunkRows / 128;
    const int tile = e / kChunks;
    return tile / kTiles * kShape.rows_words() + e % kChunks * kChunkRows + tile % kTiles * 128;
  }
  /// Of such a piece: the lane's column.
  __device__ __forceinline__ static int column_of(int e) { return e % kChunks * kByteDepth + lane(); }
  /// The same: row `r` of it.
  __device__ __forceinline__ Place first_of(int e, int r) const {
    const int row = e / kChunks * kTileRows + r;
    return place_of_row(row / kShape.room(), row % kShape.room());
  }
  /// The numbers of that column, or of others where there are none. Rows that follow each other are at constant
  /// distances.
  __device__ __forceinline__ void load_column(float (&number)[kTileRows], int e) const {
#pragma unroll
    for (int some = 0; some < kTileRows; some += kTogether) {
      const Place place = first_of(e, some);
      const float* const from = columns_of(place.left > 0 ? place.row : 0) + nearest(column_of(e));
#pragma unroll
      for (int r = 0; r < kTogether; ++r) number[some + r] = from[(r < place.left ? r : 0) * In];
    }
  }
  /// Word i of lane j of four neighbours becomes word j of lane i.
  __device__ __forceinline__ static void transpose_words(unsigned (&words)[4]) {
#pragma unroll
    for (int apart = 1; apart < 4; apart *= 2) {
      const bool upper = lane() / apart % 2 != 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i / apart % 2 != 0) continue;
        const unsigned other = __shfl_xor_sync(kAllLanes, upper ? words[i] : words[i + apart], apart);
        words[i] = upper ? other : words[i];
        words[i + apart] = upper ? words[i + apart] : other;
      }
    }
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

  /// Four rows of the cluster, of which eight fours are a chunk; zeros if they are not `there`.
  __device__ __forceinline__ void load_deltas(Pack<4> (&delta)[4], int four, int quad, bool there) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      delta[i] = there ? delta_of(row_of(four / 8, four / 4 % 2, four % 4, i), quad) : filled<4>(0.0f);
    }
  }

  /// Products of bytes: the block's part of all sums.
  __device__ __forceinline__ void find_sums_of_bytes(int warps, int round) const {
    const unsigned* const of_pass = rows_of(Passes == 1 || round % 2 == 0);
#pragma unroll 1
    for (int item = warp(); item < kShape.row_chunks() * kShape.halves(); item += warps) {
      const int half = item % kShape.halves(), pair = item / kShape.halves();
      const unsigned* const rows = of_pass + pair * kItemRowTiles * 128 + lane() * 4;
      const unsigned* const digits = memory_.weight_digits + half * kShape.half_words(kChunks) + lane() * 2;
      int sums[kItemRowTiles][kHalfTiles][4] = {};
#pragma unroll 2
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (Passes > 1 && chunk == kEarlyChunks) await_rows(false, round);
        unsigned left[kItemRowTiles][4];
#pragma unroll
        for (int m = 0; m < kItemRowTiles; ++m) read(left[m], rows + chunk * kChunkRows + m * 128);
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
            value.value[i] = factor_ * factors.value[i] * number_of<kChunks>(sums[m], i, 2 * lower);
          }
          store<4>(sums_of(row / Tile) + place_of(row % Tile, quad), value);
        }
      }
    }
  }

  __device__ __forceinline__ float* gradient_so_far() const { return packed_ + kShape.all_rows_words(); }
  __device__ __forceinline__ static void add_to(Pack<kQuad>& sum, const Pack<kQuad>& more) {
#pragma unroll
    for (int i = 0; i < kQuad; ++i) sum.value[i] += more.value[i];
  }

  // Products with rows that are no bytes, from global memory: right, but slow.

  /// Has the compiler put what follows out of the way: code that is not executed costs time where it has to be jumped.
  __device__ __forceinline__ static bool rare(bool happens) { return __builtin_expect(happens ? 1 : 0, 0) != 0; }

  __device__ __forceinline__ void keep_weights(int neuron, const Pack<kQuad> (&weights)[kLaneQuads]) const {
#pragma unroll
    for (int e = 0; e < kLaneQuads; ++e) {
      const int quad = lane() + e * kWarp;
      if (neuron < Out && quad < kShape.packets_of()) {
        store<4>(memory_.weight_floats + neuron * kShape.pitch() + quad * kQuad, weights[e]);
      }
    }
  }
  __device__ __forceinline__ void find_sums_of_floats(int warps, int pass) const {
    for (int e = thread(); e < kShape.room() * kShape.quads(); e += warps * kWarp) {
      const int row = e / kShape.quads(), quad = e % kShape.quads();
      const float* const from = row_at(pass, row);
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
  __device__ __forceinline__ void find_gradient_of_floats(int warps, int pass, const Post& post) const {
#pragma unroll 1
    for (int e = thread(); e < kShape.packets_of() * Out; e += warps * kWarp) {
      const int neuron = e / kShape.packets_of(), quad = e % kShape.packets_of();
      Pack<kQuad> sum = filled<kQuad>(0.0f);
#pragma unroll 1
      for (int row = 0; row < kShape.room(); ++row) {
        const float delta = memory_.delta_floats[row * kRowWords + neuron];
        const float* const from = row_at(pass, row);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) sum.value[i] += value_of(from, quad * kQuad + i) * delta;
      }
      float* const kept = gradient_so_far() + (neuron * kChunks * kByteDepth / kQuad + quad) * kQuad;
      if (pass > 0) add_to(sum, load<kQuad>(kept));
      if (pass + 1 < Passes) {
        store<kQuad>(kept, sum);
      } else {
        post(neuron, quad, sum);
      }
    }
  }
  /// Out of the way of the gradient.
  template <class Workers>
  __device__ __forceinline__ void keep_deltas() const {
    for (int e = Workers::thread(); e < kShape.room() * kShape.quads(); e += Workers::kThreads) {
      const int row = e % kShape.room(), quad = e / kShape.room();
      store<4>(memory_.delta_floats + row * kRowWords + quad * kQuad, delta_of(row, quad));
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
  template <int Chunks>
  __device__ __forceinline__ static float number_of(const int (&sums)[kHalfTiles][4], int i, int row) {
    constexpr int kLargest = 255 * 128 * 257;  // of a product with two digits
    const int first = i / 2 * kDigits, at = i % 2 + row;
    const auto highest = static_cast<float>(sums[first + 2][at]);
    if constexpr (Chunks * kByteDepth <= 0x7fffffff / kLargest) {
      return highest * 65536.0f + static_cast<float>(sums[first + 1][at] * 256 + sums[first][at]);
    }
    return highest * 65536.0f + static_cast<float>(sums[first + 1][at]) * 256.0f + static_cast<float>(sums[first][at]);
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
  int all_, hidden_, part_;
  int columns_;  ///< of this part
  float factor_ = 1.0f;
  bool bytes_ = true;  ///< that the block's columns of the cluster's rows are
};

#endif

}  // namespace heddle::mlp
