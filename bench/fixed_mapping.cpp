#include "fixed_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"
#include "interleave.hpp"

namespace heddle::bench {

namespace {

constexpr int kRounds = 3;
constexpr double kFailed = 1e4;      // microseconds, where nothing ran
constexpr double kFailedTimes = 10;  // slower than the default, where the candidate alone failed

std::vector<Configuration> nominate(const Evaluator& evaluator, const ProfileStore& store,
                                    const std::vector<Problem>& problems, std::size_t most) {
  const KernelFamily& family = evaluator.family();
  const SearchSpace space = family.space(evaluator.device());
  std::map<std::string, double> votes;
  for (const Problem& problem : problems) {
    votes[family.default_configuration(evaluator.device(), problem).text()] += 1.0;
    const auto profile =
        store.find({.device = evaluator.device(), .family = std::string(family.name()), .problem = problem});
    if (!profile) continue;
    votes[profile->configuration] += 1.0;
    for (const std::string& tie : profile->ties) votes[tie] += 0.5;
  }
  struct Candidacy {
    double votes = 0.0;
    std::ptrdiff_t allowed = 0;
    Configuration configuration;
  };
  std::vector<Candidacy> ranked;
  for (const auto& [text, weight] : votes) {
    try {
      Configuration configuration = space.parse(text);
      const auto allowed = std::ranges::count_if(
          problems, [&](const Problem& problem) { return !space.violated(configuration, problem); });
      ranked.push_back({.votes = weight, .allowed = allowed, .configuration = std::move(configuration)});
    } catch (const Error&) {  // a stale profile's, which the space no longer has
    }
  }
  // Half the places to those that win often, half to those that run nearly everywhere.
  std::vector<Configuration> chosen;
  const auto take = [&](auto order, std::size_t places) {
    std::ranges::stable_sort(ranked, order);
    for (const Candidacy& candidacy : ranked) {
      if (chosen.size() >= places) break;
      if (std::ranges::find(chosen, candidacy.configuration) == chosen.end()) chosen.push_back(candidacy.configuration);
    }
  };
  take([](const Candidacy& a,
          const Candidacy& b) { return std::pair(a.votes, a.allowed) > std::pair(b.votes, b.allowed); },
       most / 2);
  take([](const Candidacy& a,
          const Candidacy& b) { return std::pair(a.allowed, a.votes) > std::pair(b.allowed, b.votes); },
       most);
  return chosen;
}

}  // namespace

FixedMapping best_fixed(Evaluator& evaluator, const ProfileStore& store, const std::vector<Problem>& problems,
                        std::size_t most, const StopCondition& stop) {
  const KernelFamily& family = evaluator.family();
  const SearchSpace space = family.space(evaluator.device());
  const std::vector<Configuration> candidates = nominate(evaluator, store, problems, most);
  std::vector<double> logs(candidates.size(), 0.0);
  FixedMapping result{.configuration = {}, .valid = 0, .candidates = candidates.size(), .problems = 0};
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    std::vector<Configuration> entrants{family.default_configuration(evaluator.device(), problem)};
    std::vector<std::size_t> places(candidates.size(), 0);  // 0: the default stands in
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i] == entrants.front() || space.violated(candidates[i], problem)) continue;
      places[i] = entrants.size();
      entrants.push_back(candidates[i]);
    }
    compile(evaluator, entrants, problem);
    const std::int64_t samples = choose_samples(evaluator, entrants.front(), problem);
    const auto times = interleave(evaluator, entrants, problem, samples, kRounds);
    const double usual = times.front().empty() ? kFailed : median(times.front());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& own = times[places[i]];
      logs[i] += std::log(own.empty() ? kFailedTimes * usual : median(own));
    }
    ++result.problems;
  }
  if (candidates.empty() || result.problems == 0) return result;
  result.configuration = candidates[static_cast<std::size_t>(std::ranges::min_element(logs) - logs.begin())];
  result.valid = static_cast<std::size_t>(std::ranges::count_if(
      problems, [&](const Problem& problem) { return !space.violated(*result.configuration, problem); }));
  return result;
}

}  // namespace heddle::bench
