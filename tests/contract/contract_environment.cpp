#include "contract/contract_environment.hpp"

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace heddle::contract {

namespace {

/// The device need not try a family of which the sample has no configuration.
void keep_families_with_cases(ContractSample& sample, const DeviceIdentity& device) {
  ContractSample all = sample;
  all.most = ContractSample().most;
  std::set<const KernelFamily*> found;
  for (const ContractCase& what : contract_cases(device, all)) found.insert(what.family);
  std::erase_if(sample.families, [&](const auto& family) { return !found.contains(family.get()); });
}

}  // namespace

ContractSample sample_of_environment(ContractSample usual, const DeviceIdentity& device) {
  ContractSample sample = std::move(usual);
  if (const char* const most = std::getenv("HEDDLE_CONTRACT_CASES")) {
    sample = {.drawn = 1,
              .every_value = true,
              .large = false,
              .most = std::stoul(most),
              .paths_first = true,
              .families = std::move(sample.families)};
  }
  if (const char* const except = std::getenv("HEDDLE_CONTRACT_EXCEPT")) {
    std::istringstream words(except);
    for (std::string word; std::getline(words, word, ',');) {
      if (!word.empty()) sample.except.push_back(word);
    }
  }
  if (const char* const only = std::getenv("HEDDLE_CONTRACT_ONLY")) {
    sample.only = only;
    sample.least = 1;
    keep_families_with_cases(sample, device);
  }
  return sample;
}

}  // namespace heddle::contract
