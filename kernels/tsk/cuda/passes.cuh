// The two passes over the rows where the activations of a tile fit in shared memory and are computed in each of them.
//
// | parameter | meaning |
// |---|---|
// | Rows, Lanes | see tile.cuh |
// | Side        | columns x columns of the normal equations that one thread keeps in registers |
#pragma once

#include "heddle/kernels/tsk/cuda/tile.cuh"

namespace heddle::tsk {

/// Sums over the rows of this share of products of columns, in float64: `part`, [pairs][Side * Side]; pieces of the
/// rows after the first add theirs. The columns are Phi and then Y; each thread has a square of the product, and groups
/// of threads share the rows of a tile. `pitch`: doubles of a row of columns in shared memory; `pairs_first`, `pairs`:
/// the squares of this block.
template <int Rows, int Lanes, int Side>
__device__ __forceinline__ void accumulate(const Batch& batch, const float* centres, const float* widths,
                                           const Control& control, double* part, int pitch, int phi_pitch,
                                           Pieces pieces, Share share) {
  constexpr int kBlock = Rows * Lanes;
  const int thread = static_cast<int>(threadIdx.x);
  const int sides = batch.sides(Side);
  const int pairs = triangle(sides);
  const AccumulatePieces<int> of(batch, Rows, Lanes, Side, pitch, phi_pitch);
  double* columns = pieces.doubles(of.columns);
  float* phi = pieces.floats(of.phi);
  Antecedents antecedents;
  antecedents.fetch<kBlock>(pieces, centres, widths, of.antecedents);

  for (int pairs_first = 0; pairs_first < pairs; pairs_first += kBlock) {
    const int here = pairs - pairs_first < kBlock ? pairs - pairs_first : kBlock;
    const int groups = kBlock / here;
    const int group = thread / here;
    const int pair = pairs_first + thread % here;
    const int i = square_row(pair), j = pair - triangle(i);
    double sum[Side][Side];
#pragma unroll
    for (int r = 0; r < Side; ++r) {
#pragma unroll
      for (int s = 0; s < Side; ++s) sum[r][s] = 0.0;
    }
    const long long end = batch.learnt_end(control);
    for (long long first = batch.first + static_cast<long long>(share.block) * Rows; first < end;
         first += static_cast<long long>(share.blocks) * Rows) {
      activate<Rows, Lanes>(batch, antecedents, first, end, phi, phi_pitch);
      // The same thread wrote these activations.
      const int row = thread / Lanes, lane = thread % Lanes;
      const bool there = first + row < end;
      const long long at = there ? first + row : first;
      double* own = columns + row * pitch;
      for (int k = lane; k < batch.rules; k += Lanes) {
        const double value = static_cast<double>(phi[row * phi_pitch + k]);
        own[k * batch.terms] = value;
        for (int t = 1; t < batch.terms; ++t) {
          own[k * batch.terms + t] = value * static_cast<double>(batch.rows[at * batch.dim + t - 1]);
        }
      }
      for (int c = batch.unknowns() + lane; c < sides * Side; c += Lanes) {
        const int l = c - batch.unknowns();
        own[c] = there && l < batch.outputs ? static_cast<double>(batch.targets[at * batch.outputs + l]) : 0.0;
      }
      __syncthreads();
      if (group < groups) {
        for (int r = group; r < Rows; r += groups) {
          double left[Side], right[Side];
#pragma unroll
          for (int s = 0; s < Side; ++s) left[s] = columns[r * pitch + i * Side + s];
#pragma unroll
          for (int s = 0; s < Side; ++s) right[s] = columns[r * pitch + j * Side + s];
#pragma unroll
          for (int a = 0; a < Side; ++a) {
#pragma unroll
            for (int b = 0; b < Side; ++b) sum[a][b] += left[a] * right[b];
          }
        }
      }
      __syncthreads();
    }
    // The groups add up in their order, in the memory of the columns.
    for (int g = 0; g < groups; ++g) {
      if (group == g) {
#pragma unroll
        for (int a = 0; a < Side; ++a) {
#pragma unroll
          for (int b = 0; b < Side; ++b) {
            double* to = columns + (a * Side + b) * here + thread % here;
            *to = g == 0 ? sum[a][b] : *to + sum[a][b];
          }
        }
      }
      __syncthreads();
    }
    for (int e = thread; e < here * Side * Side; e += kBlock) {
      double* to = part + (static_cast<long long>(pairs_first) + e / (Side * Side)) * (Side * Side) + e % (Side * Side);
      const double sum = columns[e % (Side * Side) * here + e / (Side * Side)];
      *to = batch.adds == 0 ? sum : *to + sum;
    }
    __syncthreads();
  }
}

/// Outputs and errors with the solution; sums over the rows of this share: `part`, [2 K D + 2]: half the gradient of
/// the summed squared error by centres and by widths, each times the width, and the squared errors of the rows learnt
/// and held back. Float32 sums are those of a tile.
template <int Rows, int Lanes>
__device__ __forceinline__ void descend(const Batch& batch, const float* centres, const float* widths,
                                        const double* solution, const Control& control, double* part, int phi_pitch,
                                        Pieces pieces, Share share) {
  constexpr int kBlock = Rows * Lanes;
  const int thread = static_cast<int>(threadIdx.x);
  const int tasks = batch.tasks(), numbers = batch.consequents();
  const DescendPieces<int> of(batch, Rows, Lanes, phi_pitch);
  const int span = of.span, groups = of.groups;
  double* slopes = pieces.doubles(of.slopes);
  double* squares = pieces.doubles(of.squares);
  float* phi = pieces.floats(of.phi);
  float* errors = pieces.floats(of.outputs);
  float* outputs = pieces.floats(of.outputs);
  float* weights = pieces.floats(of.consequents);
  Antecedents antecedents;
  for (int i = thread; i < numbers; i += kBlock) weights[i] = static_cast<float>(solution[i]);
  for (int i = thread; i < 2 * tasks * groups; i += kBlock) slopes[i] = 0.0;
  antecedents.fetch<kBlock>(pieces, centres, widths, of.antecedents);

  const int row = thread / Lanes, lane = thread % Lanes;
  const long long end = batch.rows_end(control);
  double learnt_squares = 0.0, held_back_squares = 0.0;
  for (long long first = batch.first + static_cast<long long>(share.block) * Rows; first < end;
       first += static_cast<long long>(share.blocks) * Rows) {
    activate<Rows, Lanes>(batch, antecedents, first, end, phi, phi_pitch);
    const bool there = first + row < end, learnt = first + row < control.rows;
    const long long at = there ? first + row : first;
    const float* x = batch.rows + at * batch.dim;
    float* own = phi + row * phi_pitch;
    const auto consequent = [&](int k, int l) {
      const float* theta = weights + k * batch.terms * batch.outputs + l;
      float value = theta[0];
      for (int t = 1; t < batch.terms; ++t) value += theta[t * batch.outputs] * x[t - 1];
      return value;
    };
    for (int l = 0; l < batch.outputs; ++l) {
      float sum = 0.0f;
      for (int k = lane; k < batch.rules; k += Lanes) sum += own[k] * consequent(k, l);
      sum = sum_over_lanes<Lanes>(sum);
      const float error = there ? sum - batch.targets[at * batch.outputs + l] : 0.0f;
      if (lane == 0) {
        outputs[row * batch.outputs + l] = sum;
        errors[row * batch.outputs + l] = learnt ? error : 0.0f;
        (learnt ? learnt_squares : held_back_squares) += static_cast<double>(error) * static_cast<double>(error);
      }
    }
    __syncthreads();
    for (int k = lane; k < batch.rules; k += Lanes) {
      float sum = 0.0f;
      for (int l = 0; l < batch.outputs; ++l) {
        sum += errors[row * batch.outputs + l] * (consequent(k, l) - outputs[row * batch.outputs + l]);
      }
      own[k] *= sum;
    }
    __syncthreads();
    const int rows_here = static_cast<int>(end - first < Rows ? end - first : Rows);
    const int group = thread / span;
    for (int e = thread % span; e < tasks && group < groups; e += span) {
      const int k = e / batch.dim, j = e % batch.dim;
      const float centre = antecedents.centres[e], inverse = antecedents.inverse[e];
      float by_centre = 0.0f, by_width = 0.0f;
      for (int r = group; r < rows_here; r += groups) {
        const float u = (batch.rows[(first + r) * batch.dim + j] - centre) * inverse;
        const float change = phi[r * phi_pitch + k] * u;
        by_centre += change;
        by_width += change * u;
      }
      slopes[group * 2 * tasks + e] += static_cast<double>(by_centre);
      slopes[group * 2 * tasks + tasks + e] += static_cast<double>(by_width);
    }
    __syncthreads();
  }
  squares[thread] = learnt_squares;
  squares[kBlock + thread] = held_back_squares;
  __syncthreads();
  for (int e = thread; e < 2 * tasks; e += kBlock) {
    double sum = batch.adds == 0 ? 0.0 : part[e];
    for (int g = 0; g < groups; ++g) sum += slopes[g * 2 * tasks + e];
    part[e] = sum;
  }
  if (thread < 2) {
    double sum = batch.adds == 0 ? 0.0 : part[2 * tasks + thread];
    for (int i = 0; i < kBlock; i += Lanes) sum += squares[thread * kBlock + i];
    part[2 * tasks + thread] = sum;
  }
}

}  // namespace heddle::tsk
