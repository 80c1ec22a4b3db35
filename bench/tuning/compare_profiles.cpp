// Does tuning twice choose equally fast? Times the winners of two profile databases in turn, problem by problem.
//
//   compare_profiles --device cuda:0 --family sonfin-train first.sqlite second.sqlite
//
// Problems that both have a profile of this device for; equal winners count as equally fast and are not timed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
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

/// Starts to compile what has to be timed, all at once.
std::vector<Pair> pairs(Evaluator& evaluator, const ProfileStore& first, const ProfileStore& second) {
  const std::string name(evaluator.family().name());
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::vector<Pair> found;
  for (Profile& profile : first.knowledge(name).profiles) {
    const auto other = second.find(profile.key);
    if (profile.key.device != evaluator.device() || !other) continue;
    Pair& pair = found.emplace_back();
    pair.winners.push_back(space.parse(profile.configuration));
    if (other->configuration != profile.configuration) {
      pair.winners.push_back(space.parse(other->configuration));
      pair.compilation = evaluator.compile(pair.winners, profile.key.problem);
    }
    pair.first = std::move(profile);
  }
  return found;
}

int compare(Evaluator& evaluator, const ProfileStore& first, const ProfileStore& second, int rounds) {
  constexpr double kAlike = 0.02;
  std::vector<double> ratios;
  std::size_t equal = 0, failed = 0;
  for (Pair& pair : pairs(evaluator, first, second)) {
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
                fmt::format("{} and {}: no problem with a profile of {} in both", first.file().string(),
                            second.file().string(), evaluator.device().name));
  }
  double sum = 0.0, worst = 0.0;
  std::size_t alike = 0;
  for (const double ratio : ratios) {
    const double apart = std::max(ratio, 1.0 / ratio) - 1.0;
    sum += std::log(ratio);
    worst = std::max(worst, apart);
    alike += apart <= kAlike ? 1U : 0U;
  }
  fmt::print(
      "\n{} problems, {} with the same winner, {} within {:.0f} %; second / first: geometric mean {:.4f}, worst {:.1f} "
      "% "
      "apart{}\n",
      ratios.size(), equal, alike, 100.0 * kAlike, std::exp(sum / static_cast<double>(ratios.size())), 100.0 * worst,
      failed == 0 ? "" : fmt::format("; {} could not be timed", failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device, name = "sonfin-train", first, second;
  int rounds = 15;
  CLI::App app("Times the winners of two profile databases in turn");
  app.add_option("--device", device, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", name, "kernel family");
  app.add_option("--rounds", rounds, "runs of which the median counts");
  app.add_option("first", first, "profile database")->required()->check(CLI::ExistingFile);
  app.add_option("second", second, "another")->required()->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("compare_profiles", [&] {
    const auto opened = open_device(device);
    DeviceEvaluator evaluator(*opened, builtin_families().at(name), 1);
    return compare(evaluator, ProfileStore(first, ProfileStore::Access::read),
                   ProfileStore(second, ProfileStore::Access::read), rounds);
  });
}
