#include "heddle/tuner/strategies/searcher.hpp"

#include <algorithm>

#include "heddle/tuner/strategies/fixed_order.hpp"

namespace heddle {

Knowledge::Knowledge(const SearchTask& task)
    : space_(task.configurations),
      seed_(task.seed),
      expected_(task.expected),
      order_(random_order(task.configurations, task.seed)),
      open_(task.configurations.size(), true),
      observed_(task.configurations.size(), false),
      costs_(task.configurations.size(), kFailed) {}

std::vector<std::size_t> Knowledge::fastest(std::size_t count) const {
  return {ranking_.begin(), ranking_.begin() + static_cast<std::ptrdiff_t>(std::min(count, ranking_.size()))};
}

std::optional<std::size_t> Knowledge::untouched() const {
  // An open configuration may become taken, never the other way round.
  while (first_open_ < order_.size() && !open_[order_[first_open_]]) ++first_open_;
  if (first_open_ == order_.size()) return std::nullopt;
  return order_[first_open_];
}

void Knowledge::propose(std::size_t configuration) {
  open_[configuration] = false;
  under_way_.push_back(configuration);
}

void Knowledge::observe(std::size_t configuration, const Observation& observation) {
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
  SearcherStrategy(const SearchTask& task, MakeSearcher make) : known_(task), searcher_(make(known_.space())) {}
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
