// Best-first local search: from the fastest configuration to the first faster neighbour, and from where no neighbour is
// faster on to a random configuration.
#include <algorithm>
#include <vector>

#include "heddle/tuner/strategies/searcher.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

namespace {

class LocalSearch final : public Searcher {
 public:
  std::optional<std::size_t> propose(const Knowledge& known) override {
    const auto open =
        std::find_if(neighbours_.begin(), neighbours_.end(), [&](std::size_t i) { return known.open(i); });
    return open != neighbours_.end() ? std::optional(*open) : known.untouched();
  }
  void learn(const Knowledge& known, std::size_t configuration) override {
    const double cost = known.cost(configuration);
    if (cost == Knowledge::kFailed) return;
    const bool neighbour = std::find(neighbours_.begin(), neighbours_.end(), configuration) != neighbours_.end();
    // Before the first restart whatever is faster is welcome: the hints of a tuner come from elsewhere.
    const bool faster = !present_ || (cost < known.cost(*present_) && (neighbour || !restarted_));
    const bool restart = !neighbour && std::all_of(neighbours_.begin(), neighbours_.end(),
                                                   [&](std::size_t i) { return known.observed(i); });
    if (!faster && !restart) return;
    restarted_ = restarted_ || (present_ && restart);
    present_ = configuration;
    neighbours_ = known.space().neighbours(configuration);
  }

 private:
  std::optional<std::size_t> present_;
  std::vector<std::size_t> neighbours_;
  bool restarted_ = false;
};

}  // namespace

std::unique_ptr<Searcher> local_searcher(const CandidateSpace&, const SearchConstants&) {
  return std::make_unique<LocalSearch>();
}

std::unique_ptr<Strategy> make_local_search(const SearchTask& task) { return search_with(task, local_searcher); }

}  // namespace heddle
