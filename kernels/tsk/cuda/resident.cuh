// All iterations of a run in one launch whose blocks run at the same time: scheme = resident. Formulas: docs/design.md,
// "Batch least squares and gradient".
//
// Every block has all parameters in shared memory and does all work that does not depend on the rows: solving the least
// squares again in every block is quicker than waiting for one block to do it. Each warp takes sets of four rows.
// Of a set, lane l takes row l % 4, and the (l / 4)th of every 8 rules or columns. The columns that a lane computes are
// then exactly its elements of both factors of the tensor cores' product (kernels/common/matrix.cuh), so the normal
// equations of a warp grow in registers without passing through memory. Sets that a warp takes together do not wait for
// each other: a row is a chain of shuffles and exponentials, and a scheduler has only two or three warps.
//
// | parameter | meaning |
// |---|---|
// | Block  | threads |
// | Sets   | sets of four rows that a warp takes together |
// | ColumnTiles | tiles of 8 columns of Phi and Y, rounded up |
// | RuleTiles | tiles of 8 rules, rounded up |
// | Dim, Order | D; order of the consequents |
// | Real   | of everything but sums over rows, which are float64: float, or double where rows are few |
//
// Double where rows are few: steps of one length overshoot where a rule is narrow, and multiply what rounding has
// changed. Over many rows it averages out, of 1024 it became 3 % of the error (docs/performance.md).
//
// | phase | bound by |
// |---|---|
// | accumulate: activations and the product | float64 rate |
// | exchange: P (P + 1) / 2 + P L sums | four trips through L2 |
// | solve: one pivot after the other | latency of P x (barrier, shared memory, reciprocal, multiply-add) |
// | descend: activations, errors, gradient | float32 rate |
// | exchange: 2 K D + 2 sums | four trips through L2 |
// | step | latency |
#pragma once

#include "heddle/kernels/common/matrix.cuh"
#include "heddle/kernels/common/stage_clocks.cuh"
#include "heddle/kernels/tsk/cuda/finish.cuh"
#include "heddle/kernels/tsk/cuda/grid_sums.cuh"
#include "heddle/kernels/tsk/cuda/resident_sizes.cuh"
#include "heddle/kernels/tsk/cuda/small_factors.cuh"

namespace heddle::tsk {

/// Before the iterations: empties their packets, and puts the progress where no block of theirs writes. Grid: enough
/// threads for all packets.
__global__ void begin_resident(Packet* packets, int count, const Progress* progress, Progress* before) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) packets[i] = {0.0f, 0.0f, 0.0f, 0};
  if (i == 0) *before = *progress;
}

template <int Block, int Sets, int ColumnTiles, int RuleTiles, int Dim, int Order, class Real>
class ResidentIterations {
 public:
  static constexpr int kWarps = Block / kWarp;
  static constexpr int kRows = kRowsOfSet, kGroups = kLanesOfRow;
  static constexpr int kTerms = Order == 0 ? 1 : Dim + 1;
  static constexpr int kPairs = triangle(ColumnTiles);
  // All tiles of rules but the last are full, so no column of Y is in a tile before this one.
  static constexpr int kFirstTarget = (kGroups * (RuleTiles - 1) + 1) * kTerms / kGroups;
  static constexpr int kFlush = 8;  // rows of a lane whose slopes are summed as Real
  // Half the squared distance is the exponent of e, or times log2(e) that of 2, which is what float has an instruction
  // for. The root of that factor is part of every inverse width.
  static constexpr Real kFold = sizeof(Real) > sizeof(float) ? Real(0.70710678118654752) : Real(0.84932180028801905);
  static constexpr bool kKeepsLowParts = sizeof(Real) > sizeof(float);
  // The matrix of the normal equations over the threads of the block.
  static constexpr int kAcross = kThreadsAcross, kDown = Block / kAcross, kPanel = kPivotsOfPanel;
  static constexpr int kSide = resident_side(ColumnTiles);
  static constexpr int kOwnColumns = kSide / kAcross, kOwnRows = ceil_div(kSide, kDown);
  static_assert(kRows * kGroups == kWarp, "the lanes of a warp");
  static_assert(kFlush % Sets == 0, "slopes are added up after whole rounds");
  static_assert(Block % kAcross == 0 && RuleTiles <= ColumnTiles, "whole rows of threads; every rule has a column");
  static_assert(kAcross % kPanel == 0, "threads next to each other have the columns of a panel");

  __device__ __forceinline__ ResidentIterations(const Batch& batch, const Control& control, Pieces pieces)
      : batch_(batch), control_(control) {
    const ResidentPieces<int> of(batch, kWarps, Sets, ColumnTiles);
    parts_ = pieces.doubles(of.parts);
    sums_ = pieces.doubles(of.sums);
    pivots_ = pieces.doubles(of.pivots);
    centres_ = pieces.take<Real>(of.antecedents);
    widths_ = pieces.take<Real>(of.antecedents);
    inverse_widths_ = pieces.take<Real>(of.antecedents);
    consequents_ = pieces.take<Real>(of.consequents);
    shared_phi_ = pieces.take<Real>(of.phi);
    best_centres_ = pieces.floats(of.antecedents);
    best_widths_ = pieces.floats(of.antecedents);
    best_consequents_ = pieces.floats(of.consequents);
  }

  /// Loads a system into shared memory. `low_parts`: see kernels/tsk/train.hpp.
  __device__ __forceinline__ void fetch(const Parameters& now, const float* low_parts, const Parameters& best) const {
    for (int i = thread(); i < batch_.tasks(); i += Block) {
      centres_[i] = static_cast<Real>(now.centres[i]);
      widths_[i] = static_cast<Real>(now.widths[i]);
      if (kKeepsLowParts) {
        centres_[i] += static_cast<Real>(low_parts[i]);
        widths_[i] += static_cast<Real>(low_parts[batch_.tasks() + i]);
      }
      inverse_widths_[i] = Real(1) / widths_[i];
      best_centres_[i] = best.centres[i];
      best_widths_[i] = best.widths[i];
    }
    for (int i = thread(); i < batch_.consequents(); i += Block) {
      consequents_[i] = static_cast<Real>(now.consequents[i]);
      best_consequents_[i] = best.consequents[i];
    }
    __syncthreads();
  }
  __device__ __forceinline__ void store(const Parameters& now, float* low_parts, const Parameters& best) const {
    for (int i = thread(); i < batch_.tasks(); i += Block) {
      const float centre = static_cast<float>(centres_[i]), width = static_cast<float>(widths_[i]);
      now.centres[i] = centre;
      now.widths[i] = width;
      if (kKeepsLowParts) {
        low_parts[i] = static_cast<float>(centres_[i] - static_cast<Real>(centre));
        low_parts[batch_.tasks() + i] = static_cast<float>(widths_[i] - static_cast<Real>(width));
      }
      best.centres[i] = best_centres_[i];
      best.widths[i] = best_widths_[i];
    }
    for (int i = thread(); i < batch_.consequents(); i += Block) {
      now.consequents[i] = static_cast<float>(consequents_[i]);
      best.consequents[i] = best_consequents_[i];
    }
  }

  /// One iteration. `errors`: where block 0 writes those of the rows learnt and held back. Returns false if a block is
  /// lost.
  template <class Exchange>
  __device__ __forceinline__ bool iterate(Exchange& exchange, Progress& progress, double* errors) {
    clocks_.start();
    load_antecedents();
    clocks_.ended(0);
    accumulate();
    clocks_.ended(1);
    if (!exchange.add(
            batch_.gram_elements(), [this](int e) { return product(e); }, sums_))
      return false;
    clocks_.ended(2);
    const int info = solve();
    clocks_.ended(3);
    descend();
    clocks_.ended(4);
    if (!exchange.add(
            batch_.slopes(), [this](int e) { return slope(e); }, sums_))
      return false;
    clocks_.ended(5);
    step(info, progress, errors);
    __syncthreads();
    clocks_.ended(6);
    return true;
  }
  /// Of `iterations` iterations, where the clocks are switched on.
  __device__ __forceinline__ void tell_clocks(int iterations) const { clocks_.tell(iterations); }

 private:
  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }
  __device__ __forceinline__ static int row_of_lane() { return lane() % kRows; }
  __device__ __forceinline__ static int group() { return lane() / kRows; }
  __device__ __forceinline__ static int rule(int tile) { return group() + tile * kGroups; }
  /// Whether this lane has a rule in a tile. All tiles but the last are full.
  __device__ __forceinline__ bool has_rule(int tile) const { return tile + 1 < RuleTiles || rule(tile) < batch_.rules; }
  /// Products of columns of Phi, row after row; behind them those of Y.
  __device__ __forceinline__ int products_of_phi() const { return triangle(batch_.unknowns()); }
  /// Element (high, low), low <= high < A; there is none of two columns of Y.
  __device__ __forceinline__ double gram(int high, int low) const {
    const int unknowns = batch_.unknowns();
    if (low >= unknowns) return 0.0;
    return sums_[high < unknowns ? triangle(high) + low : products_of_phi() + (high - unknowns) * unknowns + low];
  }

  /// Of this lane's rules: registers, for a whole pass.
  __device__ __forceinline__ void load_antecedents() {
#pragma unroll
    for (int s = 0; s < RuleTiles; ++s) {
      const int k = rule(s);
#pragma unroll
      for (int j = 0; j < Dim; ++j) {
        const bool there = has_rule(s);
        centre_[s][j] = there ? centres_[k * Dim + j] : Real(0);
        inverse_[s][j] = there ? kFold * inverse_widths_[k * Dim + j] : Real(0);
      }
    }
  }

  /// One value for each set, of the eight lanes of a row.
  __device__ __forceinline__ static void sum_over_rows(Real (&value)[Sets]) {
#pragma unroll
    for (int offset = kRows; offset < kWarp; offset *= 2) {
#pragma unroll
      for (int q = 0; q < Sets; ++q) value[q] += __shfl_xor_sync(kAllLanes, value[q], offset);
    }
  }

  /// How much more than `nearest` a rule at a distance fires less, as a factor. See kFold.
  __device__ __forceinline__ static float weight(float nearest, float distance) { return exp2f(nearest - distance); }
  __device__ __forceinline__ static double weight(double nearest, double distance) { return exp(nearest - distance); }

  /// Of a number from 1 on, where float needs no other path for small ones: a branch would keep the sets from being
  /// computed side by side.
  __device__ __forceinline__ static float reciprocal(float value) { return __fdividef(1.0f, value); }
  __device__ __forceinline__ static double reciprocal(double value) { return 1.0 / value; }

  /// phi of this lane's rows and rules; 0 for rows from `end` on. The nearest rule weighs 1.
  __device__ __forceinline__ void activate(const Real (&x)[Sets][Dim], int first, int end,
                                           Real (&phi)[Sets][RuleTiles]) const {
    Real nearest[Sets];
#pragma unroll
    for (int q = 0; q < Sets; ++q) {
      nearest[q] = static_cast<Real>(infinity());
#pragma unroll
      for (int s = 0; s < RuleTiles; ++s) {
        Real distance = 0;
#pragma unroll
        for (int j = 0; j < Dim; ++j) {
          const Real u = (x[q][j] - centre_[s][j]) * inverse_[s][j];
          distance += u * u;
        }
        phi[q][s] = has_rule(s) ? distance : static_cast<Real>(infinity());
        nearest[q] = min(nearest[q], phi[q][s]);
      }
    }
#pragma unroll
    for (int offset = kRows; offset < kWarp; offset *= 2) {
#pragma unroll
      for (int q = 0; q < Sets; ++q) nearest[q] = min(nearest[q], __shfl_xor_sync(kAllLanes, nearest[q], offset));
    }
    Real sum[Sets];
#pragma unroll
    for (int q = 0; q < Sets; ++q) {
      sum[q] = 0;
#pragma unroll
      for (int s = 0; s < RuleTiles; ++s) {
        phi[q][s] = weight(nearest[q], phi[q][s]);
        sum[q] += phi[q][s];
      }
    }
    sum_over_rows(sum);
#pragma unroll
    for (int q = 0; q < Sets; ++q) {
      const Real scale = row_of(first, q) < end ? reciprocal(sum[q]) : Real(0);
#pragma unroll
      for (int s = 0; s < RuleTiles; ++s) phi[q][s] *= scale;
    }
  }

  /// This lane's row of a set, of those that the warp takes together from `first` on.
  __device__ __forceinline__ static int row_of(int first, int set) { return first + set * kRows + row_of_lane(); }
  /// The inputs of this lane's rows; those of another row where one is not there.
  __device__ __forceinline__ void read_rows(int first, int end, float (&x)[Sets][Dim]) const {
#pragma unroll
    for (int q = 0; q < Sets; ++q) {
      const float* row = batch_.rows + static_cast<long long>(min(row_of(first, q), end - 1)) * Dim;
#pragma unroll
      for (int j = 0; j < Dim; ++j) x[q][j] = row[j];
    }
  }
  __device__ __forceinline__ static int first_row() {
    return (static_cast<int>(blockIdx.x) * kWarps + warp()) * (kRows * Sets);
  }
  __device__ __forceinline__ static int stride() { return static_cast<int>(gridDim.x) * (kWarps * kRows * Sets); }

  /// parts[warp][pair][8][8]: the products of the columns of the rows that this block learns. Pair triangle(b) + a is
  /// that of tile a by tile b, a <= b.
  __device__ __forceinline__ void accumulate() const {
    double sum[kPairs][2];
#pragma unroll
    for (int p = 0; p < kPairs; ++p) sum[p][0] = sum[p][1] = 0.0;
    const int end = control_.rows, unknowns = batch_.unknowns();
    float next_x[Sets][Dim], next_y[Sets][ColumnTiles];
#pragma unroll
    for (int q = 0; q < Sets; ++q) {
#pragma unroll
      for (int t = 0; t < ColumnTiles; ++t) next_y[q][t] = 0.0f;
    }
    const auto request = [&](int first) {
      read_rows(first, end, next_x);
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int t = kFirstTarget; t < ColumnTiles; ++t) {
          const int l = group() + t * kGroups - unknowns;
          const bool there = l >= 0 && l < batch_.outputs && row_of(first, q) < end;
          next_y[q][t] = there ? batch_.targets[static_cast<long long>(row_of(first, q)) * batch_.outputs + l] : 0.0f;
        }
      }
    };
    request(first_row());
#pragma unroll 1
    for (int first = first_row(); first < end; first += stride()) {
      Real x[Sets][Dim], phi[Sets][RuleTiles];
      double column[Sets][ColumnTiles];
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int j = 0; j < Dim; ++j) x[q][j] = static_cast<Real>(next_x[q][j]);
#pragma unroll
        for (int t = 0; t < ColumnTiles; ++t) column[q][t] = static_cast<double>(next_y[q][t]);
      }
      request(first + stride());
      activate(x, first, end, phi);
      fill_columns(x, phi, column);
      if (Order != 0) __syncwarp();  // all have read the activations of the warp's rows
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int b = 0; b < ColumnTiles; ++b) {
#pragma unroll
          for (int a = 0; a < b; a += 2) {
            multiply_add_16x8x4(sum[triangle(b) + a], sum[triangle(b) + a + 1], column[q][a], column[q][a + 1],
                                column[q][b]);
          }
          if (b % 2 == 0) multiply_add_8x8x4(sum[triangle(b) + b], column[q][b], column[q][b]);
        }
      }
    }
    double* to = parts_ + warp() * (kPairs * kGroups * kGroups) + 2 * lane();
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      to[p * kGroups * kGroups] = sum[p][0];
      to[p * kGroups * kGroups + 1] = sum[p][1];
    }
    __syncthreads();
  }

  /// Phi into the columns that are not targets. The whole warp.
  __device__ __forceinline__ void fill_columns(const Real (&x)[Sets][Dim], const Real (&phi)[Sets][RuleTiles],
                                               double (&column)[Sets][ColumnTiles]) const {
    if constexpr (Order == 0) {
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int s = 0; s < RuleTiles; ++s) {
          if (has_rule(s)) column[q][s] = static_cast<double>(phi[q][s]);
        }
      }
    } else {
      // A rule's columns are those of other lanes too.
      const auto own = [this](int set) {
        return shared_phi_ + ((warp() * Sets + set) * kRows + row_of_lane()) * batch_.rules;
      };
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int s = 0; s < RuleTiles; ++s) {
          if (has_rule(s)) own(q)[rule(s)] = phi[q][s];
        }
      }
      __syncwarp();
#pragma unroll
      for (int t = 0; t < ColumnTiles; ++t) {
        const int c = group() + t * kGroups, k = c / kTerms, term = c % kTerms;
        if (k >= batch_.rules) continue;
#pragma unroll
        for (int q = 0; q < Sets; ++q) {
          double value = static_cast<double>(own(q)[k]);
#pragma unroll
          for (int j = 0; j < Dim; ++j) {
            if (term == j + 1) value *= static_cast<double>(x[q][j]);
          }
          column[q][t] = value;
        }
      }
    }
  }

  /// Element e of this block's product.
  __device__ __forceinline__ double product(int e) const {
    const int unknowns = batch_.unknowns(), beyond = e - products_of_phi();
    const int i = beyond < 0 ? square_row(e) : unknowns + beyond / unknowns;
    const int j = beyond < 0 ? e - triangle(i) : beyond % unknowns;
    const int a = i / kGroups, b = j / kGroups;
    const double* from = parts_ + (triangle(a) + b) * (kGroups * kGroups) + j % kGroups * kGroups + i % kGroups;
    double sum = 0.0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += from[w * (kPairs * kGroups * kGroups)];
    return sum;
  }

  /// The consequents, by elimination below and above the pivots (Gauss and Jordan), which needs no substitution after
  /// it. A panel of pivots is eliminated together: threads meet once for all of them, and each factorises the panel's
  /// own square for itself. The matrix is that of all columns, so that those of Y become the solution; it stays
  /// symmetric to the right of and below the pivots, so that their columns are all that has to be known of it. Where
  /// Phi is rank deficient, again with a ridge. Returns an Info.
  __device__ __forceinline__ int solve() const {
    const int unknowns = batch_.unknowns(), columns = batch_.columns();
    const int across = thread() % kAcross, down = thread() / kAcross;
    Attempts attempts(unknowns, static_cast<double>(control_.ridge), [this](int i) { return gram(i, i); });
#pragma unroll 1
    while (attempts.goes_on()) {
      const double ridge = attempts.ridge();
      double own[kOwnRows][kOwnColumns];
#pragma unroll
      for (int r = 0; r < kOwnRows; ++r) {
        const int i = down + r * kDown;
#pragma unroll
        for (int c = 0; c < kOwnColumns; ++c) {
          const int j = across + c * kAcross;
          const int low = i < j ? i : j, high = i < j ? j : i;
          own[r][c] = high < columns ? gram(high, low) : 0.0;
          if (i == j && i < unknowns) own[r][c] += ridge;
        }
      }
      bool full_rank = true;
#pragma unroll
      for (int owner = 0; owner < kOwnColumns; ++owner) {
#pragma unroll 1
        for (int p = owner * kAcross; p < (owner + 1) * kAcross && p < unknowns && full_rank; p += kPanel) {
          double* panel = pivots_ + (p / kPanel & 1) * (kPanel * kSide);
          const int own_pivot = across - (p - owner * kAcross);
          if (own_pivot >= 0 && own_pivot < kPanel) {
#pragma unroll
            for (int r = 0; r < kOwnRows; ++r) {
              if (down + r * kDown < kSide) panel[(down + r * kDown) * kPanel + own_pivot] = own[r][owner];
            }
          }
          __syncthreads();
          const SmallFactors<kPanel> pivots(panel + p * kPanel, unknowns - p);
          double row[kOwnRows][kPanel], column[kOwnColumns][kPanel];
#pragma unroll
          for (int r = 0; r < kOwnRows; ++r) {
            const int i = down + r * kDown;
#pragma unroll
            for (int q = 0; q < kPanel; ++q) {
              // A row of the panel becomes its part of the solution, the same row of the panel's inverse times the
              // panel. One less on the diagonal leaves just that.
              row[r][q] = (i < kSide ? panel[i * kPanel + q] : 0.0) - (i == p + q ? 1.0 : 0.0);
            }
          }
#pragma unroll
          for (int c = owner; c < kOwnColumns; ++c) {
#pragma unroll
            for (int q = 0; q < kPanel; ++q) column[c][q] = panel[(across + c * kAcross) * kPanel + q];
          }
#pragma unroll
          for (int q = 0; q < kPanel; ++q) {
            full_rank = full_rank && (p + q >= unknowns || attempts.is_full_rank(pivots.pivot(q)));
          }
#pragma unroll
          for (int r = 0; r < kOwnRows; ++r) {
            pivots.divide(row[r]);
#pragma unroll
            for (int c = owner; c < kOwnColumns; ++c) {
#pragma unroll
              for (int q = 0; q < kPanel; ++q) own[r][c] -= row[r][q] * column[c][q];
            }
          }
        }
      }
      attempts.end(full_rank);
      if (!full_rank) {
        __syncthreads();  // the next attempt writes where this one may still be read
        continue;
      }
#pragma unroll
      for (int r = 0; r < kOwnRows; ++r) {
        const int i = down + r * kDown;
#pragma unroll
        for (int c = 0; c < kOwnColumns; ++c) {
          const int l = across + c * kAcross - unknowns;
          if (i < unknowns && l >= 0 && l < batch_.outputs) {
            consequents_[i * batch_.outputs + l] = static_cast<Real>(own[r][c]);
          }
        }
      }
    }
    if (attempts.is_empty()) {
      for (int i = thread(); i < batch_.consequents(); i += Block) consequents_[i] = 0;
    }
    __syncthreads();
    return attempts.info();
  }

  /// parts[warp][row of four][2 K D + 2]: half the gradient of the summed squared error by centres and by widths, each
  /// times the width, and the squared errors of the rows learnt and held back.
  __device__ __forceinline__ void descend() const {
    Real by_centre[RuleTiles][Dim], by_width[RuleTiles][Dim];
    double centre_sum[RuleTiles][Dim], width_sum[RuleTiles][Dim];
#pragma unroll
    for (int s = 0; s < RuleTiles; ++s) {
#pragma unroll
      for (int j = 0; j < Dim; ++j) {
        by_centre[s][j] = by_width[s][j] = 0;
        centre_sum[s][j] = width_sum[s][j] = 0.0;
      }
    }
    const auto flush = [&] {
#pragma unroll
      for (int s = 0; s < RuleTiles; ++s) {
#pragma unroll
        for (int j = 0; j < Dim; ++j) {
          centre_sum[s][j] += static_cast<double>(by_centre[s][j]);
          width_sum[s][j] += static_cast<double>(by_width[s][j]);
          by_centre[s][j] = by_width[s][j] = 0;
        }
      }
    };
    double learnt_squares = 0.0, held_back_squares = 0.0;
    const int end = control_.rows + control_.held_back;
    float next_x[Sets][Dim];
    read_rows(first_row(), end, next_x);
    int rows = 0;
#pragma unroll 1
    for (int first = first_row(); first < end; first += stride()) {
      Real x[Sets][Dim], phi[Sets][RuleTiles], change[Sets][RuleTiles];
      bool there[Sets], learnt[Sets];
      const float* targets[Sets];
      float target[Sets];
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int j = 0; j < Dim; ++j) x[q][j] = static_cast<Real>(next_x[q][j]);
        const int row = row_of(first, q);
        there[q] = row < end;
        learnt[q] = row < control_.rows;
        targets[q] = batch_.targets + static_cast<long long>(there[q] ? row : first) * batch_.outputs;
        target[q] = targets[q][0];
      }
      read_rows(first + stride(), end, next_x);
      activate(x, first, end, phi);
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int s = 0; s < RuleTiles; ++s) change[q][s] = 0;
      }
#pragma unroll 1
      for (int l = 0; l < batch_.outputs; ++l) {
        Real expected[Sets], said[Sets][RuleTiles], output[Sets];
#pragma unroll
        for (int q = 0; q < Sets; ++q) {
          expected[q] = static_cast<Real>(target[q]);
          if (l + 1 < batch_.outputs) target[q] = targets[q][l + 1];
          output[q] = 0;
        }
#pragma unroll
        for (int s = 0; s < RuleTiles; ++s) {
#pragma unroll
          for (int q = 0; q < Sets; ++q) said[q][s] = 0;
          if (!has_rule(s)) continue;
          const Real* theta = consequents_ + rule(s) * kTerms * batch_.outputs + l;
#pragma unroll
          for (int q = 0; q < Sets; ++q) {
            said[q][s] = theta[0];
#pragma unroll
            for (int t = 1; t < kTerms; ++t) said[q][s] += theta[t * batch_.outputs] * x[q][t - 1];
            output[q] += phi[q][s] * said[q][s];
          }
        }
        sum_over_rows(output);
#pragma unroll
        for (int q = 0; q < Sets; ++q) {
          const Real error = there[q] ? output[q] - expected[q] : Real(0);
          const double square = static_cast<double>(error) * static_cast<double>(error);
          learnt_squares += learnt[q] ? square : 0.0;
          held_back_squares += learnt[q] ? 0.0 : square;
          const Real taught = learnt[q] ? error : Real(0);
#pragma unroll
          for (int s = 0; s < RuleTiles; ++s) change[q][s] += taught * (said[q][s] - output[q]);
        }
      }
#pragma unroll
      for (int q = 0; q < Sets; ++q) {
#pragma unroll
        for (int s = 0; s < RuleTiles; ++s) {
          const Real g = change[q][s] * phi[q][s];
#pragma unroll
          for (int j = 0; j < Dim; ++j) {
            const Real u = (x[q][j] - centre_[s][j]) * inverse_[s][j];
            by_centre[s][j] += g * u;
            by_width[s][j] += g * u * u;
          }
        }
      }
      rows += Sets;
      if (!kKeepsLowParts && rows % kFlush == 0) flush();
    }
    flush();
    const int tasks = batch_.tasks();
    double* to = parts_ + (warp() * kRows + row_of_lane()) * batch_.slopes();
#pragma unroll
    for (int s = 0; s < RuleTiles; ++s) {
      const int k = rule(s);
      if (!has_rule(s)) continue;
#pragma unroll
      for (int j = 0; j < Dim; ++j) {
        to[k * Dim + j] = centre_sum[s][j] * (1.0 / static_cast<double>(kFold));
        to[tasks + k * Dim + j] = width_sum[s][j] * (1.0 / (static_cast<double>(kFold) * static_cast<double>(kFold)));
      }
    }
    if (group() == 0) {
      to[2 * tasks] = learnt_squares;
      to[2 * tasks + 1] = held_back_squares;
    }
    __syncthreads();
  }

  __device__ __forceinline__ double slope(int e) const {
    const int elements = batch_.slopes();
    double sum = 0.0;
#pragma unroll 8
    for (int w = 0; w < kWarps * kRows; ++w) sum += parts_[w * elements + e];
    return sum;
  }

  /// Bookkeeping and the step, by every block alike; block 0 writes the errors.
  __device__ __forceinline__ void step(int info, Progress& progress, double* errors) const {
    const int tasks = batch_.tasks();
    const double scale = 2.0 / static_cast<double>(control_.rows);
    const auto gradient = [&](int e) {
      return scale * sums_[e] * static_cast<double>(inverse_widths_[e < tasks ? e : e - tasks]);
    };
    double squares = 0.0;
    for (int e = lane(); e < 2 * tasks; e += kWarp) squares += gradient(e) * gradient(e);
    squares = sum_over_warp(squares);
    __syncthreads();  // all have the widths that were before they change
    const double error = error_of(info, sums_[2 * tasks] / static_cast<double>(control_.rows));
    const double held_back =
        control_.held_back > 0 ? sums_[2 * tasks + 1] / static_cast<double>(control_.held_back) : 0.0;
    const Step forward(control_, squares, progress.step);
    const bool is_best = count_iteration(control_, progress, error, held_back, info == kOwnRidgeTaken);
    if (progress.halted == kDiverged) return;
    if (blockIdx.x == 0 && thread() == 0) {
      errors[0] = error;
      errors[1] = held_back;
    }
    for (int i = thread(); i < tasks; i += Block) {
      Real centre = centres_[i], width = widths_[i];
      if (is_best) {
        best_centres_[i] = static_cast<float>(centre);
        best_widths_[i] = static_cast<float>(width);
      }
      forward.move(centre, width, gradient(i), gradient(tasks + i));
      centres_[i] = centre;
      widths_[i] = width;
      inverse_widths_[i] = Real(1) / width;
    }
    for (int i = thread(); is_best && i < batch_.consequents(); i += Block) {
      best_consequents_[i] = static_cast<float>(consequents_[i]);
    }
  }

  const Batch batch_;
  const Control control_;
  double *parts_, *sums_, *pivots_;
  Real *centres_, *widths_, *inverse_widths_, *consequents_, *shared_phi_;
  float *best_centres_, *best_widths_, *best_consequents_;
  Real centre_[RuleTiles][Dim], inverse_[RuleTiles][Dim];
  StageClocks<7> clocks_;  // in the order of iterate(); bench/tsk/tsk_scaling.cpp names them
};

/// `iterations` iterations; `most`: elements of the larger exchange.
template <int Block, int Sets, int ColumnTiles, int RuleTiles, int Dim, int Order, class Real, int FirstLook = 0>
__global__ void __launch_bounds__(Block, 1)
    iterate_resident(const float* rows, const float* targets, float* centres, float* widths, float* consequents,
                     float* best_centres, float* best_widths, float* best_consequents, float* low_parts,
                     const Control* control_at, const Progress* before, Progress* after, double* errors,
                     Packet* packets, int most, int iterations, int outputs, int rules, int words) {
  const Control control = *control_at;
  Progress progress = *before;
  using Iterations = ResidentIterations<Block, Sets, ColumnTiles, RuleTiles, Dim, Order, Real>;
  const Batch batch{{Dim, outputs, rules, Iterations::kTerms}, rows, targets};
  Iterations work(batch, control, Pieces(words));
  GridSums<Block, FirstLook> exchange(packets, most);
  if (!goes_on(control, progress)) return;
  const Parameters now{centres, widths, consequents}, best{best_centres, best_widths, best_consequents};
  work.fetch(now, low_parts, best);
#pragma unroll 1
  for (int i = 0; i < iterations && goes_on(control, progress); ++i) {
    if (!work.iterate(exchange, progress, errors + 2 * (progress.iteration % iterations))) {
      progress.halted = kLostBlock;
    }
  }
  work.tell_clocks(iterations);
  if (blockIdx.x != 0) return;
  __syncthreads();
  work.store(now, low_parts, best);
  if (threadIdx.x == 0) *after = progress;
}

}  // namespace heddle::tsk
