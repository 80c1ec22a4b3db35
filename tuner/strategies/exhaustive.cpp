// Everything, in the order of the space.
#include <numeric>

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"
#include "heddle/tuner/strategies/fixed_order.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

std::unique_ptr<Strategy> make_exhaustive(const SearchTask& task) {
  if (!task.space.listed()) {
    throw Error(ErrorKind::usage,
                fmt::format("strategy exhaustive tries every configuration, and there are about {:.2g}",
                            task.space.count().configurations));
  }
  std::vector<std::size_t> order(task.space.numbered());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return std::make_unique<FixedOrder>(std::move(order));
}

}  // namespace heddle
