// Everything, in random order. The order follows a seeded hash of each configuration's text: problems of a grid then
// begin with the same configurations and share their compiled kernels, which an independent shuffle would not. In a
// space that is not listed the configurations are drawn.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "heddle/kernels/template_source.hpp"
#include "heddle/tuner/strategies/fixed_order.hpp"
#include "heddle/tuner/strategies/searcher.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

namespace {

class Untouched final : public Searcher {
 public:
  std::optional<std::size_t> propose(const Knowledge& known) override { return known.untouched(); }
  void learn(const Knowledge&, std::size_t) override {}
};

std::unique_ptr<Searcher> untouched_searcher(const CandidateSpace&, const SearchConstants&) {
  return std::make_unique<Untouched>();
}

}  // namespace

std::vector<std::size_t> random_order(const CandidateSpace& space, std::uint64_t seed) {
  std::vector<std::string> keys;
  keys.reserve(space.numbered());
  for (std::size_t i = 0; i < space.numbered(); ++i) {
    keys.push_back(digest(std::to_string(seed) + ' ' + space.configuration(i).text()));
  }
  std::vector<std::size_t> order(space.numbered());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

std::unique_ptr<Strategy> make_random(const SearchTask& task) {
  if (!task.space.listed()) return search_with(task, untouched_searcher);
  return std::make_unique<FixedOrder>(random_order(task.space, task.seed));
}

}  // namespace heddle
