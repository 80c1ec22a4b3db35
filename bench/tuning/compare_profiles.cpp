// Does tuning twice choose equally fast? Times the winners of two profile databases in turn, problem by problem.
//
//   compare_profiles --device cuda:0 --family sonfin-train first.sqlite second.sqlite
//
// Problems that the second has a profile of this device for, and the first one of this device or, with --any-device,
// one of any device of the same backend: what won elsewhere, or before, stands beside what wins here. Equal winners
// count as equally fast and are not timed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;

namespace {

struct Pair {
  Profile first;
  std::vector<Configuration> winners;  ///< one if they are equal
  std::unique_ptr<Compilation> compilation;
};

/// By problem, the profiles of this device; if `any_device`, also those of others of its backend for further problems.
std::map<Problem, Profile> by_problem(const Evaluator& evaluator, const ProfileStore& store, bool any_device) {
  const DeviceIdentity& here = evaluator.device();
  std::map<Problem, Profile> found;
  for (Profile& profile : store.knowledge(std::string(evaluator.family().name())).profiles) {
    const DeviceIdentity& there = profile.key.device;
    if (there != here && (!any_device || there.backend != here.backend)) continue;
    const Problem problem = profile.key.problem;
    if (there == here) {
      found.insert_or_assign(problem, std::move(profile));
    } else {
      found.emplace(problem, std::move(profile));
    }
  }
  return found;
}

/// Starts to compile what has to be timed, all at once.
std::vector<Pair> pairs(Evaluator& evaluator, const ProfileStore& first, const ProfileStore& second, bool any_device) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  const std::map<Problem, Profile> others = by_problem(evaluator, second, false);
  std::vector<Pair> found;
  for (auto& [problem, profile] : by_problem(evaluator, first, any_device)) {
    const auto other = others.find(problem);
    if (other == others.end()) continue;
    Pair pair;
    try {
      pair.winners.push_back(space.parse(profile.configuration));
    } catch (const Error&) {  // what another card has and this one has not cannot be timed here
      pair.first = std::move(profile);
      found.push_back(std::move(pair));
      continue;
    }
    if (other->second.configuration != profile.configuration) {
      pair.winners.push_back(space.parse(other->second.configuration));
      pair.compilation = evaluator.compile(pair.winners, problem);
    }
    pair.first = std::move(profile);
    found.push_back(std::move(pair));
  }
  return found;
}

int compare(Evaluator& evaluator, const ProfileStore& first, const ProfileStore& second, bool any_device, int rounds) {
  constexpr double kAlike = 0.02;
  std::vector<double> ratios;
  std::size_t equal = 0, failed = 0;
  for (Pair& pair : pairs(evaluator, first, second, any_device)) {
    if (pair.winners.empty()) {
      ++failed;
      continue;
    }
    if (pair.winners.size() == 1) {
      ++equal;
      ratios.push_back(1.0);
      continue;
    }
    while (pair.compilation->next()) {
    }
    const auto times = bench::interleave(evaluator, pair.winners, pair.first.key.problem, pair.first.samples, rounds);
    if (times[0].empty() || times[1].empty()) {
      ++failed;
      continue;
    }
    const double a = median(times[0]), b = median(times[1]);
    ratios.push_back(b / a);
    fmt::print("{:<36} {:>8.3f} {:>8.3f} us {:>+6.1f} %  {}  |  {}\n", pair.first.key.problem.text(), a, b,
               100.0 * (b / a - 1.0), pair.winners[0].text(), pair.winners[1].text());
  }
  if (ratios.empty()) {
    throw Error(ErrorKind::profiles,
                fmt::format("{} and {}: no problem with a profile of {} {}", first.file().string(),
                            second.file().string(), evaluator.device().name,
                            any_device ? "in the second and one of any device in the first" : "in both"));
  }
  double sum = 0.0, worst = 0.0, slowest = 0.0;
  std::size_t alike = 0;
  for (const double ratio : ratios) {
    const double apart = std::max(ratio, 1.0 / ratio) - 1.0;
    sum += std::log(ratio);
    worst = std::max(worst, apart);
    slowest = std::max(slowest, ratio);
    alike += apart <= kAlike ? 1U : 0U;
  }
  fmt::print(
      "\n{} problems, {} with the same winner, {} within {:.0f} %; second / first: geometric mean {:.4f}, "
      "highest {:.3f}, worst {:.1f} % apart{}\n",
      ratios.size(), equal, alike, 100.0 * kAlike, std::exp(sum / static_cast<double>(ratios.size())), slowest,
      100.0 * worst, failed == 0 ? "" : fmt::format("; {} could not be timed", failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device, name = "sonfin-train", first, second;
  int rounds = 15;
  bool any_device = false;
  CLI::App app("Times the winners of two profile databases in turn");
  app.add_option("--device", device, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", name, "kernel family");
  app.add_option("--rounds", rounds, "runs of which the median counts");
  app.add_flag("--any-device", any_device,
               "take profiles of other devices from the first, where it has none of this one");
  app.add_option("first", first, "profile database")->required()->check(CLI::ExistingFile);
  app.add_option("second", second, "another")->required()->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("compare_profiles", [&] {
    const auto opened = open_device(device);
    DeviceEvaluator evaluator(*opened, builtin_families().at(name), 1);
    return compare(evaluator, ProfileStore(first, ProfileStore::Access::read),
                   ProfileStore(second, ProfileStore::Access::read), any_device, rounds);
  });
}
