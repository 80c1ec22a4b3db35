// Operations that the lanes of a warp do together: shuffles, votes, reductions, and their synchronisation.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle::emulator {
namespace {

bool shuffles(WarpOperation operation) {
  return operation >= WarpOperation::shuffle_index && operation <= WarpOperation::shuffle_xor;
}

/// The lane that `lane` reads from; PTX ISA, "shfl.sync".
unsigned source(const WarpMeeting& meeting, unsigned lane) {
  const auto width = static_cast<unsigned>(meeting.width);
  const unsigned first = lane & ~(width - 1), last = first + width - 1;
  const auto argument = static_cast<unsigned>(meeting.argument[lane]);
  switch (meeting.operation) {
    case WarpOperation::shuffle_index:
      return first + (argument & (width - 1));
    case WarpOperation::shuffle_up:
      return lane >= first + argument ? lane - argument : lane;
    case WarpOperation::shuffle_down:
      return lane + argument <= last ? lane + argument : lane;
    default:
      return (lane ^ argument) <= last ? lane ^ argument : lane;
  }
}

/// The result that all lanes share.
unsigned long long reduce(const WarpMeeting& meeting) {
  unsigned sum = 0, smallest = ~0U, largest = 0, every = ~0U, some = 0, odd = 0, ballot = 0;
  int signed_smallest = INT32_MAX, signed_largest = INT32_MIN;
  unsigned long long first = meeting.value[static_cast<std::size_t>(std::countr_zero(meeting.mask))];
  bool alike = true;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((meeting.mask >> lane & 1U) == 0) continue;
    const auto value = static_cast<unsigned>(meeting.value[lane]);
    sum += value;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    signed_smallest = std::min(signed_smallest, static_cast<int>(value));
    signed_largest = std::max(signed_largest, static_cast<int>(value));
    every &= value;
    some |= value;
    odd ^= value;
    if (value != 0) ballot |= 1U << lane;
    alike = alike && meeting.value[lane] == first;
  }
  switch (meeting.operation) {
    case WarpOperation::all:
      return ballot == meeting.mask ? 1 : 0;
    case WarpOperation::any:
      return ballot != 0 ? 1 : 0;
    case WarpOperation::ballot:
      return ballot;
    case WarpOperation::match_all:
      return alike ? meeting.mask : 0;
    case WarpOperation::add:
      return sum;
    case WarpOperation::minimum:
      return smallest;
    case WarpOperation::maximum:
      return largest;
    case WarpOperation::signed_minimum:
      return static_cast<unsigned>(signed_smallest);
    case WarpOperation::signed_maximum:
      return static_cast<unsigned>(signed_largest);
    case WarpOperation::bit_and:
      return every;
    case WarpOperation::bit_or:
      return some;
    case WarpOperation::bit_xor:
      return odd;
    default:
      return 0;
  }
}

unsigned long long matching(const WarpMeeting& meeting, unsigned lane) {
  unsigned lanes = 0;
  for (unsigned other = 0; other < kWarpSize; ++other) {
    if ((meeting.mask >> other & 1U) != 0 && meeting.value[other] == meeting.value[lane]) lanes |= 1U << other;
  }
  return lanes;
}

}  // namespace

/// A thread that goes elsewhere while lanes of its warp wait for it.
void Grid::not_awaited(Thread& thread, const char* instead, const void* at) {
  const unsigned lane = thread.index % kWarpSize;
  for (const WarpMeeting& meeting : thread.block->warps[thread.index / kWarpSize].meetings) {
    if ((meeting.mask >> lane & 1U) == 0) continue;
    stop(Status::hang,
         fmt::format("{} while lanes of its warp wait for it with mask {:#010x} at {}:{}", instead, meeting.mask,
                     meeting.line.file, meeting.line.line),
         at);
  }
}

unsigned long long Grid::warp(WarpOperation operation, unsigned mask, unsigned long long value, int argument, int width,
                              const Line& line) {
  Thread& thread = current_thread();
  Block& block = *thread.block;
  const unsigned lane = thread.index % kWarpSize, first = thread.index - lane;
  Warp& warp = block.warps[thread.index / kWarpSize];
  if ((mask >> lane & 1U) == 0) {
    stop(Status::hang, fmt::format("gives mask {:#010x}, which does not name its own lane {}", mask, lane), line.at);
  }
  if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
    stop(Status::wrong_result, fmt::format("shuffles over {} lanes: expected a power of two up to 32", width), line.at);
  }
  auto meeting = std::find_if(warp.meetings.begin(), warp.meetings.end(),
                              [&](const WarpMeeting& each) { return (each.mask & mask) != 0; });
  if (meeting == warp.meetings.end()) {
    const unsigned lanes = block_threads_ - first >= kWarpSize ? ~0U : (1U << (block_threads_ - first)) - 1;
    if (const unsigned absent = mask & (warp.exited | ~lanes); absent != 0) {
      stop(Status::hang,
           fmt::format("names lane {} in mask {:#010x}, which {}", std::countr_zero(absent), mask,
                       (absent & ~lanes) != 0 ? "does not exist" : "has exited"),
           line.at);
    }
    for (unsigned other = 0; other < kWarpSize; ++other) {
      if ((mask >> other & 1U) == 0) continue;
      const Thread& named = block.threads[first + other];
      if (named.wait == Wait::barrier || named.wait == Wait::cluster) {
        stop(Status::hang,
             fmt::format("names lane {} in mask {:#010x}, which waits at the barrier of {}:{}", other, mask,
                         named.line.file, named.line.line),
             line.at);
      }
    }
    warp.meetings.push_back({.operation = operation, .mask = mask, .arrived = 0, .line = line, .width = width});
    meeting = warp.meetings.end() - 1;
  } else if (meeting->operation != operation || meeting->mask != mask || meeting->width != width ||
             !same(meeting->line, line)) {
    stop(Status::hang,
         fmt::format(
             "the warp is divided: this lane {} gives mask {:#010x} while others wait with mask {:#010x} at {}:{}",
             lane, mask, meeting->mask, meeting->line.file, meeting->line.line),
         line.at);
  }
  meeting->arrived |= 1U << lane;
  meeting->value[lane] = value;
  meeting->argument[lane] = argument;
  if (meeting->arrived != mask) {
    schedule_.suspend(Wait::warp, line);
    return thread.result;
  }
  complete(block, first, *meeting);
  warp.meetings.erase(meeting);
  schedule_.yield();
  return thread.result;
}

/// The lanes know of each other what they read before; everything, if they synchronised.
void Grid::inform(Block& block, unsigned first, const WarpMeeting& meeting) {
  const bool all = meeting.operation == WarpOperation::sync;
  const auto each = [&](auto action) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      if ((meeting.mask >> lane & 1U) != 0) action(lane, block.threads[first + lane]);
    }
  };
  std::array<Segment, kWarpSize> known{}, reads{};
  Known foreign;
  each([&](unsigned lane, Thread& thread) {
    for (unsigned i = 0; thread.synced && i < kWarpSize; ++i) {
      known[i] = std::max(known[i], thread.lanes[i]);
      reads[i] = std::max(reads[i], thread.lane_reads[i]);
    }
    known[lane] = reads[lane] = machine_.segments;
    if (all) foreign.all = joined(foreign.all, thread.foreign.all);
    foreign.reads = joined(foreign.reads, thread.foreign.reads);
  });
  each([&](unsigned, Thread& thread) {
    thread.segment = 0;
    if (!thread.synced) thread.lanes = {};
    thread.synced = true;
    thread.lane_reads = reads;
    thread.foreign.reads = foreign.reads;
    if (!all) return;
    thread.lanes = known;
    thread.foreign.all = foreign.all;
  });
}

void Grid::complete(Block& block, unsigned first, const WarpMeeting& meeting) {
  const unsigned long long shared = reduce(meeting);
  inform(block, first, meeting);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((meeting.mask >> lane & 1U) == 0) continue;
    Thread& thread = block.threads[first + lane];
    thread.result = shared;
    if (shuffles(meeting.operation)) {
      const unsigned from = source(meeting, lane);
      if ((meeting.mask >> from & 1U) == 0) {
        stop(Status::wrong_result,
             fmt::format("lane {} reads from lane {}, which mask {:#010x} does not name", lane, from, meeting.mask),
             meeting.line.at);
      }
      thread.result = meeting.value[from];
    } else if (meeting.operation == WarpOperation::match_any) {
      thread.result = matching(meeting, lane);
    }
    if (&thread != schedule_.current()) schedule_.ready(thread);
  }
  schedule_.progress();
}

unsigned Grid::active_mask() {
  const Block& block = *current_thread().block;
  const unsigned first = current_thread().index / kWarpSize * kWarpSize;
  unsigned mask = 0;
  for (unsigned lane = 0; lane < kWarpSize && first + lane < block_threads_; ++lane) {
    if (block.threads[first + lane].wait == Wait::nothing && block.threads[first + lane].fibre) mask |= 1U << lane;
  }
  return mask & ~block.warps[first / kWarpSize].exited;
}

}  // namespace heddle::emulator
