#include "heddle/kernels/mlp/cuda/resident_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace heddle::mlp {

namespace {

constexpr std::int64_t kWord = 4, kPacketBytes = 16;
constexpr std::int64_t kLanes = 32;

std::string expression(const ResidentLayout& layout) {
  std::string sizes;
  for (std::int64_t l = 0; l <= layout.shape.count; ++l) sizes += fmt::format(", {}", layout.shape.sizes[l]);
  return fmt::format("heddle::mlp::train_resident<{}, {}, {}{}>", layout.threads, layout.shape.tile,
                     static_cast<int>(layout.rows_in), sizes);
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

void add_resident(Plan& plan, const ResidentLayout& layout, const RunLength& length) {
  constexpr std::int64_t kEmpty = 256;  // threads that empty the packets
  const auto scratch = [&plan](const char* name, std::int64_t bytes) {
    plan.buffers.push_back({name, bytes, Role::scratch});
  };
  scratch("before", sizeof(Progress));
  scratch("packets", kPacketBytes * layout.packets);
  scratch("padded", kWord * std::max<std::int64_t>(layout.padded, 4));
  const auto at = [&plan](const char* name) { return BufferArgument{plan.buffer(name), 0}; };
  const auto begin = static_cast<int>(plan.kernels.size());
  plan.kernels.emplace_back("heddle::mlp::begin_resident");
  plan.launches.push_back(
      {.kernel = begin,
       .grid = {.x = static_cast<unsigned>(ceil_div(layout.packets, kEmpty))},
       .block = {.x = static_cast<unsigned>(kEmpty)},
       .arguments = {at("packets"), static_cast<std::int32_t>(layout.packets), at("progress"), at("before")}});
  plan.kernels.emplace_back(expression(layout));
  plan.launches.push_back(
      {.kernel = begin + 1,
       .grid = {.x = static_cast<unsigned>(layout.blocks)},
       .block = {.x = static_cast<unsigned>(layout.threads)},
       .shared_bytes = layout.shared_bytes,
       .resident = layout.blocks > 1,
       .arguments = {at("rows"), at("targets"), at("order"), at("parameters"), at("state"), at("gradient"),
                     at("control"), at("before"), at("progress"), at("errors"), at("packets"), at("padded"),
                     static_cast<std::int32_t>(length.steps), static_cast<std::int32_t>(length.epochs)}});
}

}  // namespace heddle::mlp
