// The kernels that a program has now, against which stored profiles are judged.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "heddle/kernels/kernel_version.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// Whether a profile still speaks of the kernels that there are, and if not, what has changed.
enum class Currency {
  current,
  other_templates,      ///< the source hash is another
  other_contract,       ///< the contract digest is another
  other_configuration,  ///< a profile without a contract digest, whose configuration the space does not have or allow
};
/// "current", "templates", "contract", "configuration".
[[nodiscard]] std::string_view text(Currency currency);
/// "the kernel templates have changed"; empty if current.
[[nodiscard]] std::string_view change(Currency currency);

/// The present kernels of one family. What is asked for a device is worked out once. From one thread at a time.
class PresentKernels {
 public:
  /// `family` must outlive this.
  explicit PresentKernels(const KernelFamily& family) : family_(family) {}

  /// The version for a device. The reference holds as long as this.
  [[nodiscard]] const KernelVersion& version(const DeviceIdentity& device);
  /// Of a profile of the family, whose problem has the family's sizes. A profile for a backend that the family no
  /// longer supports has other templates.
  [[nodiscard]] Currency currency(const Profile& profile);

 private:
  const KernelFamily& family_;
  std::map<DeviceIdentity, KernelVersion> versions_;
  std::map<DeviceIdentity, SearchSpace> spaces_;
};

}  // namespace heddle
