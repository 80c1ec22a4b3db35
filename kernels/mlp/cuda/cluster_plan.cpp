#include "heddle/kernels/mlp/cuda/cluster_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

namespace heddle::mlp {

namespace {

constexpr std::int64_t kClusterWord = 4, kClusterLanes = 32;

std::string cluster_expression(const ClusterLayout& layout) {
  const std::int64_t* const sizes = layout.others.sizes;
  return fmt::format("heddle::mlp::train_cluster<{}, {}, {}, {}, {}, {}, {}>", layout.threads, layout.first.blocks,
                     layout.first.parts, layout.first.tile, layout.first.passes, layout.first.inputs,
                     fmt::join(sizes, sizes + layout.others.count + 1, ", "));
}

}  // namespace

ClusterLayout::ClusterLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts,
                             std::int64_t of_threads, std::int64_t pass_rows)
    : threads(of_threads) {
  const std::int64_t each = ceil_div(rows, blocks), passes = pass_rows > 0 ? ceil_div(each, pass_rows) : 1;
  first = {.inputs = layers.inputs(),
           .neurons = layers.sizes[1],
           .blocks = blocks,
           .parts = parts,
           .tile = round_up(ceil_div(each, passes),
                            std::max<std::int64_t>(kByteDepth / std::gcd(std::int64_t{kByteDepth}, parts), 8)),
           .passes = passes};
  others.count = layers.count - 1;
  std::copy(layers.sizes + 1, layers.sizes + layers.count + 1, others.sizes);
  others.warps = upper_warps(threads / kClusterLanes, passes);
  others.tile = round_up(first.tile, std::int64_t{kTileRows});
  packets = ResidentPackets<std::int64_t>{blocks, others.packets()}.count() + first.packets();
  padded = blocks * first.padded_words();
  shared_bytes = kClusterWord * ClusterPieces<std::int64_t>(first, others).words();
}

bool ClusterLayout::all_have_some() const { return (first.parts - 1) * first.columns() <= first.inputs; }

void add_cluster(Plan& plan, const ClusterLayout& layout, const RunLength& length) {
  add_packets(plan, layout.packets);
  plan.buffers.push_back({"padded", kClusterWord * std::max<std::int64_t>(layout.padded, 4), Role::scratch});
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
                     at("before"), at("progress"), at("errors"), at("packets"), at("padded"),
                     static_cast<std::int32_t>(length.steps), static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
