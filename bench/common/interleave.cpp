#include "heddle/bench/common/interleave.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle::bench {

void compile(const std::vector<Contestant>& contestants, const Problem& problem) {
  std::vector<std::unique_ptr<Compilation>> compilations;  // all of them begin before the first is waited for
  compilations.reserve(contestants.size());
  for (const Contestant& each : contestants) {
    compilations.push_back(each.evaluator->compile({each.configuration}, problem));
  }
  for (const auto& compilation : compilations) {
    while (compilation->next()) {
    }
  }
}

void compile(Evaluator& evaluator, const std::vector<Configuration>& configurations, const Problem& problem) {
  const auto compilation = evaluator.compile(configurations, problem);
  while (compilation->next()) {
  }
}

std::vector<std::vector<double>> interleave(const std::vector<Contestant>& contestants, const Problem& problem,
                                            std::int64_t samples, int rounds) {
  std::vector<std::unique_ptr<Runner>> runners(contestants.size());
  std::vector<std::vector<double>> times(contestants.size());
  const auto attempt = [&](std::size_t i, const auto& step) {
    try {
      step();
    } catch (const DeviceFailure& failure) {
      fmt::print(stderr, "{}: {}: {}\n", problem.text(), contestants[i].configuration.text(), failure.what());
      runners[i].reset();
      times[i].clear();
      contestants[i].evaluator->check_device();
    }
  };
  for (std::size_t i = 0; i < runners.size(); ++i) {
    attempt(i, [&] { runners[i] = contestants[i].evaluator->prepare(contestants[i].configuration, problem, samples); });
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < runners.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % runners.size();
      if (!runners[i]) continue;
      attempt(i, [&] {
        (void)runners[i]->time();  // brings its rows back into the cache, where training has them, too
        times[i].push_back(runners[i]->time());
      });
    }
  }
  return times;
}

std::vector<std::vector<double>> interleave(Evaluator& evaluator, const std::vector<Configuration>& configurations,
                                            const Problem& problem, std::int64_t samples, int rounds) {
  std::vector<Contestant> contestants;
  contestants.reserve(configurations.size());
  for (const Configuration& configuration : configurations) contestants.push_back({&evaluator, configuration});
  return interleave(contestants, problem, samples, rounds);
}

}  // namespace heddle::bench
