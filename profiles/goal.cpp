#include "heddle/profiles/goal.hpp"

#include <algorithm>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/expression.hpp"

namespace heddle {

Goal Goal::of(std::string_view objective, bool cold_cache) {
  Goal goal{.objective = {}, .cold_cache = cold_cache};
  try {
    goal.objective = Expression(std::string(objective)).normal_form();
  } catch (const Error&) {  // kept for a program that can read it
  }
  if (goal.objective.empty() || goal.objective.size() > Expression::kLongest) goal.objective = on_one_line(objective);
  return goal;
}

std::string Goal::text() const { return objective + (cold_cache ? ", cold cache" : ""); }

std::string on_one_line(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  std::string line;
  for (auto begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(kBlanks, begin), text.size());
    if (!line.empty()) line += ' ';
    line += text.substr(begin, end - begin);
    begin = text.find_first_not_of(kBlanks, end);
  }
  return line;
}

}  // namespace heddle
