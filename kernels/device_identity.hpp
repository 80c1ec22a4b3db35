// The identity of a device: devices with the same identity share profiles. Drivers, compilers and hosts are provenance,
// not identity.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

struct DeviceIdentity {
  std::string backend;           ///< "cuda", "cpu", "emulator"
  std::string name;              ///< card or processor model, as the vendor prints it
  std::string architecture;      ///< compute capability "9.0", or the instruction set "x86-64-v4"
  std::int64_t units = 0;        ///< streaming multiprocessors, or cores this process may use
  std::int64_t memory_gib = 0;   ///< device memory rounded to GiB; 0 for cpu
  std::int64_t cache_bytes = 0;  ///< L2 of a GPU, last-level cache of a CPU
  std::int64_t local_bytes = 0;  ///< shared memory one block may opt in to; L2 of one core

  /// One line that holds every field: the database key. parse(text()) gives the same identity.
  [[nodiscard]] std::string text() const;
  /// Throws Error(input).
  [[nodiscard]] static DeviceIdentity parse(std::string_view text);
  /// Compute capability times ten (90 for "9.0"); 0 if this is not a CUDA architecture.
  [[nodiscard]] int compute_capability() const;

  auto operator<=>(const DeviceIdentity&) const = default;
};

/// Whether times on a backend mean anything. Those on "emulator" do not, and no profile is made from them.
[[nodiscard]] bool can_be_timed(std::string_view backend);
/// Whether a backend runs what is written in CUDA: "cuda", "emulator".
[[nodiscard]] bool runs_cuda_templates(std::string_view backend);

}  // namespace heddle
