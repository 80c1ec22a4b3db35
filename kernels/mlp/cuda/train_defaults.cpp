#include "heddle/kernels/mlp/cuda/train_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/mlp/cuda/train_layouts.hpp"
#include "heddle/kernels/mlp/cuda/train_space.hpp"
#include "heddle/kernels/mlp/network.hpp"

namespace heddle::mlp {

namespace {

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

/// One warp where the network fits into its registers: a row of 14-10-1 takes 0.59 us, 2.0 with 256 threads.
/// Otherwise about a parameter for each thread; of the smallest networks more warps than 8 would only wait for each
/// other.
Configuration online_default(const SearchSpace& all, const Problem& problem) {
  constexpr std::int64_t kFewThreads = 256;
  const auto of = [&](std::int64_t threads) { return all.parse(fmt::format("scheme=online block_size={}", threads)); };
  if (Configuration by_warp = of(cuda::kWarp); !all.violated(by_warp, problem)) return by_warp;
  return of(layers_of(problem).parameters() <= kFewThreads ? kFewThreads : 512);
}
/// Small tiles where large ones are too few for all multiprocessors, and as few pieces of the rows as fit.
Configuration layered_default(const SearchSpace& all, const DeviceIdentity& device, const Problem& problem) {
  constexpr std::int64_t kLarge = 128, kSmall = 64, kMostPieces = 64;
  const Layers layers = layers_of(problem);
  const int widest = *std::max_element(layers.sizes + 1, layers.sizes + layers.count + 1);
  const std::int64_t tiles = tiles_of(step_rows(problem), kLarge) * tiles_of(widest, kLarge);
  const bool large = tiles >= device.units && layered_bytes(kLarge) <= device.local_bytes;
  const auto shaped = [&](std::int64_t pieces) {
    return all.parse(fmt::format("scheme=layered product=tiles tile={} pieces={}", large ? kLarge : kSmall, pieces));
  };
  std::int64_t pieces = 1;
  if (in_batches(problem)) return shaped(pieces);  // they are drawn from all rows, which therefore have to fit
  while (pieces < kMostPieces && all.violated(shaped(pieces), problem)) pieces *= 4;
  return shaped(pieces);
}

}  // namespace

Configuration train_default(const DeviceIdentity& device, const Problem& problem) {
  const SearchSpace all = train_space(device);
  if (problem.at("batch") == 1) {
    Configuration online = online_default(all, problem);
    if (!all.violated(online, problem)) return online;
  }
  // An exchange between blocks costs as much as some hundred rows of a small network.
  constexpr std::int64_t kWorthSharing = 192;
  std::vector<std::int64_t> counts = block_counts(device);
  if (step_rows(problem) <= kWorthSharing) std::reverse(counts.begin(), counts.end());
  for (const std::int64_t blocks : counts) {
    // As many warps as have all rows of a block in one pass.
    const std::int64_t each = ceil_div(step_rows(problem), blocks);
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

std::vector<Configuration> likely_for_training(const DeviceIdentity& device, const Problem& problem) {
  const SearchSpace all = train_space(device);
  std::vector<Configuration> likely;
  for (const std::string& text : likely_texts(device, problem)) {
    Configuration configuration = all.parse(text);
    if (all.violated(configuration, problem)) continue;
    if (std::ranges::find(likely, configuration) == likely.end()) likely.push_back(std::move(configuration));
  }
  return likely;
}

}  // namespace heddle::mlp
