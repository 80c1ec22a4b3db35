#include "heddle/tuner/strategies/searcher.hpp"

#include <algorithm>

#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/strategies/fixed_order.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kUntouchedPurpose = 128;

}  // namespace

Knowledge::Knowledge(const SearchTask& task) : space_(task.space), seed_(task.seed), expected_(task.expected) {}

std::vector<std::size_t> Knowledge::fastest(std::size_t count) const {
  return {ranking_.begin(), ranking_.begin() + static_cast<std::ptrdiff_t>(std::min(count, ranking_.size()))};
}

std::optional<std::size_t> Knowledge::untouched() const {
  if (!space_.listed()) {
    constexpr std::size_t kAttempts = 64;
    Draw draw(seed_, kUntouchedPurpose, step());
    for (std::size_t attempt = 0; attempt < kAttempts; ++attempt) {
      const auto drawn = space_.draw(draw);
      if (drawn && open(*drawn)) return drawn;
    }
    return std::nullopt;
  }
  if (order_.empty()) order_ = random_order(space_, seed_);
  // An open configuration may become taken, never the other way round.
  while (first_open_ < order_.size() && !open(order_[first_open_])) ++first_open_;
  if (first_open_ == order_.size()) return std::nullopt;
  return order_[first_open_];
}

void Knowledge::make_room(std::size_t configuration) {
  if (configuration < open_.size()) return;
  const std::size_t size = std::max(configuration + 1, space_.numbered());
  open_.resize(size, true);
  observed_.resize(size, false);
  costs_.resize(size, kFailed);
}

void Knowledge::propose(std::size_t configuration) {
  make_room(configuration);
  open_[configuration] = false;
  under_way_.push_back(configuration);
}

void Knowledge::observe(std::size_t configuration, const Observation& observation) {
  make_room(configuration);
  std::erase(under_way_, configuration);
  std::erase(ranking_, configuration);
  open_[configuration] = false;
  observed_[configuration] = true;
  history_.push_back(configuration);
  costs_[configuration] = observation.cost.value_or(kFailed);
  if (!observation.cost) return;
  const auto slower = std::upper_bound(ranking_.begin(), ranking_.end(), configuration,
                                       [&](std::size_t a, std::size_t b) { return costs_[a] < costs_[b]; });
  ranking_.insert(slower, configuration);
}

namespace {

class SearcherStrategy final : public Strategy {
 public:
  SearcherStrategy(const SearchTask& task, MakeSearcher make)
      : known_(task), searcher_(make(known_.space(), task.constants)) {}
  SearcherStrategy(const SearcherStrategy&) = delete;  // the searcher refers to what is known
  SearcherStrategy& operator=(const SearcherStrategy&) = delete;

  std::vector<std::size_t> next(std::size_t at_most) override {
    std::vector<std::size_t> proposals;
    while (proposals.size() < at_most) {
      const auto proposal = searcher_->propose(known_);
      if (!proposal) break;
      known_.propose(*proposal);
      proposals.push_back(*proposal);
    }
    return proposals;
  }
  void observe(std::size_t configuration, const Observation& observation) override {
    if (known_.observed(configuration)) return;
    known_.observe(configuration, observation);
    searcher_->learn(known_, configuration);
  }

 private:
  Knowledge known_;
  std::unique_ptr<Searcher> searcher_;
};

}  // namespace

std::unique_ptr<Strategy> search_with(const SearchTask& task, MakeSearcher make) {
  return std::make_unique<SearcherStrategy>(task, make);
}

}  // namespace heddle
