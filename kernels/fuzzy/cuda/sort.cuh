// Sorts numbers by their keys: positions are sorted along with the keys, then each number moves once.
//
// The sort is a radix sort from the least significant digit on, with one pass over the keys for each digit (Adinets and
// Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022; the look-back is that of Merrill and
// Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016):
//
//   sort_begin      the words that count, and those that tiles report through, become 0
//   sort_count      how often each value of each digit occurs among all keys
//   sort_pass       one for each digit: moves keys and positions where this digit belongs, stably, and shifts it out
//   sort_gather     sorted[i] = numbers[positions[i]]; small numbers may move in the last pass instead
//
// | parameter      | meaning                                                                        |
// |----------------|--------------------------------------------------------------------------------|
// | In, Out        | how keys and positions are stored before and after a pass, see Given           |
// | Block          | threads of a block; at least one for each value of a digit                     |
// | Blocks         | of a multiprocessor that have registers at the same time                       |
// | Items          | keys of a thread; a tile has Block * Items of them                             |
// | DigitBits      | bits of a digit                                                                |
// | Ranks          | how the lanes of a warp find those with the same digit, see SameDigit          |
// | Window         | tiles before its own that a tile looks at together                             |
// | Moved          | words of a number that the last pass moves along; 0: sort_gather moves numbers |
//
// Order of the keys: from -infinity to infinity, -0 and 0 are equal, and what is no number comes last. Equal keys keep
// their order.
#pragma once

#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/common/streaming.cuh"
#include "heddle/kernels/common/votes.cuh"
#include "heddle/kernels/fuzzy/cuda/sort_sizes.cuh"

namespace heddle::fuzzy {

/// Keys as unsigned numbers that order like them.
template <class Real>
struct SortKey;

template <>
struct SortKey<float> {
  using Bits = unsigned;
  __device__ __forceinline__ static Bits bits(float key) { return __float_as_uint(key); }
  static constexpr Bits kSign = 0x80000000U, kInfinity = 0x7f800000U;
};

template <>
struct SortKey<double> {
  using Bits = unsigned long long;
  __device__ __forceinline__ static Bits bits(double key) {
    return static_cast<unsigned long long>(__double_as_longlong(key));
  }
  static constexpr Bits kSign = 0x8000000000000000ULL, kInfinity = 0x7ff0000000000000ULL;
};

template <class Real>
__device__ __forceinline__ typename SortKey<Real>::Bits sortable(Real key) {
  using Bits = typename SortKey<Real>::Bits;
  const Bits bits = SortKey<Real>::bits(key), size = bits & ~SortKey<Real>::kSign;
  // Selections, no branches, of which each key would have two.
  Bits order = size == bits ? bits | SortKey<Real>::kSign : ~bits;
  order = size == 0 ? SortKey<Real>::kSign : order;
  return size > SortKey<Real>::kInfinity ? ~Bits{0} : order;
}

/// The lowest digit of what is left of a key.
template <int DigitBits, class Word>
__device__ __forceinline__ unsigned digit_of(Word key) {
  return static_cast<unsigned>(key) & ((1U << DigitBits) - 1);
}

// How keys and positions are stored before, between and after the passes. Nobody asks again for a digit that the keys
// are sorted by: each pass shifts it out, so that the next one is always the lowest, and what is left of a key and its
// position, which are read and written in every pass, soon take less room. `write` does this for number `to` after a
// pass; `key_bits` is how many bits are left of all keys then. kPacked: both are in a word. kPositions: positions are
// in an array.

/// As the caller gives them: keys are reals, and each one's position is its place.
template <class Real>
struct Given {
  using Word = typename SortKey<Real>::Bits;
  static constexpr bool kPacked = false, kPositions = false;
  __device__ __forceinline__ static Word key(const void* keys, int at) {
    return sortable(static_cast<const Real*>(keys)[at]);
  }
  __device__ __forceinline__ static unsigned position(const unsigned*, int at) { return static_cast<unsigned>(at); }
};

/// What is left of the keys, and positions, each in an array of their own.
template <class Key>
struct Separate {
  using Word = Key;
  static constexpr bool kPacked = false, kPositions = true;
  __device__ __forceinline__ static Word key(const void* keys, int at) { return static_cast<const Key*>(keys)[at]; }
  __device__ __forceinline__ static unsigned position(const unsigned* positions, int at) { return positions[at]; }
  template <int DigitBits, class InWord>
  __device__ __forceinline__ static void write(void* keys, unsigned* positions, unsigned to, InWord key,
                                               unsigned position, int) {
    static_cast<Key*>(keys)[to] = static_cast<Key>(key >> DigitBits);
    positions[to] = position;
  }
};

/// Both in one word, the position above what is left of the key.
struct Packed {
  using Word = unsigned;
  static constexpr bool kPacked = true, kPositions = false;
  __device__ __forceinline__ static Word key(const void* words, int at) {
    return static_cast<const unsigned*>(words)[at];
  }
  template <int DigitBits, class InWord>
  __device__ __forceinline__ static void write(void* words, unsigned*, unsigned to, InWord key, unsigned position,
                                               int key_bits) {
    static_cast<unsigned*>(words)[to] = position << key_bits | static_cast<unsigned>(key >> DigitBits);
  }
};

/// After the last pass: positions.
struct Sorted {
  template <int DigitBits, class InWord>
  __device__ __forceinline__ static void write(void*, unsigned* positions, unsigned to, InWord, unsigned position,
                                               int) {
    positions[to] = position;
  }
};

/// Key number `at`, and beyond the end one that comes last.
template <class In>
__device__ __forceinline__ typename In::Word key_at(const void* keys, int at, int count) {
  return at < count ? In::key(keys, at) : ~typename In::Word{0};
}

/// Sets `words` words to 0.
__global__ void sort_begin(unsigned* state, long long words) {
  let_next_launch_start();
  for (long long at = blockIdx.x * blockDim.x + threadIdx.x; at < words; at += gridDim.x * blockDim.x) {
    state[at] = 0;
  }
}

/// Adds to `histogram`, [digit][value], how often each value of each digit occurs. Blocks take tiles in turns.
template <class Real, int Block, int Items, int DigitBits>
__global__ void __launch_bounds__(Block) sort_count(const Real* keys, unsigned* histogram, int count) {
  constexpr int kValues = 1 << DigitBits, kDigits = digits_of_key(sizeof(Real), DigitBits);
  constexpr int kCopies = count_copies(sizeof(Real));
  SharedMemory shared;
  unsigned* const counts = shared.take<unsigned>(kDigits * kValues * kCopies);
  for (int at = threadIdx.x; at < kDigits * kValues * kCopies; at += Block) counts[at] = 0;
  // In this order: blocks of the next launch take their tiles' numbers before they wait, from counters that sort_begin
  // has to have cleared.
  wait_for_previous_launch();
  let_next_launch_start();
  __syncthreads();
  // Neighbouring lanes count in words of their own: neighbouring keys often have the same digits.
  const int copy = static_cast<int>(threadIdx.x) % kCopies;
  for (int tile = blockIdx.x; tile * (Block * Items) < count; tile += gridDim.x) {
    const int first = tile * (Block * Items) + static_cast<int>(threadIdx.x);
    typename SortKey<Real>::Bits key[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) key[i] = key_at<Given<Real>>(keys, first + i * Block, count);
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      if (first + i * Block >= count) break;
#pragma unroll
      for (int digit = 0; digit < kDigits; ++digit) {
        const int value = static_cast<int>(digit_of<DigitBits>(key[i] >> (digit * DigitBits)));
        atomicAdd(&counts[(digit * kValues + value) * kCopies + copy], 1U);
      }
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < kDigits * kValues; at += Block) {
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) sum += counts[at * kCopies + i];
    if (sum != 0) atomicAdd(&histogram[at], sum);
  }
}

/// How a lane finds the lanes of its warp whose digit is the same.
enum class SameDigit {
  votes,  ///< a vote for each bit
  match,  ///< the warp's own instruction
};

template <SameDigit How, int DigitBits>
__device__ __forceinline__ unsigned lanes_with(unsigned digit) {
  if constexpr (How == SameDigit::match) {
    return __match_any_sync(kAllLanes, digit);
  } else {
    unsigned same = kAllLanes;
#pragma unroll
    for (int bit = 0; bit < DigitBits; ++bit) same &= lanes_alike(digit & (1U << bit));
    return same;
  }
}

/// The sum of the values of all threads before this one, of the first `Values` threads of a block. `sums` has a word
/// for each warp, and is free again after the next barrier.
template <int Values>
__device__ __forceinline__ unsigned sum_before(unsigned value, unsigned* sums) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  unsigned up_to = value;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, up_to, static_cast<unsigned>(offset));
    if (lane >= offset) up_to += other;
  }
  if (lane == kWarp - 1 && thread < Values) sums[thread / kWarp] = up_to;
  __syncthreads();
  unsigned before = up_to - value;
#pragma unroll
  for (int warp = 0; warp < Values / kWarp; ++warp) before += warp < thread / kWarp ? sums[warp] : 0;
  return before;
}

// What a tile reports of one value of a digit: how many keys of the tile have it, or how many of this tile and all
// before it. 0: nothing yet.
constexpr unsigned kOfTile = 1U << 30U, kUpToTile = 2U << 30U, kReported = kOfTile - 1;

/// What `Window` tiles have reported of one value of a digit: the tile `last`, and those before it.
template <int Window>
struct Reports {
  unsigned of[Window];
  /// `reports`: of this value, `pitch` words apart.
  __device__ __forceinline__ void look(const unsigned* reports, int last, int pitch) {
#pragma unroll
    for (int i = 0; i < Window; ++i) of[i] = look_word(reports + static_cast<long long>(max(last - i, 0)) * pitch);
  }
};

/// How many keys of all tiles before `tile` have a value of a digit. `seen`: what was reported a while ago.
template <int Window>
__device__ __forceinline__ unsigned look_back(const unsigned* reports, int tile, int pitch, Reports<Window> seen) {
  unsigned sum = 0;
  Patience patience;
  for (int last = tile - 1; last >= 0;) {
    int met = 0;
#pragma unroll
    for (int i = 0; i < Window; ++i) {
      if (met != i || seen.of[i] == 0) continue;
      ++met;
      sum += seen.of[i] & kReported;
      // Nothing before a tile that has counted all before it: as if the first tile had been met.
      if ((seen.of[i] & kUpToTile) != 0) last = -1, met = Window + 1;
    }
    if (met <= Window) last -= met;
    // Tiles are taken in their order, so that those before this one are at work: this never happens.
    if (met == 0 && patience.exhausted()) __trap();
    if (last >= 0) seen.look(reports, last, pitch);
  }
  return sum;
}

/// Moves the keys and positions of one tile where the lowest digit of the keys belongs, and shifts it out: `key_bits`
/// are left. `histogram` and `reports` are those of this digit. The last pass may move `numbers` of `Moved` words to
/// `sorted` as well.
template <class In, class Out, int Block, int Blocks, int Items, int DigitBits, SameDigit Ranks, int Window, int Moved>
__global__ void __launch_bounds__(Block, Blocks)
    sort_pass(const void* keys_in, const unsigned* positions_in, void* keys_out, unsigned* positions_out,
              const unsigned* histogram, unsigned* next_tile, unsigned* reports, const float* numbers, float* sorted,
              int key_bits, int count) {
  using Word = typename In::Word;
  constexpr int kValues = 1 << DigitBits, kWarps = Block / kWarp, kTile = Block * Items;
  static_assert(Block % kWarp == 0 && Block >= kValues && kValues % kWarp == 0, "a thread for each value of a digit");
  SharedMemory shared;
  Word* const keys = reinterpret_cast<Word*>(shared.take<unsigned>(kTile * static_cast<int>(sizeof(Word) / 4)));
  unsigned* const positions = shared.take<unsigned>(In::kPacked ? 0 : kTile);
  unsigned* const slots = shared.take<unsigned>(kWarps * kValues);  // [warp][value]
  unsigned* const starts = shared.take<unsigned>(kValues);
  unsigned* const sums = shared.take<unsigned>(kWarps);
  unsigned* const common = shared.take<unsigned>(1);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;

  // Tiles are numbered in the order in which blocks begin.
  if (thread == 0) *common = atomicAdd(next_tile, 1U);
  unsigned* const own = slots + warp * kValues;
  for (int value = lane; value < kValues; value += kWarp) own[value] = 0;
  // Nothing is loaded before this: only atomics see there what launches before the previous one have written.
  wait_for_previous_launch();
  let_next_launch_start();
  __syncthreads();
  const int tile = static_cast<int>(*common), from = tile * kTile, here = min(count - from, kTile);
  const int first = warp * (kWarp * Items) + lane;  // of this thread's keys in the tile, a warp apart

  Word key[Items];
  // All tiles but the last are whole: there nobody asks for every key whether it is there.
  const bool whole = here == kTile;
  if (whole) {
#pragma unroll
    for (int i = 0; i < Items; ++i) key[i] = In::key(keys_in, from + first + i * kWarp);
  } else {
#pragma unroll
    for (int i = 0; i < Items; ++i) key[i] = key_at<In>(keys_in, from + first + i * kWarp, from + here);
  }
#pragma unroll
  for (int i = 0; i < Items; ++i) atomicAdd(&own[digit_of<DigitBits>(key[i])], 1U);
  __syncthreads();

  // Thread v: how many keys of the tile have the value v. Reported as soon as it is known, since others wait for it.
  unsigned of_value = 0, of_warp[kWarps];
  if (thread < kValues) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      of_warp[w] = slots[w * kValues + thread];
      of_value += of_warp[w];
    }
  }
  unsigned* const report = reports + static_cast<long long>(tile) * kValues + thread;
  if (thread < kValues && tile != 0) post_word(report, kOfTile | of_value);
  const unsigned start = sum_before<kValues>(of_value, sums);
  if (thread < kValues) {
    unsigned slot = start;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      slots[w * kValues + thread] = slot;
      slot += of_warp[w];
    }
  }
  __syncthreads();

  // The slot of each key in the sorted tile. The last lane with a digit takes the slots of all lanes with it.
  unsigned slot[Items];
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const unsigned digit = digit_of<DigitBits>(key[i]);
    const unsigned same = lanes_with<Ranks, DigitBits>(digit);
    const int leader = 31 - __clz(static_cast<int>(same));
    unsigned taken = 0;
    if (lane == leader) taken = atomicAdd(&own[digit], static_cast<unsigned>(__popc(same)));
    taken = __shfl_sync(kAllLanes, taken, leader);
    slot[i] = taken + static_cast<unsigned>(__popc(same & ((1U << lane) - 1)));
    __syncwarp();
  }
  // What tiles before this one have reported is on its way meanwhile.
  Reports<Window> seen;
  if (thread < kValues) {
    seen.look(reports + thread, tile - 1, kValues);
  }
  // Both go to their slots now: the loads of the positions take their time while this tile waits for others.
#pragma unroll
  for (int i = 0; i < Items; ++i) keys[slot[i]] = key[i];
  if constexpr (!In::kPacked) {
    if (whole) {
#pragma unroll
      for (int i = 0; i < Items; ++i) positions[slot[i]] = In::position(positions_in, from + first + i * kWarp);
    } else {
#pragma unroll
      for (int i = 0; i < Items; ++i) {
        const int at = first + i * kWarp;
        positions[slot[i]] = at < here ? In::position(positions_in, from + at) : 0;
      }
    }
  }

  unsigned of_all = thread < kValues && tile == 0 ? histogram[thread] : 0;
  if (tile == 0) {
    of_all = sum_before<kValues>(of_all, sums);
  } else if (thread < kValues) {
    of_all = look_back<Window>(reports + thread, tile, kValues, seen);
  }
  if (thread < kValues) {
    post_word(report, kUpToTile | (of_all + of_value));
    starts[thread] = of_all - start;
  }
  __syncthreads();

  const auto position_of = [&](Word word, int at) {
    if constexpr (In::kPacked) {
      return word >> (key_bits + DigitBits);
    } else {
      return positions[at];
    }
  };
  // Neighbouring threads have neighbouring keys of the sorted tile, most of which stay neighbours.
  if constexpr (Moved > 0) {
    // A few numbers in flight at a time, as many as there are registers for.
    constexpr int kAtATime = 4;
#pragma unroll 1
    for (int i = 0; i < Items; i += kAtATime) {
      Pack<Moved> number[kAtATime];
#pragma unroll
      for (int k = 0; k < kAtATime; ++k) {
        const int at = thread + (i + k) * Block;
        if (i + k < Items && at < here)
          number[k] = load<Moved>(numbers + position_of(keys[at], at) * static_cast<long long>(Moved));
      }
#pragma unroll
      for (int k = 0; k < kAtATime; ++k) {
        const int at = thread + (i + k) * Block;
        if (i + k >= Items || at >= here) continue;
        const unsigned to = starts[digit_of<DigitBits>(keys[at])] + static_cast<unsigned>(at);
        positions_out[to] = position_of(keys[at], at);
        store<Moved>(sorted + to * static_cast<long long>(Moved), number[k]);
      }
    }
    return;
  }
  const auto move = [&](int at) {
    const Word moved = keys[at];
    const unsigned to = starts[digit_of<DigitBits>(moved)] + static_cast<unsigned>(at);
    Out::template write<DigitBits>(keys_out, positions_out, to, moved, position_of(moved, at), key_bits);
  };
  if (whole) {
#pragma unroll
    for (int i = 0; i < Items; ++i) move(thread + i * Block);
  } else {
#pragma unroll 1
    for (int at = thread; at < here; at += Block) move(at);
  }
}

/// sorted[i] = numbers[positions[i]]. A number is `OfNumber` packs of `Width` words that stand next to each other;
/// there are `count` numbers. A thread moves `Items` packs. Numbers whose components are in arrays of their own are one
/// array of numbers for each component. Each array has `parts`, by where numbers come from: blockIdx.y is
/// component * parts + part, and a block moves only those numbers of its tile that come from its part. Blocks begin in
/// the order of blockIdx.y, so that all read from one part at a time, which the L2 cache can keep. What a miss brings
/// holds several numbers, and one miss serves them all.
template <int Width, int OfNumber, int Block, int Items>
__global__ void __launch_bounds__(Block)
    sort_gather(const float* numbers, const unsigned* positions, float* sorted, int parts, int count) {
  constexpr int kPacks = Block * Items;
  constexpr unsigned kNone = ~0U;
  const int component = static_cast<int>(blockIdx.y) / parts;
  const unsigned of_part = static_cast<unsigned>((count + parts - 1) / parts), first = blockIdx.y % parts * of_part;
  const long long array = static_cast<long long>(component) * count * (OfNumber * Width);
  const long long from = static_cast<long long>(blockIdx.x) * kPacks;
  const int number = static_cast<int>(from / OfNumber), first_pack = static_cast<int>(from % OfNumber);
  // What comes from before `first` is much larger than a part, since there are no negative numbers; kNone is, too.
  const auto of_this_part = [&](unsigned source) { return source - first < of_part; };
  wait_for_previous_launch();
  unsigned source[Items];
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int at = number + (first_pack + static_cast<int>(threadIdx.x) + i * Block) / OfNumber;
    source[i] = at < count ? load_once(positions + at) : kNone;
  }
  Pack<Width> pack[Items];
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int at = (first_pack + static_cast<int>(threadIdx.x) + i * Block) % OfNumber;
    if (of_this_part(source[i])) {
      pack[i] = load<Width>(numbers + array + (source[i] * static_cast<long long>(OfNumber) + at) * Width);
    }
  }
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    if (of_this_part(source[i])) {
      store_once<Width>(sorted + array + (from + static_cast<int>(threadIdx.x) + i * Block) * Width, pack[i]);
    }
  }
}

}  // namespace heddle::fuzzy
