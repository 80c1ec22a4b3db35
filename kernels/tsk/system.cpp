#include "heddle/kernels/tsk/system.hpp"

namespace heddle::tsk {

Problem problem(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::int64_t rows) {
  return Problem({{.name = "rules", .value = rules},
                  {.name = "dim", .value = dim},
                  {.name = "outputs", .value = outputs},
                  {.name = "rows", .value = rows}});
}

const std::vector<Axis>& problem_axes() {
  // The work grows with the square of the rules and only linearly with everything else.
  static const std::vector<Axis> axes{{.name = "rules", .weight = 2.0, .maximum = 1 << 14},
                                      {.name = "dim", .weight = 1.0, .maximum = 1 << 14},
                                      {.name = "outputs", .weight = 0.3, .maximum = 1 << 12},
                                      // Kernels count rows in int32, and further than there are some.
                                      {.name = "rows", .weight = 1.0, .maximum = 1 << 30}};
  return axes;
}

std::int64_t unknowns(const Problem& problem, int order) {
  return problem.at("rules") * (order == 0 ? 1 : problem.at("dim") + 1);
}

Progress first_progress(double step) {
  Progress progress{};
  progress.step = step;
  return progress;
}

}  // namespace heddle::tsk
