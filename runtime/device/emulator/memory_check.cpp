// Every access to memory: whether the word exists, was written, and is ordered with what others did to it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "heddle/runtime/device/emulator/grid.hpp"
#include "heddle/runtime/device/emulator/viewer.hpp"

namespace heddle::emulator {

namespace {

std::uint32_t low(const void* at) { return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at)); }

}  // namespace

Segment Grid::new_segment(ThreadNumber thread) {
  segment_threads_.push_back(thread);
  return ++machine_.segments;
}

Grid::Viewer Grid::viewer_of(Thread& thread) {
  if (thread.segment == 0) {
    thread.segment = new_segment(thread.number);
    if (thread.arrival && thread.arrival->next == 0) thread.arrival->next = thread.segment;
  }
  return {&thread, thread.number, thread.segment, thread.ordered_before, thread.read_sets_before, &thread.foreign};
}

/// Whether a segment of this or an earlier launch happened before what the viewer does now.
bool Grid::ordered(Segment segment, Of of, const Viewer& viewer) const {
  if (segment < viewer.ordered_before) return true;
  if (segment < first_segment_) return false;
  const ThreadNumber number = segment_threads_[segment - first_segment_];
  if (number == viewer.number) return true;
  const bool message = (number & kMessage) != 0;
  const std::uint32_t block = number / block_threads_;
  if (viewer.thread != nullptr && !message && block == viewer.thread->block->number) {
    if (segment <= viewer.thread->block->met) return true;
    const unsigned index = number % block_threads_;
    if (index / kWarpSize == viewer.thread->index / kWarpSize &&
        lanes_ordered(1U << (index % kWarpSize), segment, of, viewer)) {
      return true;
    }
  }
  const auto known = [&](const SharedKnowledge& knowledge) {
    return knowledge &&
           (knowledge->knows_thread(number, segment) || (!message && knowledge->knows_block(block, segment)));
  };
  return known(viewer.foreign->all) || (of == Of::reads && known(viewer.foreign->reads));
}

/// Whether the viewer knows these lanes of its own warp up to a time.
bool Grid::lanes_ordered(std::uint32_t lanes, Segment last, Of of, const Viewer& viewer) const {
  lanes &= ~(1U << (viewer.thread->index % kWarpSize));
  if (lanes == 0) return true;
  if (!viewer.thread->synced) return false;
  const auto& known = of == Of::all ? viewer.thread->lanes : viewer.thread->lane_reads;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1U) != 0 && known[lane] < last) return false;
  }
  return true;
}

bool Grid::reads_ordered(const Cell& cell, const Viewer& viewer) const {
  if ((cell.reader & Cell::kSeveral) == 0) return ordered(cell.reader, Of::reads, viewer);
  const std::uint32_t set = cell.reader & ~Cell::kSeveral;
  if (set < viewer.read_sets_before) return true;
  if (set < first_read_set_) return false;
  for (const ReadSet::Readers& readers : read_sets_[set - first_read_set_].readers()) {
    const std::uint32_t block = readers.first / block_threads_;
    if (viewer.thread != nullptr && viewer.thread->block->number == block) {
      if (readers.last <= viewer.thread->block->met) continue;
      const bool own_warp = readers.first == viewer.number - viewer.thread->index % kWarpSize;
      if (own_warp && lanes_ordered(readers.lanes, readers.last, Of::reads, viewer)) continue;
    }
    const auto known = [&](const SharedKnowledge& knowledge) {
      if (!knowledge) return false;
      if (knowledge->knows_block(block, readers.last)) return true;
      for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((readers.lanes >> lane & 1U) != 0 && !knowledge->knows_thread(readers.first + lane, readers.last)) {
          return false;
        }
      }
      return true;
    };
    if (known(viewer.foreign->all) || known(viewer.foreign->reads)) continue;
    return false;
  }
  return true;
}

void Grid::note_read(Cell& cell, std::uint8_t mask, unsigned touch, const void* at, const Viewer& viewer) {
  const bool atomic = (touch & kAtomic) != 0;
  const bool first = cell.reader == 0;
  cell.touched |= static_cast<std::uint8_t>(mask << 4);
  if (first || !atomic) {
    cell.flags =
        static_cast<std::uint8_t>(atomic ? cell.flags | Cell::kReadersAtomic : cell.flags & ~Cell::kReadersAtomic);
  }
  if (cell.reader == viewer.segment) return;
  if (first || reads_ordered(cell, viewer)) {
    cell.reader = viewer.segment;
    cell.read_at = low(at);
    return;
  }
  const auto add = [&](ReadSet& set, ThreadNumber number, Segment segment) {
    const unsigned lane = number % block_threads_ % kWarpSize;
    set.add(number - lane, lane, segment);
  };
  if ((cell.reader & Cell::kSeveral) == 0) {
    if (cell.reader < first_segment_) return;  // of a launch that may still run: one unordered reader is enough
    ReadSet& set = read_sets_.emplace_back();
    const Segment before = cell.reader;
    add(set, segment_threads_[before - first_segment_], before);
    cell.reader = machine_.read_sets++ | Cell::kSeveral;
  }
  const std::uint32_t number = cell.reader & ~Cell::kSeveral;
  if (number >= first_read_set_) add(read_sets_[number - first_read_set_], viewer.number, viewer.segment);
}

std::string Grid::who(Segment segment) const {
  if (segment < first_segment_) return "a launch before";
  const ThreadNumber number = segment_threads_[segment - first_segment_];
  const ThreadNumber thread = number & ~kMessage;
  return fmt::format("{}thread {} of block {}", (number & kMessage) != 0 ? "a message of " : "",
                     text(thread_index(thread % block_threads_)), text(block_index(thread / block_threads_)));
}

void Grid::race(const char* mine, const char* theirs, Segment segment, std::uint32_t other_at, const void* address,
                const void* at) {
  Finding finding;
  finding.at = reinterpret_cast<std::uintptr_t>(at);
  finding.other_at = other_at;
  if ((segment & Cell::kSeveral) == 0 && segment < first_segment_) {
    finding.what = fmt::format("{} {}, which a launch before has {}, without wait_for_previous_launch()", mine,
                               describe(address), theirs);
  } else {
    finding.what =
        fmt::format("race: {} {}, and nothing orders this with another thread's access", mine, describe(address));
    finding.other = fmt::format("{} by {}", theirs, (segment & Cell::kSeveral) != 0 ? "several threads" : who(segment));
  }
  stop(std::move(finding));
}

void Grid::check_word(Cell& cell, std::uint8_t mask, unsigned touch, const void* address, const void* at,
                      const Viewer& viewer) {
  const bool writes = (touch & kWrite) != 0, reads = (touch & kRead) != 0, atomic = (touch & kAtomic) != 0;
  const char* const mine = writes ? "writes" : "reads";
  if ((cell.exists & mask) != mask) untouchable(address, 4, touch, at);
  if ((cell.flags & Cell::kInFlight) != 0) {
    stop(Status::wrong_result,
         fmt::format("{} {} before the copy to it has arrived (copies_arrived())", mine, describe(address)), at);
  }
  if (writes && (cell.flags & Cell::kReadOnly) != 0) {
    stop(Status::wrong_result, fmt::format("writes {}, an input", describe(address)), at);
  }
  // A structure is copied with its padding: one byte of a word is enough.
  if (reads && (touch & kCopies) == 0 && (cell.written & mask) == 0) {
    stop(Status::wrong_result, fmt::format("reads {}, which nobody wrote", describe(address)), at);
  }
  if (cell.writer != viewer.segment && cell.writer >= viewer.ordered_before && (cell.touched & mask) != 0 &&
      !(atomic && (cell.flags & Cell::kWriterAtomic) != 0) && !ordered(cell.writer, Of::all, viewer)) {
    race(mine, "written", cell.writer, cell.write_at, address, at);
  }
  if (writes) {
    if (cell.reader != 0 && cell.reader != viewer.segment && (cell.touched >> 4 & mask) != 0 &&
        !(atomic && (cell.flags & Cell::kReadersAtomic) != 0) && !reads_ordered(cell, viewer)) {
      race(mine, "read", cell.reader, cell.read_at, address, at);
    }
    cell.writer = viewer.segment;
    cell.write_at = low(at);
    cell.reader = 0;
    cell.touched = mask;
    cell.flags =
        static_cast<std::uint8_t>(atomic ? cell.flags | Cell::kWriterAtomic : cell.flags & ~Cell::kWriterAtomic);
    if ((touch & kLater) == 0) cell.written |= mask;
  } else {
    note_read(cell, mask, touch, at, viewer);
  }
}

void Grid::check(const void* address, std::size_t bytes, unsigned touch, const void* at, const Viewer& viewer) {
  const auto* byte = static_cast<const std::byte*>(address);
  const std::size_t shift = reinterpret_cast<std::uintptr_t>(address) % AddressSpace::kWord;
  if (shift == 0 && bytes % AddressSpace::kWord == 0) {  // nearly always
    for (; bytes > 0; byte += AddressSpace::kWord, bytes -= AddressSpace::kWord) {
      check_word(machine_.space.cell(byte), Cell::kAllBytes, touch, byte, at, viewer);
    }
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto mask = static_cast<std::uint8_t>(1U << ((shift + i) % AddressSpace::kWord));
    check_word(machine_.space.cell(byte + i), mask, touch, byte + i, at, viewer);
  }
}

void Grid::access(const void* address, std::size_t bytes, unsigned touch, const void* at) {
  Thread& thread = current_thread();
  if (thread.fibre->holds(address)) return;
  if (!machine_.space.contains(address)) {
    if ((touch & kWrite) == 0 && launch_.constant(address)) return;
    untouchable(address, bytes, touch, at);
  }
  if ((machine_.space.cell(address).flags & Cell::kShared) != 0 &&
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - thread.block->shared) >= shared_span()) {
    stop(Status::illegal_access, fmt::format("touches {}, another block's", describe(address)), at);
  }
  check(address, bytes, touch, at, viewer_of(thread));
}

std::string Grid::describe(const void* address) const {
  for (const auto& cluster : alive_) {
    for (const auto& block : cluster->blocks) {
      const auto offset = static_cast<const std::byte*>(address) - block->shared;
      if (static_cast<std::size_t>(offset) >= shared_span()) continue;
      std::string where = fmt::format("shared memory of block {}", text(block_index(block->number)));
      // The piece that begins last at or below the address.
      const Piece* piece = nullptr;
      for (const Piece& each : block->pieces) {
        if (each.address <= address) piece = &each;
      }
      if (piece == nullptr) return where + " that no thread took";
      const auto byte = static_cast<const std::byte*>(address) - piece->address;
      return fmt::format("word {} of piece {} ({} words) of {}", byte / 4, piece - block->pieces.data(), piece->count,
                         where);
    }
  }
  return launch_.describe(address);
}

void Grid::untouchable(const void* address, std::size_t bytes, unsigned touch, const void* at) {
  std::string where;
  if (reinterpret_cast<std::uintptr_t>(address) < 4096) {
    where = "through a null pointer";
  } else if (machine_.space.contains(address)) {
    where = "out of bounds: " + describe(address);
  } else if (machine_.fibres.is_stack(address)) {
    where = "in the local memory of another thread";
  } else if (launch_.constant(address)) {
    where = "in constant data";
  } else {
    where = "at an address that belongs to nothing";
  }
  stop(Status::illegal_access, fmt::format("{} {} bytes {}", (touch & kWrite) != 0 ? "writes" : "reads", bytes, where),
       at);
}

Known Grid::all_known_to(const Thread& thread) const {
  const auto with_own = [&](const SharedKnowledge& foreign, const auto& lanes) {
    auto known = foreign ? std::make_shared<Knowledge>(*foreign) : std::make_shared<Knowledge>();
    known->learn_block(thread.block->number, thread.block->met);
    known->learn_thread(thread.number, machine_.segments);
    const ThreadNumber first = thread.number - thread.index % kWarpSize;
    for (unsigned lane = 0; thread.synced && lane < kWarpSize; ++lane) {
      if (lanes[lane] != 0) known->learn_thread(first + lane, lanes[lane]);
    }
    return known;
  };
  return {with_own(thread.foreign.all, thread.lanes), with_own(thread.foreign.reads, thread.lane_reads)};
}

void Grid::learn(Thread& thread, const SharedKnowledge& all, const SharedKnowledge& reads) {
  const auto join = [](SharedKnowledge& known, const SharedKnowledge& news, Joined& last) {
    if (last.a != known || last.b != news) last = {known, news, joined(known, news)};
    known = last.both;
  };
  join(thread.foreign.all, all, last_all_);
  join(thread.foreign.reads, reads, last_reads_);
}

void Grid::load(const void* from, void* to, unsigned bytes, const void* at) {
  if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    stop(Status::illegal_access,
         fmt::format("misaligned: loads {} bytes from an address that is no multiple of it", bytes), at);
  }
  const bool known = machine_.space.contains(from);
  const bool global = known && (machine_.space.cell(from).flags & Cell::kShared) == 0;
  access(from, bytes, global ? kRead | kCopies : unsigned{kRead}, at);
  std::memcpy(to, from, bytes);
  constexpr std::uint32_t kNotANumber = 0x7fc0dead;
  for (unsigned i = 0; global && i < bytes; i += AddressSpace::kWord) {
    if (machine_.space.cell(static_cast<const std::byte*>(from) + i).written != 0) continue;
    std::memcpy(static_cast<std::byte*>(to) + i, &kNotANumber, sizeof kNotANumber);
  }
}

void Grid::start_copy(void* to, const void* from, unsigned bytes, const void* at) {
  const std::ptrdiff_t offset = shared_offset(to, bytes, "the copy", at);
  static_cast<void>(offset);
  if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    stop(Status::illegal_access, fmt::format("copies {} bytes from an address that is no multiple of {}", bytes, bytes),
         at);
  }
  access(from, bytes, kRead | kCopies, at);
  access(to, bytes, kWrite | kLater, at);
  for (unsigned i = 0; i < bytes; i += AddressSpace::kWord) {
    machine_.space.cell(static_cast<std::byte*>(to) + i).flags |= Cell::kInFlight;
  }
  Thread& thread = current_thread();
  thread.copies.push_back({static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, thread.group});
}

void Grid::end_group() { ++current_thread().group; }

void Grid::groups_arrived(unsigned later) {
  const std::uint64_t ended = current_thread().group;
  if (ended > later) copies_before(ended - later);
}

void Grid::copies_arrived() { copies_before(current_thread().group + 1); }

void Grid::copies_before(std::uint64_t group) {
  Thread& thread = current_thread();
  const Viewer viewer = viewer_of(thread);
  const auto left = std::find_if(thread.copies.begin(), thread.copies.end(),
                                 [group](const Thread::Copy& copy) { return copy.group >= group; });
  for (auto copy = thread.copies.begin(); copy != left; ++copy) {
    std::memcpy(copy->to, copy->from, copy->bytes);
    for (unsigned i = 0; i < copy->bytes; i += AddressSpace::kWord) {
      Cell& cell = machine_.space.cell(copy->to + i);
      cell.flags &= static_cast<std::uint8_t>(~Cell::kInFlight);
      cell.written = machine_.space.cell(copy->from + i).written;
      cell.writer = viewer.segment;
    }
  }
  thread.copies.erase(thread.copies.begin(), left);
}

}  // namespace heddle::emulator
