#include "heddle/bench/step/cross_trial.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/tuner/screening.hpp"

namespace heddle::bench {

std::map<Problem, std::string> cross_tried(Evaluator& evaluator, std::map<Problem, std::string> winners,
                                           const std::vector<Problem>& problems, const StopCondition& stop) {
  constexpr int kRounds = 3;
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::set<std::string> distinct;
  for (const auto& [problem, configuration] : winners) distinct.insert(configuration);
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    std::vector<Configuration> allowed;
    for (const std::string& text : distinct) {
      Configuration configuration = space.parse(text);
      if (!space.violated(configuration, problem)) allowed.push_back(std::move(configuration));
    }
    if (allowed.empty()) continue;
    compile(evaluator, allowed, problem);
    const auto own = winners.find(problem);
    const Configuration usual = own == winners.end() ? allowed.front() : space.parse(own->second);
    const auto times = interleave(evaluator, allowed, problem, choose_samples(evaluator, usual, problem), kRounds);
    const auto fastest = std::ranges::min_element(times, {}, [](const std::vector<double>& of_one) {
      return of_one.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(of_one);
    });
    if (fastest->empty()) continue;
    winners.insert_or_assign(problem, allowed[static_cast<std::size_t>(fastest - times.begin())].text());
  }
  return winners;
}

}  // namespace heddle::bench
