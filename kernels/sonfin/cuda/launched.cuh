// One online training step of a SONFIN, in three, two or one launches per sample. Formulas: docs/design.md, "The
// network".
//
//   kernels = 3:  sweep (fire) -> combine -> sweep (update)              the published order of launches
//   kernels = 2:  combine -> sweep (update this sample, fire the next)   parameters travel once per sample
//   kernels = 1:  step                                                   every block combines for itself
//
// Parameters of the mapping: see tile.cuh. Buffers beside those of train.hpp, all scratch:
//
// | buffer | contents |
// |---|---|
// | staged_rows, staged_targets | the rows and targets of this run's samples, in order |
// | steps          | Progress [2]: what one launch of `step` hands to the next |
// | log_firing     | l_k, R floats |
// | gradient       | g_k, R floats, and before that exp(l_k - largest) |
// | decision       | one Decision |
// | records        | [2][4 + L][blocks, rounded up to 4]: of every block of `step`, its largest l_k, that rule, its
// squared distance, sum_k exp(l_k - largest), and for each output sum_k w_kl exp(l_k - largest) | Consequents lie
// output after output: w_kl at l * capacity + k.
#pragma once

#include "heddle/kernels/sonfin/cuda/tile.cuh"

namespace heddle::sonfin {

/// Fires sample `fired` and before that updates the parameters by sample `learned`; -1 leaves a part out.
template <int Block, int Lanes, int Inputs, int Rules, int Vector, bool Tree>
__global__ void __launch_bounds__(Block)
    sweep(float* centres, float* widths, const Control* control_at, const Progress* progress_at,
          const Decision* decision_at, const float* gradient, float* log_firing, const float* staged_rows, int learned,
          int fired, int stride, int capacity) {
  using Work = Tile<Block, Lanes, Inputs, Rules, Vector, Tree>;
  let_next_launch_start();
  SharedMemory shared;
  float* own_log_firing = shared.take<float>(Work::kRulesPerBlock);
  float* scratch = shared.take<float>(Work::kReduceWords);
  wait_for_previous_launch();

  // All that may be needed is requested before it is known what is: else it would arrive one latency later.
  const float* learned_row = learned >= 0 ? staged_rows + static_cast<long long>(learned) * stride : nullptr;
  const float* fired_row = fired >= 0 ? staged_rows + static_cast<long long>(fired) * stride : nullptr;
  Work tile;
  tile.fetch(centres, widths, learned_row, fired_row, 0, stride, capacity);
  float own_gradient[Rules], scaled[Rules], squared[Rules];
#pragma unroll
  for (int r = 0; r < Rules; ++r) {
    const int rule = Work::first_rule() + r;
    own_gradient[r] = learned >= 0 && rule < capacity ? load<1>(gradient + rule).value[0] : 0.0f;
    scaled[r] = squared[r] = 0.0f;
  }
  const Control control = *control_at;
  const Progress progress = *progress_at;
  Decision decision = {false, progress.rules, -1, 0.0f};
  if (learned >= 0) decision = *decision_at;
  const bool fires = fired >= 0 && progress.halted == 0 && progress.position < control.end;
  if (!decision.learn && !fires) return;

#pragma unroll
  for (int r = 0; r < Rules; ++r) {
    if (!decision.learn || Work::first_rule() + r >= decision.rules) own_gradient[r] = 0.0f;
  }
  for (int base = 0;;) {
    tile.update(centres, widths, own_gradient, base, stride, capacity, decision, control);
    tile.template fire<false>(scaled, squared);
    base += Work::kSpan;
    if (base >= stride) break;
    tile.fetch(centres, widths, learned_row, fired_row, base, stride, capacity);
  }
  if (!fires) return;
  Work::reduce(scaled, -1.0f, own_log_firing, scratch);
  __syncthreads();
#pragma unroll 1
  for (int p = static_cast<int>(threadIdx.x); p < Work::kRulesPerBlock; p += Block) {
    const int rule = static_cast<int>(blockIdx.x) * Work::kRulesPerBlock + p;
    if (rule < progress.rules) log_firing[rule] = own_log_firing[p];
  }
}

/// Normalises the firing of one sample, decides about a new rule, and moves the consequents. One block. A thread takes
/// `Ahead` rules at a time, and `Summed` where outputs are summed.
template <int Block, int Ahead, int Summed>
__global__ void __launch_bounds__(Block)
    combine(float* consequents, const float* centres, const Control* control_at, Progress* progress_at,
            Decision* decision_at, float* gradient, const float* log_firing, const float* staged_rows,
            const float* staged_targets, int sample, int stride, int target_stride, int outputs, int capacity) {
  constexpr int kWarps = Block / kWarp;
  let_next_launch_start();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int parts = outputs < kWarps ? kWarps / outputs : 1;  // warps that share one output
  SharedMemory shared;
  float* output = shared.take<float>(outputs);
  float* error = shared.take<float>(outputs);
  float* partial = shared.take<float>(outputs * parts);
  float* leader_value = shared.take<float>(kWarps);
  int* leader_index = shared.take<int>(kWarps);
  float* sums = shared.take<float>(kWarps);
  wait_for_previous_launch();

  // A thread takes rules thread, thread + Block, ..., several at a time, and the first before it is known how many
  // there are: one access after the other would cost a latency each. Those first ones it keeps.
  const auto fetch = [&](float(&some)[Ahead], int first) {
#pragma unroll
    for (int i = 0; i < Ahead; ++i) {
      const int k = first + i * Block;
      some[i] = k < capacity ? load<1>(log_firing + k).value[0] : -infinity();
    }
  };
  float own[Ahead];
  fetch(own, thread);
  const Control control = *control_at;
  const Progress progress = *progress_at;
  const bool active = progress.halted == 0 && progress.position < control.end;
  const int rules = progress.rules;
  const float* target = staged_targets + static_cast<long long>(sample) * target_stride;

  Leader leader = nobody();
  const auto lead = [&](const float(&some)[Ahead], int first) {
#pragma unroll
    for (int i = 0; i < Ahead; ++i) {
      const int k = first + i * Block;
      if (active && k < rules) leader = ahead(leader, {some[i], k});
    }
  };
  lead(own, thread);
#pragma unroll 1
  for (int first = thread + Ahead * Block; active && first < rules; first += Ahead * Block) {
    float more[Ahead];
    fetch(more, first);
    lead(more, first);
  }
  leader = lead_over_warp(leader);
  if (lane == 0) {
    leader_value[warp] = leader.value;
    leader_index[warp] = leader.index;
  }
  __syncthreads();
  leader = nobody();
#pragma unroll 4
  for (int w = 0; w < kWarps; ++w) leader = ahead(leader, {leader_value[w], leader_index[w]});

  const bool adds = active && leader.value <= rule_threshold(control, rules);
  const bool halts = adds && rules >= capacity;
  if (!active || halts) {
    if (thread == 0) {
      *decision_at = {false, rules, -1, 0.0f};
      if (halts) progress_at->halted = 1;
    }
    return;
  }
  Decision decision = {true, rules, -1, 0.0f};
  if (adds) {
    float squared = 0.0f;  // |x - m|^2 of the leading rule
    const float* row = staged_rows + static_cast<long long>(sample) * stride;
#pragma unroll 1
    for (int j = thread; leader.index < rules && j < stride; j += Block) {
      const float offset = row[j] - centres[static_cast<long long>(leader.index) * stride + j];
      squared += offset * offset;
    }
    squared = sum_over_lanes<kWarp>(squared);
    if (lane == 0) sums[warp] = squared;
    __syncthreads();
    squared = 0.0f;
#pragma unroll 4
    for (int w = 0; w < kWarps; ++w) squared += sums[w];
    __syncthreads();
    decision = {true, rules + 1, rules, new_width(control, rules, squared)};
  }
  // A new rule fires with l = 0, the largest there is: by this the sums over earlier rules shrink beside it.
  const float earlier = adds ? exp_below(leader.value, 0.0f) : 1.0f;

  float sum = 0.0f;
  const auto weigh = [&](float(&some)[Ahead], int first) {  // from l_k to exp(l_k - largest)
#pragma unroll
    for (int i = 0; i < Ahead; ++i) {
      const int k = first + i * Block;
      some[i] = k < rules ? exp_below(some[i], leader.value) : 0.0f;
      if (k < rules) gradient[k] = some[i];
      sum += some[i];
    }
  };
  weigh(own, thread);
#pragma unroll 1
  for (int first = thread + Ahead * Block; first < rules; first += Ahead * Block) {
    float more[Ahead];
    fetch(more, first);
    weigh(more, first);
  }
  sum = sum_over_lanes<kWarp>(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  sum = 0.0f;
#pragma unroll 4
  for (int w = 0; w < kWarps; ++w) sum += sums[w];
  const float inverse_sum = 1.0f / (sum * earlier + (adds ? 1.0f : 0.0f));

#pragma unroll 1
  for (int item = warp; item < outputs * parts; item += kWarps) {
    const int l = item / parts;
    const float* w = consequents + static_cast<long long>(l) * capacity;
    float share = 0.0f;
#pragma unroll 1
    for (int first = item % parts * kWarp + lane; first < rules; first += Summed * parts * kWarp) {
      float weight[Summed], value[Summed];
#pragma unroll
      for (int i = 0; i < Summed; ++i) {
        const int k = first + i * parts * kWarp;
        weight[i] = k < rules ? gradient[k] : 0.0f;
        value[i] = k < rules ? w[k] : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < Summed; ++i) share += weight[i] * value[i];
    }
    share = sum_over_lanes<kWarp>(share);
    if (lane == 0) partial[item] = share;
  }
  __syncthreads();
#pragma unroll 1
  for (int l = thread; l < outputs; l += Block) {
    float weighted = 0.0f;
#pragma unroll 1
    for (int part = 0; part < parts; ++part) weighted += partial[l * parts + part];
    output[l] = (weighted * earlier + (adds ? target[l] : 0.0f)) * inverse_sum;
    error[l] = output[l] - target[l];
  }
  __syncthreads();

  const auto move = [&](const float(&weights)[Ahead], int first) {
    float normalised[Ahead], slope[Ahead];
#pragma unroll
    for (int i = 0; i < Ahead; ++i) {
      const bool fresh = first + i * Block == decision.added;
      normalised[i] = (fresh ? 1.0f : weights[i] * earlier) * inverse_sum;
      slope[i] = 0.0f;
    }
#pragma unroll 1
    for (int l = 0; l < outputs; ++l) {
      float* w = consequents + static_cast<long long>(l) * capacity + first;
      float value[Ahead];
#pragma unroll
      for (int i = 0; i < Ahead; ++i) {
        const int k = first + i * Block;
        value[i] = k == decision.added ? target[l] : k < decision.rules ? w[i * Block] : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < Ahead; ++i) {
        slope[i] += error[l] * (value[i] - output[l]);
        if (first + i * Block < decision.rules) {
          w[i * Block] = value[i] - control.consequent_rate * error[l] * normalised[i];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < Ahead; ++i) {
      if (first + i * Block < decision.rules) gradient[first + i * Block] = normalised[i] * slope[i];
    }
  };
  move(own, thread);
#pragma unroll 1
  for (int first = thread + Ahead * Block; first < decision.rules; first += Ahead * Block) {
    float weights[Ahead];
#pragma unroll
    for (int i = 0; i < Ahead; ++i) weights[i] = first + i * Block < rules ? gradient[first + i * Block] : 0.0f;
    move(weights, first);
  }
  if (thread == 0) {
    float loss = 0.0f;
#pragma unroll 1
    for (int l = 0; l < outputs; ++l) loss += 0.5f * error[l] * error[l];
    *decision_at = decision;
    *progress_at = {decision.rules, progress.position + 1, 0, 0, progress.loss + static_cast<double>(loss)};
  }
}

/// Where a block of `step` leaves its part of the sums, and reads everybody's: rows of `pitch` words.
struct Records {
  float* at;
  int pitch;
  __device__ float* largest() const { return at; }
  __device__ int* rule() const { return reinterpret_cast<int*>(at + pitch); }
  __device__ float* distance() const { return at + 2 * pitch; }
  __device__ float* weighted(int output) const { return at + (4 + output) * pitch; }  ///< -1: the sum
};

/// A block's shared memory in `step`. `own`: rules of a block.
struct StepMemory {
  Records records;     ///< everybody's, of the sample before
  int pitch;           ///< from one rule's consequents to the next; odd, so that neither neighbouring rules nor
                       ///< neighbouring outputs share a bank
  float* consequents;  ///< the block's own, before the step
  float* moved;        ///< and after it
  float* log_firing;   ///< of its own rules
  float* distance;
  float *target, *output, *error;

  __device__ __forceinline__ StepMemory(SharedMemory& shared, int own, int outputs) : pitch(outputs | 1) {
    records.pitch = (static_cast<int>(gridDim.x) + 3) / 4 * 4;
    records.at = shared.take<float>((4 + outputs) * records.pitch);
    consequents = shared.take<float>(own * pitch);
    moved = shared.take<float>(own * pitch);
    log_firing = shared.take<float>(own);
    distance = shared.take<float>(own);
    target = shared.take<float>(outputs);
    output = shared.take<float>(outputs);
    error = shared.take<float>(outputs);
  }
};

// The next three are inlined on purpose: as calls, shared by all kernels of a program, they saved a tenth of the
// compile time and cost every step 0.4 to 2 us.

/// Starts the copies of what the step combines and moves. `target`: nullptr if no sample is learnt.
__device__ __forceinline__ void request(int own, int outputs, int capacity, const float* records, const float* target,
                                        const float* consequents, const float* log_firing) {
  SharedMemory shared;
  const StepMemory memory(shared, own, outputs);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int first = static_cast<int>(blockIdx.x) * own;
  const int live = capacity - first < own ? capacity - first : own;
  if (target != nullptr) {
#pragma unroll 1
    for (int i = 4 * thread; i < (4 + outputs) * memory.records.pitch; i += 4 * threads) {
      start_copy<4>(memory.records.at + i, records + i);
    }
#pragma unroll 1
    for (int l = thread; l < outputs; l += threads) start_copy(memory.target + l, target + l);
  }
#pragma unroll 1
  for (int p = thread; p < live; p += threads) start_copy(memory.log_firing + p, log_firing + first + p);
#pragma unroll 1
  for (int i = thread; i < outputs * own; i += threads) {
    const int l = i / own, p = i - l * own;
    if (p < live) {
      start_copy(memory.consequents + p * memory.pitch + l,
                 consequents + static_cast<long long>(l) * capacity + first + p);
    }
  }
}

/// Leaves the block's record of the sample just fired, and its log firing for the next launch.
__device__ __forceinline__ void leave_record(int own, int outputs, int rules, float* records, float* log_firing) {
  SharedMemory shared;
  const StepMemory memory(shared, own, outputs);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / kWarp, lane = thread % kWarp;
  const int block = static_cast<int>(blockIdx.x), first = block * own;
  const int live = rules - first < own ? rules - first : own;
  const Records mine = {records, memory.records.pitch};
  Leader leader = nobody();
#pragma unroll 1
  for (int p = lane; p < live; p += kWarp) leader = ahead(leader, {memory.log_firing[p], first + p});
  leader = lead_over_warp(leader);
#pragma unroll 1
  for (int p = thread; p < live; p += threads) log_firing[first + p] = memory.log_firing[p];
  // One value of the record per warp in turn: the sum, then each output.
  for (int item = warp; item < outputs + 1; item += threads / kWarp) {
    float sum = 0.0f;
#pragma unroll 1
    for (int p = lane; p < live; p += kWarp) {
      const float weight = exp_below(memory.log_firing[p], leader.value);
      sum += item == 0 ? weight : weight * memory.moved[p * memory.pitch + item - 1];
    }
    sum = sum_over_lanes<kWarp>(sum);
    if (lane != 0) continue;
    mine.weighted(item - 1)[block] = sum;
    if (item == 0) {
      mine.largest()[block] = leader.value;
      mine.rule()[block] = leader.index;
      mine.distance()[block] = leader.index < rules ? memory.distance[leader.index - first] : 0.0f;
    }
  }
}

/// One warp hands the progress on, with the loss of the sample if it was learnt.
__device__ __forceinline__ void pass_on(int own, int outputs, bool learnt, bool halted, int rules,
                                        const Progress* before, Progress* after) {
  SharedMemory shared;
  const StepMemory memory(shared, own, outputs);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float loss = 0.0f;
#pragma unroll 1
  for (int l = lane; learnt && l < outputs; l += kWarp) loss += 0.5f * memory.error[l] * memory.error[l];
  loss = sum_over_lanes<kWarp>(loss);
  if (lane == 0) {
    *after = {rules, before->position + (learnt ? 1 : 0), halted ? 1 : 0, 0, before->loss + static_cast<double>(loss)};
  }
}

/// Learns sample `sample` - 1 and fires sample `sample` of a run of `samples`. Sample 0 only fires, `samples` only
/// learns. Blocks meet in the launch boundary alone: each combines the records of all for itself, in the same order.
/// A launch requests all that it needs from memory at once, up front: its time is that of one access after another.
template <int Block, int Lanes, int Inputs, int Rules, int Vector>
__global__ void __launch_bounds__(Block)
    step(float* centres, float* widths, float* consequents, const Control* control_at, const Progress* before,
         Progress* after, float* log_firing, const float* records_before, float* records_after,
         const float* staged_rows, const float* staged_targets, int sample, int samples, int stride, int target_stride,
         int outputs, int capacity) {
  using Work = Tile<Block, Lanes, Inputs, Rules, Vector, false>;
  constexpr int kOwn = Work::kRulesPerBlock;
  constexpr int kWarps = Block / kWarp;
  constexpr int kSharers = Lanes < kWarp ? Lanes : kWarp;  // lanes that share the outputs of a rule
  constexpr int kGradients = Block / kSharers * Rules;     // a copy of g_k for each warp of a group
  let_next_launch_start();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int first = static_cast<int>(blockIdx.x) * kOwn;
  const int blocks = static_cast<int>(gridDim.x);
  const int sharing = thread / kSharers;  // which set of lanes that share a rule
  SharedMemory shared;
  const StepMemory memory(shared, kOwn, outputs);
  const Records& records = memory.records;
  float* own_gradient = shared.take<float>(kGradients);
  float* scratch = shared.take<float>(2 * Work::kReduceWords);
  wait_for_previous_launch();

  const float* learned_target =
      sample > 0 ? staged_targets + static_cast<long long>(sample - 1) * target_stride : nullptr;
  request(kOwn, outputs, capacity, records_before, learned_target, consequents, log_firing);
  const float* learned_row = sample > 0 ? staged_rows + static_cast<long long>(sample - 1) * stride : nullptr;
  const float* fired_row = sample < samples ? staged_rows + static_cast<long long>(sample) * stride : nullptr;
  Work tile;
  tile.fetch(centres, widths, learned_row, fired_row, 0, stride, capacity);
  const Control control = *control_at;
  const Progress now = *before;
  copies_arrived();
  __syncthreads();

  bool learns = sample > 0 && now.halted == 0 && now.position < control.end;
  bool halts = false;
  Decision decision = {learns, now.rules, -1, 0.0f};
  float top = 0.0f, inverse_sum = 0.0f;
  if (learns) {
    Leader leader = nobody();
#pragma unroll 2
    for (int b = lane; b < blocks; b += kWarp) leader = ahead(leader, {records.largest()[b], records.rule()[b]});
    leader = lead_over_warp(leader);
    const bool adds = leader.value <= rule_threshold(control, now.rules);
    halts = adds && now.rules >= capacity;
    if (halts) {
      learns = decision.learn = false;
    } else if (adds) {
      const float squared = leader.index < now.rules ? records.distance()[leader.index / kOwn] : 0.0f;
      decision = {true, now.rules + 1, now.rules, new_width(control, now.rules, squared)};
    }
    // A new rule fires with l = 0, the largest there is: by this the sums over earlier rules shrink beside it.
    const float earlier = adds ? exp_below(leader.value, 0.0f) : 1.0f;
    top = adds ? 0.0f : leader.value;
    // Every warp finds the sum, which stands above the outputs in the records, then its own outputs.
#pragma unroll 1
    for (int l = -1; l < outputs; l = l < 0 ? warp : l + kWarps) {
      float weighted = 0.0f;
#pragma unroll 2
      for (int b = lane; b < blocks; b += kWarp) {
        weighted += exp_below(records.largest()[b], leader.value) * records.weighted(l)[b];
      }
      weighted = sum_over_lanes<kWarp>(weighted) * earlier;
      if (l < 0) {
        inverse_sum = __fdividef(1.0f, weighted + (adds ? 1.0f : 0.0f));
      } else if (lane == 0) {
        memory.output[l] = (weighted + (adds ? memory.target[l] : 0.0f)) * inverse_sum;
        memory.error[l] = memory.output[l] - memory.target[l];
      }
    }
  }
  const bool fires = sample < samples && now.halted == 0 && !halts && now.position + (learns ? 1 : 0) < control.end;
  __syncthreads();

  // Consequents and g_k of the group's own rules; every warp of the group finds g_k for itself.
#pragma unroll 1
  for (int r = 0; r < Rules; ++r) {
    const int rule = Work::first_rule() + r;
    const int p = rule - first;
    const bool fresh = rule == decision.added;
    float slope = 0.0f, normalised = 0.0f;
    if (rule < decision.rules) {
      if (learns) normalised = exp_below(fresh ? 0.0f : memory.log_firing[p], top) * inverse_sum;
      const bool moves = fresh || (learns && !(normalised < control.negligible_gradient));
#pragma unroll 1
      for (int l = Work::lane() % kSharers; l < outputs; l += kSharers) {
        float value = fresh ? memory.target[l] : memory.consequents[p * memory.pitch + l];
        if (moves) {
          slope += memory.error[l] * (value - memory.output[l]);
          value -= control.consequent_rate * memory.error[l] * normalised;
        }
        if (Work::lane() < kSharers) {
          memory.moved[p * memory.pitch + l] = value;
          if (moves) consequents[static_cast<long long>(l) * capacity + rule] = value;
        }
      }
    }
    slope = sum_over_lanes<kSharers>(slope);
    if (Work::lane() % kSharers == 0) own_gradient[sharing * Rules + r] = normalised * slope;
  }
  __syncwarp();
  float gradient[Rules], scaled[Rules], squared[Rules];
#pragma unroll
  for (int r = 0; r < Rules; ++r) {
    gradient[r] = own_gradient[sharing * Rules + r];
    scaled[r] = squared[r] = 0.0f;
  }
  // Without a gradient update() leaves everything alone, and what fire() adds up is not used if nothing fires.
  for (int base = 0;;) {
    tile.update(centres, widths, gradient, base, stride, capacity, decision, control);
    tile.template fire<true>(scaled, squared);
    base += Work::kSpan;
    if (base >= stride) break;
    tile.fetch(centres, widths, learned_row, fired_row, base, stride, capacity);
  }
  if (fires) {
    Work::reduce(squared, 1.0f, memory.distance, scratch + Work::kReduceWords);
    Work::reduce(scaled, -1.0f, memory.log_firing, scratch);
    __syncthreads();
    leave_record(kOwn, outputs, decision.rules, records_after, log_firing);
  }
  if (blockIdx.x == 0 && warp == kWarps - 1 && sample > 0) {
    pass_on(kOwn, outputs, learns, halts || now.halted != 0, decision.rules, before, after);
  }
}

}  // namespace heddle::sonfin
