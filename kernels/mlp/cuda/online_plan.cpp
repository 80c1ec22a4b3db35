#include "heddle/kernels/mlp/cuda/online_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/mlp/cuda/online_sizes.cuh"

namespace heddle::mlp {

std::int64_t online_bytes(const Layers& layers) {
  constexpr std::int64_t kWord = 4;
  OnlineShape<std::int64_t> shape{.count = layers.count};
  std::copy(layers.sizes, layers.sizes + layers.count + 1, shape.sizes);
  return kWord * OnlinePieces<std::int64_t>(shape).words();
}

void add_online(Plan& plan, const Layers& layers, std::int64_t threads, const RunLength& length) {
  std::string kernel = fmt::format("heddle::mlp::train_online<{}", threads);
  for (int l = 0; l <= layers.count; ++l) kernel += fmt::format(", {}", layers.sizes[l]);
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()),
       .grid = {},
       .block = {.x = static_cast<unsigned>(threads)},
       .shared_bytes = online_bytes(layers),
       .arguments = {at("rows"), at("targets"), at("order"), at("parameters"), at("state"), at("gradient"),
                     at("control"), at("progress"), at("errors"), static_cast<std::int32_t>(length.steps),
                     static_cast<std::int32_t>(length.epochs)}});
  plan.kernels.emplace_back(kernel + ">");
}

}  // namespace heddle::mlp
