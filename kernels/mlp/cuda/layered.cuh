// A step of learning as kernels that follow each other, for networks and batches of any size: scheme = layered. Values,
// deltas and weights are in global memory. Formulas: docs/design.md, "Perceptrons".
//
// Each product is cut into tiles, which are dealt among the blocks that run at a time: tile_product.cuh. Rows of values
// and deltas begin on multiples of 16 bytes.
//
// | kernel | product |
// |---|---|
// | forward_layer | values x weights, for each layer |
// | forward_outputs | the same of the last one, if its outputs are few, and what find_output_deltas does |
// | find_output_deltas | none; errors of the outputs, and sums of their squares, one of each block |
// | backward_layer | deltas x weights, for each layer but the first |
// | find_layer_gradient | deltas x values over parts of the rows, for each layer; the deltas alone for the biases |
// | learn_layered | none; adds up parts and squares in a fixed order, counts the step, changes the parameters |
//
// Rows that come in pieces pass through all but the last kernel piece by piece, and their gradients add up. A launch
// for one of them has a StepPart of the step.
//
// Two places hold the progress in turn: a step reads one and writes the other.
#pragma once

#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/layered_sizes.cuh"
#include "heddle/kernels/mlp/cuda/layered_steps.cuh"
#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/tile_product.cuh"

namespace heddle::mlp {

/// A kernel whose tiles have M x N sums.
#define HEDDLE_TILES(M, N) \
  __global__ void __launch_bounds__(TileShape{M, N}.threads(), TileShape{M, N}.blocks_of_unit())

/// Tiles of rows x columns. Those of the same rows come one after the other.
template <int M, int N>
struct TilesOfRows {
  int rows, columns, addends;
  [[nodiscard]] __device__ __forceinline__ int beside() const { return (columns + N - 1) / N; }
  [[nodiscard]] __device__ __forceinline__ int count() const { return (rows + M - 1) / M * beside(); }
  __device__ __forceinline__ TileWork operator()(int i) const {
    const int upper = i / beside();
    return {upper * M, (i - upper * beside()) * N, 0, addends};
  }
};

/// A lane's sums of a line of a Product, for a row whose column `column` is the first one's; with rows that begin on a
/// multiple of 16 bytes whole packs up to the pitch.
template <class Product>
__device__ __forceinline__ void store_sums(float* row, int pitch, int column, int columns,
                                           const float (&values)[Product::kOwn]) {
  if (pitch % 4 == 0) {
#pragma unroll
    for (int c = 0; c < Product::kOwn; c += 4) {
      const int at = column + Product::column(c);
      if (at < columns) store<4>(row + at, {values[c], values[c + 1], values[c + 2], values[c + 3]});
    }
  } else {
#pragma unroll
    for (int c = 0; c < Product::kOwn; ++c) {
      const int at = column + Product::column(c);
      if (at < columns) row[at] = values[c];
    }
  }
}

/// The product of rows and weights of a layer. Calls use(m, n, sums), with all lanes of a warp at the same time, for
/// sums with their biases; `n` as store_sums() takes it.
template <int M, int N, class Use>
__device__ __forceinline__ void multiply_rows(float* stages, const float* from, const AsOrdered& row, int rows,
                                              const float* parameters, const TiledLayer& layer, const Use& use) {
  using Product = TileProduct<M, N, false, false>;
  const float* const biases = parameters + layer.biases();
  const TilesOfRows<M, N> tiles{rows, layer.out, layer.in};
  Product::run(
      stages, {from, rows, layer.in_pitch, row}, {parameters + layer.weights, layer.out, layer.in, {nullptr, 0}},
      tiles.count(), tiles,
      [&](const TileWork&, int n, const auto& each) {
        float bias[Product::kOwn];
#pragma unroll
        for (int c = 0; c < Product::kOwn; ++c) {
          const int at = n + Product::column(c);
          bias[c] = at < layer.out ? biases[at] : 0.0f;
        }
        each([&](int m, auto& sums) {
#pragma unroll
          for (int c = 0; c < Product::kOwn; ++c) sums[c] += bias[c];
          use(m, n, sums);
        });
      },
      [](const TileWork&, int, float) {});
}

/// Values of `rows` rows of a layer. Any grid.
template <int M, int N>
__device__ __forceinline__ void find_values(const float* from, const AsOrdered& row, int rows, const float* parameters,
                                            const TiledLayer& layer, int activation, float* to) {
  using Product = TileProduct<M, N, false, false>;
  SharedMemory shared;
  multiply_rows<M, N>(
      shared.take<float>(Product::kWords), from, row, rows, parameters, layer, [&](int m, int n, auto& sums) {
        if (m >= rows) return;
        activate_all(activation, sums);
        store_sums<Product>(to + static_cast<long long>(m) * layer.out_pitch, layer.out_pitch, n, layer.out, sums);
      });
}

/// `from`: the rows of the data if `place` is kFirstLayer.
template <int M, int N>
HEDDLE_TILES(M, N)
forward_layer(const float* from, const float* parameters, float* to, const Control* control, const Progress* now,
              const int* order, TiledLayer layer, int place, int done, int steps, int slots, StepPart part) {
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  find_values<M, N>(from, (place & kFirstLayer) != 0 ? step.rows_of : AsOrdered{nullptr, 0}, step.rows, parameters,
                    layer, step.activation_of(place), to);
}

__device__ __forceinline__ double sum_over_warp(double value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

/// Thread 0 gets the sum over the block, by `of_warps` of shared memory. The whole block calls it.
__device__ __forceinline__ double sum_over_block(double value, double* of_warps) {
  const int thread = static_cast<int>(threadIdx.x);
  value = sum_over_warp(value);
  if (thread % kWarp == 0) of_warps[thread / kWarp] = value;
  __syncthreads();
  double all = 0.0;
  if (thread == 0) {
    for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) all += of_warps[w];
  }
  return all;
}

/// Makes outputs of a lane's sums of a row, whose other sums three neighbouring lanes have. `n`: as store_sums() takes
/// it.
template <class Product>
__device__ __forceinline__ void finish_sums_of_lanes(int activation, int outputs, int n, float (&sums)[Product::kOwn]) {
  if (activation != kSoftmax) return activate_all(activation, sums);
  float largest = -infinity(), all = 0.0f;
#pragma unroll
  for (int c = 0; c < Product::kOwn; ++c) {
    if (n + Product::column(c) >= outputs) sums[c] = -infinity();
    largest = fmaxf(largest, sums[c]);
  }
  largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
  largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
#pragma unroll
  for (int c = 0; c < Product::kOwn; ++c) all += sums[c] = __expf(sums[c] - largest);
  all = sum_over_lanes<4>(all);
#pragma unroll
  for (int c = 0; c < Product::kOwn; ++c) sums[c] /= all;
}

/// The last layer forward, with at most N outputs, and their deltas: forward_layer() and find_output_deltas() in one.
template <int M, int N>
HEDDLE_TILES(M, N)
forward_outputs(const float* from, const float* parameters, float* to, const Control* control, const Progress* now,
                const int* order, TiledLayer layer, int place, const float* targets, double* squares, int done,
                int steps, int slots, StepPart part) {
  using Product = TileProduct<M, N, false, false>;
  SharedMemory shared;
  float* const stages = shared.take<float>(Product::kWords);
  double* const of_warps = reinterpret_cast<double*>(shared.take<float>(kWordsOfSquares));
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  double own_squares = 0.0;
  multiply_rows<M, N>(stages, from, (place & kFirstLayer) != 0 ? step.rows_of : AsOrdered{nullptr, 0}, step.rows,
                      parameters, layer, [&](int m, int n, auto& sums) {
                        finish_sums_of_lanes<Product>(step.control.output, layer.out, n, sums);
                        if (m >= step.rows) return;
                        const float* const right = targets + static_cast<long long>(step.rows_of(m)) * layer.out;
#pragma unroll
                        for (int c = 0; c < Product::kOwn; ++c) {
                          const int k = n + Product::column(c);
                          if (k >= layer.out) continue;
                          const float value = sums[c], error = value - right[k];
                          own_squares += static_cast<double>(error) * static_cast<double>(error);
                          sums[c] = error * slope(step.control.output, value);
                        }
                        store_sums<Product>(to + static_cast<long long>(m) * layer.out_pitch, layer.out_pitch, n,
                                            layer.out, sums);
                      });
  const double all = sum_over_block(own_squares, of_warps);
  if (threadIdx.x == 0) squares[blockIdx.x] = all;
}

/// Deltas in place of the sums of the outputs, `pitch` words from row to row. Some lanes for a row, lanes_of_row();
/// squares[block]: of the block's errors.
__global__ void __launch_bounds__(kLayeredBlock)
    find_output_deltas(float* sums, const float* targets, const Control* control, const Progress* now, const int* order,
                       double* squares, int outputs, int pitch, int done, int steps, int slots, StepPart part) {
  SharedMemory shared;
  double* const of_warps = reinterpret_cast<double*>(shared.take<float>(kWordsOfSquares));
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  const int thread = static_cast<int>(threadIdx.x), lanes = lanes_of_row(outputs), lane = thread % lanes;
  const int together = kLayeredBlock / lanes;
  double own_squares = 0.0;
  // All lanes of a warp take part in each round: they exchange what they found.
#pragma unroll 1
  for (int m0 = static_cast<int>(blockIdx.x) * together; m0 < step.rows; m0 += static_cast<int>(gridDim.x) * together) {
    const int m = m0 + thread / lanes, count = m < step.rows ? outputs : 0;
    float* const own = sums + static_cast<long long>(m) * pitch;
    const float* const right = targets + static_cast<long long>(count > 0 ? step.rows_of(m) : 0) * outputs;
    finish_outputs(step.control.output, count, own, lane, lanes);
    for (int k = lane; k < count; k += lanes) {
      const float value = own[k], error = value - right[k];
      own_squares += static_cast<double>(error) * static_cast<double>(error);
      own[k] = error * slope(step.control.output, value);
    }
  }
  const double all = sum_over_block(own_squares, of_warps);
  if (thread == 0) squares[blockIdx.x] = all;
}

/// Deltas of the neurons whose `values` the layer takes. Any grid.
template <int M, int N>
HEDDLE_TILES(M, N)
backward_layer(const float* __restrict__ deltas, const float* __restrict__ values, const float* __restrict__ parameters,
               float* __restrict__ to, const Control* control, const Progress* now, TiledLayer layer, int done,
               int steps, StepPart part) {
  using Product = TileProduct<M, N, false, true>;
  SharedMemory shared;
  const StepUnderWay step = step_under_way(control, now, nullptr, done, steps, 1, part);
  const TilesOfRows<M, N> tiles{step.rows, layer.in, layer.out};
  Product::run(
      shared.take<float>(Product::kWords), {deltas, step.rows, layer.out_pitch, {nullptr, 0}},
      {parameters + layer.weights, layer.in, layer.in, {nullptr, 0}}, tiles.count(), tiles,
      [&](const TileWork&, int n, const auto& each) {
        // All values are on their way before the first is awaited.
        float seen[Product::kLines][Product::kOwn];
        const auto at = [&](int m) { return static_cast<long long>(m) * layer.in_pitch; };
        int line = 0;
        each([&](int m, const auto&) {
#pragma unroll
          for (int c = 0; c < Product::kOwn; c += 4) {
            const int column = n + Product::column(c);
            const bool there = m < step.rows && column < layer.in;
            const Pack<4> pack = there ? load<4>(values + at(m) + column) : filled<4>(0.0f);
#pragma unroll
            for (int i = 0; i < 4; ++i) seen[line][c + i] = pack.value[i];
          }
          ++line;
        });
        line = 0;
        each([&](int m, auto& sums) {
          multiply_by_slopes_of(step.control.hidden, seen[line++], sums);
          if (m < step.rows) store_sums<Product>(to + at(m), layer.in_pitch, n, layer.in, sums);
        });
      },
      [](const TileWork&, int, float) {});
}

/// The parts of the layer's gradient, each over its part of the rows, with those of the launches before for the same
/// step. `DeltasLeft`: whether tiles have M neurons and N inputs, or the other way round. Any grid.
template <int M, int N, bool DeltasLeft>
HEDDLE_TILES(M, N)
find_layer_gradient(const float* deltas, const float* values, float* parts, const Control* control, const Progress* now,
                    const int* order, TiledLayer layer, int place, int done, int steps, int slots, StepPart part) {
  using Product = TileProduct<M, N, true, true, DeltasLeft ? kOfLeft : kOfRight>;
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  if (step.rows == 0) return;
  const Factor of_deltas{deltas, layer.out, layer.out_pitch, {nullptr, 0}};
  const Factor of_values{values, layer.in, layer.in_pitch,
                         (place & kFirstLayer) != 0 ? step.rows_of : AsOrdered{nullptr, 0}};
  const Factor& left = DeltasLeft ? of_deltas : of_values;
  const Factor& right = DeltasLeft ? of_values : of_deltas;
  // Whole stages.
  const int each_part = (step.rows + layer.parts * kStage - 1) / (layer.parts * kStage) * kStage;
  const int tiles_beside = (right.lines + N - 1) / N;
  const int tiles = (left.lines + M - 1) / M * tiles_beside, parameters = (layer.in + 1) * layer.out;
  const auto part_of = [&](int first) {
    return parts + layer.parts_at + static_cast<long long>(first / each_part) * parameters;
  };
  const auto add_up = [&](float& own, float sum) { own = part.first == 0 ? sum : own + sum; };
  SharedMemory shared;
  Product::run(
      shared.take<float>(Product::kWords), left, right, tiles * layer.parts,
      [&](int i) -> TileWork {
        // The tiles of a part come one after the other.
        const int of_rows = i / tiles, tile = i - of_rows * tiles, upper = tile / tiles_beside;
        const int first = of_rows * each_part;
        return {upper * M, (tile - upper * tiles_beside) * N, first, min(first + each_part, step.rows)};
      },
      [&](const TileWork& work, int n, const auto& each) {
        float* const to = part_of(work.first);
        each([&](int m, const auto& sums) {
          if (m >= left.lines) return;
#pragma unroll
          for (int c = 0; c < Product::kOwn; ++c) {
            const int column = n + Product::column(c);
            if (column >= right.lines) continue;
            const int neuron = DeltasLeft ? m : column, input = DeltasLeft ? column : m;
            add_up(to[neuron * layer.in + input], sums[c]);
          }
        });
      },
      [&](const TileWork& work, int neuron, float sum) {
        if (neuron < layer.out) add_up(part_of(work.first)[layer.in * layer.out + neuron], sum);
      });
}
#undef HEDDLE_TILES

/// Counts the step, and changes the parameters. `parts` of the gradient, which `groups` of a block's threads, a power
/// of two up to kMostGroups, add up; `blocks` sums of squares. Block 0 writes the progress, also if there is no step.
__global__ void __launch_bounds__(kLayeredBlock)
    learn_layered(float* parameters, float* state, float* gradient, const float* parts, const double* squares,
                  const Control* control_at, const Progress* now, Progress* after, double* errors, GradientParts ranges,
                  int groups, int blocks, int outputs, int done, int steps, int slots) {
  struct Counted {
    Progress progress;
    Step step;
    int decision;
  };
  static_assert(sizeof(Counted) <= 128, "kLearnWords");
  SharedMemory shared;
  double* const of_warps = reinterpret_cast<double*>(shared.take<float>(kWordsOfSquares));
  Counted& counted = *reinterpret_cast<Counted*>(shared.take<float>(32));
  float* const of_groups = shared.take<float>(kLayeredBlock);
  const Control control = *control_at;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) counted.progress = *now;
  __syncthreads();
  if (!goes_on(control, counted.progress, done, steps)) {
    if (blockIdx.x == 0 && thread == 0) *after = counted.progress;
    return;
  }
  double sum = 0.0;
  for (int i = thread; i < blocks; i += kLayeredBlock) sum += squares[i];
  const double all = sum_over_block(sum, of_warps);
  if (thread == 0) {
    const int rows = rows_of_step(control, counted.progress);
    counted.decision = count_step(control, outputs, all, counted.progress, blockIdx.x == 0 ? errors : nullptr, slots);
    counted.step = step_of(control, counted.progress, rows);
    if (blockIdx.x == 0) *after = counted.progress;
  }
  __syncthreads();
  const Step step = counted.step;
  const int decision = counted.decision;
  const int together = kLayeredBlock / groups, group = thread / together, count = ranges.first[ranges.count];
#pragma unroll 1
  for (int i0 = static_cast<int>(blockIdx.x) * together; i0 < count; i0 += static_cast<int>(gridDim.x) * together) {
    const int i = i0 + thread % together;
    float slopes = 0.0f;
    if (i < count) {
      int range = 0;
      while (i >= ranges.first[range + 1]) ++range;
      const long long size = ranges.first[range + 1] - ranges.first[range];
      const float* const from = parts + ranges.at[range] + (i - ranges.first[range]);
#pragma unroll 8
      for (int part = group; part < ranges.parts[range]; part += groups) slopes += from[part * size];
    }
    if (groups > 1) {
      of_groups[thread] = slopes;
      __syncthreads();
      if (group == 0) {
        for (int other = 1; other < groups; ++other) slopes += of_groups[other * together + thread];
      }
      __syncthreads();
    }
    if (group > 0 || i >= count) continue;
    slopes *= step.gradient_factor;
    gradient[i] = slopes;
    change_parameter(control, step, decision, slopes, parameters[i],
                     [&](int array) -> float& { return state[static_cast<long long>(array) * count + i]; });
  }
}

/// Before the steps, the first of which may read the one place or the other.
__global__ void keep_progress(const Progress* from, Progress* to) { *to = *from; }

}  // namespace heddle::mlp
