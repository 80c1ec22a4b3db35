#include "heddle/kernels/mlp/cuda/cluster_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

namespace heddle::mlp {

namespace {

constexpr std::int64_t kClusterWord = 4, kClusterLanes = 32;

std::string cluster_expression(const ClusterLayout& layout) {
  std::string sizes = fmt::format("{}", layout.first.inputs);
  for (std::int64_t l = 0; l <= layout.others.count; ++l) sizes += fmt::format(", {}", layout.others.sizes[l]);
  return fmt::format("heddle::mlp::train_cluster<{}, {}, {}, {}, {}>", layout.threads, layout.first.blocks,
                     layout.first.parts, layout.first.tile, sizes);
}

}  // namespace

ClusterLayout::ClusterLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts,
                             std::int64_t of_threads)
    : threads(of_threads) {
  first = {.inputs = layers.inputs(),
           .neurons = layers.sizes[1],
           .blocks = blocks,
           .parts = parts,
           .tile = round_up(ceil_div(rows, blocks), std::int64_t{kTileRows})};
  others.count = layers.count - 1;
  std::copy(layers.sizes + 1, layers.sizes + layers.count + 1, others.sizes);
  others.warps = threads / kClusterLanes;
  others.tile = first.tile;
  packets = ResidentPackets<std::int64_t>{blocks, others.packets()}.count() + first.packets();
  const ResidentPieces<std::int64_t> of_others(others, kRowsShared, blocks);
  shared_bytes = kClusterWord * ClusterPieces<std::int64_t>(first, others).words(of_others);
}

bool ClusterLayout::all_have_some() const { return (first.parts - 1) * first.columns() <= first.inputs; }

void add_cluster(Plan& plan, const ClusterLayout& layout, const RunLength& length) {
  add_packets(plan, layout.packets);
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  plan.kernels.emplace_back(cluster_expression(layout));
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()) - 1,
       .grid = {.x = static_cast<unsigned>(layout.first.blocks)},
       .block = {.x = static_cast<unsigned>(layout.threads)},
       .shared_bytes = layout.shared_bytes,
       .resident = true,
       .cluster = static_cast<unsigned>(layout.first.parts),
       .arguments = {at("rows"), at("targets"), at("parameters"), at("state"), at("gradient"), at("control"),
                     at("before"), at("progress"), at("errors"), at("packets"), static_cast<std::int32_t>(length.steps),
                     static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
