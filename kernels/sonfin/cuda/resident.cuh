// Many online training steps of a SONFIN in one launch: parameters stay on chip, and what the blocks tell each other
// per sample are sums over their rules. Formulas: docs/design.md, "The network".
//
// One round of exchange per sample (exchange_sums.cuh) carries
//
//   sum_k exp(l_k - shift),   max_k l_k,   sum_k w_kl exp(l_k - shift) for every output l.
//
// The shift is the largest l_k of the sample before, which every thread knows; should the present one be so far from it
// that sums might overflow or lose rules that count, a second round repeats them with the right shift. So the largest
// l_k is not waited for, and the sums stay in the log domain all the same. A new rule takes two more rounds, which find
// the leading rule and its distance.
//
// Parameters of the mapping: see cells.cuh. Every thread keeps the consequents of its rules: lane i of a group those of
// outputs i % Sharers + Sharers * c, where Sharers lanes share the outputs. Rows and targets are requested one sample
// ahead, their numbers two. Rows of many inputs, for which several warps share a rule, are brought into the L2 cache
// two samples ahead: all rows of a training run do not fit there, and every block waits for all of a row.
#pragma once

#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/sonfin/cuda/cells.cuh"
#include "heddle/kernels/sonfin/cuda/decision.cuh"
#include "heddle/kernels/sonfin/cuda/exchange_sums.cuh"

namespace heddle::sonfin {

/// How far the largest l_k may be from the shift. A rule that exp() then takes for 0 is 47 below the largest: it has a
/// share of 1e-20.
constexpr float kFarthestShift = 40.0f;

/// Before a grid: empties its packets, and puts the progress where no block of the grid writes. Grid: enough threads
/// for all packets.
__global__ void begin(Packet* packets, int count, const Progress* progress, Progress* before) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) packets[i] = {0.0f, 0.0f, 0.0f, 0};
  if (i == 0) *before = *progress;
}

/// Learns the next samples, `samples` of them at most. Rules up to `capacity`, which the grid has to hold; a sample
/// that wants one more halts it. `streamed`: scratch of the parameters that are not on chip, kStream; otherwise not
/// used.
template <int Block, int Lanes, int Packs, int Rules, int Vector, int Outputs, int Storage, int Link,
          int FirstLook = kFirstLook, int PacketsOfCycle = kPacketsOfCycle, int Replicas = kReplicas, int RowsAhead = 1,
          int PacksAhead = kPacksAhead, int PacksMoved = 0>
__global__ void __launch_bounds__(Block, 1)
    resident(float* centres, float* widths, float* consequents, const Control* control_at, const Progress* before_at,
             Progress* after, const float* rows, const float* targets, const int* order, Packet* packets, int samples,
             int stride, int target_stride, int capacity, float* streamed) {
  using Work = Cells<Block, Lanes, Packs, Rules, Vector, Storage, RowsAhead, PacksAhead, PacksMoved>;
  static_assert(RowsAhead == 1 || (RowsAhead == 2 && Work::kWide && !Work::kRowsInRegisters && Link == kGridLink),
                "where rows are long and in shared memory");
  constexpr int kRegistersOfThread = Block <= 256 ? 255 : 65536 / Block;
  using Exchange =
      ExchangeSums<Block, Work::kRecords, Outputs, Link, kRegistersOfThread - Work::kRegisterWords - 2 * Rules,
                   FirstLook, PacketsOfCycle, Replicas>;
  constexpr int kValueLanes = Exchange::kValueLanes, kChunks = Exchange::kChunks;
  constexpr int kSharers = Lanes < kValueLanes ? Lanes : kValueLanes;
  constexpr int kShare = (Outputs + kSharers - 1) / kSharers;  // outputs of a thread
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  SharedMemory shared;
  Work cells(shared, streamed);
  Exchange exchange(shared, packets);
  const Control control = *control_at;
  const Progress before = *before_at;
  exchange.open();
  const int position = before.position;
  const int left = control.end - position < samples ? control.end - position : samples;
  if (before.halted != 0 || left <= 0) return;
  int rules = before.rules;

  cells.fetch(centres, widths, stride, capacity);
  float w[Rules][kShare];
#pragma unroll
  for (int r = 0; r < Rules; ++r) {
#pragma unroll
    for (int c = 0; c < kShare; ++c) {
      const int rule = Work::first_rule() + r, l = lane % kSharers + kSharers * c;
      w[r][c] = rule < capacity && l < Outputs ? consequents[static_cast<long long>(l) * capacity + rule] : 0.0f;
    }
  }
  const auto request_target = [&](float(&target)[kChunks], long long row) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int l = lane % kValueLanes + kWarp * c;
      target[c] = l < Outputs ? targets[row * target_stride + l] : 0.0f;
    }
  };
  // Every thread adds up the loss, so that none of them branches; it counts in the first lanes of the grid.
  double loss = 0.0;
  float recent_loss = 0.0f;  // added to the rest now and then: a conversion to double takes its time
  float error[kChunks];      // of the last sample that was learnt
#pragma unroll
  for (int c = 0; c < kChunks; ++c) error[c] = 0.0f;
  const auto add_loss = [&](int learnt) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) recent_loss += 0.5f * error[c] * error[c];
    if (learnt % 16 == 0) {
      seldom(recent_loss);
      loss += static_cast<double>(recent_loss);
      recent_loss = 0.0f;
    }
  };
  constexpr bool kWaits = Link != kBlockLink;  // for other blocks, with time for what can be put off

  const auto row_at = [&](int number) { return rows + static_cast<long long>(number) * stride; };
  typename Work::Row row, next_row, later_row;
  float target[kChunks], next_target[kChunks];
  cells.request(row, row_at(order[position]), stride, 0);
  request_target(target, order[position]);
  // Of the samples after the present one: those whose rows are on their way or are to be requested, and where rows are
  // announced one more, so that no announcement waits for a number. The last one again in place of what is not there.
  constexpr int kNumbers = Work::kWide ? RowsAhead + 1 : 1;
  int numbers[kNumbers];
  numbers[0] = order[position + (left > 1 ? 1 : 0)];
#pragma unroll
  for (int i = 1; i < kNumbers; ++i) numbers[i] = order[position + (1 + i < left ? 1 + i : left - 1)];
  if constexpr (RowsAhead == 2) {
    end_group();
    cells.request(next_row, row_at(numbers[0]), stride, 1);
    end_group();
    groups_arrived<1>();
    __syncthreads();
  } else if constexpr (!Work::kRowsInRegisters) {
    copies_arrived();
    __syncthreads();
  }
  float own_firing[Rules];  // where several warps share a rule: for the row to be learnt next
  const float largest_inverse = __fdividef(1.0f, control.minimum_width);
  if constexpr (Work::kWide) cells.fire_own(row, own_firing);
  float shift = 0.0f, threshold = rule_threshold(control, rules);
  bool halts = false, lost = false;
  int sample = 0;
  for (; sample < left; ++sample) {
    float log_firing[Rules], weight[Rules];
    if constexpr (Work::kWide) {
      cells.add_up(own_firing, log_firing);
    } else {
      cells.fire(row, log_firing);
    }
    float largest = -infinity();
#pragma unroll
    for (int r = 0; r < Rules; ++r) {
      if (Work::first_rule() + r >= rules) log_firing[r] = -infinity();
      largest = fmaxf(largest, log_firing[r]);
    }
    if constexpr (Lanes < kWarp) largest = largest_over_warp(largest);
    // A round for the sums; another one if the shift was wrong.
    typename Exchange::Sums sums;
    float inverse_sum = 0.0f;
    for (bool first = true;; first = false) {
      float sum = 0.0f, weighted[kShare];
#pragma unroll
      for (int c = 0; c < kShare; ++c) weighted[c] = 0.0f;
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        weight[r] = __expf(log_firing[r] - shift);
        sum += weight[r];
#pragma unroll
        for (int c = 0; c < kShare; ++c) weighted[c] += weight[r] * w[r][c];
      }
      sum = sum_over_groups<Lanes>(sum);
#pragma unroll
      for (int c = 0; c < kShare; ++c) weighted[c] = sum_over_groups<Lanes>(weighted[c]);
      exchange.template hand_in<kSharers>(sum, largest, weighted);
      if (first) {
        // While nothing else is to be done: what is used when this sample is through, and what is left of the one
        // before. The last one is requested again in place of what is not there.
        cells.request(RowsAhead == 2 ? later_row : next_row, row_at(numbers[RowsAhead - 1]), stride,
                      sample + RowsAhead);
        if constexpr (RowsAhead == 2) end_group();
        request_target(next_target, numbers[0]);
#pragma unroll
        for (int i = 0; i + 1 < kNumbers; ++i) numbers[i] = numbers[i + 1];
        const int further = sample + 1 + kNumbers;
        numbers[kNumbers - 1] = order[position + (further < left ? further : left - 1)];
        if constexpr (Work::kWide) cells.announce(row_at(numbers[RowsAhead - 1]), stride);
        if constexpr (kWaits) add_loss(sample);
        if constexpr (RowsAhead == 2) {
          groups_arrived<1>();  // the row of the next sample has
        } else if constexpr (!Work::kRowsInRegisters) {
          copies_arrived();
          if constexpr (Link == kClusterLink) __syncthreads();
        }
      }
      lost = !exchange.collect(sums);
      if constexpr (Work::kWide) {  // before it is known whether it is used, because it takes its time
        inverse_sum = __fdividef(1.0f, sums.sum);
        seldom(inverse_sum);
      }
      if (lost || rules == 0 || fabsf(sums.largest - shift) <= kFarthestShift || !isfinite(sums.largest)) break;
      shift = sums.largest;
      exchange.again();
    }
    if (lost) break;

    // Every thread of the grid has come to the same sums, and decides alike.
    float width = 0.0f;  // of a new rule
    const bool adds = sums.largest <= threshold;
    if (adds) {
      halts = rules >= capacity;
      if (halts) break;
      float squared = 0.0f;
      if (rules > 0) {
        int leader = kNobody;  // the lowest of this warp's rules that lead; then of all
#pragma unroll
        for (int r = Rules - 1; r >= 0; --r) {
          if (log_firing[r] == sums.largest) leader = Work::first_rule() + r;
        }
        leader = smallest_over_warp(leader);
        const float nothing[kShare] = {};
        typename Exchange::Sums found;
        // One round finds the leading rule, the next its distance.
#pragma unroll 1
        for (int round = 0; round < 2 && !lost; ++round) {
          exchange.again();
          exchange.template hand_in<kSharers>(squared, leader == kNobody ? -infinity() : -static_cast<float>(leader),
                                              nothing);
          lost = !exchange.collect(found);
          leader = static_cast<int>(-found.largest);
          // One group has the rule; the others add nothing.
          squared = sum_over_groups<Lanes>(cells.squared_distance(row, leader - Work::first_rule()));
        }
        if (lost) break;
        squared = found.sum;
      }
      width = new_width(control, rules, squared);
      // It fires with l = 0, beside which all others shrink, and its consequents are the target.
      const float earlier = rules > 0 ? __expf(shift) : 0.0f;
      sums.sum = sums.sum * earlier + 1.0f;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) sums.weighted[c] = sums.weighted[c] * earlier + target[c];
#pragma unroll
      for (int r = 0; r < Rules; ++r) weight[r] *= earlier;
      threshold = rule_threshold(control, ++rules);
      if constexpr (Work::kWide) inverse_sum = __fdividef(1.0f, sums.sum);
    }
    if constexpr (!Work::kWide) inverse_sum = __fdividef(1.0f, sums.sum);

    float output[kChunks];
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      output[c] = sums.weighted[c] * inverse_sum;
      error[c] = output[c] - target[c];
    }
    // Of the outputs whose consequents this thread keeps.
    float own_output[kShare], own_error[kShare];
#pragma unroll
    for (int c = 0; c < kShare; ++c) {
      if constexpr (kSharers == kValueLanes) {
        own_output[c] = output[c];
        own_error[c] = error[c];
      } else {
        const int from = lane % kSharers + kSharers * c % kWarp;
        own_output[c] = __shfl_sync(kAllLanes, output[kSharers * c / kWarp], from);
        own_error[c] = __shfl_sync(kAllLanes, error[kSharers * c / kWarp], from);
      }
    }
    float gradient[Rules];
#pragma unroll
    for (int r = 0; r < Rules; ++r) {
      const float normalised = weight[r] * inverse_sum;
      float slope = 0.0f;
#pragma unroll
      for (int c = 0; c < kShare; ++c) {
        slope += own_error[c] * (w[r][c] - own_output[c]);
        w[r][c] -= control.consequent_rate * own_error[c] * normalised;
      }
      gradient[r] = normalised * sum_over_lanes<kSharers>(slope);
    }
    bool together = false;  // rules move in the pass that fires for the next row
    if constexpr (Work::kWide) {
      int moving = 0;
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        if (!(fabsf(gradient[r]) >= control.negligible_gradient)) gradient[r] = 0.0f;
        moving += gradient[r] != 0.0f ? 1 : 0;
      }
      // One rule of many moves alone: the pass would change the others by nothing. Of two rules it does not, because
      // all blocks wait for the slowest, and to move one and then fire takes longer than the pass; nor if rules are
      // streamed, because the pass has requested their parameters ahead. A thread with one rule does not even ask
      // whether it moves.
      constexpr int kMovesAlone = Rules == 2 || Work::kStreamed > 0 ? 0 : 1;
      together = control.plain_step == 0 && (Rules == 1 || moving > kMovesAlone);
      if (!together) {
#pragma unroll
        for (int r = 0; r < Rules; ++r) {
          if (gradient[r] != 0.0f) cells.move(row, r, gradient[r], control);
        }
      }
    } else {
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        if (fabsf(gradient[r]) >= control.negligible_gradient) cells.move(row, r, gradient[r], control);
      }
    }
    if (adds) {      // the new rule has not fired yet: nothing above has changed it
      __syncwarp();  // so that the others pass by it in one branch that all lanes take alike
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        if (Work::first_rule() + r != rules - 1) continue;
        cells.add(row, r, width);
#pragma unroll
        for (int c = 0; c < kShare; ++c) {
          // w = d, and phi = 1 / sum.
          const float d = own_output[c] - own_error[c];
          if (lane % kSharers + kSharers * c < Outputs) {
            w[r][c] = d - control.consequent_rate * own_error[c] * inverse_sum;
          }
        }
      }
    }
    if constexpr (Work::kWide) {
      if (together) {
        cells.move_and_fire(row, next_row, gradient, control, largest_inverse, own_firing);
      } else {
        cells.fire_own(next_row, own_firing);
      }
    }
    if constexpr (!kWaits) add_loss(sample + 1);
    shift = adds ? 0.0f : sums.largest;
    row = next_row;
    if constexpr (RowsAhead == 2) next_row = later_row;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) target[c] = next_target[c];
  }
  if (kWaits && sample == left) add_loss(sample);
  exchange.close();

  cells.write_back(centres, widths, stride);
#pragma unroll
  for (int r = 0; r < Rules; ++r) {
#pragma unroll
    for (int c = 0; c < kShare; ++c) {
      const int rule = Work::first_rule() + r, l = lane % kSharers + kSharers * c;
      if (rule < rules && l < Outputs && Work::lane() < kSharers) {
        consequents[static_cast<long long>(l) * capacity + rule] = w[r][c];
      }
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < kValueLanes) {
    loss += static_cast<double>(recent_loss);
    // Lane by lane, in one order.
    constexpr unsigned kKeepers = kValueLanes == kWarp ? kAllLanes : (1u << kValueLanes) - 1;
    double total = 0.0;
    for (int from = 0; from < kValueLanes; ++from) total += __shfl_sync(kKeepers, loss, from);
    if (lane == 0) *after = {rules, position + sample, lost ? kLostBlock : halts ? kFull : 0, 0, before.loss + total};
  }
}

}  // namespace heddle::sonfin
