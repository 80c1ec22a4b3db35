// The contract of every device: written once, run for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "carving_family.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Which configurations a device is tried with, beside the default and the named ones of every problem.
struct ContractSample {
  std::size_t drawn = 0;     ///< per problem
  unsigned seed = 1;         ///< of what is drawn, and of the workloads
  bool every_value = false;  ///< and more: every value that costs little, the least and largest numbers and all words
  bool large = true;         ///< problems of more than 100000 tasks too
  bool forms = false;  ///< of fuzzy arrays: every value in each type, layout and kind of matrix, mostly of small ones
  bool repeat = true;  ///< run each a second time and compare
  bool thorough = false;                 ///< the whole verification for each, not one of its runs in turn
  std::string only = {};                 ///< leaves out, and does not draw, configurations without this; empty: none
  std::vector<std::string> except = {};  ///< leaves out configurations with one of these in their text
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< all together; drawn from all of the above
  bool paths_first = false;                                    ///< of these, those of contract_paths.cpp before others
  std::size_t least = 1;  ///< all together: with fewer tried, the contract has not been looked at
  /// The built-in ones and the one of the tests, or others.
  std::vector<std::shared_ptr<const KernelFamily>> families = test::families_with_carving().all();
};

struct ContractCase {
  const KernelFamily* family;
  Problem problem;
  Configuration configuration;
  bool is_path = false;  ///< named in contract_paths.cpp
};

/// What try_configurations() tries on a device.
[[nodiscard]] std::vector<ContractCase> contract_cases(const DeviceIdentity& device, const ContractSample& sample);

/// Reports through doctest on the memory of `device`, on its compiler, and on try_configurations(). At least one
/// configuration of every family that the device supports has to be tried.
void run_device_contract(Device& device, const ContractSample& sample);

struct ContractResult {
  std::vector<std::string> complaints;                    ///< a line for every configuration that is wrong
  std::map<std::string, std::size_t, std::less<>> tried;  ///< by family: configurations
  /// Of them: clusters for which the device has no room at once, which it says after compiling only.
  std::map<std::string, std::size_t, std::less<>> without_room;
  std::size_t drawn = 0;
};

/// For every family of the sample that has templates for `device`, and for sizes that divide nothing: the
/// configurations of the sample are compiled as one batch. The first one of each scheme goes through the essential runs
/// of its verification (tuner/verifier.hpp), each other one through one run, in turn: from poisoned memory, checked for
/// overruns and repeated bit for bit.
[[nodiscard]] ContractResult try_configurations(Device& device, const ContractSample& sample);

/// What a timed run of the default configuration of the family's awkward problem leaves in all buffers but scratch,
/// from poisoned memory.
[[nodiscard]] HostImage outcome_of_default(Device& device, const KernelFamily& family, std::uint64_t seed);
/// The same of a configuration, which the space need not allow on this device.
[[nodiscard]] HostImage outcome_of_configuration(Device& device, const KernelFamily& family, const Problem& problem,
                                                 const Configuration& configuration, std::uint64_t seed);

}  // namespace heddle
