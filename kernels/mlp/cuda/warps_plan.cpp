#include "heddle/kernels/mlp/cuda/warps_plan.hpp"

#include <fmt/format.h>

#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

namespace heddle::mlp {

namespace {

constexpr std::int64_t kWarpsWord = 4, kWarpsLanes = 32;

}  // namespace

bool WarpsLayout::takes(const Layers& layers) {
  return layers.count == 2 && layers.inputs() <= kMostInputsOfWarps && layers.sizes[1] <= kMostOfWarps &&
         layers.outputs() <= kMostOutputsOfWarps;
}

WarpsLayout::WarpsLayout(const Layers& layers, std::int64_t rows, std::int64_t of_blocks, std::int64_t of_threads)
    : blocks(of_blocks),
      shape{.inputs = layers.inputs(),
            .hidden = layers.sizes[1],
            .outputs = layers.outputs(),
            .warps = of_threads / kWarpsLanes,
            .rows = ceil_div(rows, of_blocks)},
      threads(of_threads + kWarpsLanes),
      packets(ResidentPackets<std::int64_t>{blocks, shape.layers().packets()}.count()),
      shared_bytes(kWarpsWord * WarpsPieces<std::int64_t>(shape, blocks).words()) {}

void add_warps(Plan& plan, const WarpsLayout& layout, const RunLength& length) {
  add_packets(plan, layout.packets);
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  const WarpsShape<std::int64_t>& shape = layout.shape;
  plan.kernels.emplace_back(fmt::format("heddle::mlp::train_warps<{}, {}, {}, {}, {}>", layout.threads, shape.rows,
                                        shape.inputs, shape.hidden, shape.outputs));
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()) - 1,
       .grid = {.x = static_cast<unsigned>(layout.blocks)},
       .block = {.x = static_cast<unsigned>(layout.threads)},
       .shared_bytes = layout.shared_bytes,
       .resident = layout.blocks > 1,
       .arguments = {at("rows"), at("targets"), at("parameters"), at("state"), at("gradient"), at("control"),
                     at("before"), at("progress"), at("errors"), at("packets"), static_cast<std::int32_t>(length.steps),
                     static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
