#include "heddle/kernels/mlp/cuda/train_space.hpp"

#include <algorithm>
#include <string>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/mlp/cuda/online_plan.hpp"
#include "heddle/kernels/mlp/cuda/train_layouts.hpp"
#include "heddle/kernels/mlp/network.hpp"

namespace heddle::mlp {

namespace {

bool divides_inputs(const Configuration& c) { return is_spread(c) || in_clusters(c) || by_neurons(c); }
bool has_blocks(const Configuration& c) { return resides(c) || divides_inputs(c) || by_warps(c); }
bool has_bytes(const Problem& problem) { return problem.at("input_bits") == kByteBits; }
/// Whether the blocks are whole clusters that have even numbers of blocks.
bool divides_evenly(const Configuration& c) {
  return c.number("input_parts") % 2 == 0 && c.number("blocks") % c.number("input_parts") == 0;
}

/// Registers of a thread, roughly: the sums of a product, its factors, and the rest.
std::int64_t registers_of(const ResidentShape<std::int64_t>& shape) {
  std::int64_t most = 0;
  for (std::int64_t l = 0; l < shape.count; ++l) {
    const std::int64_t forward = shape.row_tiles(l) * shape.column_tiles(l) * 4;
    const std::int64_t gradient = shape.value_width(l) * shape.delta_width(l) * 2;
    most = std::max({most, forward, gradient});
  }
  return 90 + most * 2;
}

/// The same of a warp that keeps its rows there, or reads them from shared memory. Where there are a few less, some are
/// spilled (80 bytes of a thread of 544 with 14-10-1).
std::int64_t registers_of(const WarpsShape<std::int64_t>& shape) {
  const std::int64_t kept = shape.in_registers() ? 8 * shape.slices() * shape.tiles() : 0;
  return 32 + 12 * shape.tiles() + 4 * shape.slices() + 4 * shape.outputs + kept;
}
/// The same of a warp with the gradients and weights of its units, and the outputs of a row.
std::int64_t registers_of(const NeuronsShape<std::int64_t>& shape) {
  return 60 + 4 * (kOwnArrays + 1) * shape.tiles_each() + 2 * shape.outputs;
}
/// Registers are handed out to four warps at a time, one for each scheduler.
std::int64_t in_fours(std::int64_t threads) { return round_up(threads, std::int64_t{128}); }

/// What rows, values and deltas take of the device's memory, roughly. Rows that come in pieces are there twice: while
/// the device works on one piece, the next one comes.
double bytes_of_rows(const Configuration& c, const Problem& problem) {
  const Layers layers = layers_of(problem);
  const std::int64_t all = problem.at("rows"), pieces = in_tiles(c) ? c.number("pieces") : 1;
  const auto rows = static_cast<double>(ceil_div(all, pieces) * (pieces > 1 ? 2 : 1));
  double bytes = 4.0 * (rows * (layers.inputs() + layers.outputs()) + static_cast<double>(all));
  if (in_clusters(c) && c.number("pass_rows") > 0) {
    constexpr double kPadded = 1.25;  // of parts of the inputs, to whole chunks
    bytes += kPadded * rows * layers.inputs();
  }
  if (is_layered(c)) {
    double of_row = has_product(c, "library") ? layers.inputs() : 0.0;
    for (int l = 1; l <= layers.count; ++l) of_row += 2.0 * padded_neurons(layers.sizes[l]);
    bytes += 4.0 * of_row * static_cast<double>(ceil_div(step_rows(problem), pieces));
  }
  return bytes;
}

constexpr std::int64_t kMostPackets = std::int64_t{1} << 22;  // 64 MiB
constexpr std::int64_t kMostFloats = std::int64_t{1} << 28;   // of all parts of a gradient
constexpr std::int64_t kMostWords = std::int64_t{1} << 28;    // of a block's rows in global memory

std::vector<Constraint> constraints() {
  return {
      parameters_constraint(),
      {.name = "rows of mini-batches in shared memory",
       .last = "rows_in",
       .holds = [](const Configuration& c, const Problem& problem,
                   const DeviceIdentity&) { return !resides(c) || rows_in(c) == kRowsShared || !in_batches(problem); }},
      {.name = "online, a step learns from one row",
       .last = "scheme",
       .holds = [](const Configuration& c, const Problem& problem,
                   const DeviceIdentity&) { return !is_online(c) || problem.at("batch") == 1; }},
      {.name = "network, states and rows of an online block fit into its shared memory",
       .last = "scheme",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!is_online(c)) return true;
             const Layers layers = layers_of(problem);
             return layers.parameters() * 4 <= on.local_bytes && online_bytes(layers) <= on.local_bytes;
           }},
      {.name = "shared memory of a block with a tile",
       .last = "tile",
       .holds =
           [](const Configuration& c, const Problem&, const DeviceIdentity& on) {
             return !in_tiles(c) || layered_bytes(c.number("tile")) <= on.local_bytes;
           }},
      {.name = "rows come in pieces where all are learnt at once",
       .last = "pieces",
       .holds = [](const Configuration& c, const Problem& problem,
                   const DeviceIdentity&) { return !in_tiles(c) || c.number("pieces") == 1 || !in_batches(problem); }},
      {.name = "memory",
       .last = {},
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             constexpr double kShare = 0.9, kGibibyte = 1073741824.0;
             return bytes_of_rows(c, problem) <= kShare * kGibibyte * static_cast<double>(on.memory_gib);
           }},
      {.name = "gradients of single rows take at most 1 GiB",
       .last = "product",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !by_thread(c) || step_rows(problem) * layers_of(problem).parameters() <= kMostFloats;
           }},
      {.name = "a block for every neuron, where its threads add up by a tree",
       .last = "product",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             constexpr int kMostInY = 65535;  // blocks of a grid
             const Layers layers = layers_of(problem);
             return !has_product(c, "tree") ||
                    *std::max_element(layers.sizes, layers.sizes + layers.count + 1) <= kMostInY;
           }},
      {.name = "rows for every resident block",
       .last = "blocks",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !resides(c) || (c.number("blocks") - 1) * kTileRows < step_rows(problem);
           }},
      {.name = "networks and rows that warps keep in registers: one small hidden layer, all rows at once",
       .last = "scheme",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !by_warps(c) || (WarpsLayout::takes(layers_of(problem)) && !in_batches(problem));
           }},
      {.name = "registers and shared memory of a block whose warps keep rows, with rows for every block",
       .last = "blocks",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!by_warps(c)) return true;
             if ((c.number("blocks") - 1) * kTileRows >= step_rows(problem)) return false;
             const WarpsLayout layout = warps_layout(c, problem);
             return layout.shared_bytes <= on.local_bytes && layout.packets <= kMostPackets &&
                    registers_of(layout.shape) <= cuda::registers_of_thread(in_fours(layout.threads));
           }},
      {.name = "several warps of a block, or a small network with one hidden layer",
       .last = "block_size",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             if (is_layered(c) || by_warps(c) || c.number("block_size") > kOnlineWarp) return true;
             return is_online(c) && fits_into_warp(layers_of(problem));
           }},
      {.name = "bytes for rows of bytes with more than 15 inputs",
       .last = "rows_in",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !resides(c) || rows_in(c) != kRowsBytes || (problem.at("inputs") > 15 && has_bytes(problem));
           }},
      {.name = "inputs and neurons of a first hidden layer for every block",
       .last = "input_parts",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !is_spread(c) ||
                    (layers_of(problem).count > 1 && c.number("blocks") > 1 &&
                     c.number("blocks") % c.number("input_parts") == 0 && spread_layout(c, problem).all_have_some());
           }},
      {.name = "registers and shared memory of a block with a part of the first layer",
       .last = "input_parts",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!is_spread(c)) return true;
             // What cannot fit is not laid out: its sizes would overflow.
             if (step_rows(problem) * 4 > on.local_bytes) return false;
             const SpreadLayout layout = spread_layout(c, problem);
             return layout.shared_bytes <= on.local_bytes && layout.packets <= kMostPackets &&
                    std::max(registers_of(layout.first.products()), registers_of(layout.others)) <=
                        cuda::registers_of_thread(layout.threads);
           }},
      {.name = "inputs and a few neurons of the one hidden layer for every block of whole clusters, and few outputs",
       .last = "input_parts",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!by_neurons(c)) return true;
             // A GPU sends no messages where a launch has no clusters of at least two blocks.
             if (c.number("input_parts") < 2 || c.number("blocks") % c.number("input_parts") != 0) return false;
             // What cannot fit is not laid out: its sizes would overflow.
             return NeuronsLayout::takes(layers_of(problem)) && step_rows(problem) * 4 <= on.local_bytes &&
                    neurons_layout(c, problem).all_have_some();
           }},
      {.name = "registers and shared memory of a block with weights of a few neurons",
       .last = "input_parts",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!by_neurons(c) || step_rows(problem) * 4 > on.local_bytes) return true;
             const NeuronsLayout layout = neurons_layout(c, problem);
             return layout.shared_bytes <= on.local_bytes && layout.packets <= kMostPackets &&
                    registers_of(layout.shape) <= cuda::registers_of_thread(layout.threads);
           }},
      {.name = "rows of bytes for clusters",
       .last = "scheme",
       .holds = [](const Configuration& c, const Problem& problem,
                   const DeviceIdentity&) { return !in_clusters(c) || has_bytes(problem); }},
      {.name = "whole clusters, a part of the inputs for every block of one, a hidden layer, and all rows at once",
       .last = "input_parts",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !in_clusters(c) || (layers_of(problem).count > 1 && divides_evenly(c) && !in_batches(problem) &&
                                        (c.number("blocks") - 1) * kTileRows < step_rows(problem));
           }},
      {.name = "several passes over the rows",
       .last = "pass_rows",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !in_clusters(c) || c.number("pass_rows") == 0 ||
                    c.number("pass_rows") < ceil_div(step_rows(problem), c.number("blocks"));
           }},
      {.name = "registers and shared memory of a block of a cluster",
       .last = "pass_rows",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!in_clusters(c) || layers_of(problem).count < 2 || !divides_evenly(c)) return true;
             // What cannot fit is not laid out: its sizes would overflow.
             if (layers_of(problem).parameters() * 4 > c.number("input_parts") * on.local_bytes) return false;
             const ClusterLayout layout = cluster_layout(c, problem);
             return layout.all_have_some() && layout.packets <= kMostPackets &&
                    layout.padded / layout.first.blocks <= kMostWords && layout.shared_bytes <= on.local_bytes &&
                    registers_of(layout.others) <= cuda::registers_of_thread(layout.threads);
           }},
      {.name = "registers and shared memory of a resident block",
       .last = "rows_in",
       .holds = [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
         if (!resides(c)) return true;
         // What cannot fit is not laid out: its sizes would overflow.
         if (layers_of(problem).parameters() * 4 > on.local_bytes) return false;
         const ResidentLayout layout = resident_layout(c, problem);
         return layout.shared_bytes <= on.local_bytes &&
                registers_of(layout.shape) <= cuda::registers_of_thread(layout.threads);
       }}};
}

}  // namespace

SearchSpace train_space(const DeviceIdentity& device) {
  const std::vector<std::int64_t> counts = block_counts(device);
  return {
      device,
      {{.name = "scheme",
        .values = device.compute_capability() >= 90
                      ? words({"layered", "resident", "spread", "online", "warps", "cluster", "neurons"})
                      : words({"layered", "resident", "spread", "online", "warps"}),
        .meaning = "kernels that follow each other, layer by layer; blocks that run at the same time and do all "
                   "steps of a run in one launch, compiled for the sizes of the network; such blocks that divide "
                   "the first layer among them; one such block, for steps of one row; such blocks, whose warps keep "
                   "rows of a small network in registers; such blocks in clusters that divide the inputs of rows "
                   "of bytes among them; such blocks in clusters that have a few neurons of the hidden layer "
                   "each",
        .active = {}},
       {.name = "product",
        .values = words({"tiles", "library", "thread", "tree"}),
        .meaning = "how a step computes its products: tiles of the tensor cores; cuBLAS, in float32; a thread for a "
                   "sum, as published by Gurgel; threads that add up by a tree, as published by Toman",
        .active = is_layered},
       {.name = "tile",
        .values = numbers({128, 64}),
        .meaning = "lines of both factors of a product that a block has, where there are as many",
        .active = in_tiles},
       {.name = "pieces",
        .values = numbers({1, 4, 16, 64}),
        .meaning = "pieces of the rows that come from the host's memory one after the other; 1: all are on the device",
        .active = in_tiles},
       {.name = "learners",
        .values = words({"many", "one"}),
        .meaning = "blocks that add up the gradients of the rows and change the weights",
        .active = by_thread},
       {.name = "block_size",
        .values = numbers({256, 128, 512, 64, 32}),
        .meaning = "threads of a resident or online block; with scheme=warps those that have rows",
        .active = [](const Configuration& c) { return !is_layered(c); }},
       {.name = "blocks", .values = {counts.begin(), counts.end()}, .meaning = "resident blocks", .active = has_blocks},
       {.name = "input_parts",
        .values = numbers({4, 2, 1, 8}),
        .meaning =
            "blocks that share the inputs of the same neurons; with scheme=cluster and neurons those of a cluster",
        .active = divides_inputs},
       {.name = "pass_rows",
        .values = numbers({0, 64, 56, 48, 32}),
        .meaning = "rows of a block that are on chip at a time, for as many passes over its rows as that takes; 0: all",
        .active = in_clusters},
       {.name = "rows_in",
        .values = words({"shared", "bytes", "global"}),
        .meaning = "rows in shared memory; there as bytes, if they are bytes or fractions of 255, otherwise in "
                   "global memory; in global memory",
        .active = resides}},
      constraints()};
}

std::vector<std::int64_t> block_counts(const DeviceIdentity& device) {
  std::vector<std::int64_t> counts{std::clamp<std::int64_t>(device.units, 1, ResidentLayout::kMostBlocks)};
  const std::int64_t in_clusters = (counts.front() - ceil_div(counts.front(), std::int64_t{16})) / 8 * 8;
  if (in_clusters > 0) counts.push_back(in_clusters);
  for (std::int64_t count = 128; count >= 1; count /= 2) {
    if (count < counts.front() && count != in_clusters) counts.push_back(count);
  }
  return counts;
}

}  // namespace heddle::mlp
