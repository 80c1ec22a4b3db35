#include "heddle/kernels/mlp/cuda/spread_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

namespace heddle::mlp {

namespace {

constexpr std::int64_t kSpreadWord = 4, kSpreadLanes = 32;

std::string spread_expression(const SpreadLayout& layout) {
  const std::int64_t* const sizes = layout.others.sizes;
  return fmt::format("heddle::mlp::train_spread<{}, {}, {}, {}, {}, {}>", layout.threads, layout.first.blocks,
                     layout.first.parts, layout.first.rows, layout.first.inputs,
                     fmt::join(sizes, sizes + layout.others.count + 1, ", "));
}

}  // namespace

SpreadLayout::SpreadLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts,
                           std::int64_t of_threads)
    : threads(of_threads) {
  first = {.inputs = layers.inputs(),
           .neurons = layers.sizes[1],
           .blocks = blocks,
           .parts = parts,
           .rows = rows,
           .warps = threads / kSpreadLanes};
  others.count = layers.count - 1;
  std::copy(layers.sizes + 1, layers.sizes + layers.count + 1, others.sizes);
  others.warps = first.warps;
  others.tile = first.upper_tile();
  packets = ResidentPackets<std::int64_t>{blocks, others.packets()}.count() + first.packets();
  const ResidentPieces<std::int64_t> of_others(others, kRowsShared, blocks);
  shared_bytes = kSpreadWord * SpreadPieces<std::int64_t>(first, others).words(of_others);
}

bool SpreadLayout::all_have_some() const {
  return (first.parts - 1) * first.inputs_each() < first.inputs &&
         (first.groups() - 1) * first.neurons_each() < first.neurons;
}

void add_spread(Plan& plan, const SpreadLayout& layout, const RunLength& length) {
  add_packets(plan, layout.packets);
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  plan.kernels.emplace_back(spread_expression(layout));
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()) - 1,
       .grid = {.x = static_cast<unsigned>(layout.first.blocks)},
       .block = {.x = static_cast<unsigned>(layout.threads)},
       .shared_bytes = layout.shared_bytes,
       .resident = true,
       .arguments = {at("rows"), at("targets"), at("order"), at("parameters"), at("state"), at("gradient"),
                     at("control"), at("before"), at("progress"), at("errors"), at("packets"),
                     static_cast<std::int32_t>(length.steps), static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
