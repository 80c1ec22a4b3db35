#include "heddle/tuner/replay/search_baseline.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/data_file.hpp"

namespace heddle {

namespace {

using Json = nlohmann::json;

/// Throws where there is none.
double fraction(const Json& score, const char* name) {
  const double value = score.at(name).get<double>();
  if (!(value >= 0.0 && value <= 1.0)) {
    throw Error(ErrorKind::input, fmt::format("{} is {}, expected a number from 0 to 1", name, value));
  }
  return value;
}

/// By mark: of every number the best that a strategy has.
std::map<std::int64_t, SearchScore> best_of(const Json& strategies) {
  std::map<std::int64_t, SearchScore> best;
  for (const auto& [name, strategy] : strategies.items()) {
    for (const auto& [mark, at] : strategy.items()) {
      const std::int64_t evaluations = std::stoll(mark);
      SearchScore& score = best[evaluations];
      score.evaluations = evaluations;
      score.median_fraction = std::max(score.median_fraction, fraction(at, "median_fraction"));
      score.mean_fraction = std::max(score.mean_fraction, fraction(at, "mean_fraction"));
      score.within_5_percent = std::max(score.within_5_percent, fraction(at, "within_5_percent"));
    }
  }
  return best;
}

}  // namespace

SearchBaseline::SearchBaseline(const std::filesystem::path& file) {
  if (file.empty()) return;
  const Json document = Json::parse(read_file(file.string()), nullptr, false);
  if (document.is_discarded() || !document.is_object() || !document.contains("spaces")) {
    throw Error(ErrorKind::input, fmt::format("{}: found no baseline, expected JSON with 'spaces'", file.string()));
  }
  const auto tool = document.find("tool");
  tool_ = tool != document.end() && tool->is_string() ? tool->get<std::string>() : "baseline";
  if (!document["spaces"].is_object()) return;
  for (const auto& [name, space] : document["spaces"].items()) {
    try {
      spaces_.emplace(name, best_of(space.at("strategies")));
    } catch (const std::exception&) {
      continue;  // a space that is not as expected has no baseline
    }
  }
}

std::optional<std::vector<SearchScore>> SearchBaseline::best(const std::string& space,
                                                             const std::vector<std::int64_t>& marks) const {
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return std::nullopt;
  std::vector<SearchScore> scores;
  for (const std::int64_t mark : marks) {
    const auto at = found->second.find(mark);
    if (at == found->second.end()) return std::nullopt;
    scores.push_back(at->second);
  }
  return scores;
}

}  // namespace heddle
