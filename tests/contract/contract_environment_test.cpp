#include "contract/contract_environment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/large_gpu.hpp"
#include "runtime/device/environment_variable.hpp"

namespace heddle {
namespace {

/// Some that are quick to enumerate, and all that have paths in clusters.
ContractSample usual() {
  ContractSample sample{.drawn = 3, .large = false, .least = 500};
  const std::set<std::string_view> names{"sonfin-train", "mlp-train", "fuzzy-sum-lu"};
  std::erase_if(sample.families, [&](const auto& family) { return !names.contains(family->name()); });
  REQUIRE(sample.families.size() == names.size());
  return sample;
}

bool has(const ContractCase& what, std::string_view word) {
  return what.configuration.text().find(word) != std::string::npos;
}

std::set<std::string_view> families_of(const ContractSample& sample) {
  std::set<std::string_view> names;
  for (const auto& family : sample.families) names.insert(family->name());
  return names;
}

TEST_CASE("HEDDLE_CONTRACT_ONLY chooses the configurations with a word, and the families that have any") {
  const DeviceIdentity device = test::large_gpu();
  const auto chosen = [&](const char* word) {
    const Variable only("HEDDLE_CONTRACT_ONLY", word);
    return contract::sample_of_environment(usual(), device);
  };
  const std::vector<ContractCase> all = contract_cases(device, usual());
  for (const char* const word : {"storage=halves", "threads_per_rule=64", "scheme=cluster", "scheme=neurons"}) {
    CAPTURE(word);
    const auto with_word = [&](const ContractCase& what) { return has(what, word); };
    REQUIRE_FALSE(std::ranges::all_of(all, with_word));
    const ContractSample sample = chosen(word);
    const std::vector<ContractCase> cases = contract_cases(device, sample);
    CHECK(std::ranges::all_of(cases, with_word));
    CHECK(std::ranges::any_of(cases, &ContractCase::is_path));
    CHECK(std::ssize(cases) >=
          std::ranges::count_if(all, [&](const ContractCase& what) { return what.is_path && with_word(what); }));
  }
  CHECK(families_of(chosen("storage=halves")) == std::set<std::string_view>{"sonfin-train"});
  CHECK(families_of(chosen("scheme=neurons")) == std::set<std::string_view>{"mlp-train"});
  CHECK(families_of(chosen("scheme=cluster")) == std::set<std::string_view>{"mlp-train", "sonfin-train"});
  // Nothing is tried then, and the contract complains that this is less than the least.
  CHECK(chosen("scheme=none_such").families.empty());
  CHECK(chosen("scheme=none_such").least == 1);
}

TEST_CASE("of HEDDLE_CONTRACT_CASES configurations those of named paths come first, of every family one") {
  const DeviceIdentity device = test::large_gpu();
  const Variable most("HEDDLE_CONTRACT_CASES", "12");
  const std::vector<ContractCase> cases = contract_cases(device, contract::sample_of_environment(usual(), device));
  REQUIRE(cases.size() == 12);
  std::set<std::string_view> families;
  for (const ContractCase& what : cases) {
    families.insert(what.family->name());
    CHECK((what.is_path || what.family->name() == "fuzzy-sum-lu"));  // which has no paths
  }
  CHECK(families.size() == 3);
  const Variable only("HEDDLE_CONTRACT_ONLY", "storage=split");
  const auto split = contract_cases(device, contract::sample_of_environment(usual(), device));
  REQUIRE(split.size() == 12);
  const auto paths = std::ranges::count_if(split, &ContractCase::is_path);
  CHECK(paths > 0);
  // There are fewer paths than 12: all are here, and others follow.
  const auto end_of_paths = std::ranges::find_if_not(split, &ContractCase::is_path);
  CHECK(end_of_paths - split.begin() == paths);
  CHECK(paths < 12);
}

TEST_CASE("HEDDLE_CONTRACT_EXCEPT leaves out the configurations with one of its words") {
  const DeviceIdentity device = test::large_gpu();
  const Variable except("HEDDLE_CONTRACT_EXCEPT", "scheme=cluster,,storage=shared,");
  const Variable only("HEDDLE_CONTRACT_ONLY", "threads_per_rule=64");
  const std::vector<ContractCase> cases = contract_cases(device, contract::sample_of_environment(usual(), device));
  CHECK_FALSE(cases.empty());
  for (const ContractCase& what : cases) {
    CHECK_FALSE(has(what, "scheme=cluster"));
    CHECK_FALSE(has(what, "storage=shared"));
  }
}

}  // namespace
}  // namespace heddle
