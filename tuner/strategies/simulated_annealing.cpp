// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) over neighbours, reheated again and again: nobody knows how
// long the search will be.
#include <algorithm>
#include <cmath>
#include <vector>

#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/strategies/searcher.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kAnnealingPurpose = 2;
// A step to what is slower by as many parts is taken with a chance of 1/e.
constexpr double kHot = 0.3;
constexpr double kCold = 0.005;
constexpr std::size_t kCycle = 100;  // evaluations from hot to cold

class SimulatedAnnealing final : public Searcher {
 public:
  std::optional<std::size_t> propose(const Knowledge& known) override {
    std::vector<std::size_t> open;
    for (const std::size_t each : neighbours_) {
      if (known.open(each)) open.push_back(each);
    }
    if (open.empty()) return known.untouched();
    return open[Draw(known.seed(), kAnnealingPurpose, known.step()).below(open.size())];
  }
  void learn(const Knowledge& known, std::size_t configuration) override {
    const double cost = known.cost(configuration);
    if (cost == Knowledge::kFailed || (present_ && !accepts(known, cost))) return;
    present_ = configuration;
    neighbours_ = known.space().neighbours(configuration);
  }

 private:
  bool accepts(const Knowledge& known, double cost) const {
    const bool stuck =
        std::all_of(neighbours_.begin(), neighbours_.end(), [&](std::size_t i) { return known.observed(i); });
    const std::size_t now = known.history().size();
    const double progress = static_cast<double>(now % kCycle) / static_cast<double>(kCycle);
    const double temperature = kHot * std::pow(kCold / kHot, progress);
    const double slower = std::log(cost / known.cost(*present_));
    return stuck || Draw(known.seed(), kAnnealingPurpose + 1, now).uniform() < std::exp(-slower / temperature);
  }

  std::optional<std::size_t> present_;
  std::vector<std::size_t> neighbours_;
};

}  // namespace

std::unique_ptr<Searcher> annealing_searcher(const CandidateSpace&, const SearchConstants&) {
  return std::make_unique<SimulatedAnnealing>();
}

std::unique_ptr<Strategy> make_simulated_annealing(const SearchTask& task) {
  return search_with(task, annealing_searcher);
}

}  // namespace heddle
