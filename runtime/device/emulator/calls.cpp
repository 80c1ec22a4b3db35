#include "heddle/runtime/device/emulator/calls.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle::emulator {
namespace {

Grid& grid() { return Grid::current(); }

/// A finding unwinds the emulator's part of the fibre, never the kernel's: that is left where it stands.
template <class Action>
auto guarded(Action action) {
  try {
    return action(grid());
  } catch (Finding& finding) {
    grid().keep(std::move(finding));
  }
  grid().abandon();
}

/// The compiler writes this before the data of most checks: the place in the source.
struct SourceLocation {
  const char* file;
  std::uint32_t line, column;
};

void undefined(const char* what, const void* data, const void* at) {
  const auto& where = *static_cast<const SourceLocation*>(data);
  Finding finding;
  finding.status = Status::illegal_access;
  finding.what = what;
  finding.at = reinterpret_cast<std::uintptr_t>(at);
  if (where.file != nullptr) {
    const std::string_view file = where.file;
    finding.what += fmt::format(", {}:{}", file.substr(file.rfind('/') + 1), where.line);
  }
  guarded([&](Grid& running) { running.stop(std::move(finding)); });
}

}  // namespace

const Calls& calls() {
  static const Calls table{
      .place = [] { return &static_cast<const Place&>(grid().current_thread().place); },
      .access = [](const void* address, unsigned long bytes, unsigned touch,
                   const void* at) { guarded([&](Grid& grid) { grid.access(address, bytes, touch, at); }); },
      .load = [](const void* from, void* to, unsigned bytes,
                 const void* at) { guarded([&](Grid& grid) { grid.load(from, to, bytes, at); }); },
      .undefined = &undefined,
      .trap = [](const void* at) { guarded([&](Grid& grid) { grid.stop(Status::illegal_access, "__trap()", at); }); },
      .barrier = [](Vote vote, int predicate,
                    Line line) { return guarded([&](Grid& grid) { return grid.barrier(vote, predicate, line); }); },
      .partial_barrier = [](int number, int threads,
                            Line line) { guarded([&](Grid& grid) { grid.partial_barrier(number, threads, line); }); },
      .warp =
          [](WarpOperation operation, unsigned mask, unsigned long long value, int argument, int width, Line line) {
            return guarded([&](Grid& grid) { return grid.warp(operation, mask, value, argument, width, line); });
          },
      .active_mask = [] { return guarded([&](Grid& grid) { return grid.active_mask(); }); },
      .shared_piece =
          [](int piece, int offset, int count, const void* at) {
            return guarded([&](Grid& grid) { return grid.shared_piece(piece, offset, count, at); });
          },
      .start_copy = [](void* to, const void* from, unsigned bytes,
                       const void* at) { guarded([&](Grid& grid) { grid.start_copy(to, from, bytes, at); }); },
      .copies_arrived = [] { guarded([&](Grid& grid) { grid.copies_arrived(); }); },
      .end_group = [] { guarded([&](Grid& grid) { grid.end_group(); }); },
      .groups_arrived = [](unsigned later) { guarded([&](Grid& grid) { grid.groups_arrived(later); }); },
      .let_next_launch_start = [] { guarded([&](Grid& grid) { grid.let_next_launch_start(); }); },
      .wait_for_previous_launch = [] { guarded([&](Grid& grid) { grid.wait_for_previous_launch(); }); },
      .post = [](void* to, Quad value, unsigned bytes,
                 const void* at) { guarded([&](Grid& grid) { grid.post(to, value, bytes, at); }); },
      .look = [](const void* from, unsigned bytes,
                 Line line) { return guarded([&](Grid& grid) { return grid.look(from, bytes, line); }); },
      .cluster_rank = [] { return grid().current_thread().block->rank; },
      .cluster_blocks = [] { return static_cast<int>(grid().current_thread().block->cluster->blocks.size()); },
      .cluster_barrier = [](Line line) { guarded([&](Grid& grid) { grid.cluster_barrier(line); }); },
      .cluster_arrive = [](HandsOn hands_on,
                           Line line) { guarded([&](Grid& grid) { grid.cluster_arrive(hands_on, line); }); },
      .cluster_wait = [](Line line) { guarded([&](Grid& grid) { grid.cluster_wait(line); }); },
      .cluster_load =
          [](int rank, const void* from, const void* at) {
            Quad value{};
            guarded([&](Grid& grid) { value = grid.cluster_load(rank, from, at); });
            return value;
          },
      .mailbox_open = [](void* box, const void* at) { guarded([&](Grid& grid) { grid.mailbox_open(box, at); }); },
      .mailbox_expect = [](void* box, int bytes,
                           const void* at) { guarded([&](Grid& grid) { grid.mailbox_expect(box, bytes, at); }); },
      .mailbox_wait = [](void* box, int round,
                         Line line) { guarded([&](Grid& grid) { grid.mailbox_wait(box, round, line); }); },
      .mailbox_send = [](void* box, int rank, void* to, Quad value,
                         const void* at) { guarded([&](Grid& grid) { grid.mailbox_send(box, rank, to, value, at); }); },
      .mailbox_fetch = [](void* box, void* to, Quad value,
                          const void* at) { guarded([&](Grid& grid) { grid.mailbox_fetch(box, to, value, at); }); },
  };
  return table;
}

}  // namespace heddle::emulator
