// Configurations that a device is tried with: as few as show all values of all parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "contract/device_contract.hpp"

namespace heddle::contract {

struct Threads {
  std::int64_t most = 0;  ///< in one launch
  std::int64_t all = 0;
};

/// Draws configurations of one family: as few as it takes for every value of every parameter, of those that the device
/// runs in seconds. Corners, which are the least and the largest number of each parameter and all words, have to occur
/// even so, where that takes the fewest threads, if not more than kMostThreadsOfCorner.
class Draw {
 public:
  Draw(const KernelFamily& family, const DeviceIdentity& device) : family_(family), device_(device) {}

  [[nodiscard]] bool affordable(const Configuration& configuration, const Problem& problem) const;
  /// From `all`, what comes first preferred: those with values not seen before.
  std::vector<Configuration> covering(const std::vector<Configuration>& all, const Problem& problem);
  /// The same with fewer of them: of the first `of` of `all`, always the one that has the most values not seen before.
  std::vector<Configuration> covering_with_few(const std::vector<Configuration>& all, const Problem& problem,
                                               std::size_t of = 500);
  /// The corners that are still missing.
  std::vector<ContractCase> corners();
  /// The first `count` of `all` that are affordable.
  [[nodiscard]] std::vector<Configuration> first(const std::vector<Configuration>& all, const Problem& problem,
                                                 std::size_t count) const;

 private:
  struct Dear {
    std::int64_t threads;
    ContractCase where;
  };

  /// Threads count on the emulator alone.
  [[nodiscard]] Threads cost(const Configuration& configuration, const Problem& problem) const;
  [[nodiscard]] std::vector<std::string> unseen(const Configuration& configuration) const;
  [[nodiscard]] bool is_corner(const std::string& value) const;

  const KernelFamily& family_;
  const DeviceIdentity& device_;
  std::set<std::string> seen_;        ///< "block_size=128"
  std::map<std::string, Dear> dear_;  ///< by value: the cheapest that has it and is not affordable
};

}  // namespace heddle::contract
