// Whether the host of a virtual machine gave its cores to other guests.
#pragma once

#include <chrono>

namespace heddle {

/// Measures the time that a hypervisor kept from this machine's cores ("steal" in proc(5)), from its making or the last
/// call on. On other machines, and where the system does not tell, nothing is ever stolen.
class StolenTime {
 public:
  StolenTime();
  /// The stolen time of all cores over the wall time since the last call. The system counts in steps of 10 ms.
  [[nodiscard]] double share();
  /// Whether the share is so large that times measured since the last call say little about a quiet machine.
  [[nodiscard]] bool disturbed() { return share() > 0.1; }

 private:
  std::chrono::steady_clock::time_point since_;
  double stolen_;
};

}  // namespace heddle
