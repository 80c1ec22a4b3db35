// A space too large to be listed: its configurations are found where a search looks.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "heddle/tuner/space/candidate_space.hpp"

namespace heddle {

class DrawnSpace final : public CandidateSpace {
 public:
  static constexpr std::size_t kMostNeighbours = 256;

  /// `stop`: as of candidate_space().
  DrawnSpace(SearchSpace space, Problem problem, Stop stop = {});

  [[nodiscard]] SearchSpace::Count count() const override { return count_; }
  [[nodiscard]] bool listed() const override { return false; }
  [[nodiscard]] std::size_t numbered() const override { return levels_.size(); }
  [[nodiscard]] const Level* levels(std::size_t configuration) const override { return levels_[configuration].data(); }
  [[nodiscard]] std::optional<std::size_t> find(const Configuration& configuration) override;
  [[nodiscard]] std::optional<std::size_t> draw(Draw& draw) override;
  /// Not more than kMostNeighbours: of parameters with very many values those with the nearest values.
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t configuration) override;
  /// Gives every parameter in turn the cheapest value that the values before it and the constraints leave.
  [[nodiscard]] std::optional<std::size_t> cheapest(const Costs& costs, const std::vector<bool>& allowed) override;

 private:
  [[nodiscard]] static Coordinates coordinates_of(const SearchSpace& space);
  std::size_t number(std::vector<Level> levels);
  /// The first configuration on a random walk; nothing if the walk becomes too long.
  [[nodiscard]] std::optional<Configuration> stray(Draw& draw) const;

  [[nodiscard]] std::optional<std::size_t> cheapest(const Costs& costs, const std::vector<bool>& allowed,
                                                    std::size_t most_steps);

  SearchSpace space_;
  Problem problem_;
  Stop stop_;
  SearchSpace::Count count_;
  std::deque<std::vector<Level>> levels_;  ///< by number
  std::map<std::vector<Level>, std::size_t> numbers_;
  std::optional<std::size_t> visited_;  ///< whose neighbours are kept: several searchers ask for the same
  std::vector<std::size_t> kept_neighbours_;
  int failed_descents_ = 0, failed_walks_ = 0;  ///< attempts of draw()
};

}  // namespace heddle
