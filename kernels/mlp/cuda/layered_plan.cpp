#include "heddle/kernels/mlp/cuda/layered_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::mlp {

namespace {

constexpr std::int64_t kFloatBytes = 4, kDoubleBytes = 8;
constexpr std::int64_t kRowsOfBlock = kLayeredBlock / 32;  // a warp for a row
// Enough blocks to fill any GPU; each then changes several parameters.
constexpr std::int64_t kMostLearning = 2048;

// As in layered.cuh.
struct LayerAt {
  std::int32_t weights, in, out;
};
constexpr std::int32_t kFirstLayer = 1, kLastLayer = 2;

LayerAt layer_at(const Layers& layers, int layer) {
  return {.weights = static_cast<std::int32_t>(layers.weights_at(layer)),
          .in = layers.sizes[layer],
          .out = layers.sizes[layer + 1]};
}
std::int32_t place_of(const Layers& layers, int layer) {
  return (layer == 0 ? kFirstLayer : 0) | (layer + 1 == layers.count ? kLastLayer : 0);
}
std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }
unsigned extent(std::int64_t value) { return static_cast<unsigned>(value); }

/// Adds launches of kernels by their names.
class Writer {
 public:
  explicit Writer(Plan& plan) : plan_(plan) {}

  void scratch(std::string name, std::int64_t bytes) {
    plan_.buffers.push_back({std::move(name), std::max<std::int64_t>(bytes, kFloatBytes), Role::scratch});
  }
  [[nodiscard]] Argument at(std::string_view buffer) const { return BufferArgument{plan_.buffer(buffer), 0}; }
  [[nodiscard]] Argument values_of(const char* what, int layer) const { return at(fmt::format("{}{}", what, layer)); }

  /// A kernel for tiles.
  void tiles(const char* kernel, std::int64_t tile, const Extent& grid, std::vector<Argument> arguments) {
    launch(fmt::format("heddle::mlp::{}<{}>", kernel, tile), grid, threads_of_tile(static_cast<int>(tile)),
           kFloatBytes * words_of_tile(static_cast<int>(tile)), std::move(arguments));
  }
  void launch(const std::string& kernel, const Extent& grid, std::int64_t threads, std::int64_t shared_bytes,
              std::vector<Argument> arguments) {
    launch(kernel, grid, Extent{.x = extent(threads)}, shared_bytes, std::move(arguments));
  }
  void launch(const std::string& kernel, const Extent& grid, const Extent& block, std::int64_t shared_bytes,
              std::vector<Argument> arguments) {
    const auto known = std::find(plan_.kernels.begin(), plan_.kernels.end(), KernelInstance(kernel));
    const auto index = static_cast<int>(known - plan_.kernels.begin());
    if (known == plan_.kernels.end()) plan_.kernels.emplace_back(kernel);
    plan_.launches.push_back({.kernel = index,
                              .grid = grid,
                              .block = block,
                              .shared_bytes = shared_bytes,
                              .arguments = std::move(arguments)});
  }

 private:
  Plan& plan_;
};

/// The launches of one product: of `sums` sums for each of `rows` rows, or of sums over the rows.
class Products {
 public:
  Products(Writer& writer, const LayeredShape& shape, std::int64_t rows)
      : writer_(writer), shape_(shape), rows_(rows) {}

  /// Values of `out` neurons that take `in` values each.
  void forward(std::int64_t in, std::int64_t out, std::vector<Argument> arguments) const {
    of_rows("forward_layer", "forward", in + 1, out, std::move(arguments));
  }
  /// Deltas of `in` neurons whose values `out` others take.
  void backward(std::int64_t in, std::int64_t out, std::vector<Argument> arguments) const {
    of_rows("backward_layer", "backward", out, in, std::move(arguments));
  }
  void gradient(std::int64_t in, std::int64_t out, std::vector<Argument> arguments) const {
    switch (shape_.product) {
      case Product::tiles:
        return writer_.tiles("find_layer_gradient", shape_.tile,
                             {.x = extent(tiles_of(in + 1, shape_.tile)),
                              .y = extent(tiles_of(out, shape_.tile)),
                              .z = extent(shape_.parts)},
                             std::move(arguments));
      case Product::thread:
        return by_thread("gradient", (in + 1) * out, std::move(arguments));
      case Product::tree:
        return by_tree("gradient", {.x = extent(in + 1), .y = extent(out)}, threads_for(rows_), 1,
                       std::move(arguments));
    }
  }

 private:
  static constexpr std::int64_t kMost = kMostSummands;

  void of_rows(const char* by_tiles, const char* by_sums, std::int64_t addends, std::int64_t sums,
               std::vector<Argument> arguments) const {
    switch (shape_.product) {
      case Product::tiles:
        return writer_.tiles(by_tiles, shape_.tile,
                             {.x = extent(tiles_of(rows_, shape_.tile)), .y = extent(tiles_of(sums, shape_.tile))},
                             std::move(arguments));
      case Product::thread:
        return by_thread(by_sums, sums, std::move(arguments));
      case Product::tree: {
        const std::int64_t threads = threads_for(addends);
        const std::int64_t together = threads * sums <= kMost ? sums : 1;  // as published: all neurons, or one
        return by_tree(by_sums, {.x = extent(rows_), .y = extent(tiles_of(sums, together))}, threads, together,
                       std::move(arguments));
      }
    }
  }
  /// A block for a row, with a thread for each of `count` numbers as far as there are threads.
  void by_thread(const char* what, std::int64_t count, std::vector<Argument> arguments) const {
    writer_.launch(fmt::format("heddle::mlp::{}_by_thread", what), {.x = extent(rows_)}, std::min(count, kMost), 0,
                   std::move(arguments));
  }
  void by_tree(const char* what, const Extent& grid, std::int64_t threads, std::int64_t sums,
               std::vector<Argument> arguments) const {
    writer_.launch(fmt::format("heddle::mlp::{}_by_tree", what), grid, {.x = extent(threads), .y = extent(sums)},
                   kFloatBytes * threads * sums, std::move(arguments));
  }
  /// A power of two, at least a warp.
  static std::int64_t threads_for(std::int64_t addends) {
    std::int64_t threads = 32;
    while (threads < addends && threads < kMost) threads *= 2;
    return threads;
  }

  Writer& writer_;
  LayeredShape shape_;
  std::int64_t rows_;
};

}  // namespace

std::int64_t tiles_of(std::int64_t lines, std::int64_t tile) { return (lines + tile - 1) / tile; }

void add_layered(Plan& plan, const Layers& layers, std::int64_t batch, const LayeredShape& shape,
                 const RunLength& length) {
  const std::int64_t parameters = layers.parameters(), outputs = layers.outputs();
  const std::int64_t squares = std::min<std::int64_t>(tiles_of(batch, kRowsOfBlock), kMostSquares);
  Writer writer(plan);
  const Products products(writer, shape, batch);
  // "values0" are those of the first hidden layer; "deltas" of the last layer are first its sums.
  for (int l = 0; l < layers.count; ++l) {
    if (l + 1 < layers.count) writer.scratch(fmt::format("values{}", l), kFloatBytes * batch * layers.sizes[l + 1]);
    writer.scratch(fmt::format("deltas{}", l), kFloatBytes * batch * layers.sizes[l + 1]);
  }
  writer.scratch("parts", kFloatBytes * shape.parts * parameters);
  writer.scratch("squares", kDoubleBytes * squares);
  writer.scratch("next", sizeof(Progress));
  plan.captured = true;
  plan.launches.reserve(static_cast<std::size_t>(length.steps * (3 * layers.count + 1) + 1));
  const Argument rows = writer.at("rows"), control = writer.at("control"), order = writer.at("order");
  const std::int32_t steps = int32(length.steps), slots = int32(length.epochs);
  // Steps read and write in turn; the last one writes where the host reads.
  writer.launch("heddle::mlp::keep_progress", {}, 1, 0, {writer.at("progress"), writer.at("next")});
  for (std::int32_t done = 0; done < steps; ++done) {
    const bool writes_progress = (steps - done) % 2 != 0;
    const Argument now = writer.at(writes_progress ? "next" : "progress");
    for (int l = 0; l < layers.count; ++l) {
      const bool last = l + 1 == layers.count;
      products.forward(layers.sizes[l], layers.sizes[l + 1],
                       {l == 0 ? rows : writer.values_of("values", l - 1), writer.at("parameters"),
                        writer.values_of(last ? "deltas" : "values", l), control, now, order,
                        StructArgument(layer_at(layers, l)), place_of(layers, l), done, steps, slots});
    }
    writer.launch("heddle::mlp::find_output_deltas", {.x = extent(squares)}, kLayeredBlock,
                  kFloatBytes * 2 * (kLayeredBlock / 32),
                  {writer.values_of("deltas", layers.count - 1), writer.at("targets"), control, now, order,
                   writer.at("squares"), int32(outputs), done, steps, slots});
    for (int l = layers.count - 1; l >= 0; --l) {
      const Argument deltas = writer.values_of("deltas", l);
      const Argument values = l == 0 ? rows : writer.values_of("values", l - 1);
      if (l > 0) {
        products.backward(layers.sizes[l], layers.sizes[l + 1],
                          {deltas, values, writer.at("parameters"), writer.values_of("deltas", l - 1), control, now,
                           StructArgument(layer_at(layers, l)), done, steps});
      }
      products.gradient(layers.sizes[l], layers.sizes[l + 1],
                        {deltas, values, writer.at("parts"), control, now, order, StructArgument(layer_at(layers, l)),
                         place_of(layers, l), int32(parameters), done, steps, slots});
    }
    writer.launch(
        "heddle::mlp::learn_layered",
        {.x = shape.alone ? 1 : extent(std::min(tiles_of(parameters, kLayeredBlock), kMostLearning))}, kLayeredBlock,
        kFloatBytes * kLearnWords,
        {writer.at("parameters"), writer.at("state"), writer.at("gradient"), writer.at("parts"), writer.at("squares"),
         control, now, writer.at(writes_progress ? "progress" : "next"), writer.at("errors"), int32(parameters),
         int32(shape.parts), int32(squares), int32(outputs), done, steps, slots});
  }
}

void add_layered_prediction(Plan& plan, const Layers& layers, std::int64_t rows, std::int64_t tile) {
  Writer writer(plan);
  for (int l = 0; l + 1 < layers.count; ++l) {
    writer.scratch(fmt::format("values{}", l), kFloatBytes * rows * layers.sizes[l + 1]);
  }
  plan.captured = true;
  for (int l = 0; l < layers.count; ++l) {
    writer.tiles("predict_layer", tile,
                 {.x = extent(tiles_of(rows, tile)), .y = extent(tiles_of(layers.sizes[l + 1], tile))},
                 {l == 0 ? writer.at("rows") : writer.values_of("values", l - 1), writer.at("parameters"),
                  l + 1 == layers.count ? writer.at("outputs") : writer.values_of("values", l), writer.at("control"),
                  StructArgument(layer_at(layers, l)), place_of(layers, l)});
  }
  writer.launch("heddle::mlp::finish_rows",
                {.x = extent(std::min<std::int64_t>(tiles_of(rows, kRowsOfBlock), kMostSquares))}, kLayeredBlock, 0,
                {writer.at("outputs"), writer.at("control"), int32(layers.outputs())});
}

}  // namespace heddle::mlp
