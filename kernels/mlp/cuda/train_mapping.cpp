#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/mlp/cuda/cluster_plan.hpp"
#include "heddle/kernels/mlp/cuda/layered_plan.hpp"
#include "heddle/kernels/mlp/cuda/neurons_plan.hpp"
#include "heddle/kernels/mlp/cuda/online_plan.hpp"
#include "heddle/kernels/mlp/cuda/resident_plan.hpp"
#include "heddle/kernels/mlp/cuda/spread_plan.hpp"
#include "heddle/kernels/mlp/cuda/warps_plan.hpp"
#include "heddle/kernels/mlp/mapping.hpp"

namespace heddle::mlp {

namespace {

std::vector<Value> whole(std::initializer_list<std::int64_t> list) { return {list.begin(), list.end()}; }
std::vector<Value> words_of(std::initializer_list<const char*> list) {
  std::vector<Value> result;
  for (const char* word : list) result.emplace_back(std::string(word));
  return result;
}

bool resides(const Configuration& c) { return c.word("scheme") == "resident"; }
bool is_layered(const Configuration& c) { return c.word("scheme") == "layered"; }
bool is_spread(const Configuration& c) { return c.word("scheme") == "spread"; }
bool by_warps(const Configuration& c) { return c.word("scheme") == "warps"; }
bool in_clusters(const Configuration& c) { return c.word("scheme") == "cluster"; }
bool by_neurons(const Configuration& c) { return c.word("scheme") == "neurons"; }
bool divides_inputs(const Configuration& c) { return is_spread(c) || in_clusters(c) || by_neurons(c); }
bool has_blocks(const Configuration& c) { return resides(c) || divides_inputs(c) || by_warps(c); }
bool is_online(const Configuration& c) { return c.word("scheme") == "online"; }
bool has_product(const Configuration& c, std::string_view name) { return is_layered(c) && c.word("product") == name; }
bool in_tiles(const Configuration& c) { return has_product(c, "tiles"); }
bool by_thread(const Configuration& c) { return has_product(c, "thread"); }

RowsIn rows_in(const Configuration& c) {
  const std::string& where = c.word("rows_in");
  return where == "shared" ? kRowsShared : where == "bytes" ? kRowsBytes : kRowsGlobal;
}
std::int64_t rows_of_step(const Problem& problem) { return std::min(problem.at("rows"), problem.at("batch")); }
bool in_batches(const Problem& problem) { return problem.at("batch") < problem.at("rows"); }
bool has_bytes(const Problem& problem) { return problem.at("input_bits") == kByteBits; }
/// Of a layered configuration.
LayeredShape layered_shape(const Configuration& c, const DeviceIdentity& device) {
  if (in_tiles(c))
    return {.tile = c.number("tile"),
            .pieces = c.number("pieces"),
            .units = device.units,
            .local_bytes = device.local_bytes};
  if (by_thread(c)) return {.product = Product::thread, .alone = c.word("learners") == "one"};
  return {.product = has_product(c, "tree") ? Product::tree : Product::library};
}
ResidentLayout layout_of(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), rows_of_step(problem), c.number("blocks"), c.number("block_size"), rows_in(c)};
}

SpreadLayout spread_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), rows_of_step(problem), c.number("blocks"), c.number("input_parts"),
          c.number("block_size")};
}

/// Of a network with a hidden layer, for clusters that divides_evenly() allows.
ClusterLayout cluster_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem),      rows_of_step(problem),  c.number("blocks"),
          c.number("input_parts"), c.number("block_size"), c.number("pass_rows")};
}
/// Whether the blocks are whole clusters that have even numbers of blocks.
bool divides_evenly(const Configuration& c) {
  return c.number("input_parts") % 2 == 0 && c.number("blocks") % c.number("input_parts") == 0;
}

/// Of a network that scheme = neurons takes, for whole clusters.
NeuronsLayout neurons_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), rows_of_step(problem), c.number("blocks"), c.number("input_parts"),
          c.number("block_size")};
}

/// Of a network that scheme = warps takes.
WarpsLayout warps_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), rows_of_step(problem), c.number("blocks"), c.number("block_size")};
}

/// As many as there are multiprocessors, the largest multiple of 8 that leaves a sixteenth of them idle, and powers of
/// two below: multiprocessors lie in parts of a GPU, and those of a part that are too few for a cluster remain idle.
std::vector<std::int64_t> block_counts(const DeviceIdentity& device) {
  std::vector<std::int64_t> counts{std::clamp<std::int64_t>(device.units, 1, ResidentLayout::kMostBlocks)};
  const std::int64_t in_clusters = (counts.front() - ceil_div(counts.front(), std::int64_t{16})) / 8 * 8;
  if (in_clusters > 0) counts.push_back(in_clusters);
  for (std::int64_t count = 128; count >= 1; count /= 2) {
    if (count < counts.front() && count != in_clusters) counts.push_back(count);
  }
  return counts;
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
    bytes += 4.0 * of_row * static_cast<double>(ceil_div(rows_of_step(problem), pieces));
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
             return !by_thread(c) || rows_of_step(problem) * layers_of(problem).parameters() <= kMostFloats;
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
             return !resides(c) || (c.number("blocks") - 1) * kTileRows < rows_of_step(problem);
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
             if ((c.number("blocks") - 1) * kTileRows >= rows_of_step(problem)) return false;
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
             if (rows_of_step(problem) * 4 > on.local_bytes) return false;
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
             return NeuronsLayout::takes(layers_of(problem)) && rows_of_step(problem) * 4 <= on.local_bytes &&
                    neurons_layout(c, problem).all_have_some();
           }},
      {.name = "registers and shared memory of a block with weights of a few neurons",
       .last = "input_parts",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!by_neurons(c) || rows_of_step(problem) * 4 > on.local_bytes) return true;
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
                                        (c.number("blocks") - 1) * kTileRows < rows_of_step(problem));
           }},
      {.name = "several passes over the rows",
       .last = "pass_rows",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !in_clusters(c) || c.number("pass_rows") == 0 ||
                    c.number("pass_rows") < ceil_div(rows_of_step(problem), c.number("blocks"));
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
         const ResidentLayout layout = layout_of(c, problem);
         return layout.shared_bytes <= on.local_bytes &&
                registers_of(layout.shape) <= cuda::registers_of_thread(layout.threads);
       }}};
}

/// scheme=neurons in clusters of `parts`, with as few blocks as have all hidden neurons: every one more is one more
/// that others wait for. Nothing where that takes more than `most` blocks, or there are no clusters.
std::optional<std::string> neurons_text(const DeviceIdentity& device, const Problem& problem, std::int64_t parts,
                                        std::int64_t most) {
  const std::int64_t needed = parts * ceil_div(problem.at("hidden1"), std::int64_t{kNeuronSlots});
  std::optional<std::int64_t> fewest;
  for (const std::int64_t blocks : block_counts(device)) {
    if (blocks >= needed && blocks <= most && (!fewest || blocks < *fewest)) fewest = blocks;
  }
  if (!fewest || device.compute_capability() < 90) return std::nullopt;
  return fmt::format("scheme=neurons block_size=512 blocks={} input_parts={}", *fewest, parts);
}

/// What was the fastest of some problem on an H100 or H200, by scheme (docs/performance.md, "Perceptrons, all rows at
/// once"), for any problem and number of multiprocessors.
std::vector<std::string> likely_texts(const DeviceIdentity& device, const Problem& problem) {
  std::vector<std::int64_t> counts = block_counts(device);
  while (counts.size() < 3) counts.push_back(counts.back());  // of a device with few multiprocessors
  std::vector<std::string> texts;
  if (problem.at("batch") == 1) {
    for (const int threads : {32, 64, 128}) texts.push_back(fmt::format("scheme=online block_size={}", threads));
  }
  const bool has_clusters = device.compute_capability() >= 90;
  if (in_batches(problem)) {
    for (const std::int64_t parts : {4, 8}) {
      if (auto text = neurons_text(device, problem, parts, device.units)) texts.push_back(*std::move(text));
    }
    for (const std::int64_t parts : {8, 4}) {
      texts.push_back(fmt::format("scheme=spread block_size=512 blocks={} input_parts={}", counts[1], parts));
    }
    texts.push_back(fmt::format("scheme=resident block_size=256 blocks={} rows_in=shared", counts[1]));
    return texts;
  }
  for (const int threads : {512, 256}) {
    texts.push_back(fmt::format("scheme=warps block_size={} blocks={}", threads, counts[0]));
  }
  // Those of clusters before the other two, which take the compiler twice as long and are slower where both can run.
  // Where a device has no room for so many clusters, the next ones may have it.
  if (has_clusters) {
    for (const auto& [blocks, parts] : {std::pair(counts[1], 4), std::pair(counts[0], 2), std::pair(counts[2], 2)}) {
      for (const int rows : {0, 64}) {
        texts.push_back(
            fmt::format("scheme=cluster block_size=512 blocks={} input_parts={} pass_rows={}", blocks, parts, rows));
      }
    }
    // Of rows that do not fit in passes of 64.
    texts.push_back(fmt::format("scheme=cluster block_size=512 blocks={} input_parts=4 pass_rows=56", counts[1]));
  }
  for (const int threads : {512, 256}) {
    for (const char* rows : {"shared", "global"}) {
      texts.push_back(fmt::format("scheme=resident block_size={} blocks={} rows_in={}", threads, counts[0], rows));
    }
  }
  for (const int tile : {128, 64}) texts.push_back(fmt::format("scheme=layered product=tiles tile={} pieces=1", tile));
  return texts;
}

/// Of mini-batches of a network with a hidden layer that is worth several blocks, in the order in which they are tried.
/// Measured on Hopper (docs/performance.md, "mini-batches and single rows"): 784-128-10 with 64 rows takes 5.7 us a
/// step by neurons, 11 spread and 57 layered, 16-64-10 5.2 by neurons and 10.2 resident. Steps of other numbers of
/// rows, and several hidden layers, have not been timed.
std::vector<std::string> batch_texts(const DeviceIdentity& device, const Problem& problem) {
  constexpr std::int64_t kWorthBlocks = 32;  // neurons
  constexpr std::int64_t kWorthAll = 32768;  // weights of the first layer
  const std::int64_t neurons = problem.at("hidden1");
  std::vector<std::string> texts;
  if (neurons < kWorthBlocks) return texts;
  for (const std::int64_t parts : {4, 2}) {
    // Half of the multiprocessors have room for such clusters if each part of the GPU has as many as a cluster has
    // blocks. If not, the launch fails and the dispatcher goes on to what is likely.
    if (auto text = neurons_text(device, problem, parts, device.units / 2)) texts.push_back(*std::move(text));
  }
  if (problem.at("inputs") * neurons < kWorthAll) return texts;
  for (const std::int64_t blocks : block_counts(device)) {
    for (const int parts : {8, 4}) {
      texts.push_back(fmt::format("scheme=spread block_size=512 blocks={} input_parts={}", blocks, parts));
    }
  }
  return texts;
}

class CudaTrainMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/mlp/cuda/train.cuh", cuda_network_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override {
    const std::vector<std::int64_t> counts = block_counts(device);
    return {
        device,
        {{.name = "scheme",
          .values = device.compute_capability() >= 90
                        ? words_of({"layered", "resident", "spread", "online", "warps", "cluster", "neurons"})
                        : words_of({"layered", "resident", "spread", "online", "warps"}),
          .meaning = "kernels that follow each other, layer by layer; blocks that run at the same time and do all "
                     "steps of a run in one launch, compiled for the sizes of the network; such blocks that divide "
                     "the first layer among them; one such block, for steps of one row; such blocks, whose warps keep "
                     "rows of a small network in registers; such blocks in clusters that divide the inputs of rows "
                     "of bytes among them; such blocks in clusters that have a few neurons of the hidden layer "
                     "each",
          .active = {}},
         {.name = "product",
          .values = words_of({"tiles", "library", "thread", "tree"}),
          .meaning = "how a step computes its products: tiles of the tensor cores; cuBLAS, in float32; a thread for a "
                     "sum, as published by Gurgel; threads that add up by a tree, as published by Toman",
          .active = is_layered},
         {.name = "tile",
          .values = whole({128, 64}),
          .meaning = "lines of both factors of a product that a block has, where there are as many",
          .active = in_tiles},
         {.name = "pieces",
          .values = whole({1, 4, 16, 64}),
          .meaning =
              "pieces of the rows that come from the host's memory one after the other; 1: all are on the device",
          .active = in_tiles},
         {.name = "learners",
          .values = words_of({"many", "one"}),
          .meaning = "blocks that add up the gradients of the rows and change the weights",
          .active = by_thread},
         {.name = "block_size",
          .values = whole({256, 128, 512, 64, 32}),
          .meaning = "threads of a resident or online block; with scheme=warps those that have rows",
          .active = [](const Configuration& c) { return !is_layered(c); }},
         {.name = "blocks",
          .values = {counts.begin(), counts.end()},
          .meaning = "resident blocks",
          .active = has_blocks},
         {.name = "input_parts",
          .values = whole({4, 2, 1, 8}),
          .meaning =
              "blocks that share the inputs of the same neurons; with scheme=cluster and neurons those of a cluster",
          .active = divides_inputs},
         {.name = "pass_rows",
          .values = whole({0, 64, 56, 48, 32}),
          .meaning =
              "rows of a block that are on chip at a time, for as many passes over its rows as that takes; 0: all",
          .active = in_clusters},
         {.name = "rows_in",
          .values = words_of({"shared", "bytes", "global"}),
          .meaning = "rows in shared memory; there as bytes, if they are bytes or fractions of 255, otherwise in "
                     "global memory; in global memory",
          .active = resides}},
        constraints()};
  }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    const SearchSpace all = space(device);
    if (problem.at("batch") == 1) {
      Configuration online = online_default(all, problem);
      if (!all.violated(online, problem)) return online;
    }
    // An exchange between blocks costs as much as some hundred rows of a small network.
    constexpr std::int64_t kWorthSharing = 192;
    std::vector<std::int64_t> counts = block_counts(device);
    if (rows_of_step(problem) <= kWorthSharing) std::reverse(counts.begin(), counts.end());
    for (const std::int64_t blocks : counts) {
      // As many warps as have all rows of a block in one pass.
      const std::int64_t each = ceil_div(rows_of_step(problem), blocks);
      for (const std::int64_t threads : {32, 64, 128, 256, 512}) {
        if (threads < each) continue;
        Configuration configuration = all.parse(fmt::format("scheme=warps block_size={} blocks={}", threads, blocks));
        if (!all.violated(configuration, problem)) return configuration;
      }
    }
    if (in_batches(problem)) {
      for (const std::string& text : batch_texts(device, problem)) {
        Configuration configuration = all.parse(text);
        if (!all.violated(configuration, problem)) return configuration;
      }
    }
    for (const char* rows : {"shared", "bytes", "global"}) {
      for (const std::int64_t blocks : counts) {
        Configuration configuration =
            all.parse(fmt::format("scheme=resident block_size=256 blocks={} rows_in={}", blocks, rows));
        if (!all.violated(configuration, problem)) return configuration;
      }
    }
    return layered_default(all, device, problem);
  }

  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    // Each where the space allows it, and where `possible` says that the published program runs.
    const auto named = [&](const char* name, const char* meaning, const char* text, auto possible) {
      return NamedConfiguration{
          .name = name,
          .meaning = meaning,
          .configuration = [all = space(device), text, possible](const Problem& p) -> std::optional<Configuration> {
            if (!possible(p)) return std::nullopt;
            Configuration configuration = all.parse(text);
            if (all.violated(configuration, p)) return std::nullopt;
            return configuration;
          }};
    };
    return {
        named("gurgel",
              "Gurgel: a block for a row, a thread for a neuron or weight; one block adds up the rows. At most 1024 "
              "weights and 65535 rows",
              "scheme=layered product=thread learners=one",
              [](const Problem& p) { return layers_of(p).parameters() <= 1024 && p.at("rows") <= 65535; }),
        named("gurgel-wide",
              "the same for any network: many threads share the weights of a row, and many blocks add up",
              "scheme=layered product=thread learners=many", [](const Problem&) { return true; }),
        named("cublas-batch", "a product of matrices by cuBLAS for each layer and pass",
              "scheme=layered product=library", [](const Problem&) { return true; }),
        named("t08",
              "the system that Gurgel compares with: products by cuBLAS, row after row, one hidden layer. Errors are "
              "found on the device, where the published program copies the outputs to the host",
              "scheme=layered product=library",
              [](const Problem& p) { return p.at("batch") == 1 && layers_of(p).count == 2; }),
        named("toman",
              "Toman: a block for a row, or for a weight, whose threads add up by a tree. At most 1024 weights "
              "between two hidden layers, or a hidden one and the outputs",
              "scheme=layered product=tree", [](const Problem& p) {
                const Layers layers = layers_of(p);
                for (int l = 1; l < layers.count; ++l) {
                  if (std::int64_t{layers.sizes[l]} * layers.sizes[l + 1] > 1024) return false;
                }
                return true;
              })};
  }

  std::vector<Configuration> likely_configurations(const DeviceIdentity& device,
                                                   const Problem& problem) const override {
    const SearchSpace all = space(device);
    std::vector<Configuration> likely;
    for (const std::string& text : likely_texts(device, problem)) {
      Configuration configuration = all.parse(text);
      if (all.violated(configuration, problem)) continue;
      if (std::ranges::find(likely, configuration) == likely.end()) likely.push_back(std::move(configuration));
    }
    return likely;
  }

  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return plan(configuration, problem, device, {.steps = 2, .epochs = 1}).kernels;
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            const RunLength& length) const override {
    const std::int64_t rows = problem.at("rows"), batch = std::min(rows, problem.at("batch"));
    Plan plan;
    plan.buffers = training_buffers(problem, length);
    plan.samples = std::min(length.steps * batch, length.epochs * rows);
    if (resides(configuration)) {
      add_resident(plan, layout_of(configuration, problem), length);
    } else if (is_spread(configuration)) {
      add_spread(plan, spread_layout(configuration, problem), length);
    } else if (by_neurons(configuration)) {
      add_neurons(plan, neurons_layout(configuration, problem), length);
    } else if (in_clusters(configuration)) {
      add_cluster(plan, cluster_layout(configuration, problem), length);
    } else if (by_warps(configuration)) {
      add_warps(plan, warps_layout(configuration, problem), length);
    } else if (is_online(configuration)) {
      add_online(plan, layers_of(problem), configuration.number("block_size"), length);
    } else {
      add_layered(plan, layers_of(problem), batch, layered_shape(configuration, device), length);
    }
    return plan;
  }

 private:
  /// One warp where the network fits into its registers: a row of 14-10-1 takes 0.59 us, 2.0 with 256 threads.
  /// Otherwise about a parameter for each thread; of the smallest networks more warps than 8 would only wait for each
  /// other.
  static Configuration online_default(const SearchSpace& all, const Problem& problem) {
    constexpr std::int64_t kFewThreads = 256;
    const auto of = [&](std::int64_t threads) {
      return all.parse(fmt::format("scheme=online block_size={}", threads));
    };
    if (Configuration by_warp = of(cuda::kWarp); !all.violated(by_warp, problem)) return by_warp;
    return of(layers_of(problem).parameters() <= kFewThreads ? kFewThreads : 512);
  }
  /// Small tiles where large ones are too few for all multiprocessors, and as few pieces of the rows as fit.
  static Configuration layered_default(const SearchSpace& all, const DeviceIdentity& device, const Problem& problem) {
    constexpr std::int64_t kLarge = 128, kSmall = 64, kMostPieces = 64;
    const Layers layers = layers_of(problem);
    const int widest = *std::max_element(layers.sizes + 1, layers.sizes + layers.count + 1);
    const std::int64_t tiles = tiles_of(rows_of_step(problem), kLarge) * tiles_of(widest, kLarge);
    const bool large = tiles >= device.units && layered_bytes(kLarge) <= device.local_bytes;
    const auto shaped = [&](std::int64_t pieces) {
      return all.parse(fmt::format("scheme=layered product=tiles tile={} pieces={}", large ? kLarge : kSmall, pieces));
    };
    std::int64_t pieces = 1;
    if (in_batches(problem)) return shaped(pieces);  // they are drawn from all rows, which therefore have to fit
    while (pieces < kMostPieces && all.violated(shaped(pieces), problem)) pieces *= 4;
    return shaped(pieces);
  }
};

}  // namespace

const Mapping& cuda_train_mapping() {
  static const CudaTrainMapping mapping;
  return mapping;
}

}  // namespace heddle::mlp
