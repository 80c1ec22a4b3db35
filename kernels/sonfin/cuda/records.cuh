// Where the records of a block or of a cluster lie, and how lanes add up those or the packets of a grid
// (exchange_sums.cuh). Compiled by the C++ compiler too, which has to know how much shared memory they take, and what
// that costs.
#pragma once

namespace heddle::sonfin {

/// Lanes with different outputs are a set. Sets take turns: in one, each asks for `at_once` records at a time.
struct RecordTurns {
  int sets, at_once;
};

/// `records` rounded up to whole turns of `turn` records. Padding records fill the last turn: all lanes then do the
/// same, and no loop for a remainder is needed.
[[nodiscard]] constexpr int in_whole_turns(int records, int turn) { return (records + turn - 1) / turn * turn; }

/// Turns of one block. If there are few records, a set adds up all of them; otherwise sets share them, which costs
/// shuffles. `value_lanes`: lanes of a set, a power of two up to 32.
[[nodiscard]] constexpr RecordTurns turns_of_block(int warps, int value_lanes) {
  int sets = 1;
  while (warps > 8 && sets < warps && sets * value_lanes < 32) sets *= 2;
  return {sets, (warps + sets - 1) / sets};
}

/// Turns of a cluster. The number of blocks is not known here; with 4 warps each it is 4 to 16. The number of sets is
/// chosen so that one or two turns are enough. It is not one set per record, because twice the sets cost one more
/// shuffle.
[[nodiscard]] constexpr RecordTurns turns_of_cluster(int warps, int value_lanes) {
  const int wanted = warps < 2 ? 8 : warps > 8 ? 32 : 4 * warps;
  int sets = 1;
  while (2 * sets <= wanted && 2 * sets * value_lanes <= 32) sets *= 2;
  return {sets, sets >= 16 ? 2 : sets >= 8 ? 4 : 8};
}

/// Neighbouring lanes take a column of packets together, and each of them waits for so many at a time.
struct PacketTurns {
  int lanes, at_once;
};

/// Turns of a grid.
///
/// - Lanes: as many as allow every column lanes of its own, so that all packets travel at once. With several columns at
///   most half a warp, because fewer warps then poll. One lane if the block has too few lanes for that.
/// - Packets at a time: enough for all blocks of a GPU if the lanes are a warp; enough for 128 blocks if they are half
///   a warp and have the registers.
/// - `room`: registers of a thread that are not needed for parameters, rows and values of a rule. From 125 on, ptxas
///   (13.0) does not spill if a thread awaits eight packets instead of four.
[[nodiscard]] constexpr PacketTurns turns_of_grid(int columns, int threads, int room) {
  const bool roomy = room >= 125;
  int lanes = columns > 1 && roomy ? 16 : 32;
  while (lanes > 1 && threads / lanes < columns) lanes /= 2;
  return {lanes, lanes == 32 ? 6 : roomy ? 8 : 4};
}

/// How the blocks of a grid look for each other's packets, where a mapping does not say otherwise.
///
/// - First look: polling before a packet has arrived costs a whole trip to L2, 600 cycles or more, and delays the
/// packets
///   that are on their way; polling later costs only the delay. So a block waits kFirstLook cycles after it has posted
///   its own packets, and one cycle for every kPacketsOfCycle packets of the round.
/// - Replicas of every packet, so that not all blocks poll the same lines of the L2 cache.
///
/// Fitted to times on an H200 with 32 to 128 blocks and 1 to 10 columns (docs/performance.md). Where a search has the
/// time, it tries others for the winner: parameters first_look, packets_per_cycle and replicas.
constexpr int kFirstLook = 440, kPacketsOfCycle = 5, kReplicas = 8;

/// Words from one record of a cluster to the next: whole messages of 4 words. Sets read outputs at the same time, so
/// the distance is chosen such that they read from different banks of shared memory, if there are enough.
[[nodiscard]] constexpr int pitch_of_cluster(int outputs, int sets) {
  constexpr int kBanks = 32;
  const int least = (2 + outputs + 3) / 4 * 4, lanes = outputs < kBanks ? outputs : kBanks;
  for (int pitch = least; pitch < least + kBanks; pitch += 4) {
    unsigned used = 0;
    bool apart = true;
    for (int set = 0; set < sets; ++set) {
      for (int l = 0; l < lanes; ++l) {
        const unsigned bank = 1u << ((set * pitch + l) % kBanks);
        apart = apart && (used & bank) == 0;
        used |= bank;
      }
    }
    if (apart) return pitch;
  }
  return least;
}

}  // namespace heddle::sonfin
