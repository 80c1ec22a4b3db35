#include "heddle/kernels/fuzzy/sum_space.hpp"

#include <fmt/format.h>

#include <vector>

namespace heddle::fuzzy {

Parameter cuts_parameter() {
  return {.name = "coarsen_cuts",
          .values = numbers({4, 2, 1, 3, 6, 8}),
          .meaning = "cuts of a number that a thread adds up",
          .active = {}};
}

Parameter ahead_parameter() {
  return {.name = "ahead",
          .values = numbers({4, 2, 1, 8, 16}),
          .meaning = "terms that a thread loads before it adds them up",
          .active = {}};
}

Parameter block_size_parameter() {
  return {.name = "block_size", .values = numbers({128, 256, 64, 512}), .meaning = "threads of a block", .active = {}};
}

Constraint cuts_constraint() {
  return {.name = "coarsen_cuts divides the cuts",
          .last = "coarsen_cuts",
          .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
            return problem.at("cuts") % configuration.number("coarsen_cuts") == 0;
          }};
}

Constraint registers_constraint() {
  constexpr std::int64_t kMost = 16;  // cuts, of which a number in lower-upper form of double takes 64 registers
  return {.name = fmt::format("at most {} cuts are loaded ahead", kMost),
          .last = "ahead",
          .holds = [](const Configuration& configuration, const Problem&, const DeviceIdentity&) {
            return configuration.number("coarsen_cuts") * configuration.number("ahead") <= kMost;
          }};
}

std::int64_t untuned_cuts(std::int64_t cuts, std::int64_t most) {
  while (cuts % most != 0) --most;
  return most;
}

unsigned blocks_of_threads(std::int64_t threads, std::int64_t block_size) {
  return static_cast<unsigned>((threads + block_size - 1) / block_size);
}

}  // namespace heddle::fuzzy
