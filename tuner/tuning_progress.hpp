// How far a tuning run is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "heddle/kernels/problem.hpp"
#include "heddle/tuner/effort.hpp"

namespace heddle {

enum class Stage { screening, finals, verification };
[[nodiscard]] std::string_view text(Stage stage);

struct TuningProgress {
  std::size_t problem_index = 0;  ///< from 0
  std::size_t problems = 0;
  const Problem* problem = nullptr;
  Stage stage = Stage::screening;
  std::int64_t evaluations = 0;  ///< of this problem
  std::size_t valid = 0;         ///< of this problem
  std::int64_t all_evaluations = 0;
  std::optional<double> best;          ///< of this problem, microseconds per sample
  bool best_is_time = true;            ///< false: it is the value of another objective
  std::optional<double> untuned;       ///< of this problem: the untuned default
  double fraction = 0.0;               ///< of the whole run, 0 to 1
  std::optional<double> seconds_left;  ///< of the budget; without one an estimate once there is something to go by
  Effort effort;                       ///< of the whole run
};

}  // namespace heddle
