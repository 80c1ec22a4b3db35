// A step of learning as kernels that follow each other, for networks and batches of any size: scheme = layered. Values,
// deltas and weights are in global memory. Formulas: docs/design.md, "Perceptrons".
//
// Each product is cut into tiles of Tile x Tile sums, one of a block. A stage of both factors at a time lies in shared
// memory, filled up with zeros, line by line with the addends next to each other: products.cuh.
//
// | kernel | product |
// |---|---|
// | forward_layer | values x weights, for each layer |
// | find_output_deltas | none; errors of the outputs, and sums of their squares, one of each block |
// | backward_layer | deltas x weights, for each layer but the first |
// | find_layer_gradient | deltas x values over the rows, for each layer; parts of the rows are summed by blocks of
// their own | | learn_layered | none; adds up parts of the gradient and squares in their order, counts the step,
// changes the parameters |
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
#include "heddle/kernels/mlp/cuda/products.cuh"

namespace heddle::mlp {

/// Lines of a factor in global memory with the addends next to each other: line i is row row(i), and a number beyond
/// `lines` or `depth` is 0.
template <class Row>
struct LinesAlong {
  static constexpr bool kAcross = false;
  const float* at;
  int lines, depth;
  Row row;
  __device__ __forceinline__ float operator()(int line, int addend) const {
    return line < lines && addend < depth ? at[static_cast<long long>(row(line)) * depth + addend] : 0.0f;
  }
};

/// Lines next to each other for each addend, `pitch` of them in memory. With `ones`, the line after the last is of
/// ones.
template <class Row>
struct LinesBeside {
  static constexpr bool kAcross = true;
  const float* at;
  int lines, depth;
  Row row;
  int ones;
  __device__ __forceinline__ float operator()(int line, int addend) const {
    if (addend >= depth) return 0.0f;
    if (line < lines) return at[static_cast<long long>(row(addend)) * lines + line];
    return line == lines && ones != 0 ? 1.0f : 0.0f;
  }
};

/// A thread's share of a stage of one factor, on its way from global to shared memory.
template <int Tile, bool Across>
class StageShare {
 public:
  /// Lines from `line` on, addends from `base` on and below `end`.
  template <class Lines>
  __device__ __forceinline__ void read(const Lines& from, int line, int base, int end) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int addend = base + addend_of(j);
      values_[j] = addend < end ? from(line + line_of(j), addend) : 0.0f;
    }
  }
  __device__ __forceinline__ void write(float* to) const {
#pragma unroll
    for (int j = 0; j < kEach; ++j) to[line_of(j) * kStagePitch + addend_of(j)] = values_[j];
  }

 private:
  static constexpr int kThreads = threads_of_tile(Tile), kEach = Tile * kStage / kThreads;
  // Neighbouring threads have what lies next to each other in global memory.
  __device__ __forceinline__ static int place(int j) { return static_cast<int>(threadIdx.x) + j * kThreads; }
  __device__ __forceinline__ static int line_of(int j) { return Across ? place(j) % Tile : place(j) / kStage; }
  __device__ __forceinline__ static int addend_of(int j) { return Across ? place(j) / Tile : place(j) % kStage; }

  float values_[kEach];
};

/// Sums of products of lines m0 + m of the left factor and n0 + n of the right one over addends `first` to `end`; calls
/// finish(m0 + m, n0 + n, sum) for each. The whole block calls it.
template <int Tile, class Left, class Right, class Finish>
__device__ __forceinline__ void multiply_tile(const Left& left, const Right& right, int m0, int n0, int first, int end,
                                              const Finish& finish) {
  constexpr int kColumnTiles = Tile / 16;
  SharedMemory shared;
  float* const lefts = shared.take<float>(Tile * kStagePitch);
  float* const rights = shared.take<float>(Tile * kStagePitch);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int row = warp / 2 * 16, column = warp % 2 * (Tile / 2);
  StageShare<Tile, Left::kAcross> of_left;
  StageShare<Tile, Right::kAcross> of_right;
  float sums[1][kColumnTiles][4];
  clear(sums);
  of_left.read(left, m0, first, end);
  of_right.read(right, n0, first, end);
#pragma unroll 1
  for (int base = first; base < end; base += kStage) {
    __syncthreads();
    of_left.write(lefts);
    of_right.write(rights);
    __syncthreads();
    if (base + kStage < end) {
      of_left.read(left, m0, base + kStage, end);
      of_right.read(right, n0, base + kStage, end);
    }
    multiply_add(sums, RowsAlong<kStagePitch>{lefts + row * kStagePitch},
                 NeuronsAlong<kStagePitch>{rights + column * kStagePitch, Tile - 1 - column}, 0, kStage / kDepth);
  }
#pragma unroll
  for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      finish(m0 + row + lane_group() + i / 2 * 8, n0 + column + 8 * n + 2 * lane_of_group() + i % 2, sums[0][n][i]);
    }
  }
}

/// Values of `rows` rows of a layer. Grid: tiles of rows x tiles of neurons.
template <int Tile, class Row>
__device__ __forceinline__ void find_values(const float* from, const Row& row, int rows, const float* parameters,
                                            const LayerAt& layer, int activation, float* to) {
  const float* const biases = parameters + layer.biases();
  multiply_tile<Tile>(LinesAlong<Row>{from, rows, layer.in, row},
                      LinesAlong<AsItStands>{parameters + layer.weights, layer.out, layer.in, {}},
                      static_cast<int>(blockIdx.x) * Tile, static_cast<int>(blockIdx.y) * Tile, 0, layer.in,
                      [&](int m, int n, float sum) {
                        if (m >= rows || n >= layer.out) return;
                        to[static_cast<long long>(m) * layer.out + n] = activate(activation, sum + biases[n]);
                      });
}

/// `from`: the rows of the data if `place` is kFirstLayer.
template <int Tile>
__global__ void __launch_bounds__(threads_of_tile(Tile))
    forward_layer(const float* from, const float* parameters, float* to, const Control* control, const Progress* now,
                  const int* order, LayerAt layer, int place, int done, int steps, int slots, StepPart part) {
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  if (static_cast<int>(blockIdx.x) * Tile >= step.rows) return;
  const int activation = step.activation_of(place);
  if ((place & kFirstLayer) != 0) {
    find_values<Tile>(from, step.rows_of, step.rows, parameters, layer, activation, to);
  } else {
    find_values<Tile>(from, AsItStands{}, step.rows, parameters, layer, activation, to);
  }
}

__device__ __forceinline__ double sum_over_warp(double value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

/// Deltas in place of the sums of the outputs. A warp for a row; squares[block]: of the block's errors.
__global__ void __launch_bounds__(kLayeredBlock)
    find_output_deltas(float* sums, const float* targets, const Control* control, const Progress* now, const int* order,
                       double* squares, int outputs, int done, int steps, int slots, StepPart part) {
  constexpr int kWarps = kLayeredBlock / kWarp;
  SharedMemory shared;
  double* const of_warps = reinterpret_cast<double*>(shared.take<float>(2 * kWarps));
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  double own_squares = 0.0;
#pragma unroll 1
  for (int m = static_cast<int>(blockIdx.x) * kWarps + warp; m < step.rows; m += static_cast<int>(gridDim.x) * kWarps) {
    float* const own = sums + static_cast<long long>(m) * outputs;
    const float* const right = targets + static_cast<long long>(step.rows_of(m)) * outputs;
    finish_outputs(step.control.output, outputs, own);
    for (int k = lane; k < outputs; k += kWarp) {
      const float value = own[k], error = value - right[k];
      own_squares += static_cast<double>(error) * static_cast<double>(error);
      own[k] = error * slope(step.control.output, value);
    }
  }
  own_squares = sum_over_warp(own_squares);
  if (lane == 0) of_warps[warp] = own_squares;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0.0;
    for (int w = 0; w < kWarps; ++w) all += of_warps[w];
    squares[blockIdx.x] = all;
  }
}

/// Deltas of the neurons whose `values` the layer takes. Grid: tiles of rows x tiles of neurons.
template <int Tile>
__global__ void __launch_bounds__(threads_of_tile(Tile))
    backward_layer(const float* deltas, const float* values, const float* parameters, float* to, const Control* control,
                   const Progress* now, LayerAt layer, int done, int steps, StepPart part) {
  const StepUnderWay step = step_under_way(control, now, nullptr, done, steps, 1, part);
  if (static_cast<int>(blockIdx.x) * Tile >= step.rows) return;
  multiply_tile<Tile>(LinesAlong<AsItStands>{deltas, step.rows, layer.out, {}},
                      LinesBeside<AsItStands>{parameters + layer.weights, layer.in, layer.out, {}, 0},
                      static_cast<int>(blockIdx.x) * Tile, static_cast<int>(blockIdx.y) * Tile, 0, layer.out,
                      [&](int m, int n, float sum) {
                        if (m >= step.rows || n >= layer.in) return;
                        const long long at = static_cast<long long>(m) * layer.in + n;
                        to[at] = sum * slope(step.control.hidden, values[at]);
                      });
}

/// parts[part][parameter]: over its part of the rows, with those of the launches before for the same step. Grid: tiles
/// of inputs and the bias x tiles of neurons x parts.
template <int Tile>
__global__ void __launch_bounds__(threads_of_tile(Tile))
    find_layer_gradient(const float* deltas, const float* values, float* parts, const Control* control,
                        const Progress* now, const int* order, LayerAt layer, int place, int parameters, int done,
                        int steps, int slots, StepPart part) {
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots, part);
  if (step.rows == 0) return;
  const int each = ceil_div(step.rows, static_cast<int>(gridDim.z)), first = static_cast<int>(blockIdx.z) * each;
  const int end = min(first + each, step.rows);
  float* const to = parts + static_cast<long long>(blockIdx.z) * parameters;
  const auto sum_over_rows = [&](const auto& row) {
    multiply_tile<Tile>(LinesBeside<AsItStands>{deltas, layer.out, step.rows, {}, 0},
                        LinesBeside<decltype(row)>{values, layer.in, step.rows, row, 1},
                        static_cast<int>(blockIdx.y) * Tile, static_cast<int>(blockIdx.x) * Tile, first, end,
                        [&](int m, int n, float sum) {
                          if (m >= layer.out || n > layer.in) return;
                          float& own = to[n < layer.in ? layer.weights + m * layer.in + n : layer.biases() + m];
                          own = part.first == 0 ? sum : own + sum;
                        });
  };
  if ((place & kFirstLayer) != 0) {
    sum_over_rows(step.rows_of);
  } else {
    sum_over_rows(AsItStands{});
  }
}

/// Counts the step, and changes the parameters. `parts` of the gradient, and `blocks` sums of squares. Block 0 writes
/// the progress, also if there is no step.
__global__ void __launch_bounds__(kLayeredBlock)
    learn_layered(float* parameters, float* state, float* gradient, const float* parts, const double* squares,
                  const Control* control_at, const Progress* now, Progress* after, double* errors, int count,
                  int part_count, int blocks, int outputs, int done, int steps, int slots) {
  struct Counted {
    Progress progress;
    Step step;
    int decision;
  };
  static_assert(sizeof(Counted) <= 128, "kLearnWords");
  constexpr int kWarps = kLayeredBlock / kWarp;
  SharedMemory shared;
  double* const of_warps = reinterpret_cast<double*>(shared.take<float>(2 * kWarps));
  Counted& counted = *reinterpret_cast<Counted*>(shared.take<float>(32));
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
  sum = sum_over_warp(sum);
  if (thread % kWarp == 0) of_warps[thread / kWarp] = sum;
  __syncthreads();
  if (thread == 0) {
    double all = 0.0;
    for (int w = 0; w < kWarps; ++w) all += of_warps[w];
    const int rows = rows_of_step(control, counted.progress);
    counted.decision = count_step(control, outputs, all, counted.progress, blockIdx.x == 0 ? errors : nullptr, slots);
    counted.step = step_of(control, counted.progress, rows);
    if (blockIdx.x == 0) *after = counted.progress;
  }
  __syncthreads();
  const Step step = counted.step;
  const int decision = counted.decision;
  const int stride = static_cast<int>(gridDim.x) * kLayeredBlock;
#pragma unroll 1
  for (int i = static_cast<int>(blockIdx.x) * kLayeredBlock + thread; i < count; i += stride) {
    float slopes = 0.0f;
    for (int part = 0; part < part_count; ++part) slopes += parts[static_cast<long long>(part) * count + i];
    slopes *= step.gradient_factor;
    gradient[i] = slopes;
    change_parameter(control, step, decision, slopes, parameters[i],
                     [&](int array) -> float& { return state[static_cast<long long>(array) * count + i]; });
  }
}

/// Before the steps, the first of which may read the one place or the other.
__global__ void keep_progress(const Progress* from, Progress* to) { *to = *from; }

}  // namespace heddle::mlp
