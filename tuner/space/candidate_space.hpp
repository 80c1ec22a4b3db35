// The configurations that a problem allows, as a search sees them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/space/coordinates.hpp"

namespace heddle {

/// Configurations have numbers from 0 on. In a space that is listed, every configuration has its number from the
/// beginning, in the order of the space. A larger space numbers a configuration when somebody comes across it; the same
/// calls give the same numbers. From one thread at a time, unless the space is listed.
class CandidateSpace {
 public:
  using Level = Coordinates::Level;
  using Parameter = Coordinates::Parameter;

  virtual ~CandidateSpace() = default;

  /// How many configurations there are.
  [[nodiscard]] virtual SearchSpace::Count count() const = 0;
  /// Whether every configuration has a number.
  [[nodiscard]] virtual bool listed() const = 0;
  /// How many configurations have a number.
  [[nodiscard]] virtual std::size_t numbered() const = 0;

  [[nodiscard]] const std::vector<Parameter>& parameters() const { return coordinates_.parameters(); }
  /// One level per parameter. Stays where it is as long as the space lives.
  [[nodiscard]] virtual const Level* levels(std::size_t configuration) const = 0;
  [[nodiscard]] Configuration configuration(std::size_t number) const { return coordinates_.decode(levels(number)); }
  /// 0 if equal; each parameter that differs adds 1 to 2, the more the farther its values are apart.
  [[nodiscard]] float distance(std::size_t a, std::size_t b) const {
    return coordinates_.distance(levels(a), levels(b));
  }

  /// The number of a configuration; nothing if the problem does not allow it.
  [[nodiscard]] virtual std::optional<std::size_t> find(const Configuration& configuration) = 0;
  /// Any configuration, all about equally likely; nothing if many attempts found none.
  [[nodiscard]] virtual std::optional<std::size_t> draw(Draw& draw) = 0;
  /// The neighbours of a configuration, most similar first, none twice. For every other value of every parameter, the
  /// neighbour is the configuration that has this value and is otherwise most similar. Usually it differs in nothing
  /// else; where constraints forbid that, it differs in a few parameters more.
  [[nodiscard]] virtual std::vector<std::size_t> neighbours(std::size_t configuration) = 0;

  /// [parameter][level]; an infinite cost forbids a level.
  using Costs = std::vector<std::vector<float>>;
  /// The configuration with the least sum of costs for which `allowed` is set; configurations beyond the end of
  /// `allowed` are allowed too. A space that is not listed finds one with a low sum. Nothing if there is none.
  [[nodiscard]] virtual std::optional<std::size_t> cheapest(const Costs& costs, const std::vector<bool>& allowed) = 0;
  /// The distance to `levels` as costs.
  [[nodiscard]] Costs distances(const Level* levels) const;

 protected:
  explicit CandidateSpace(Coordinates coordinates) : coordinates_(std::move(coordinates)) {}
  [[nodiscard]] const Coordinates& coordinates() const noexcept { return coordinates_; }

 private:
  Coordinates coordinates_;
};

/// A space of up to about a million configurations is listed, a larger one is not, nor one of whose list `gives_up`
/// says that it takes too long: constraints may be dear. When `stop` says so, a space that is not listed draws and
/// finds nothing more; it is asked as long as the space lives.
[[nodiscard]] std::unique_ptr<CandidateSpace> candidate_space(const SearchSpace& space, const Problem& problem,
                                                              const Stop& gives_up = stop_after(10.0),
                                                              const Stop& stop = {});

}  // namespace heddle
