// Several searchers that share all observations. Each proposal comes from one of them, drawn with a probability that
// follows how often it has lately found something faster (a bandit, as in OpenTuner; Ansel et al. 2014). No searcher is
// ever dropped: when none has been successful for a while, the shares return to their initial values.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/strategies/searcher.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kPortfolioPurpose = 64;
constexpr double kMemory = 0.97;  // of a success or a failure after one more evaluation
constexpr double kStake = 4.0;    // evaluations that the first shares are worth

class Portfolio final : public Searcher {
 public:
  Portfolio(const CandidateSpace& space, const SearchConstants& constants)
      : members_{{{.searcher = model_searcher(space, constants), .share = constants.model_share},
                  {.searcher = local_searcher(space, constants), .share = 4.0 * other(constants)},
                  {.searcher = genetic_searcher(space, constants), .share = other(constants)},
                  {.searcher = annealing_searcher(space, constants), .share = other(constants)}}} {}

  std::optional<std::size_t> propose(const Knowledge& known) override {
    return turn(known, known.step()).searcher->propose(known);
  }

  void learn(const Knowledge& known, std::size_t configuration) override {
    // The success goes to the searcher whose turn this step was, whoever proposed the configuration: a resumed search
    // has to come to the same state.
    Member& member = turn(known, known.history().size() - 1);
    const bool faster = known.cost(configuration) < best_;
    if (faster) best_ = known.cost(configuration);
    for (Member& each : members_) {
      each.turns *= kMemory;
      each.successes *= kMemory;
    }
    member.turns += 1.0;
    member.successes += faster ? 1.0 : 0.0;
    for (Member& each : members_) each.searcher->learn(known, configuration);
  }

 private:
  /// A sixth of what the model leaves.
  static double other(const SearchConstants& constants) { return (1.0 - constants.model_share) / 6.0; }

  struct Member {
    std::unique_ptr<Searcher> searcher;
    double share = 0.0;  // at first
    double turns = 0.0, successes = 0.0;
    /// Share of the proposals: grows with the successes per turn.
    [[nodiscard]] double weight() const {
      constexpr double kExpected = 0.1;
      return share * (kStake * kExpected + successes) / (kExpected * (kStake + turns));
    }
  };

  Member& turn(const Knowledge& known, std::size_t step) {
    double all = 0.0;
    for (const Member& each : members_) all += each.weight();
    double left = all * Draw(known.seed(), kPortfolioPurpose, step).uniform();
    for (Member& each : members_) {
      left -= each.weight();
      if (left < 0.0) return each;
    }
    return members_.front();
  }

  std::array<Member, 4> members_;
  double best_ = Knowledge::kFailed;
};

std::unique_ptr<Searcher> portfolio_searcher(const CandidateSpace& space, const SearchConstants& constants) {
  return std::make_unique<Portfolio>(space, constants);
}

}  // namespace

std::unique_ptr<Strategy> make_portfolio(const SearchTask& task) { return search_with(task, portfolio_searcher); }

}  // namespace heddle
