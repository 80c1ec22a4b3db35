#include "heddle/kernels/mlp/cuda/online_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/mlp/cuda/online_sizes.cuh"
#include "heddle/kernels/mlp/cuda/online_warp_sizes.cuh"

namespace heddle::mlp {

namespace {

constexpr std::int64_t kOnlineWord = 4;

OnlineWarpShape<std::int64_t> of_warp(const Layers& layers) {
  return {.inputs = layers.inputs(), .hidden = layers.sizes[1], .outputs = layers.outputs()};
}

}  // namespace

bool fits_into_warp(const Layers& layers) { return layers.count == 2 && of_warp(layers).fits(); }

std::int64_t online_bytes(const Layers& layers) {
  OnlineShape<std::int64_t> shape{.count = layers.count};
  std::copy(layers.sizes, layers.sizes + layers.count + 1, shape.sizes);
  return kOnlineWord * OnlinePieces<std::int64_t>(shape).words();
}

void add_online(Plan& plan, const Layers& layers, std::int64_t threads, const RunLength& length) {
  const bool by_warp = threads == kOnlineWarp;
  const std::string sizes = fmt::format("{}", fmt::join(layers.sizes, layers.sizes + layers.count + 1, ", "));
  const std::string kernel = by_warp ? fmt::format("heddle::mlp::train_online_warp<{}>", sizes)
                                     : fmt::format("heddle::mlp::train_online<{}, {}>", threads, sizes);
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()),
       .grid = {},
       .block = {.x = static_cast<unsigned>(threads)},
       .shared_bytes = by_warp ? kOnlineWord * of_warp(layers).words() : online_bytes(layers),
       .arguments = {at("rows"), at("targets"), at("order"), at("parameters"), at("state"), at("gradient"),
                     at("control"), at("progress"), at("errors"), static_cast<std::int32_t>(length.steps),
                     static_cast<std::int32_t>(length.epochs)}});
  plan.kernels.emplace_back(kernel);
}

}  // namespace heddle::mlp
