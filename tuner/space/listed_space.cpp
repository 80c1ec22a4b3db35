#include "heddle/tuner/space/listed_space.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

constexpr SearchSpace::Level kAbsent = SearchSpace::kNoMeaning;

}  // namespace

std::unique_ptr<ListedSpace> ListedSpace::list(const SearchSpace& space, const Problem& problem, std::size_t most,
                                               std::size_t most_steps, const Stop& stop) {
  Table table;
  for (const auto& parameter : space.parameters()) {
    table.names.push_back(parameter.name);
    table.values.push_back(parameter.values);
  }
  const auto add = [&](const Configuration&, const std::vector<SearchSpace::Level>& places) {
    if (table.rows == most) return false;
    table.places.insert(table.places.end(), places.begin(), places.end());
    ++table.rows;
    return true;
  };
  if (!space.walk(problem, {}, add, most_steps, stop)) return nullptr;
  return std::unique_ptr<ListedSpace>(new ListedSpace(compacted(std::move(table))));
}

ListedSpace::ListedSpace(const std::vector<Configuration>& configurations)
    : ListedSpace(compacted(table_of(configurations))) {}

ListedSpace::Table ListedSpace::table_of(const std::vector<Configuration>& configurations) {
  Table table;
  table.rows = configurations.size();
  for (const Configuration& configuration : configurations) {  // a new parameter comes behind the one before it
    auto place = table.names.begin();
    for (const auto& [name, value] : configuration.entries()) {
      const auto known = std::find(table.names.begin(), table.names.end(), name);
      place = known != table.names.end() ? known + 1 : table.names.insert(place, name) + 1;
    }
  }
  std::map<std::string, std::size_t> columns;
  for (std::size_t c = 0; c < table.names.size(); ++c) columns.emplace(table.names[c], c);
  table.values.resize(table.names.size());
  std::vector<std::map<Value, SearchSpace::Level>> known(table.names.size());
  table.places.assign(table.rows * table.names.size(), kAbsent);
  for (std::size_t row = 0; row < table.rows; ++row) {
    for (const auto& [name, value] : configurations[row].entries()) {
      const std::size_t c = columns.at(name);
      const auto [place, fresh] = known[c].emplace(value, static_cast<SearchSpace::Level>(table.values[c].size()));
      if (fresh) table.values[c].push_back(value);
      if (table.values[c].size() >= kAbsent) {
        throw Error(ErrorKind::input, fmt::format("parameter {} has more than 65534 values", name));
      }
      table.places[row * table.names.size() + c] = place->second;
    }
  }
  return table;
}

ListedSpace::Table ListedSpace::compacted(Table table) {
  Table compact;
  compact.rows = table.rows;
  std::vector<std::size_t> kept;
  std::vector<std::vector<SearchSpace::Level>> new_place;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    std::vector<SearchSpace::Level> moved(table.values[c].size(), kAbsent);
    std::vector<Value> values;
    for (std::size_t row = 0; row < table.rows; ++row) {
      const SearchSpace::Level place = table.at(row, c);
      if (place == kAbsent || moved[place] != kAbsent) continue;
      moved[place] = static_cast<SearchSpace::Level>(values.size());
      values.push_back(std::move(table.values[c][place]));
    }
    if (values.empty()) continue;
    kept.push_back(c);
    compact.names.push_back(table.names[c]);
    compact.values.push_back(std::move(values));
    new_place.push_back(std::move(moved));
  }
  compact.places.reserve(table.rows * kept.size());
  for (std::size_t row = 0; row < table.rows; ++row) {
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const SearchSpace::Level place = table.at(row, kept[k]);
      compact.places.push_back(place == kAbsent ? kAbsent : new_place[k][place]);
    }
  }
  return compact;
}

Coordinates ListedSpace::coordinates_of(const Table& table) {
  std::vector<Coordinates::Column> columns;
  columns.reserve(table.names.size());
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    Coordinates::Column& column = columns.emplace_back();
    column.name = table.names[c];
    column.values = table.values[c];
    for (std::size_t row = 0; row < table.rows && !column.absent_somewhere; ++row) {
      column.absent_somewhere = table.at(row, c) == kAbsent;
    }
  }
  return Coordinates(std::move(columns));
}

/// `table`: compacted.
ListedSpace::ListedSpace(const Table& table)
    : CandidateSpace(coordinates_of(table)), size_(table.rows), sorted_(table.rows) {
  const std::size_t count = parameters().size();
  levels_.resize(size_ * count);
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const auto& p = coordinates().parameter_of(c);
    if (!p) continue;
    for (std::size_t row = 0; row < size_; ++row) {
      const SearchSpace::Level place = table.at(row, c);
      levels_[row * count + *p] = place == kAbsent ? coordinates().absent(*p) : coordinates().level(c, place);
    }
  }
  std::iota(sorted_.begin(), sorted_.end(), std::uint32_t{0});
  std::sort(sorted_.begin(), sorted_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::lexicographical_compare(levels(a), levels(a) + count, levels(b), levels(b) + count);
  });
}

std::optional<std::size_t> ListedSpace::find(const Configuration& configuration) {
  const auto wanted = coordinates().encode(configuration);
  if (!wanted) return std::nullopt;
  const std::size_t count = parameters().size();
  const auto found =
      std::lower_bound(sorted_.begin(), sorted_.end(), *wanted, [&](std::uint32_t a, const std::vector<Level>& b) {
        return std::lexicographical_compare(levels(a), levels(a) + count, b.begin(), b.end());
      });
  if (found == sorted_.end() || !std::equal(wanted->begin(), wanted->end(), levels(*found))) return std::nullopt;
  return *found;
}

std::optional<std::size_t> ListedSpace::draw(Draw& draw) {
  if (size_ == 0) return std::nullopt;
  return draw.below(size_);
}

std::vector<std::size_t> ListedSpace::neighbours(std::size_t configuration) {
  struct Nearest {
    float distance = std::numeric_limits<float>::infinity();
    std::size_t configuration = 0;
  };
  const std::size_t count = parameters().size();
  const Level* from = levels(configuration);
  const Costs gaps = distances(from);
  std::vector<std::vector<Nearest>> nearest;
  for (std::size_t p = 0; p < count; ++p) {
    nearest.emplace_back(parameters()[p].levels);
    nearest[p][from[p]].distance = -1.0F;  // never wanted
  }
  const auto farthest_wanted = [&] {
    float farthest = -1.0F;
    for (const auto& of_parameter : nearest) {
      for (const Nearest& each : of_parameter) farthest = std::max(farthest, each.distance);
    }
    return farthest;
  };
  float wanted = std::numeric_limits<float>::infinity();  // who is not nearer than that is nobody's nearest
  constexpr std::size_t kStretch = 256;
  for (std::size_t other = 0; other < size_; ++other) {
    if (other % kStretch == 0) wanted = farthest_wanted();
    const Level* to = levels(other);
    float apart = 0.0F;
    for (std::size_t p = 0; p < count; ++p) apart += gaps[p][to[p]];
    if (apart >= wanted) continue;
    for (std::size_t p = 0; p < count; ++p) {
      Nearest& best = nearest[p][to[p]];
      if (apart < best.distance) best = {.distance = apart, .configuration = other};
    }
  }
  std::vector<std::pair<float, std::size_t>> found;
  for (const auto& of_parameter : nearest) {
    for (const Nearest& each : of_parameter) {
      if (each.distance > 0.0F && each.distance < std::numeric_limits<float>::infinity()) {
        found.emplace_back(each.distance, each.configuration);
      }
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> result;
  for (const auto& [apart, other] : found) {
    if (std::find(result.begin(), result.end(), other) == result.end()) result.push_back(other);
  }
  return result;
}

std::optional<std::size_t> ListedSpace::cheapest(const Costs& costs, const std::vector<bool>& allowed) {
  float least = std::numeric_limits<float>::infinity();
  std::optional<std::size_t> found;
  for (std::size_t each = 0; each < size_; ++each) {
    if (each < allowed.size() && !allowed[each]) continue;
    const Level* own = levels(each);
    float cost = 0.0F;
    for (std::size_t p = 0; p < costs.size(); ++p) cost += costs[p][own[p]];
    if (cost < least) {
      least = cost;
      found = each;
    }
  }
  return found;
}

}  // namespace heddle
