// One online training step of a SONFIN, in three, two or one launches per sample. Formulas: docs/design.md, section 3.
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
// | log_firing     | l_k, R floats; distance: |x - m_k|^2, R floats; gradient: g_k, R floats |
// | decision       | one Decision |
// | records        | [2][4 + L][blocks]: of every block of `step`, its largest l_k, that rule, its squared distance,
// |                | sum_k exp(l_k - largest), and for each output sum_k w_kl exp(l_k - largest) |
// Consequents lie output after output: w_kl at l * capacity + k.
#pragma once

#include "heddle/kernels/sonfin/cuda/tile.cuh"

namespace heddle::sonfin {

/// Fires sample `fired` and before that updates the parameters by sample `learned`; -1 leaves a part out.
template <int Block, int Lanes, int Inputs, int Rules, int Vector, bool Tree>
__global__ void __launch_bounds__(Block)
    sweep(float* centres, float* widths, const Control* control_at, const Progress* progress_at,
          const Decision* decision_at, const float* gradient, float* log_firing, float* distance,
          const float* staged_rows, int learned, int fired, int stride, int capacity) {
  using Work = Tile<Block, Lanes, Inputs, Rules, Vector, Tree>;
  let_next_launch_start();
  SharedMemory shared;
  float* own_log_firing = shared.take<float>(Work::kRulesPerBlock);
  float* own_distance = shared.take<float>(Work::kRulesPerBlock);
  float* scratch = shared.take<float>(Work::kReduceWords);
  wait_for_previous_launch();

  const Control control = *control_at;
  const Progress progress = *progress_at;
  Decision decision = {false, progress.rules, -1, 0.0f};
  if (learned >= 0) decision = *decision_at;
  const bool fires = fired >= 0 && progress.halted == 0 && progress.position < control.end;
  if (!decision.learn && !fires) return;

  float own_gradient[Rules], scaled[Rules], squared[Rules];
#pragma unroll
  for (int r = 0; r < Rules; ++r) {
    const int rule = Work::first_rule() + r;
    own_gradient[r] = decision.learn && rule < decision.rules ? gradient[rule] : 0.0f;
    scaled[r] = squared[r] = 0.0f;
  }
  const float* learned_row = staged_rows + static_cast<long long>(learned < 0 ? 0 : learned) * stride;
  const float* fired_row = staged_rows + static_cast<long long>(fired < 0 ? 0 : fired) * stride;
  for (int base = 0; base < stride; base += Work::kSpan) {
    Work tile;
    tile.fetch(centres, widths, base, stride, capacity);
    if (decision.learn) tile.update(centres, widths, learned_row, own_gradient, base, stride, decision, control);
    if (fires) tile.fire(fired_row, base, stride, scaled, squared);
  }
  if (!fires) return;
  Work::reduce(scaled, squared, own_log_firing, own_distance, scratch);
  __syncthreads();
  for (int p = static_cast<int>(threadIdx.x); p < Work::kRulesPerBlock; p += Block) {
    const int rule = static_cast<int>(blockIdx.x) * Work::kRulesPerBlock + p;
    if (rule < progress.rules) {
      log_firing[rule] = own_log_firing[p];
      distance[rule] = own_distance[p];
    }
  }
}

/// Normalises the firing of one sample, decides about a new rule, and moves the consequents. One block.
template <int Block>
__global__ void __launch_bounds__(Block)
    combine(float* consequents, const Control* control_at, Progress* progress_at, Decision* decision_at,
            float* gradient, const float* log_firing, const float* distance, const float* staged_targets, int sample,
            int target_stride, int outputs, int capacity) {
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

  const Control control = *control_at;
  const Progress progress = *progress_at;
  const bool active = progress.halted == 0 && progress.position < control.end;
  const int rules = progress.rules;
  const float* target = staged_targets + static_cast<long long>(sample) * target_stride;

  Leader leader = {-infinity(), 0x7fffffff};
  for (int k = thread; active && k < rules; k += Block) leader = ahead(leader, {log_firing[k], k});
  leader = lead_over_warp(leader);
  if (lane == 0) {
    leader_value[warp] = leader.value;
    leader_index[warp] = leader.index;
  }
  __syncthreads();
  leader = {-infinity(), 0x7fffffff};
  for (int w = 0; w < kWarps; ++w) leader = ahead(leader, {leader_value[w], leader_index[w]});

  const bool adds = active && wants_rule(control, rules, leader.value);
  const bool halts = adds && rules >= capacity;
  if (!active || halts) {
    if (thread == 0) {
      *decision_at = {false, rules, -1, 0.0f};
      if (halts) progress_at->halted = 1;
    }
    return;
  }
  const Decision decision = {true, rules + (adds ? 1 : 0), adds ? rules : -1,
                             adds ? new_width(control, rules, leader.index < rules ? distance[leader.index] : 0.0f) : 0.0f};
  // A new rule fires with l = 0, the largest there is: by this the sums over earlier rules shrink beside it.
  const float earlier = adds ? exp_below(leader.value, 0.0f) : 1.0f;

  float sum = 0.0f;
  for (int k = thread; k < rules; k += Block) {
    const float weight = exp_below(log_firing[k], leader.value);
    gradient[k] = weight;
    sum += weight;
  }
  sum = sum_over_lanes<kWarp>(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int w = 0; w < kWarps; ++w) sum += sums[w];
  const float inverse_sum = 1.0f / (sum * earlier + (adds ? 1.0f : 0.0f));

  for (int item = warp; item < outputs * parts; item += kWarps) {
    const int l = item / parts;
    float share = 0.0f;
    for (int k = item % parts * kWarp + lane; k < rules; k += parts * kWarp) {
      share += gradient[k] * consequents[static_cast<long long>(l) * capacity + k];
    }
    share = sum_over_lanes<kWarp>(share);
    if (lane == 0) partial[item] = share;
  }
  __syncthreads();
  for (int l = thread; l < outputs; l += Block) {
    float weighted = 0.0f;
    for (int part = 0; part < parts; ++part) weighted += partial[l * parts + part];
    output[l] = (weighted * earlier + (adds ? target[l] : 0.0f)) * inverse_sum;
    error[l] = output[l] - target[l];
  }
  __syncthreads();

  for (int k = thread; k < decision.rules; k += Block) {
    const bool fresh = k == decision.added;
    const float normalised = (fresh ? 1.0f : gradient[k] * earlier) * inverse_sum;
    float slope = 0.0f;
    for (int l = 0; l < outputs; ++l) {
      float* w = consequents + static_cast<long long>(l) * capacity + k;
      const float value = fresh ? target[l] : *w;
      slope += error[l] * (value - output[l]);
      *w = value - control.consequent_rate * error[l] * normalised;
    }
    gradient[k] = normalised * slope;
  }
  if (thread == 0) {
    float loss = 0.0f;
    for (int l = 0; l < outputs; ++l) loss += 0.5f * error[l] * error[l];
    *decision_at = decision;
    *progress_at = {decision.rules, progress.position + 1, 0, 0, progress.loss + static_cast<double>(loss)};
  }
}

/// Where a block of `step` leaves its part of the sums, and reads everybody's.
struct Records {
  float* at;
  int blocks;
  __device__ float* largest() const { return at; }
  __device__ int* rule() const { return reinterpret_cast<int*>(at + blocks); }
  __device__ float* distance() const { return at + 2 * blocks; }
  __device__ float* sum() const { return at + 3 * blocks; }
  __device__ float* weighted(int output) const { return at + (4 + output) * blocks; }
};

/// Learns sample `sample` - 1 and fires sample `sample` of a run of `samples`. Sample 0 only fires, `samples` only
/// learns. Blocks meet in the launch boundary alone: each combines the records of all for itself, in the same order.
template <int Block, int Lanes, int Inputs, int Rules, int Vector>
__global__ void __launch_bounds__(Block)
    step(float* centres, float* widths, float* consequents, const Control* control_at, const Progress* before,
         Progress* after, float* log_firing, float* records_before, float* records_after, const float* staged_rows,
         const float* staged_targets, int sample, int samples, int stride, int target_stride, int outputs,
         int capacity) {
  using Work = Tile<Block, Lanes, Inputs, Rules, Vector, false>;
  constexpr int kOwn = Work::kRulesPerBlock;
  constexpr int kWarps = Block / kWarp;
  let_next_launch_start();
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int first = static_cast<int>(blockIdx.x) * kOwn;
  const int blocks = static_cast<int>(gridDim.x);
  SharedMemory shared;
  float* own_consequents = shared.take<float>(outputs * kOwn);
  float* own_log_firing = shared.take<float>(kOwn);
  float* own_distance = shared.take<float>(kOwn);
  float* own_gradient = shared.take<float>(kOwn);
  float* output = shared.take<float>(outputs);
  float* error = shared.take<float>(outputs);
  float* scratch = shared.take<float>(Work::kReduceWords);
  wait_for_previous_launch();

  // Everything that does not depend on the combined sums is under way before they are looked at.
  for (int i = thread; i < outputs * kOwn; i += Block) {
    const int rule = first + i % kOwn;
    if (rule < capacity) start_copy(own_consequents + i, consequents + static_cast<long long>(i / kOwn) * capacity + rule);
  }
  for (int p = thread; p < kOwn; p += Block) {
    if (first + p < capacity) start_copy(own_log_firing + p, log_firing + first + p);
  }
  Work tile;
  tile.fetch(centres, widths, 0, stride, capacity);
  const Control control = *control_at;
  const Progress now = *before;

  bool learns = sample > 0 && now.halted == 0 && now.position < control.end;
  Decision decision = {learns, now.rules, -1, 0.0f};
  float top = 0.0f, inverse_sum = 0.0f;
  if (learns) {
    const Records records = {records_before, blocks};
    const float* target = staged_targets + static_cast<long long>(sample - 1) * target_stride;
    Leader leader = {-infinity(), 0x7fffffff};
    for (int b = lane; b < blocks; b += kWarp) leader = ahead(leader, {records.largest()[b], records.rule()[b]});
    leader = lead_over_warp(leader);
    const bool adds = wants_rule(control, now.rules, leader.value);
    if (adds && now.rules >= capacity) {
      learns = decision.learn = false;
      if (blockIdx.x == 0 && thread == 0) {
        *after = now;
        after->halted = 1;
      }
      copies_arrived();
      return;
    }
    if (adds) {
      const float squared = leader.index < now.rules ? records.distance()[leader.index / kOwn] : 0.0f;
      decision = {true, now.rules + 1, now.rules, new_width(control, now.rules, squared)};
    }
    top = adds ? 0.0f : leader.value;                                   // the new rule fires with l = 0
    const float earlier = adds ? exp_below(leader.value, 0.0f) : 1.0f;  // by which the sums over earlier rules shrink
    float sum = 0.0f;
    for (int b = lane; b < blocks; b += kWarp) {
      sum += exp_below(records.largest()[b], leader.value) * records.sum()[b];
    }
    inverse_sum = 1.0f / (sum_over_lanes<kWarp>(sum) * earlier + (adds ? 1.0f : 0.0f));
    for (int l = warp; l < outputs; l += kWarps) {
      float weighted = 0.0f;
      for (int b = lane; b < blocks; b += kWarp) {
        weighted += exp_below(records.largest()[b], leader.value) * records.weighted(l)[b];
      }
      weighted = sum_over_lanes<kWarp>(weighted);
      if (lane == 0) {
        output[l] = (weighted * earlier + (adds ? target[l] : 0.0f)) * inverse_sum;
        error[l] = output[l] - target[l];
      }
    }
  }
  const bool fires = sample < samples && now.halted == 0 && now.position + (learns ? 1 : 0) < control.end;
  copies_arrived();
  __syncthreads();

  if (blockIdx.x == 0 && warp == 0 && sample > 0) {
    float loss = 0.0f;
    for (int l = lane; learns && l < outputs; l += kWarp) loss += 0.5f * error[l] * error[l];
    loss = sum_over_lanes<kWarp>(loss);
    if (lane == 0) {
      *after = {decision.rules, now.position + (learns ? 1 : 0), now.halted, 0, now.loss + static_cast<double>(loss)};
    }
  }
  if (!learns && !fires) return;

  for (int p = thread; p < kOwn; p += Block) {
    const int rule = first + p;
    float g = 0.0f;
    if (learns && rule < decision.rules) {
      const bool fresh = rule == decision.added;
      const float normalised = exp_below(fresh ? 0.0f : own_log_firing[p], top) * inverse_sum;
      const float* target = staged_targets + static_cast<long long>(sample - 1) * target_stride;
      const bool moves = fresh || normalised >= control.negligible_gradient;
      float slope = 0.0f;
      for (int l = 0; moves && l < outputs; ++l) {
        const float value = fresh ? target[l] : own_consequents[l * kOwn + p];
        slope += error[l] * (value - output[l]);
        const float moved = value - control.consequent_rate * error[l] * normalised;
        own_consequents[l * kOwn + p] = moved;
        consequents[static_cast<long long>(l) * capacity + rule] = moved;
      }
      g = normalised * slope;
    }
    own_gradient[p] = g;
  }
  __syncthreads();

  float gradient[Rules], scaled[Rules], squared[Rules];
#pragma unroll
  for (int r = 0; r < Rules; ++r) {
    gradient[r] = own_gradient[Work::group() * Rules + r];
    scaled[r] = squared[r] = 0.0f;
  }
  const float* learned_row = staged_rows + static_cast<long long>(sample > 0 ? sample - 1 : 0) * stride;
  const float* fired_row = staged_rows + static_cast<long long>(fires ? sample : 0) * stride;
  for (int base = 0; base < stride; base += Work::kSpan) {
    if (base > 0) tile.fetch(centres, widths, base, stride, capacity);
    if (learns) tile.update(centres, widths, learned_row, gradient, base, stride, decision, control);
    if (fires) tile.fire(fired_row, base, stride, scaled, squared);
  }
  if (!fires) return;
  Work::reduce(scaled, squared, own_log_firing, own_distance, scratch);
  __syncthreads();

  const Records records = {records_after, blocks};
  const int block = static_cast<int>(blockIdx.x);
  Leader leader = {-infinity(), 0x7fffffff};
  for (int p = lane; p < kOwn && first + p < decision.rules; p += kWarp) leader = ahead(leader, {own_log_firing[p], first + p});
  leader = lead_over_warp(leader);
  for (int p = thread; p < kOwn && first + p < decision.rules; p += Block) log_firing[first + p] = own_log_firing[p];
  // One value of the record per warp in turn: the sum, then each output.
  for (int item = warp; item < outputs + 1; item += kWarps) {
    float sum = 0.0f;
    for (int p = lane; p < kOwn && first + p < decision.rules; p += kWarp) {
      const float weight = exp_below(own_log_firing[p], leader.value);
      sum += item == 0 ? weight : weight * own_consequents[(item - 1) * kOwn + p];
    }
    sum = sum_over_lanes<kWarp>(sum);
    if (lane != 0) continue;
    if (item == 0) {
      records.largest()[block] = leader.value;
      records.rule()[block] = leader.index;
      records.distance()[block] = leader.index < decision.rules ? own_distance[leader.index - first] : 0.0f;
      records.sum()[block] = sum;
    } else {
      records.weighted(item - 1)[block] = sum;
    }
  }
}

}  // namespace heddle::sonfin
