#include "contract/contract_draw.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <tuple>
#include <utility>

#include "contract/contract_limits.hpp"

namespace heddle::contract {

namespace {

Threads threads(const Plan& plan) {
  Threads result;
  for (const Launch& launch : plan.launches) {
    if (!launch.routine.empty()) continue;
    const auto count = [](const Extent& extent) { return std::int64_t{extent.x} * extent.y * extent.z; };
    const std::int64_t here = count(launch.grid) * count(launch.block);
    result.most = std::max(result.most, here);
    result.all += here;
  }
  return result;
}

}  // namespace

bool Draw::affordable(const Configuration& configuration, const Problem& problem) const {
  const Threads needed = cost(configuration, problem);
  return needed.most <= kMostThreads && needed.all <= kMostStarts;
}

std::vector<Configuration> Draw::covering(const std::vector<Configuration>& all, const Problem& problem) {
  constexpr int kTries = 4;  // to find one that is affordable
  std::vector<Configuration> chosen;
  std::map<std::string, int> tries;
  for (const Configuration& candidate : all) {
    std::vector<std::string> fresh = unseen(candidate);
    std::erase_if(fresh, [&](const std::string& value) { return ++tries[value] > kTries; });
    if (fresh.empty()) continue;
    if (affordable(candidate, problem)) {
      seen_.insert(fresh.begin(), fresh.end());
      chosen.push_back(candidate);
      continue;
    }
    const auto [most, needed] = cost(candidate, problem);
    if (most > kMostThreadsOfCorner) continue;
    for (const std::string& value : fresh) {
      const auto [known, inserted] = dear_.try_emplace(value, Dear{needed, {&family_, problem, candidate}});
      if (!inserted && needed < known->second.threads) known->second = {needed, {&family_, problem, candidate}};
    }
  }
  return chosen;
}

std::vector<Configuration> Draw::covering_with_few(const std::vector<Configuration>& all, const Problem& problem,
                                                   std::size_t of) {
  std::vector<Configuration> chosen;
  const std::size_t count = std::min(of, all.size());
  while (true) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t fresh = unseen(all[i]).size();
      if (fresh > most) std::tie(best, most) = std::pair(i, fresh);
    }
    if (most == 0) break;
    for (const std::string& value : unseen(all[best])) seen_.insert(value);
    chosen.push_back(all[best]);
  }
  for (Configuration& rare : covering(all, problem)) chosen.push_back(std::move(rare));
  return chosen;
}

std::vector<ContractCase> Draw::corners() {
  std::vector<ContractCase> chosen;
  for (const auto& [value, dear] : dear_) {
    if (seen_.contains(value) || !is_corner(value)) continue;
    const std::vector<std::string> fresh = unseen(dear.where.configuration);
    seen_.insert(fresh.begin(), fresh.end());
    chosen.push_back(dear.where);
  }
  return chosen;
}

std::vector<Configuration> Draw::first(const std::vector<Configuration>& all, const Problem& problem,
                                       std::size_t count) const {
  std::vector<Configuration> chosen;
  for (auto candidate = all.begin(); candidate != all.end() && chosen.size() < count; ++candidate)
    if (affordable(*candidate, problem)) chosen.push_back(*candidate);
  return chosen;
}

Threads Draw::cost(const Configuration& configuration, const Problem& problem) const {
  if (device_.backend != "emulator") return {};
  return threads(family_.plan(configuration, problem, device_, kSamples));
}

std::vector<std::string> Draw::unseen(const Configuration& configuration) const {
  std::vector<std::string> fresh;
  std::istringstream values(configuration.text());
  for (std::string value; values >> value;)
    if (!seen_.contains(value)) fresh.push_back(value);
  return fresh;
}

bool Draw::is_corner(const std::string& value) const {
  const auto split = value.find('=') + 1;
  const std::string name = value.substr(0, split);
  const auto number = [&](const std::string& text) { return std::strtoll(text.c_str() + split, nullptr, 10); };
  if (value.find_first_not_of("0123456789", split) != std::string::npos) return true;
  std::int64_t least = number(value), largest = least;
  const auto widen = [&](const std::string& other) {
    if (!other.starts_with(name)) return;
    least = std::min<std::int64_t>(least, number(other));
    largest = std::max<std::int64_t>(largest, number(other));
  };
  for (const std::string& other : seen_) widen(other);
  for (const auto& [other, dear] : dear_) widen(other);
  return number(value) == least || number(value) == largest;
}

}  // namespace heddle::contract
