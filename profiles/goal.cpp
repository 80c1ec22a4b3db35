#include "heddle/profiles/goal.hpp"

#include <algorithm>

namespace heddle {

Goal Goal::of(std::string_view objective, bool cold_cache) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  Goal goal{.objective = {}, .cold_cache = cold_cache};
  for (auto begin = objective.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const auto end = std::min(objective.find_first_of(kBlanks, begin), objective.size());
    if (!goal.objective.empty()) goal.objective += ' ';
    goal.objective += objective.substr(begin, end - begin);
    begin = objective.find_first_not_of(kBlanks, end);
  }
  return goal;
}

std::string Goal::text() const { return objective + (cold_cache ? ", cold cache" : ""); }

}  // namespace heddle
