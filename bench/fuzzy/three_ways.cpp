#include "heddle/bench/fuzzy/three_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What is tried for a problem, the untuned configuration first.
struct Candidates {
  std::vector<Configuration> configurations;
  std::size_t valid = 0;        ///< of the whole space
  std::vector<double> times{};  ///< of each configuration; infinite where it was not or could not be timed
};

void add(std::vector<Configuration>& list, const Configuration& configuration) {
  if (std::ranges::find(list, configuration) == list.end()) list.push_back(configuration);
}

std::vector<Configuration> drawn(std::vector<Configuration> from, const ThreeWaysOptions& options) {
  std::shuffle(from.begin(), from.end(), std::mt19937(options.seed));
  from.resize(std::min(from.size(), options.sample));
  return from;
}

/// One of the first, one of the second, and so on.
std::vector<Configuration> alternating(const std::vector<Configuration>& first,
                                       const std::vector<Configuration>& second) {
  std::vector<Configuration> all;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) all.push_back(first[i]);
    if (i < second.size()) all.push_back(second[i]);
  }
  return all;
}

/// For each problem its untuned configuration, and then what every problem allows in turn with what this one allows:
/// where the time is not enough for all, no fixed configuration would be known otherwise. What is thought to be good
/// comes before what is drawn.
std::vector<Candidates> candidates_of(const Evaluator& evaluator, const std::vector<Problem>& problems,
                                      const ThreeWaysOptions& options) {
  const KernelFamily& family = evaluator.family();
  const SearchSpace space = family.space(evaluator.device());
  std::vector<Configuration> untuned;
  untuned.reserve(problems.size());
  for (const Problem& problem : problems) untuned.push_back(family.default_configuration(evaluator.device(), problem));
  std::vector<Configuration> good = untuned;
  for (const std::string& text : options.also) {
    try {
      good.push_back(space.parse(text));
    } catch (const Error&) {
      continue;  // another family's
    }
  }
  const auto allowed_everywhere = [&](const Configuration& configuration) {
    return std::ranges::none_of(
        problems, [&](const Problem& problem) { return space.violated(configuration, problem).has_value(); });
  };
  std::vector<Configuration> drawn_for_all = space.enumerate(problems.front());
  std::erase_if(drawn_for_all, std::not_fn(allowed_everywhere));
  drawn_for_all = drawn(std::move(drawn_for_all), options);
  std::vector<Configuration> common;
  for (const Configuration& configuration : good) {
    if (allowed_everywhere(configuration)) add(common, configuration);
  }
  for (const Configuration& configuration : drawn_for_all) add(common, configuration);
  std::vector<Candidates> all;
  all.reserve(problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    std::vector<Configuration> valid = space.enumerate(problems[i]);
    Candidates candidates{.configurations = {untuned[i]}, .valid = valid.size()};
    std::vector<Configuration> here;
    for (const Configuration& configuration : good) {
      if (!space.violated(configuration, problems[i])) here.push_back(configuration);
    }
    for (const Configuration& configuration : alternating(common, here)) add(candidates.configurations, configuration);
    for (const Configuration& configuration : drawn(std::move(valid), options)) {
      add(candidates.configurations, configuration);
    }
    all.push_back(std::move(candidates));
  }
  return all;
}

/// Which of them are compiled. The first one and some others are waited for, the rest until it is late.
std::vector<bool> wait_for(Compilation& compilation, std::size_t count, std::size_t least, const Stop& late) {
  std::vector<bool> compiled(count, false);
  bool first_is_done = false;
  std::size_t successes = 0;
  try {
    while (const auto done = compilation.next([&] { return first_is_done && successes >= least && late(); })) {
      compiled[done->index] = done->compiled;
      first_is_done = first_is_done || done->index == 0;
      if (done->compiled) ++successes;
    }
  } catch (const Interrupted&) {  // the rest is left out
  }
  return compiled;
}

/// One run only of what is far behind `best`.
double time_of(Runner& runner, double best) {
  constexpr double kFarBehind = 1.3;
  constexpr int kRounds = 3;
  (void)runner.time();
  std::vector<double> times;
  times.reserve(kRounds);
  for (int round = 0; round < kRounds; ++round) {
    times.push_back(runner.time());
    if (times.front() > kFarBehind * best) break;
  }
  return median(times);
}

void try_all(Evaluator& evaluator, const Problem& problem, Candidates& candidates, const std::vector<bool>& compiled,
             std::int64_t launches, std::size_t least, const Stop& late) {
  double best = kNever;
  std::size_t tried = 0;
  candidates.times.assign(candidates.configurations.size(), kNever);
  for (std::size_t i = 0; i < candidates.times.size(); ++i) {
    if (!compiled[i]) continue;
    if (tried >= std::max<std::size_t>(least, 1) && late()) break;
    try {
      const auto runner = evaluator.prepare(candidates.configurations[i], problem, launches);
      candidates.times[i] = time_of(*runner, best);
      ++tried;
    } catch (const DeviceFailure& failure) {
      fmt::print(stderr, "{}: {}: {}\n", problem.text(), candidates.configurations[i].text(), failure.what());
      evaluator.check_device();
    }
    best = std::min(best, candidates.times[i]);
  }
}

double time_in(const Candidates& candidates, const Configuration& configuration) {
  const auto found = std::ranges::find(candidates.configurations, configuration);
  return found == candidates.configurations.end()
             ? kNever
             : candidates.times[static_cast<std::size_t>(found - candidates.configurations.begin())];
}

/// The one with the least geometric mean over all problems.
std::optional<Configuration> best_of_all(const std::vector<Candidates>& all) {
  std::optional<Configuration> best;
  double least = kNever;
  for (const Configuration& configuration : all.front().configurations) {
    double logarithms = 0.0;
    for (const Candidates& candidates : all) logarithms += std::log(time_in(candidates, configuration));
    if (logarithms >= least) continue;
    least = logarithms;
    best = configuration;
  }
  return best;
}

ThreeWays compare(Evaluator& evaluator, const Problem& problem, const Candidates& candidates,
                  const std::optional<Configuration>& fixed, const ThreeWaysOptions& options) {
  const auto fastest = std::ranges::min_element(candidates.times) - candidates.times.begin();
  const Configuration& untuned = candidates.configurations.front();
  const Configuration& tuned = candidates.configurations[static_cast<std::size_t>(fastest)];
  std::vector<Configuration> ways{untuned};
  add(ways, tuned);
  if (fixed) add(ways, *fixed);
  const auto times = interleave(evaluator, ways, problem, options.launches, options.rounds);
  const auto way = [&](const Configuration& configuration) {
    const auto& some = times[static_cast<std::size_t>(std::ranges::find(ways, configuration) - ways.begin())];
    if (some.empty()) {
      throw DeviceFailure(Status::launch, fmt::format("{}: {}: it ran before", problem.text(), configuration.text()));
    }
    return ThreeWays::Way{.configuration = configuration, .microseconds = median(some)};
  };
  return {
      .problem = problem,
      .untuned = way(untuned),
      .tuned = way(tuned),
      .fixed = fixed ? std::optional(way(*fixed)) : std::nullopt,
      .tried = static_cast<std::size_t>(std::ranges::count_if(candidates.times, [](double t) { return t < kNever; })),
      .valid = candidates.valid};
}

}  // namespace

std::vector<ThreeWays> compare_three_ways(Evaluator& evaluator, const std::vector<Problem>& problems,
                                          const ThreeWaysOptions& options) {
  std::vector<Candidates> all = candidates_of(evaluator, problems, options);
  {
    // All of them are compiled while the first ones are timed.
    std::vector<std::unique_ptr<Compilation>> compilations;
    compilations.reserve(problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      compilations.push_back(evaluator.compile(all[i].configurations, problems[i]));
    }
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Stop late = [&] { return options.late(i); };
      const std::vector<bool> compiled = wait_for(*compilations[i], all[i].configurations.size(), options.least, late);
      try_all(evaluator, problems[i], all[i], compiled, options.launches, options.least, late);
    }
  }
  const std::optional<Configuration> fixed = best_of_all(all);
  std::vector<ThreeWays> results(problems.size());
  // The last problems first: their contents are still on the device.
  for (std::size_t i = problems.size(); i-- > 0;) {
    results[i] = compare(evaluator, problems[i], all[i], fixed, options);
  }
  return results;
}

}  // namespace heddle::bench
