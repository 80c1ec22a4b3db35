#include "heddle/runtime/device/emulator/deadlock.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>

namespace heddle::emulator {

Finding deadlock(const std::vector<std::unique_ptr<Cluster>>& alive) {
  std::string waits;
  std::size_t groups = 0;
  for (const auto& cluster : alive) {
    for (const auto& block : cluster->blocks) {
      for (std::size_t i = 0; i < block->threads.size();) {
        const Thread& first = block->threads[i];
        std::size_t last = i;
        while (last + 1 < block->threads.size() && block->threads[last + 1].wait == first.wait &&
               block->threads[last + 1].line.line == first.line.line) {
          ++last;
        }
        static constexpr std::array<const char*, 6> kWaits{"poll",
                                                           "wait at a barrier",
                                                           "wait for lanes of their warp",
                                                           "wait at a barrier of the cluster",
                                                           "wait for messages",
                                                           "poll a packet"};
        const bool exited = !first.fibre;
        if (++groups <= 8 && !exited) {
          waits += fmt::format("{}threads {} to {} of block {} {}{}", waits.empty() ? "" : "; ", i, last,
                               text(first.place.block), kWaits[static_cast<std::size_t>(first.wait)],
                               first.line.file == nullptr ? "" : " at " + text(first.line));
        }
        i = last + 1;
      }
    }
  }
  if (groups > 8) waits += "; and so on";
  return {.status = Status::hang, .what = "deadlock, nobody makes progress: " + waits};
}

}  // namespace heddle::emulator
