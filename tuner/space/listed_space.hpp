// A space small enough to be listed: every configuration as small whole numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/tuner/space/candidate_space.hpp"

namespace heddle {

/// Does not change once it is made; may be shared between threads.
class ListedSpace final : public CandidateSpace {
 public:
  /// All configurations that `problem` allows, in lexicographic order. Nothing if there are more than `most`, or if
  /// more than `most_steps` values have to be tried to find them, or if `stop` says so: constraints may be dear.
  [[nodiscard]] static std::unique_ptr<ListedSpace> list(const SearchSpace& space, const Problem& problem,
                                                         std::size_t most, std::size_t most_steps,
                                                         const Stop& stop = {});
  /// These configurations in their order, none twice. Throws Error(input) as Coordinates does.
  explicit ListedSpace(const std::vector<Configuration>& configurations);

  [[nodiscard]] SearchSpace::Count count() const override {
    return {.configurations = static_cast<double>(size_), .exact = true};
  }
  [[nodiscard]] bool listed() const override { return true; }
  [[nodiscard]] std::size_t numbered() const override { return size_; }
  [[nodiscard]] const Level* levels(std::size_t configuration) const override {
    return levels_.data() + configuration * parameters().size();
  }
  [[nodiscard]] std::optional<std::size_t> find(const Configuration& configuration) override;
  [[nodiscard]] std::optional<std::size_t> draw(Draw& draw) override;
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t configuration) override;
  [[nodiscard]] std::optional<std::size_t> cheapest(const Costs& costs, const std::vector<bool>& allowed) override;

 private:
  /// The values of all configurations, as places in lists of values.
  struct Table {
    std::vector<std::string> names;
    std::vector<std::vector<Value>> values;  ///< [column][place]
    std::vector<SearchSpace::Level> places;  ///< [configuration][column]; SearchSpace::kNoMeaning where it is absent
    std::size_t rows = 0;
    [[nodiscard]] SearchSpace::Level at(std::size_t row, std::size_t column) const {
      return places[row * names.size() + column];
    }
  };
  explicit ListedSpace(const Table& table);
  [[nodiscard]] static Table table_of(const std::vector<Configuration>& configurations);
  /// Leaves out the values and columns that no configuration has, and puts values in the order in which they appear.
  [[nodiscard]] static Table compacted(Table table);
  [[nodiscard]] static Coordinates coordinates_of(const Table& table);

  std::size_t size_;
  std::vector<Level> levels_;          ///< [configuration][parameter]
  std::vector<std::uint32_t> sorted_;  ///< numbers of the configurations in the order of their levels
};

}  // namespace heddle
