#include "heddle/profiles/present_kernels.hpp"

#include "heddle/kernels/error.hpp"

namespace heddle {

std::string_view text(Currency currency) {
  switch (currency) {
    case Currency::current:
      return "current";
    case Currency::other_templates:
      return "templates";
    case Currency::other_contract:
      return "contract";
    case Currency::other_configuration:
      return "configuration";
  }
  return "";
}

std::string_view change(Currency currency) {
  switch (currency) {
    case Currency::current:
      return "";
    case Currency::other_templates:
      return "the kernel templates have changed";
    case Currency::other_contract:
      return "the search space, the launches or the compile options have changed";
    case Currency::other_configuration:
      return "its configuration has left the search space";
  }
  return "";
}

const KernelVersion& PresentKernels::version(const DeviceIdentity& device) {
  const auto known = versions_.find(device);
  if (known != versions_.end()) return known->second;
  return versions_.emplace(device, kernel_version(family_, device)).first->second;
}

Currency PresentKernels::currency(const Profile& profile) {
  const DeviceIdentity& device = profile.key.device;
  if (!family_.supports(device.backend) || family_.source(device.backend).hash() != profile.kernels.source_hash) {
    return Currency::other_templates;
  }
  if (!profile.kernels.contract_digest.empty()) {
    return profile.kernels.contract_digest == version(device).contract_digest ? Currency::current
                                                                              : Currency::other_contract;
  }
  auto space = spaces_.find(device);
  if (space == spaces_.end()) space = spaces_.emplace(device, family_.space(device)).first;
  try {
    const bool allowed = !space->second.violated(space->second.parse(profile.configuration), profile.key.problem);
    return allowed ? Currency::current : Currency::other_configuration;
  } catch (const Error&) {
    return Currency::other_configuration;
  }
}

}  // namespace heddle
