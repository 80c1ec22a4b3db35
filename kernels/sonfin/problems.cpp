#include "heddle/kernels/sonfin/problems.hpp"

#include <fmt/format.h>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle::sonfin {

const std::vector<Axis>& problem_axes() {
  // Outputs change only the combination of the rules, a small part of the work until they rival the inputs.
  static const std::vector<Axis> axes{{.name = "rules", .weight = 1.0, .maximum = 1 << 20},
                                      {.name = "dim", .weight = 1.0, .maximum = 1 << 16},
                                      {.name = "outputs", .weight = 0.3, .maximum = 1 << 14}};
  return axes;
}

std::vector<Problem> problem_grid(const DeviceIdentity& device) {
  const bool wide = device.backend == "cuda";
  const std::vector<std::int64_t> rules =
      wide ? std::vector<std::int64_t>{32, 64, 128, 256, 512, 1024} : std::vector<std::int64_t>{64, 256, 1024};
  const std::vector<std::int64_t> dims =
      wide ? std::vector<std::int64_t>{16, 32, 64, 128, 256, 512, 1024} : std::vector<std::int64_t>{16, 64, 256, 1024};
  std::vector<Problem> grid;
  for (const std::int64_t r : rules) {
    for (const std::int64_t d : dims) {
      for (const std::int64_t l : {1, 10, 26}) grid.push_back(problem(r, d, l));
    }
  }
  if (!wide) return grid;
  // As far as people train, in larger steps: each of these takes as long to measure as ten others.
  for (const std::int64_t r : {64, 256, 1024}) {
    for (const std::int64_t d : {2048, 5000}) {
      for (const std::int64_t l : {1, 10}) grid.push_back(problem(r, d, l));
    }
  }
  return grid;
}

std::vector<std::int64_t> rung_capacities(std::int64_t cap) {
  if (cap < 1) throw Error(ErrorKind::usage, fmt::format("found a cap of {} rules, expected at least 1", cap));
  std::vector<std::int64_t> capacities;
  for (std::int64_t power = 32; power < cap; power *= 2) {
    capacities.push_back(power);
    if (power + power / 2 < cap) capacities.push_back(power + power / 2);
  }
  capacities.push_back(cap);
  return capacities;
}

bool has_templates(std::string_view backend) { return backend == "cpu" || runs_cuda_templates(backend); }

Problem problem(std::int64_t rules, std::int64_t dim, std::int64_t outputs) {
  return Problem(
      {{.name = "rules", .value = rules}, {.name = "dim", .value = dim}, {.name = "outputs", .value = outputs}});
}

}  // namespace heddle::sonfin
