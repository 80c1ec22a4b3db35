// What try_configurations() tries.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "contract/contract_draw.hpp"
#include "contract/contract_limits.hpp"
#include "contract/contract_paths.hpp"
#include "contract/contract_problems.hpp"
#include "contract/device_contract.hpp"

namespace heddle {

using contract::has_axis;
using contract::kMost;
using contract::kMostEmulated;
using contract::kSamples;
using contract::Path;
using contract::paths;
using contract::problems;
using contract::problems_by_form;

namespace {

/// A family of fuzzy arrays: the default configuration and every value of every parameter in each form, on problems
/// that take the host milliseconds; and of the default problems, which it fills and compares for seconds, the default
/// configuration and some others, for what only many blocks show. What default problems are too many operations for is
/// left out, as it is of other families.
std::vector<ContractCase> cases_by_form(const KernelFamily& family, const DeviceIdentity& device,
                                        const ContractSample& sample, std::mt19937& generator) {
  constexpr std::size_t kDrawnOfLarge = 2;
  const SearchSpace space = family.space(device);
  std::vector<ContractCase> all;
  const auto add = [&](const Problem& problem, std::vector<Configuration> some) {
    for (Configuration& one : some) all.push_back({&family, problem, std::move(one)});
  };
  const auto shuffled = [&](const Problem& problem) {
    auto configurations = space.enumerate(problem);
    std::shuffle(configurations.begin(), configurations.end(), generator);
    return configurations;
  };
  for (const std::vector<Problem>& form : problems_by_form(family)) {
    contract::Draw draw(family, device);
    for (const Problem& problem : form) {
      const Configuration usual = family.default_configuration(device, problem);
      if (space.violated(usual, problem)) continue;
      add(problem, draw.covering({usual}, problem));
      add(problem, draw.covering_with_few(shuffled(problem), problem));
    }
  }
  if (!sample.large) return all;
  for (Problem problem : family.default_problems(device)) {
    // Enough for more blocks than are resident, and no more.
    constexpr std::int64_t kMostNumbers = 1 << 20;
    if (has_axis(family, "numbers")) problem = problem.with("numbers", std::min(problem.at("numbers"), kMostNumbers));
    if (family.work(problem).operations * kSamples > kMost) continue;
    add(problem, {family.default_configuration(device, problem)});
    add(problem, contract::Draw(family, device).first(shuffled(problem), problem, kDrawnOfLarge));
  }
  return all;
}

bool is_wanted(const Configuration& configuration, const ContractSample& sample) {
  const auto has = [&](const std::string& word) { return configuration.text().find(word) != std::string::npos; };
  return (sample.only.empty() || has(sample.only)) && std::ranges::none_of(sample.except, has);
}

/// As many as the sample has at most: one of every family, then paths if they come first, then others.
void keep_first(std::vector<ContractCase>& all, const ContractSample& sample) {
  if (sample.paths_first)
    std::stable_partition(all.begin(), all.end(), [](const ContractCase& one) { return one.is_path; });
  auto next = all.begin();
  for (const auto& family : sample.families) {
    const auto own = std::find_if(next, all.end(), [&](const ContractCase& one) { return one.family == family.get(); });
    if (own != all.end()) {
      std::rotate(next, own, own + 1);
      ++next;
    }
  }
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(sample.most), all.end());
}

}  // namespace

std::vector<ContractCase> contract_cases(const DeviceIdentity& device, const ContractSample& sample) {
  std::mt19937 generator(sample.seed);
  std::vector<ContractCase> all;
  for (const auto& family : sample.families) {
    if (!family->supports(device.backend)) continue;
    const SearchSpace space = family->space(device);
    const bool by_form = sample.forms && has_axis(*family, "layout");
    if (by_form) {
      for (ContractCase& one : cases_by_form(*family, device, sample, generator)) all.push_back(std::move(one));
    }
    contract::Draw draw(*family, device);
    for (const Problem& problem : by_form ? std::vector<Problem>() : problems(*family, device, sample.large)) {
      const Configuration usual = family->default_configuration(device, problem);
      if (space.violated(usual, problem)) continue;  // sizes that the family does not do
      const Plan plan = family->plan(usual, problem, device, kSamples);
      const double operations = family->work(problem).operations * static_cast<double>(plan.samples);
      if (operations > (device.backend == "emulator" ? kMostEmulated : kMost)) continue;
      const auto add = [&](std::vector<Configuration> some) {
        for (Configuration& one : some) all.push_back({family.get(), problem, std::move(one)});
      };
      if (problem == family->awkward_problem() || draw.affordable(usual, problem)) add({usual});
      for (const NamedConfiguration& named : family->named_configurations(device)) {
        const auto configuration = named.configuration(problem);
        if (configuration && !space.violated(*configuration, problem) && draw.affordable(*configuration, problem))
          add({*configuration});
      }
      auto others = space.enumerate(problem);
      std::erase_if(others, [&](const Configuration& one) { return !is_wanted(one, sample); });
      std::shuffle(others.begin(), others.end(), generator);
      if (sample.every_value) add(draw.covering(others, problem));
      add(draw.first(others, problem, sample.drawn));
    }
    for (ContractCase& corner : draw.corners()) all.push_back(std::move(corner));
    for (const Path& path : paths()) {
      if (family->name() != path.family || device.backend == "cpu") continue;
      if (path.gpu_only && device.backend == "emulator") continue;
      const auto has = [&](const char* text) { return path.configuration.find(text) != std::string::npos; };
      const bool newer = has("scheme=cluster") || has("scheme=neurons") || has("launch=");
      if (newer && device.compute_capability() < 90) continue;  // its space has no such scheme, or parameter
      Problem problem = family->awkward_problem();
      for (const auto& [name, size] : path.sizes) problem = problem.with(name, size);
      Configuration configuration = space.parse(path.configuration);
      if (!path.too_small &&
          space.violated(configuration, problem)) {  // a GPU of few multiprocessors, or of little shared memory
        CHECK_MESSAGE((device.backend != "emulator" || device.compute_capability() < 90),
                      problem.text() << ": " << configuration.text());
        continue;
      }
      all.push_back({family.get(), problem, std::move(configuration), true});
    }
  }
  std::erase_if(all, [&](const ContractCase& what) { return !is_wanted(what.configuration, sample); });
  if (all.size() > sample.most) {
    std::shuffle(all.begin(), all.end(), generator);
    keep_first(all, sample);
  }
  return all;
}

}  // namespace heddle
