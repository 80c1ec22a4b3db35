#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace heddle::mlp {

namespace {

constexpr std::int64_t kWord = 4, kPacketBytes = 16;
constexpr std::int64_t kLanes = 32;

std::string expression(const ResidentLayout& layout) {
  const std::int64_t* const sizes = layout.shape.sizes;
  return fmt::format("heddle::mlp::train_resident<{}, {}, {}, {}>", layout.threads, layout.shape.tile,
                     static_cast<int>(layout.rows_in), fmt::join(sizes, sizes + layout.shape.count + 1, ", "));
}

}  // namespace

ResidentLayout::ResidentLayout(const Layers& layers, std::int64_t rows, std::int64_t of_blocks, std::int64_t of_threads,
                               RowsIn in)
    : blocks(of_blocks), threads(of_threads), rows_in(in) {
  shape.count = layers.count;
  std::copy(layers.sizes, layers.sizes + layers.count + 1, shape.sizes);
  shape.warps = threads / kLanes;
  shape.tile = round_up(ceil_div(rows, blocks), std::int64_t{kTileRows});
  packets = ResidentPackets<std::int64_t>{blocks, shape.packets()}.count();
  padded = rows_in == kRowsShared ? 0 : blocks * shape.tile * value_columns(shape.in(0));
  shared_bytes = kWord * ResidentPieces<std::int64_t>(shape, rows_in, blocks).words();
}

void add_packets(Plan& plan, std::int64_t packets) {
  constexpr std::int64_t kEmpty = 256;  // threads that empty them
  plan.buffers.push_back({"before", sizeof(Progress), Role::scratch});
  plan.buffers.push_back({"packets", kPacketBytes * packets, Role::scratch});
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  plan.kernels.emplace_back("heddle::mlp::begin_resident");
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()) - 1,
       .grid = {.x = static_cast<unsigned>(ceil_div(packets, kEmpty))},
       .block = {.x = static_cast<unsigned>(kEmpty)},
       .arguments = {at("packets"), static_cast<std::int32_t>(packets), at("progress"), at("before")}});
}

void add_resident(Plan& plan, const ResidentLayout& layout, const RunLength& length) {
  add_packets(plan, layout.packets);
  plan.buffers.push_back({"padded", kWord * std::max<std::int64_t>(layout.padded, 4), Role::scratch});
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  plan.kernels.emplace_back(expression(layout));
  plan.launches.push_back(
      {.kernel = static_cast<int>(plan.kernels.size()) - 1,
       .grid = {.x = static_cast<unsigned>(layout.blocks)},
       .block = {.x = static_cast<unsigned>(layout.threads)},
       .shared_bytes = layout.shared_bytes,
       .resident = layout.blocks > 1,
       .arguments = {at("rows"), at("targets"), at("order"), at("parameters"), at("state"), at("gradient"),
                     at("control"), at("before"), at("progress"), at("errors"), at("packets"), at("padded"),
                     static_cast<std::int32_t>(length.steps), static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
