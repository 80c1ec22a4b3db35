// Products of matrices in global memory by blocks of the tensor cores, float32 to rounding (products.cuh): tiles of
// M x N sums, dealt among the blocks of a grid.
//
// A stage of kStage addends of both factors is in shared memory at a time, and the next ones are on their way there by
// asynchronous copies, those of a block's next tile behind those of the present one. A stage has blocks of kOctet
// addends, which is what an instruction takes. Their layout follows that in global memory, and every access to it is
// without conflicts of banks:
//
// | factor | octet in shared memory | a lane reads |
// |---|---|---|
// | Along: the addends of a line lie next to each other | [line][8] | two neighbours |
// | Across: the lines of an addend do | [addend][lines and some] | neighbouring lines of two addends |
//
// Which addends of an octet a lane has is free, as long as both factors agree: 2 t and 2 t + 1. So is which lines it
// has: Width neighbours from first_line(g) on, of each group of 8 Width lines, so that in the end its sums are packs of
// four neighbours, and the packs of the four lanes of a line whole sectors of memory. Along stores its lines, and
// Across its addends, in the order that makes this so.
//
// In comments, g is lane / 4 and t is lane % 4.
#pragma once

#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/mlp/cuda/layered_sizes.cuh"
#include "heddle/kernels/mlp/cuda/layered_steps.cuh"
#include "heddle/kernels/mlp/cuda/products.cuh"

namespace heddle::mlp {

/// A factor in global memory: `lines` of them, `pitch` words from row to row, which are lines if it is Along, else
/// addends. Row i is row rows(i).
struct Factor {
  const float* at;
  int lines, pitch;
  AsOrdered rows;
};

/// The tile of a block, and the addends that it sums.
struct TileWork {
  int m, n;  ///< first lines
  int first, end;
};

/// Of a group of lines, what lanes with this g have first.
template <int Width>
__device__ __forceinline__ constexpr int first_line(int g) {
  return Width == 4 ? g % 2 * 16 + g / 2 * 4 : Width * g;
}

/// `Lines` lines of a factor in a stage, of which a lane has Width neighbours in a group.
template <int Lines, int Width, bool Across>
class StagedFactor {
 public:
  /// The block starts copies of addends from `base` on and below `end`, of lines from `line` on.
  template <int Threads>
  __device__ __forceinline__ static void fetch(float* stage, const Factor& from, int line, int base, int end) {
    if (from.rows.order != nullptr) {
      const int* const order = from.rows.order;
      fetch_rows<Threads>(stage, from, from.at, line, base, end,
                          [&](int row, int count) { return count > 0 ? order[row] : 0; });
    } else {
      const float* const at = from.at + static_cast<long long>(from.rows.first) * from.pitch;
      fetch_rows<Threads>(stage, from, at, line, base, end, [](int row, int) { return row; });
    }
  }

  /// A lane's addends 2 t and 2 t + 1 of its lines, from `line` on.
  template <int Count>
  __device__ __forceinline__ static void read(const float* stage, int octet, int line, float (&to)[Count][2]) {
    constexpr int kGroup = 8 * Width;
    const float* const from = stage + octet * words_of_octet(Lines, Across);
    if constexpr (Across) {
#pragma unroll
      for (int group = 0; group < Count / Width; ++group) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const Pack<Width> seen = load<Width>(from + (lane_of_group() + 4 * i) * kPitch + line + group * kGroup +
                                               first_line<Width>(lane_group()));
#pragma unroll
          for (int w = 0; w < Width; ++w) to[group * Width + w][i] = seen.value[w];
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        const Pack<2> seen = load<2>(from + (line + 8 * i + lane_group()) * kOctet + 2 * lane_of_group());
        to[i][0] = seen.value[0];
        to[i][1] = seen.value[1];
      }
    }
  }

  /// The sum over a chunk of the addends of a line.
  __device__ __forceinline__ static float sum_of_line(const float* stage, int chunk, int line) {
    static_assert(Across, "neighbouring threads have neighbouring lines");
    constexpr int kOctets = kChunk / kOctet;
    float sum = 0.0f;
#pragma unroll
    for (int octet = chunk * kOctets; octet < (chunk + 1) * kOctets; ++octet) {
      float own[kOctet];
#pragma unroll
      for (int i = 0; i < kOctet; ++i) own[i] = stage[octet * words_of_octet(Lines, Across) + i * kPitch + line];
      sum += (own[0] + own[1] + (own[2] + own[3])) + (own[4] + own[5] + (own[6] + own[7]));
    }
    return sum;
  }

 private:
  static constexpr int kPitch = pitch_across(Lines);

  /// What one copy brings, and to which word of a stage.
  struct Place {
    int line, addend, to;
  };
  /// Neighbours have what lies next to each other in global memory. All sizes are powers of two, so each bit of `piece`
  /// adds something of its own: place_of(a + b) is the sum of both places, if a and b have no bit in common.
  template <int Fours>
  __device__ __forceinline__ static constexpr Place place_of(int piece) {
    Place place{};
    if (Across) {
      place.line = piece % (Lines / Fours) * Fours;
      place.addend = piece / (Lines / Fours);
      place.to = (place.addend % 2 * 4 + place.addend % kOctet / 2) * kPitch + place.line;
    } else {
      const int line = piece / (kStage / Fours), within = line % (8 * Width);
      place.line = line - within + first_line<Width>(within % 8) + within / 8;
      place.addend = piece % (kStage / Fours) * Fours;
      place.to = line * kOctet + place.addend % kOctet;
    }
    place.to += place.addend / kOctet * words_of_octet(Lines, Across);
    return place;
  }

  template <int Threads, class RowOf>
  __device__ __forceinline__ static void fetch_rows(float* stage, const Factor& from, const float* at, int line,
                                                    int base, int end, const RowOf& row_of) {
    if (from.pitch % 4 == 0 && reinterpret_cast<unsigned long long>(at) % 16 == 0) {
      fetch_by<Threads, 4>(stage, from, at, line, base, end, row_of);
    } else {
      fetch_by<Threads, 1>(stage, from, at, line, base, end, row_of);
    }
  }
  /// `Fours`: numbers that are one access.
  template <int Threads, int Fours, class RowOf>
  __device__ __forceinline__ static void fetch_by(float* stage, const Factor& from, const float* at, int line, int base,
                                                  int end, const RowOf& row_of) {
    constexpr int kPieces = Lines * kStage / Fours, kEach = kPieces > Threads ? kPieces / Threads : 1;
    static_assert((Across ? Lines / Fours : kStage / Fours) <= Threads, "neighbours are fetched together");
    const int thread = static_cast<int>(threadIdx.x);
    if (kPieces < Threads && thread >= kPieces) return;
    const Place own = place_of<Fours>(thread);
    const int row = Across ? base + own.addend : line + own.line, rows = Across ? end : from.lines;
    const int column = Across ? line + own.line : base + own.addend, columns = Across ? from.lines : end;
    const int neighbours = max(0, min(Fours, columns - column)), bytes = 4 * from.pitch;
    const char* const own_at = reinterpret_cast<const char*>(at + column);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const Place further = place_of<Fours>(j * Threads);
      // Nobody reads chunks behind the last addend.
      if (Across && further.addend >= kChunk && base + further.addend / kChunk * kChunk >= end) break;
      const int own_row = row + (Across ? further.addend : further.line);
      const int count = own_row < rows ? neighbours : 0;
      const long long offset = static_cast<long long>(row_of(own_row, count)) * bytes;
      start_filled_copy<Fours>(stage + own.to + further.to, reinterpret_cast<const float*>(own_at + offset), count);
    }
  }
};

/// The leading terms of factors in their place, and the rest.
template <int Count>
__device__ __forceinline__ void split(float (&whole)[Count][2], float (&rest)[Count][2]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const float value = whole[i][k];
      whole[i][k] = leading(value);
      rest[i][k] = value - whole[i][k];
    }
  }
}

/// Which of a product's lines are also summed over their addends without a partner.
enum PlainSums { kNoPlainSums, kOfLeft, kOfRight };

/// Tiles of M x N sums of products of the lines of two factors.
template <int M, int N, bool LeftAcross, bool RightAcross, PlainSums Plain = kNoPlainSums>
class TileProduct {
  static constexpr TileShape kShape{M, N};
  static constexpr int kThreads = kShape.threads();
  static constexpr int kWidth = kShape.width();                                              // of right lines
  static constexpr int kLeft = kShape.warp_lines() / 8, kRight = kShape.warp_columns() / 8;  // lines of a lane
  static constexpr int kPlainLines = Plain == kOfLeft ? M : N;
  static_assert(kPlainLines <= kThreads, "a thread for a plain sum");
  using LeftStage = StagedFactor<M, 4, LeftAcross>;
  using RightStage = StagedFactor<N, kWidth, RightAcross>;

 public:
  static constexpr int kOwn = 2 * kWidth;  ///< sums of a line that a lane has
  static constexpr int kLines = kLeft;     ///< of which it has some
  static constexpr int kWords = kShape.words(LeftAcross, RightAcross);
  /// The column of a lane's sum c, from that of its first sum on: packs of four.
  __device__ __forceinline__ static constexpr int column(int c) { return c / 4 * 16 + c % 4; }

  /// For each of `count` tiles, which are dealt among the blocks of the grid, work_of(i) is the TileWork.
  /// finish(work, n, each) is called by every lane: n is the first of its columns, and each(use) calls use(m, sums) for
  /// its lines, with all lanes of the warp at the same time. With plain sums, finish_plain(work, i, sum) for each line
  /// i of that factor once. `stages`: kWords of shared memory. The whole block calls it.
  template <class WorkOf, class Finish, class FinishPlain>
  __device__ __forceinline__ static void run(float* stages, const Factor& left, const Factor& right, int count,
                                             const WorkOf& work_of, const Finish& finish,
                                             const FinishPlain& finish_plain) {
    constexpr int kLeftWords = words_of_stage(M, LeftAcross);
    constexpr int kStageWords = kLeftWords + words_of_stage(N, RightAcross);
    const int warp = static_cast<int>(threadIdx.x) / kWarp, stride = static_cast<int>(gridDim.x);
    const int own_m = warp / kShape.warps_beside() * kShape.warp_lines();
    const int own_n = warp % kShape.warps_beside() * kShape.warp_columns();

    int ahead = static_cast<int>(blockIdx.x), base_ahead = 0, slot_ahead = 0;
    TileWork next{};
    const auto begin_next = [&] {
      if (ahead >= count) return;
      next = work_of(ahead);
      base_ahead = next.first;
    };
    const auto fetch_next = [&] {
      if (ahead < count) {
        float* const to = stages + slot_ahead * kStageWords;
        LeftStage::template fetch<kThreads>(to, left, next.m, base_ahead, next.end);
        RightStage::template fetch<kThreads>(to + kLeftWords, right, next.n, base_ahead, next.end);
        slot_ahead = slot_ahead + 1 == kStages ? 0 : slot_ahead + 1;
        base_ahead += kStage;
        if (base_ahead >= next.end) {
          ahead += stride;
          begin_next();
        }
      }
      end_group();
    };
    begin_next();
    if (ahead >= count) return;
    int i = ahead, base = next.first, slot = 0, missing = kStages - 1;
    TileWork work = next;
    float sums[kLeft / 2][kRight][4], plain = 0.0f;
    const auto begin = [&] {
      base = work.first;
      clear(sums);
      plain = 0.0f;
    };
    begin();
#pragma unroll 1
    while (true) {
      if (missing == 0) {
        groups_arrived<kStages - 2>();
        __syncthreads();
      }
      fetch_next();
      if (missing > 0) {
        --missing;
        continue;
      }
      const float* const lefts = stages + slot * kStageWords;
      const int thread = static_cast<int>(threadIdx.x);
      const bool sums_plain =
          Plain != kNoPlainSums && (Plain == kOfLeft ? work.n : work.m) == 0 && thread < kPlainLines;
#pragma unroll
      for (int chunk = 0; chunk < kStage / kChunk; ++chunk) {
        if (chunk > 0 && base + chunk * kChunk >= work.end) break;
        add_chunk(sums, lefts, lefts + kLeftWords, chunk, own_m, own_n);
        if constexpr (Plain == kOfLeft) {
          if (sums_plain) plain += LeftStage::sum_of_line(lefts, chunk, thread);
        }
        if constexpr (Plain == kOfRight) {
          if (sums_plain) plain += RightStage::sum_of_line(lefts + kLeftWords, chunk, thread);
        }
      }
      slot = slot + 1 == kStages ? 0 : slot + 1;
      base += kStage;
      if (base < work.end) continue;

      const int m0 = work.m + own_m + first_line<4>(lane_group());
      finish(work, work.n + own_n + 4 * lane_of_group(), [&](const auto& use) {
#pragma unroll
        for (int line = 0; line < kLeft; ++line) {
          float own[kOwn];
#pragma unroll
          for (int c = 0; c < kOwn; ++c) own[c] = sums[line / 2][c % kWidth][line % 2 * 2 + c / kWidth];
          use(m0 + line / 4 * 32 + line % 4, own);
        }
      });
      if (sums_plain) finish_plain(work, (Plain == kOfLeft ? work.m : work.n) + thread, plain);
      i += stride;
      if (i >= count) return;
      work = work_of(i);
      begin();
    }
  }

 private:
  /// sums += products over a chunk of addends. The tensor cores cut off what does not fit into a sum, so that a long
  /// one would drift to zero: they sum a chunk only, and chunks are added with rounding.
  __device__ __forceinline__ static void add_chunk(float (&sums)[kLeft / 2][kRight][4], const float* lefts,
                                                   const float* rights, int chunk, int own_m, int own_n) {
    // A group of lines at a time: registers are few.
#pragma unroll
    for (int group = 0; group < kLeft / 4; ++group) {
      float part[2][kRight][4];
      clear(part);
#pragma unroll
      for (int o = 0; o < kChunk / kOctet; ++o) {
        const int octet = chunk * (kChunk / kOctet) + o;
        float right[kRight][2], right_rest[kRight][2], left[4][2], left_rest[4][2];
        RightStage::read(rights, octet, own_n, right);
        LeftStage::read(lefts, octet, own_m + 32 * group, left);
        split(right, right_rest);
        split(left, left_rest);
        const auto multiply = [&](const float(&a)[4][2], const float(&b)[kRight][2]) {
#pragma unroll
          for (int m = 0; m < 2; ++m) {
            const float lines[4]{a[2 * m][0], a[2 * m + 1][0], a[2 * m][1], a[2 * m + 1][1]};
#pragma unroll
            for (int n = 0; n < kRight; ++n) multiply_add_16x8x8(part[m][n], lines, b[n]);
          }
        };
        multiply(left_rest, right);
        multiply(left, right_rest);
        multiply(left, right);
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int n = 0; n < kRight; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[2 * group + m][n][i] += part[m][n][i];
        }
      }
    }
  }
};

}  // namespace heddle::mlp
