#include "heddle/kernels/mlp/cuda/layered_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"

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
struct StepPart {
  std::int32_t first, count, ordered;
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

  /// The next launches are of this piece of the rows.
  void of_piece(std::int64_t piece) { piece_ = static_cast<int>(piece); }

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
                              .piece = piece_,
                              .arguments = std::move(arguments)});
  }
  /// C = op(A) op(B), [m][n], by a library: A is [m][k], or transposed [k][m]; B is [k][n], or transposed [n][k].
  struct MatrixProduct {
    Argument a, b, c;
    std::int64_t m, n, k;
    bool transposed_a, transposed_b;
  };
  void call(const MatrixProduct& of) {
    plan_.launches.push_back({.kernel = -1,
                              .grid = {},
                              .block = {},
                              .arguments = {of.a, of.b, of.c, int32(of.m), int32(of.n), int32(of.k),
                                            int32(of.transposed_a ? 1 : 0), int32(of.transposed_b ? 1 : 0)},
                              .routine = "matrix_product"});
  }
  /// A buffer from its float `first` on.
  [[nodiscard]] Argument at(std::string_view buffer, std::int64_t first) const {
    return BufferArgument{plan_.buffer(buffer), kFloatBytes * first};
  }

 private:
  Plan& plan_;
  int piece_ = 0;
};

/// Blocks of a kernel whose threads deal `count` numbers among them.
Extent blocks_for(std::int64_t count) {
  return {.x = extent(std::clamp<std::int64_t>(tiles_of(count, kLayeredBlock), 1, kMostLearning))};
}

/// The launches of a layer's products. `arguments`: of the kernels of layered.cuh.
class Products {
 public:
  Products(Writer& writer, const Layers& layers, const LayeredShape& shape, std::int64_t rows)
      : writer_(writer), layers_(layers), shape_(shape), rows_(rows) {}

  /// Once before the products of a step.
  void begin(const Argument& now, std::int32_t done, std::int32_t steps, std::int32_t slots) const {
    if (shape_.product != Product::library) return;
    writer_.launch("heddle::mlp::gather_rows", blocks_for(rows_ * layers_.inputs()), kLayeredBlock, 0,
                   {writer_.at("rows"), writer_.at("gathered"), writer_.at("ones"), writer_.at("control"), now,
                    writer_.at("order"), std::int32_t{layers_.inputs()}, int32(rows_), done, steps, slots});
  }
  /// The products that follow are over these rows.
  void of_part(const StepPart& part) { part_ = part; }
  /// Values of the layer's neurons.
  void forward(int layer, std::vector<Argument> arguments) const {
    if (shape_.product == Product::library) return forward_by_library(layer, arguments);
    of_rows("forward_layer", "forward", in(layer) + 1, out(layer), std::move(arguments));
  }
  /// Deltas of the neurons whose values the layer takes.
  void backward(int layer, std::vector<Argument> arguments) const {
    if (shape_.product == Product::library) return backward_by_library(layer, arguments);
    of_rows("backward_layer", "backward", out(layer), in(layer), std::move(arguments));
  }
  void gradient(int layer, std::vector<Argument> arguments) const {
    switch (shape_.product) {
      case Product::tiles:
        arguments.emplace_back(StructArgument(part_));
        return writer_.tiles("find_layer_gradient", shape_.tile,
                             {.x = extent(tiles_of(in(layer) + 1, shape_.tile)),
                              .y = extent(tiles_of(out(layer), shape_.tile)),
                              .z = extent(shape_.parts)},
                             std::move(arguments));
      case Product::thread:
        return by_thread("gradient", (in(layer) + 1) * out(layer), std::move(arguments));
      case Product::tree:
        return by_tree("gradient", {.x = extent(in(layer) + 1), .y = extent(out(layer))}, threads_for(rows_), 1,
                       std::move(arguments));
      case Product::library:
        return gradient_by_library(layer, arguments);
    }
  }

 private:
  static constexpr std::int64_t kMost = kMostSummands;

  void of_rows(const char* by_tiles, const char* by_sums, std::int64_t addends, std::int64_t sums,
               std::vector<Argument> arguments) const {
    switch (shape_.product) {
      case Product::tiles:
        arguments.emplace_back(StructArgument(part_));
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
      case Product::library:
        return;  // asked for elsewhere
    }
  }
  [[nodiscard]] Argument weights(int layer) const { return writer_.at("parameters", layers_.weights_at(layer)); }
  void forward_by_library(int layer, const std::vector<Argument>& of) const {
    const Argument& sums = of[2];
    writer_.call({.a = layer == 0 ? writer_.at("gathered") : of[0],
                  .b = weights(layer),
                  .c = sums,
                  .m = rows_,
                  .n = out(layer),
                  .k = in(layer),
                  .transposed_a = false,
                  .transposed_b = true});
    writer_.launch("heddle::mlp::finish_sums", blocks_for(rows_ * out(layer)), kLayeredBlock, 0,
                   {sums, of[1], of[3], of[4], of[6], of[7], int32(rows_), of[8], of[9]});
  }
  void backward_by_library(int layer, const std::vector<Argument>& of) const {
    const Argument& sums = of[3];
    writer_.call({.a = of[0],
                  .b = weights(layer),
                  .c = sums,
                  .m = rows_,
                  .n = in(layer),
                  .k = out(layer),
                  .transposed_a = false,
                  .transposed_b = false});
    writer_.launch("heddle::mlp::multiply_by_slopes", blocks_for(rows_ * in(layer)), kLayeredBlock, 0,
                   {sums, of[1], of[4], of[5], int32(in(layer)), of[7], of[8]});
  }
  /// Those of the biases are sums over the rows: a product with ones.
  void gradient_by_library(int layer, const std::vector<Argument>& of) const {
    const Argument values = layer == 0 ? writer_.at("gathered") : of[1];
    const auto product = [&](const Argument& with, std::int64_t columns, std::int64_t to) {
      writer_.call({.a = of[0],
                    .b = with,
                    .c = writer_.at("parts", to),
                    .m = out(layer),
                    .n = columns,
                    .k = rows_,
                    .transposed_a = true,
                    .transposed_b = false});
    };
    product(values, in(layer), layers_.weights_at(layer));
    product(writer_.at("ones"), 1, layers_.biases_at(layer));
  }
  [[nodiscard]] std::int64_t in(int layer) const { return layers_.sizes[layer]; }
  [[nodiscard]] std::int64_t out(int layer) const { return layers_.sizes[layer + 1]; }
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
  const Layers& layers_;
  LayeredShape shape_;
  std::int64_t rows_;
  StepPart part_{};
};

}  // namespace

std::int64_t tiles_of(std::int64_t lines, std::int64_t tile) { return (lines + tile - 1) / tile; }

void add_layered(Plan& plan, const Layers& layers, std::int64_t batch, const LayeredShape& shape,
                 const RunLength& length) {
  const std::int64_t parameters = layers.parameters(), outputs = layers.outputs();
  const std::int64_t piece_rows = tiles_of(batch, shape.pieces), pieces = tiles_of(batch, piece_rows);
  const std::int64_t squares = std::min<std::int64_t>(tiles_of(piece_rows, kRowsOfBlock), kMostSquares);
  Writer writer(plan);
  Products products(writer, layers, shape, piece_rows);
  if (pieces > 1) {
    plan.buffers[at(plan.buffer("rows"))].piece_bytes = kFloatBytes * piece_rows * layers.inputs();
    plan.buffers[at(plan.buffer("targets"))].piece_bytes = kFloatBytes * piece_rows * outputs;
  }
  // "values0" are those of the first hidden layer; "deltas" of the last layer are first its sums.
  for (int l = 0; l < layers.count; ++l) {
    if (l + 1 < layers.count)
      writer.scratch(fmt::format("values{}", l), kFloatBytes * piece_rows * layers.sizes[l + 1]);
    writer.scratch(fmt::format("deltas{}", l), kFloatBytes * piece_rows * layers.sizes[l + 1]);
  }
  writer.scratch("parts", kFloatBytes * shape.parts * parameters);
  writer.scratch("squares", kDoubleBytes * squares * pieces);
  writer.scratch("next", sizeof(Progress));
  const bool by_library = shape.product == Product::library;
  plan.captured = !by_library && pieces == 1;
  if (by_library) {
    writer.scratch("gathered", kFloatBytes * batch * layers.inputs());
    writer.scratch("ones", kFloatBytes * batch);
  }
  const std::int64_t of_layer = by_library ? 6 : 3;
  plan.launches.reserve(static_cast<std::size_t>(length.steps * (pieces * (of_layer * layers.count + 1) + 1) + 1));
  const Argument rows = writer.at("rows"), control = writer.at("control"), order = writer.at("order");
  const std::int32_t steps = int32(length.steps), slots = int32(length.epochs);
  // Steps read and write in turn; the last one writes where the host reads.
  writer.launch("heddle::mlp::keep_progress", {}, 1, 0, {writer.at("progress"), writer.at("next")});
  for (std::int32_t done = 0; done < steps; ++done) {
    const bool writes_progress = (steps - done) % 2 != 0;
    const Argument now = writer.at(writes_progress ? "next" : "progress");
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const StepPart part{int32(piece * piece_rows), int32(piece_rows), pieces == 1 ? 1 : 0};
      writer.of_piece(piece);
      products.of_part(part);
      products.begin(now, done, steps, slots);
      for (int l = 0; l < layers.count; ++l) {
        const bool last = l + 1 == layers.count;
        products.forward(l, {l == 0 ? rows : writer.values_of("values", l - 1), writer.at("parameters"),
                             writer.values_of(last ? "deltas" : "values", l), control, now, order,
                             StructArgument(layer_at(layers, l)), place_of(layers, l), done, steps, slots});
      }
      writer.launch(
          "heddle::mlp::find_output_deltas", {.x = extent(squares)}, kLayeredBlock,
          kFloatBytes * 2 * (kLayeredBlock / 32),
          {writer.values_of("deltas", layers.count - 1), writer.at("targets"), control, now, order,
           writer.at("squares", 2 * squares * piece), int32(outputs), done, steps, slots, StructArgument(part)});
      for (int l = layers.count - 1; l >= 0; --l) {
        const Argument deltas = writer.values_of("deltas", l);
        const Argument values = l == 0 ? rows : writer.values_of("values", l - 1);
        if (l > 0) {
          products.backward(l, {deltas, values, writer.at("parameters"), writer.values_of("deltas", l - 1), control,
                                now, StructArgument(layer_at(layers, l)), done, steps});
        }
        products.gradient(l,
                          {deltas, values, writer.at("parts"), control, now, order, StructArgument(layer_at(layers, l)),
                           place_of(layers, l), int32(parameters), done, steps, slots});
      }
    }
    writer.launch(
        "heddle::mlp::learn_layered",
        {.x = shape.alone ? 1 : extent(std::min(tiles_of(parameters, kLayeredBlock), kMostLearning))}, kLayeredBlock,
        kFloatBytes * kLearnWords,
        {writer.at("parameters"), writer.at("state"), writer.at("gradient"), writer.at("parts"), writer.at("squares"),
         control, now, writer.at(writes_progress ? "progress" : "next"), writer.at("errors"), int32(parameters),
         int32(shape.parts), int32(squares * pieces), int32(outputs), done, steps, slots});
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
