// A steady-state genetic algorithm: the parents are the fastest configurations so far, the child takes every value from
// one of two of them or, seldom, any value, and the configuration most like it is tried.
#include <algorithm>
#include <vector>

#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/strategies/searcher.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kGeneticPurpose = 4;
constexpr std::size_t kPopulation = 20;
constexpr std::size_t kTournament = 3;

class Genetic final : public Searcher {
 public:
  std::optional<std::size_t> propose(const Knowledge& known) override {
    const std::vector<std::size_t> population = known.fastest(kPopulation);
    if (known.step() < kPopulation || population.size() < 2) return known.untouched();
    Draw draw(known.seed(), kGeneticPurpose, known.step());
    const auto parent = [&] {  // the first of a few: the population is sorted
      std::size_t best = draw.below(population.size());
      for (std::size_t i = 1; i < kTournament; ++i) best = std::min(best, draw.below(population.size()));
      return known.space().levels(population[best]);
    };
    const CandidateSpace::Level* mother = parent();
    const CandidateSpace::Level* father = parent();
    const auto& parameters = known.space().parameters();
    std::vector<CandidateSpace::Level> child(parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      child[p] = draw.uniform() < 0.5 ? mother[p] : father[p];
      const bool mutates = draw.uniform() < 1.0 / static_cast<double>(parameters.size());
      if (mutates) child[p] = static_cast<CandidateSpace::Level>(draw.below(parameters[p].levels));
    }
    return known.space().cheapest(known.space().distances(child.data()), known.open());
  }
  void learn(const Knowledge&, std::size_t) override {}
};

}  // namespace

std::unique_ptr<Searcher> genetic_searcher(const CandidateSpace&, const SearchConstants&) {
  return std::make_unique<Genetic>();
}

std::unique_ptr<Strategy> make_genetic(const SearchTask& task) { return search_with(task, genetic_searcher); }

}  // namespace heddle
