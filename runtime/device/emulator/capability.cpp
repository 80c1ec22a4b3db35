#include "heddle/runtime/device/emulator/capability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/device/emulator/address_space.hpp"

namespace heddle::emulator {
namespace {

constexpr std::array<Capability, 8> kCapabilities{{
    {.number = 70,
     .block_shared_kib = 96,
     .processor_shared_kib = 96,
     .processor_threads = 2048,
     .processors = 80,
     .cluster = 1},
    {.number = 75,
     .block_shared_kib = 64,
     .processor_shared_kib = 64,
     .processor_threads = 1024,
     .processors = 68,
     .cluster = 1},
    {.number = 80,
     .block_shared_kib = 163,
     .processor_shared_kib = 164,
     .processor_threads = 2048,
     .processors = 108,
     .cluster = 1},
    {.number = 86,
     .block_shared_kib = 99,
     .processor_shared_kib = 100,
     .processor_threads = 1536,
     .processors = 84,
     .cluster = 1},
    {.number = 89,
     .block_shared_kib = 99,
     .processor_shared_kib = 100,
     .processor_threads = 1536,
     .processors = 128,
     .cluster = 1},
    {.number = 90,
     .block_shared_kib = 227,
     .processor_shared_kib = 228,
     .processor_threads = 2048,
     .processors = 132,
     .cluster = 16},
    {.number = 100,
     .block_shared_kib = 227,
     .processor_shared_kib = 228,
     .processor_threads = 2048,
     .processors = 148,
     .cluster = 16},
    {.number = 120,
     .block_shared_kib = 99,
     .processor_shared_kib = 100,
     .processor_threads = 1536,
     .processors = 170,
     .cluster = 8},
}};
constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kBlockThreads = 1024;
constexpr std::int64_t kReservedKib = 1;  // shared memory of the system in every block
constexpr std::int64_t kProcessorBlocks = 32;
constexpr std::int64_t kGridX = 0x7fffffff, kGridYz = 65535;

}  // namespace

const Capability& capability(int number) {
  std::string known;
  for (const Capability& each : kCapabilities) {
    if (each.number == number) return each;
    known += fmt::format("{}emulator:{}", known.empty() ? "" : ", ", each.number);
  }
  throw Error(ErrorKind::device, fmt::format("no device emulator:{}; expected one of: {}", number, known));
}

DeviceIdentity identity(const Capability& capability) {
  return {.backend = "emulator",
          .name = "emulated GPU",
          .architecture = fmt::format("{}.{}", capability.number / 10, capability.number % 10),
          .units = capability.processors,
          .memory_gib = static_cast<std::int64_t>(AddressSpace::kBytes >> 30),
          .cache_bytes = 0,
          .local_bytes = capability.block_shared_kib * kKib};
}

void require(const Capability& capability, const Launch& launch, std::string_view kernel) {
  const auto refuse = [&](const std::string& what) {
    throw DeviceFailure(Status::launch, fmt::format("emulator: {}: {} on compute capability {}.{}", kernel, what,
                                                    capability.number / 10, capability.number % 10));
  };
  const auto limit = [&](std::int64_t value, std::int64_t least, std::int64_t most, std::string_view what) {
    if (value < least || value > most) refuse(fmt::format("{} {}, expected {} to {}", value, what, least, most));
  };
  const auto threads = std::int64_t{launch.block.x} * launch.block.y * launch.block.z;
  limit(threads, 1, kBlockThreads, "threads in a block");
  limit(launch.grid.x, 1, kGridX, "blocks along x");
  limit(launch.grid.y, 1, kGridYz, "blocks along y");
  limit(launch.grid.z, 1, kGridYz, "blocks along z");
  limit(launch.shared_bytes, 0, capability.block_shared_kib * kKib, "bytes of shared memory in a block");
  limit(launch.cluster, 1, capability.cluster, "blocks in a cluster");
  if (launch.grid.x % launch.cluster != 0) {
    refuse(fmt::format("{} blocks in clusters of {}", launch.grid.x, launch.cluster));
  }
  if (launch.programmatic && capability.number < 90) refuse("a programmatic launch");
  if (!launch.resident) return;
  const std::int64_t together =
      capability.processors *
      std::min({kProcessorBlocks, capability.processor_threads / threads,
                capability.processor_shared_kib * kKib / (launch.shared_bytes + kReservedKib * kKib)});
  limit(std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z, 1, together, "blocks that run at the same time");
}

}  // namespace heddle::emulator
