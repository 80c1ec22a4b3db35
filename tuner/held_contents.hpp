// Contents of the buffers of an execution: what they hold before a run, or what a run left.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/image.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/kept_contents.hpp"

namespace heddle {

/// Held on the device, where they are written and compared within milliseconds however large they are; or on the host.
class HeldContents {
 public:
  explicit HeldContents(KeptContents::Buffers on_device) : held_(std::move(on_device)) {}
  explicit HeldContents(SharedImage on_host) : held_(std::move(on_host)) {}
  /// A copy of what an execution has in some of its buffers now: on the device, or, where that has no room, here.
  [[nodiscard]] static HeldContents copied(Device& device, Execution& execution, const BufferNames& names);

  /// Copies the buffers that copied() was told of once more, from an execution of the same plan.
  void copy_again(Execution& execution);

  /// Writes all of them to the buffers of their names. What a buffer has room for beside contents of the host becomes
  /// 0.
  void write(Execution& execution) const;
  /// Makes restore() possible; the buffers hold the contents.
  void save(Execution& execution) const;
  /// Brings back what a run may have changed: parameters and states, except those of `unwritten`.
  void restore(Execution& execution, const BufferNames& unwritten = {}) const;
  /// Parameters and states that a run has left as they were, of those that are held on the device and larger than its
  /// cache: to bring them back before every run would take longer than many a run.
  [[nodiscard]] BufferNames large_and_unwritten(Device& device, Execution& execution) const;
  /// Whether a buffer holds these contents.
  [[nodiscard]] bool same(Device& device, Execution& execution, const std::string& name) const;
  [[nodiscard]] BufferNames names() const;
  [[nodiscard]] std::vector<std::byte> bytes(const std::string& name) const;

 private:
  std::variant<KeptContents::Buffers, SharedImage> held_;
};

}  // namespace heddle
