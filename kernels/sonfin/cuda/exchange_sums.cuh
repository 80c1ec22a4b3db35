// One round of exchange in a resident kernel: every warp, or every group of warps, hands in a record, and every warp
// gets the sum of all.
//
// A record has 2 + L values: a sum, a largest value, and L sums. Records are always added in the same order, so that
// every thread of the grid gets the same result, bit for bit.
//
// | Link | how records travel |
// |---|---|
// | 0 block   | shared memory and a barrier |
// | 1 cluster | messages into the shared memory of every block of the cluster; no barrier |
// | 2 grid    | added up per block, then as packets of three values through global memory |
#pragma once

#include "heddle/kernels/common/await.cuh"
#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/cuda/group_sums.cuh"
#include "heddle/kernels/sonfin/cuda/records.cuh"

namespace heddle::sonfin {

constexpr int kBlockLink = 0, kClusterLink = 1, kGridLink = 2;

/// `Records` of a block: one of every warp; or fewer, if groups of so many neighbouring warps have the same sums.
/// `Room`: registers of a thread that are not needed for parameters, rows and values of a rule. FirstLook,
/// PacketsOfCycle and Replicas: of a grid, see records.cuh.
template <int Block, int Records, int Outputs, int Link, int Room, int FirstLook = kFirstLook,
          int PacketsOfCycle = kPacketsOfCycle, int Replicas = kReplicas>
class ExchangeSums {
 public:
  static constexpr int kWarps = Block / kWarp, kWarpsOfRecord = kWarps / Records;
  /// Lanes of a warp that get different outputs: lane i has outputs i % kValueLanes + kWarp * c.
  static constexpr int kValueLanes = Outputs < kWarp ? power_of_two_from(Outputs) : kWarp;
  static constexpr int kChunks = (Outputs + kWarp - 1) / kWarp;

  /// The result of a round.
  struct Sums {
    float sum, largest;
    float weighted[kChunks];
  };

  __device__ __forceinline__ ExchangeSums(SharedMemory& shared, Packet* packets) : packets_(packets) {
    if constexpr (Link == kClusterLink) {
#if __CUDA_ARCH__ >= 900
      parts_ = in_whole_turns(Records * cluster_blocks(), kSets * kAtOnce);
#endif
      boxes_ = shared.take<int>(4);
      own_ = shared.take<float>(Records * kPitch) + own_record() * kPitch;
      records_ = shared.take<float>(2 * parts_ * kPitch);
    } else if constexpr (Link == kBlockLink) {
      records_ = shared.take<float>(2 * Records * kPitch);
      own_ = records_ + own_record() * kPitch;
    } else {
      records_ = shared.take<float>((kWholeBlock ? kWarps : Records) * kPitch);
      result_ = shared.take<float>(3 * kColumns + 1);
      own_ = records_ + (kWholeBlock ? warp() : own_record()) * kPitch;
      if constexpr (kWholeBlock && kOneWarpWaits) {
        const int replica = static_cast<int>(threadIdx.x) % Replicas;
        own_slot_ = slots(0, replica, 0) + blockIdx.x;
        next_slot_ = slots(1, replica, 0) + blockIdx.x;
      }
    }
  }

  /// The whole block, before the first round.
  __device__ __forceinline__ void open() const {
    if constexpr (Link != kBlockLink && Outputs > 1) {  // what is sent is whole
      constexpr int kSent = Link == kGridLink ? 3 * kColumns : 4 * kMessages;
      if (leaves() && lane() < kSent - 2 - Outputs) own_[2 + Outputs + lane()] = 0.0f;
    }
#if __CUDA_ARCH__ >= 900
    if constexpr (Link == kClusterLink) {
      for (int round = 0; round < 2; ++round) {  // padding records add nothing
        float* const all = records_ + round * parts_ * kPitch;
        const int first = Records * cluster_blocks() * kPitch + static_cast<int>(threadIdx.x);
        for (int word = first; word < parts_ * kPitch; word += Block)
          all[word] = word % kPitch == 1 ? -infinity() : 0.0f;
      }
      if (threadIdx.x < 2) box(static_cast<int>(threadIdx.x)).open();
      cluster_barrier();
    }
#endif
  }
  /// The whole block calls it after the last round: no block ends while others may still write to its memory.
  __device__ __forceinline__ void close() const {
#if __CUDA_ARCH__ >= 900
    if constexpr (Link == kClusterLink) cluster_barrier();
#endif
  }

  /// The whole block, before a round that no barrier separates from the round before: where groups of warps hand in a
  /// record, those that do not must not lag behind by more than a round.
  __device__ __forceinline__ void again() const {
    if constexpr (Records < kWarps) __syncthreads();
  }

  /// Hands in a warp's record, the same from all warps of a record. `sum` and `largest` are the same in all lanes; lane
  /// i has outputs i % Sharers + Sharers * c in `weighted`. The whole block calls it, and then collect().
  template <int Sharers, int Count>
  __device__ __forceinline__ void hand_in(float sum, float largest, const float (&weighted)[Count]) {
    if constexpr (Link == kClusterLink && Outputs == 1) {
#if __CUDA_ARCH__ >= 900
      if (leaves()) send({{{sum, largest, weighted[0], 0.0f}}});
#endif
    } else if constexpr (kWholeBlock && Outputs == 1) {
      if (threadIdx.x < Replicas) post(own_slot_, {sum, largest, weighted[0], stamp()});
      posted_ = cycles_now();
    } else {
      if (leaves()) leave<Sharers>(sum, largest, weighted);
#if __CUDA_ARCH__ >= 900
      if (Link == kClusterLink && leaves()) {
        __syncwarp();
        Pack<4> record[kMessages];
#pragma unroll
        for (int i = 0; i < kMessages; ++i) record[i] = load<4>(own_ + 4 * i);
        send(record);
      }
#endif
      if constexpr (Link == kGridLink) {
        if constexpr (kWholeBlock) {
          __syncwarp();
        } else {
          __syncthreads();
        }
        if constexpr (kOneWarpWaits) {
          if (threadIdx.x < Replicas) post_sum();
        } else {
          post_columns();
        }
        posted_ = cycles_now();
      }
    }
  }

  /// Waits for the sums of all records of the round. Returns false if a block is lost.
  __device__ __forceinline__ bool collect(Sums& all) {
    bool met = true;
    if constexpr (kOneWarpWaits) {
      if (warp() == 0) await_column();
      __syncthreads();
      const Pack<4> told = load<4>(result_);
      all.sum = told.value[0];
      all.largest = told.value[1];
      all.weighted[0] = told.value[2];
      ++round_;
      if constexpr (kWholeBlock) {
        Packet* const used = own_slot_;
        own_slot_ = next_slot_;
        next_slot_ = used;
      }
      return told.value[3] != 0.0f;
    }
    if constexpr (Link == kBlockLink) __syncthreads();
#if __CUDA_ARCH__ >= 900
    if constexpr (Link == kClusterLink) {
      if (threadIdx.x == 0) box(round_ & 1).expect(Records * cluster_blocks() * kMessages * 16);
      box(round_ & 1).wait(round_ >> 1);
    }
#endif
    if constexpr (Link == kGridLink) {
      met = await_columns();
      met = __syncthreads_and(met) != 0;
    }
    add_up(all);
    ++round_;
    return met;
  }

 private:
  /// In a grid: every warp has the sums of its block, and posts columns without a barrier.
  static constexpr bool kWholeBlock = Link == kGridLink && Records == 1 && kWarps > 1;
  /// In a grid: several warps have the same record, and it is one packet. Then the first warp alone waits for the
  /// others' packets, and a plain barrier is enough: what it has found out, whether all came too, is one access.
  static constexpr bool kOneWarpWaits = Link == kGridLink && kWarpsOfRecord > 1 && Outputs == 1;
  static constexpr RecordTurns kTurns =
      Link == kClusterLink ? turns_of_cluster(Records, kValueLanes) : turns_of_block(Records, kValueLanes);
  static constexpr int kSets = kTurns.sets, kAtOnce = kTurns.at_once;
  static constexpr int kColumns = (2 + Outputs + 2) / 3;  ///< packets of a record
  static constexpr PacketTurns kPacketTurns = turns_of_grid(kColumns, Block, Room);
  static constexpr int kColumnLanes = kPacketTurns.lanes;
  static constexpr int kPacketsPerLane = kPacketTurns.at_once;  ///< 6 registers each
  static constexpr int kTogether = kPacketsPerLane * kColumnLanes;
  static constexpr int kMessages = (2 + Outputs + 3) / 4;  ///< of a record, 4 words each, in a cluster
  /// From one record to the next: see pitch_of_cluster, or odd against bank conflicts, or whole columns.
  static constexpr int kPitch = Link == kClusterLink ? pitch_of_cluster(Outputs, kSets)
                                : Outputs == 1       ? 4
                                : Link == kGridLink  ? (3 * kColumns) | 1
                                                     : (2 + Outputs) | 1;

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarp; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }

  __device__ static int own_record() { return warp() / kWarpsOfRecord; }
  /// Whether this warp leaves or sends its record, or another one does.
  __device__ static bool leaves() { return kWarpsOfRecord == 1 || kWholeBlock || warp() % kWarpsOfRecord == 0; }

  /// The records of the present round.
  __device__ __forceinline__ float* records() const {
    return Link == kGridLink ? records_ : records_ + (round_ & 1) * parts() * kPitch;
  }
  __device__ __forceinline__ int parts() const { return Link == kClusterLink ? parts_ : Records; }

  template <int Sharers, int Count>
  __device__ __forceinline__ void leave(float sum, float largest, const float (&weighted)[Count]) const {
    // Other lanes may still be sending the record of the round before.
    if constexpr (Link == kClusterLink) __syncwarp();
    float* record = Link == kBlockLink ? own_ + (round_ & 1) * Records * kPitch : own_;
    if constexpr (Outputs == 1) {
      if (lane() == 0) store<4>(record, Pack<4>{{sum, largest, weighted[0], 0.0f}});
    } else {
      if (lane() == 0) {
        record[0] = sum;
        record[1] = largest;
      }
      if constexpr (Count == 1 || Link == kGridLink) {
#pragma unroll
        for (int c = 0; c < Count; ++c) {
          const int l = lane() + Sharers * c;
          if (lane() < Sharers && l < Outputs) record[2 + l] = weighted[c];
        }
      } else {
        // Every group of lanes has all outputs: one access if group c leaves those of c.
#pragma unroll
        for (int first = 0; first < Outputs; first += kWarp) {
          const int l = first + lane();
          float own = 0.0f;
#pragma unroll
          for (int c = first / Sharers; c < Count; ++c) own = l / Sharers == c ? weighted[c] : own;
          if (l < Outputs) record[2 + l] = own;
        }
      }
    }
  }

#if __CUDA_ARCH__ >= 900
  __device__ __forceinline__ Mailbox box(int parity) const { return Mailbox(boxes_ + 2 * parity); }

  /// This warp's record to every block of the cluster.
  __device__ __forceinline__ void send(const Pack<4> (&record)[kMessages]) const {
    float* to = records() + (cluster_rank() * Records + own_record()) * kPitch;
    if (lane() < cluster_blocks()) {
#pragma unroll
      for (int i = 0; i < kMessages; ++i) box(round_ & 1).send(lane(), to + 4 * i, record[i]);
    }
  }
#endif

  __device__ __forceinline__ static void add(Sums& to, const Sums& more) {
    to.sum += more.sum;
    to.largest = fmaxf(to.largest, more.largest);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) to.weighted[c] += more.weighted[c];
  }
  __device__ __forceinline__ static Sums nobody() {
    Sums none;
    none.sum = 0.0f;
    none.largest = -infinity();
#pragma unroll
    for (int c = 0; c < kChunks; ++c) none.weighted[c] = 0.0f;
    return none;
  }

  /// Of record `p`, what this lane adds up; `from`: the first that its set has.
  __device__ __forceinline__ static Sums part(const float* from, int p) {
    Sums sums = nobody();
    if (Link == kBlockLink && p + lane() / kValueLanes % kSets >= Records) return sums;
    if constexpr (Outputs == 1) {
      const Pack<4> record = load<4>(from + p * kPitch);
      sums.sum = record.value[0];
      sums.largest = record.value[1];
      sums.weighted[0] = record.value[2];
    } else {
      sums.sum = from[p * kPitch];
      sums.largest = from[p * kPitch + 1];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int l = lane() % kValueLanes + kWarp * c;
        if (l < Outputs) sums.weighted[c] = from[p * kPitch + 2 + l];
      }
    }
    return sums;
  }

  /// Adds as a tree: the value that arrives last has the fewest additions left.
  __device__ __forceinline__ static Sums sum_of_turn(const float* from, int turn) {
    Sums sums[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) sums[i] = part(from, turn + i * kSets);
#pragma unroll
    for (int step = 1; step < kAtOnce; step *= 2) {
#pragma unroll
      for (int i = 0; i + step < kAtOnce; i += 2 * step) add(sums[i], sums[i + step]);
    }
    return sums[0];
  }

  __device__ __forceinline__ void add_up(Sums& all) const {
    if constexpr (Link == kGridLink) {
      all.sum = result_[0];
      all.largest = result_[1];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int l = lane() % kValueLanes + kWarp * c;
        all.weighted[c] = l < Outputs ? result_[2 + l] : 0.0f;
      }
    } else {
      const float* const from =
          records() + lane() / kValueLanes % kSets * kPitch;  // lanes beyond repeat what others do
      all = sum_of_turn(from, 0);
#pragma unroll 1
      for (int turn = kSets * kAtOnce; turn < parts(); turn += kSets * kAtOnce) add(all, sum_of_turn(from, turn));
#pragma unroll
      for (int offset = kValueLanes; offset < kValueLanes * kSets; offset *= 2) {
        all.sum += __shfl_xor_sync(kAllLanes, all.sum, offset);
#pragma unroll
        for (int c = 0; c < kChunks; ++c) all.weighted[c] += __shfl_xor_sync(kAllLanes, all.weighted[c], offset);
      }
      if constexpr (kSets > 1) all.largest = largest_over_warp(all.largest);
    }
  }

  __device__ __forceinline__ Packet* slots(int replica, int column) const { return slots(round_, replica, column); }
  __device__ __forceinline__ Packet* slots(int round, int replica, int column) const {
    return packets_ + (((round & 1) * Replicas + replica) * kColumns + column) * static_cast<int>(gridDim.x);
  }
  __device__ __forceinline__ unsigned stamp() const { return static_cast<unsigned>(round_ + 1); }
  /// The neutral packet of a sum. In the first column the second value is a largest value.
  __device__ __forceinline__ static Packet nothing(int column) {
    return {0.0f, column == 0 ? -infinity() : 0.0f, 0.0f, 0};
  }
  __device__ __forceinline__ static float second(int column, float b, float other) {
    return column == 0 ? fmaxf(b, other) : b + other;
  }
  __device__ __forceinline__ static void add(Packet& packet, const Packet& other, int column) {
    packet.a += other.a;
    packet.b = second(column, packet.b, other.b);
    packet.c += other.c;
  }
  /// Over `Lanes` neighbouring lanes, a power of two up to kColumnLanes. Those of a warp add nothing beyond.
  template <int Lanes>
  __device__ __forceinline__ static void add_over_lanes(Packet& packet, int column) {
    packet.a = sum_over_lanes<Lanes>(packet.a);
    packet.c = sum_over_lanes<Lanes>(packet.c);
    if constexpr (kColumnLanes == kWarp) {
      packet.b = column == 0 ? largest_over_warp(packet.b) : sum_over_lanes<Lanes>(packet.b);
    } else {
#pragma unroll
      for (int offset = Lanes / 2; offset > 0; offset /= 2) {
        packet.b = second(column, packet.b, __shfl_xor_sync(kAllLanes, packet.b, offset));
      }
    }
  }

  __device__ static int column_lane() { return static_cast<int>(threadIdx.x) % kColumnLanes; }

  /// take(column) for the columns of the calling lanes, by whole warps: if a lane of a warp has one, others of it may
  /// be given what is_there() denies.
  template <class Take>
  __device__ __forceinline__ static void each_column(const Take& take) {
    constexpr int kGroups = Block / kColumnLanes;
    const int first = warp() * (kWarp / kColumnLanes), group = lane() / kColumnLanes;
    if constexpr (kGroups >= kColumns) {
      if (first < kColumns) take(first + group);
    } else {
#pragma unroll 1
      for (int column = first; column < kColumns; column += kGroups) take(column + group);
    }
  }
  __device__ __forceinline__ static bool is_there(int column) { return kColumnLanes == kWarp || column < kColumns; }

  __device__ __forceinline__ static Packet part_of(const float* record, int column) {
    const float* from = record + 3 * column;
    return {from[0], from[1], from[2], 0};
  }
  __device__ __forceinline__ Packet own_part(int record, int column) const {
    return part_of(records_ + record * kPitch, column);
  }

  /// `packet` is the same in the first lanes that take the column.
  __device__ __forceinline__ void post_replicas(Packet packet, int column) const {
    packet.stamp = stamp();
#pragma unroll
    for (int some = 0; some < Replicas; some += kColumnLanes) {
      const int replica = some + column_lane();
      if (replica < Replicas && is_there(column)) post(slots(replica, column) + blockIdx.x, packet);
    }
  }

  /// Where a record is one packet: a lane for every replica adds up the block's records, in the order of
  /// post_columns().
  __device__ __forceinline__ void post_sum() const {
    constexpr int kUp = power_of_two_from(Records);
    Packet sums[kUp];
#pragma unroll
    for (int i = 0; i < kUp; ++i) sums[i] = i < Records ? own_part(i, 0) : nothing(0);
#pragma unroll
    for (int apart = kUp / 2; apart > 0; apart /= 2) {
#pragma unroll
      for (int i = 0; i < apart; ++i) add(sums[i], sums[i + apart], 0);
    }
    sums[0].stamp = stamp();
    post(slots(static_cast<int>(threadIdx.x), 0) + blockIdx.x, sums[0]);
  }

  /// kColumnLanes lanes take a column of three values, add up the block's records, and post that.
  __device__ __forceinline__ void post_columns() const {
    constexpr int kRecordsUp = power_of_two_from(Records);
    constexpr int kAdding = kRecordsUp < kColumnLanes ? kRecordsUp : kColumnLanes;
    each_column([&](int column) {
      Packet packet = nothing(column);
      if constexpr (kWholeBlock) {
        if (is_there(column)) packet = part_of(own_, column);
      } else {
        if (column_lane() < Records && is_there(column)) packet = own_part(column_lane(), column);
#pragma unroll
        for (int record = kColumnLanes; record < Records; record += kColumnLanes) {
          if (record + column_lane() < Records && is_there(column)) {
            add(packet, own_part(record + column_lane(), column), column);
          }
        }
        add_over_lanes<kAdding>(packet, column);
        if constexpr (kAdding < Replicas && kAdding < kColumnLanes) {
          packet.a = __shfl_sync(kAllLanes, packet.a, 0, kColumnLanes);
          packet.b = __shfl_sync(kAllLanes, packet.b, 0, kColumnLanes);
          packet.c = __shfl_sync(kAllLanes, packet.c, 0, kColumnLanes);
        }
      }
      post_replicas(packet, column);
    });
  }

  /// The same lanes add up what all blocks posted.
  __device__ __forceinline__ bool await_columns() const {
    bool met = true;
    wait_since(posted_, FirstLook + static_cast<int>(gridDim.x) * kColumns / PacketsOfCycle);
    each_column([&](int column) {
      const Packet* const mine = slots(static_cast<int>(blockIdx.x) % Replicas, column);
      const int blocks = is_there(column) ? static_cast<int>(gridDim.x) : 0;
      Packet total = nothing(column);
      if constexpr (kColumnLanes == kWarp) {
        // No GPU has more multiprocessors than a warp awaits at a time.
        total = await_part(mine, blocks, column, met);
      } else {
#pragma unroll 1
        for (int first = 0; first < blocks && met; first += kTogether) {
          add(total, await_part(mine + first, blocks - first, column, met), column);
        }
      }
      __syncwarp();
      add_over_lanes<kColumnLanes>(total, column);
      if (column_lane() == 0 && is_there(column)) {
        result_[3 * column] = total.a;
        result_[3 * column + 1] = total.b;
        result_[3 * column + 2] = total.c;
      }
    });
    return met;
  }

  /// The first warp, where a record is one packet: leaves the sum of all blocks' for the block, and whether all came.
  __device__ __forceinline__ void await_column() const {
    const Packet* const mine = slots(static_cast<int>(blockIdx.x) % Replicas, 0);
    const int blocks = static_cast<int>(gridDim.x);
    constexpr int kFew = (kPacketsPerLane + 1) / 2, kMore = kFew + 1;
    wait_since(posted_, FirstLook + blocks / PacketsOfCycle);
    Packet total;
    bool met;
    if (blocks <= kFew * kWarp) {
      met = await_total<kFew>(mine, blocks, total);
    } else if (blocks <= kMore * kWarp) {
      met = await_total<kMore>(mine, blocks, total);
    } else {
      met = await_total<kPacketsPerLane>(mine, blocks, total);
    }
    __syncwarp();
    met = __all_sync(kAllLanes, met) != 0;
    add_over_lanes<kWarp>(total, 0);
    if (lane() == 0) store<4>(result_, Pack<4>{{total.a, total.b, total.c, met ? 1.0f : 0.0f}});
  }

  /// The sum of this lane's packets of `blocks`, `Looks` a lane. Returns false if one does not come.
  template <int Looks>
  __device__ __forceinline__ bool await_total(const Packet* from, int blocks, Packet& total) const {
    static_assert(kColumnLanes == kWarp, "a warp takes the column");
    Packet seen[Looks];
    const bool met = look_until<Looks, kWarp>(from, blocks, stamp(), seen);
    total = nothing(0);
#pragma unroll
    for (int i = 0; i < Looks; ++i) {
      if (lane() + i * kWarp < blocks) add(total, seen[i], 0);
    }
    return met;
  }

  /// The sum of this lane's packets among the next kTogether of `blocks`. Sets `met` to false if one does not come.
  __device__ __forceinline__ Packet await_part(const Packet* from, int blocks, int column, bool& met) const {
    Packet arrived[kPacketsPerLane];
    met = await_packets<kColumnLanes>(from, blocks, stamp(), nothing(column), arrived) && met;
    Packet sum = arrived[0];
#pragma unroll
    for (int i = 1; i < kPacketsPerLane; ++i) add(sum, arrived[i], column);
    return sum;
  }

  int parts_ = kWarps, round_ = 0;
  unsigned posted_ = 0;
  Packet* packets_;
  /// Where this lane posts the block's record, in this round and in the next: known before there is something to post.
  Packet *own_slot_ = nullptr, *next_slot_ = nullptr;
  int* boxes_ = nullptr;
  float *own_ = nullptr, *records_ = nullptr, *result_ = nullptr;
};

}  // namespace heddle::sonfin
