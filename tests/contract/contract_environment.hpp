// What the environment says about the configurations that a device is tried with.
#pragma once

#include "contract/device_contract.hpp"

namespace heddle::contract {

/// `usual`, changed for tools under which kernels are slow, or that do not know what some of them use, by
///
/// - HEDDLE_CONTRACT_CASES: at most so many configurations, on small problems; those of contract_paths.cpp first;
/// - HEDDLE_CONTRACT_ONLY: a word (scheme=cluster) of those to try. Families that have none are left out;
/// - HEDDLE_CONTRACT_EXCEPT: words of those to leave out, with commas between them.
[[nodiscard]] ContractSample sample_of_environment(ContractSample usual, const DeviceIdentity& device);

}  // namespace heddle::contract
