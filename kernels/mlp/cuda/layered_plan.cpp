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
constexpr std::int64_t kRowsOfPart = 64;                         // of a gradient, at least
constexpr std::int64_t kMostPartFloats = std::int64_t{1} << 28;  // of all parts of a layer's gradient
constexpr std::int64_t kMostGroups = 8;                          // that add up parts: a warp each
// Enough blocks to fill any GPU; each then changes several parameters.
constexpr std::int64_t kMostLearning = 2048;

// As in layered_steps.cuh.
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

/// The columns of tiles of at most `most` lines that cover so many: few of them are wasted, and wide tiles read the
/// other factor less often.
int columns_of_tile(std::int64_t lines, std::int64_t most) {
  for (const int columns : {16, 32}) {
    if (lines <= columns) return columns;
  }
  return static_cast<int>(most > 64 && tiles_of(lines, 128) * 128 == tiles_of(lines, 64) * 64 ? 128 : 64);
}
/// The tiles of a product of rows and weights. With few addends there is more to write than to compute: several blocks
/// of a multiprocessor do it in turn.
TileShape tile_of_rows(std::int64_t addends, std::int64_t sums, std::int64_t tile) {
  constexpr std::int64_t kFewAddends = 64, kHalf = 64;
  return {static_cast<int>(tile), columns_of_tile(sums, addends <= kFewAddends ? kHalf : tile)};
}
/// Blocks of a kernel for tiles that run at a time, as far as registers and shared memory tell.
std::int64_t blocks_together(const TileShape& tile, bool left_across, bool right_across, const LayeredShape& shape) {
  const std::int64_t room = shape.local_bytes / (kFloatBytes * tile.words(left_across, right_across));
  return shape.units * std::clamp<std::int64_t>(room, 1, tile.blocks_of_unit());
}
std::int64_t tiles_in(const TileShape& shape, std::int64_t m, std::int64_t n) {
  return tiles_of(m, shape.m) * tiles_of(n, shape.n);
}

/// How a layer's gradient is computed: a product of its neurons' deltas and its inputs, of which those that are more
/// are the left factor.
struct GradientShape {
  bool deltas_left;
  TileShape tile;
  std::int64_t tiles, parts;

  /// `rows` of a step at most.
  GradientShape(const Layers& layers, int layer, std::int64_t rows, const LayeredShape& shape) {
    const std::int64_t in = layers.sizes[layer], out = layers.sizes[layer + 1];
    const std::int64_t wide = std::max(in, out), narrow = std::min(in, out);
    deltas_left = out >= in;
    const std::int64_t lines = wide <= 64 ? 64 : shape.tile;
    tile = {static_cast<int>(lines), columns_of_tile(narrow, lines)};
    tiles = tiles_in(tile, wide, narrow);
    // As many parts as keep all multiprocessors busy to the end, or nearly.
    constexpr double kEnough = 0.92;
    const std::int64_t together = blocks_together(tile, true, true, shape);
    const std::int64_t most = std::clamp<std::int64_t>(
        std::min(rows / kRowsOfPart, kMostPartFloats / std::int64_t{layers.parameters_of(layer)}), 1,
        tiles_of(2 * together, tiles));
    double best = 0.0;
    parts = 1;
    for (std::int64_t count = 1; count <= most && best < kEnough; ++count) {
      const auto busy = static_cast<double>(count * tiles);
      const double share = busy / static_cast<double>(tiles_of(count * tiles, together) * together);
      if (share > best) {
        best = share;
        parts = count;
      }
    }
  }
};

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
  struct Tiles {
    std::string_view kernel;
    std::string_view more{};  ///< template arguments behind the sizes
    TileShape shape;
    bool left_across = false, right_across = false;
    std::int64_t count;
    LayeredShape among;           ///< whose multiprocessors share them
    std::int64_t more_words = 0;  ///< of shared memory

    [[nodiscard]] std::int64_t blocks() const {
      return std::min(count, blocks_together(shape, left_across, right_across, among));
    }
  };
  void tiles(const Tiles& of, std::vector<Argument> arguments) {
    launch(fmt::format("heddle::mlp::{}<{}, {}{}>", of.kernel, of.shape.m, of.shape.n, of.more),
           {.x = extent(of.blocks())}, of.shape.threads(),
           kFloatBytes * (of.shape.words(of.left_across, of.right_across) + of.more_words), std::move(arguments));
  }
  void launch(const std::string& kernel, const Extent& grid, std::int64_t threads, std::int64_t shared_bytes,
              std::vector<Argument> arguments) {
    launch(kernel, grid, Extent{.x = extent(threads)}, shared_bytes, std::move(arguments));
  }
  void launch(const std::string& kernel, const Extent& grid, const Extent& block, std::int64_t shared_bytes,
              std::vector<Argument> arguments) {
    plan_.launches.push_back({.kernel = plan_.kernel(kernel),
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

/// The same of a kernel that makes outputs of their sums, row by row.
std::int64_t blocks_of_rows(std::int64_t rows, std::int64_t outputs) {
  return std::min<std::int64_t>(tiles_of(rows, kLayeredBlock / lanes_of_row(static_cast<int>(outputs))), kMostSquares);
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
  /// From row to row of the values and deltas of so many neurons.
  [[nodiscard]] int pitch(int neurons) const {
    return shape_.product == Product::tiles ? padded_neurons(neurons) : neurons;
  }
  /// The argument that tells the kernels of a layer about it.
  [[nodiscard]] Argument of_layer(int layer) const {
    const LayerAt at = layer_at(layers_, layer);
    if (shape_.product != Product::tiles) return StructArgument(at);
    const GradientParts all = gradient_parts();
    return StructArgument(TiledLayer{.weights = at.weights,
                                     .in = at.in,
                                     .out = at.out,
                                     .in_pitch = layer == 0 ? at.in : pitch(at.in),
                                     .out_pitch = pitch(at.out),
                                     .parts = all.parts[layer],
                                     .parts_at = all.at[layer]});
  }
  /// Where the parts of the gradient are.
  [[nodiscard]] GradientParts gradient_parts() const {
    GradientParts all{};
    if (shape_.product != Product::tiles) {
      all.count = 1;
      all.parts[0] = shape_.product == Product::thread ? int32(rows_) : 1;
      all.first[1] = int32(layers_.parameters());
      return all;
    }
    std::int64_t floats = 0;
    all.count = layers_.count;
    for (int l = 0; l < layers_.count; ++l) {
      all.parts[l] = int32(GradientShape(layers_, l, rows_, shape_).parts);
      all.at[l] = floats;
      all.first[l + 1] = int32(layers_.weights_at(l + 1));
      floats += all.parts[l] * layers_.parameters_of(l);
    }
    return all;
  }
  /// The products that follow are over these rows.
  void of_part(const StepPart& part) { part_ = part; }
  /// Values of the layer's neurons.
  void forward(int layer, std::vector<Argument> arguments) const {
    if (shape_.product == Product::library) return forward_by_library(layer, arguments);
    if (shape_.product == Product::tiles)
      return of_rows(rows_by("forward_layer", in(layer), out(layer)), std::move(arguments));
    by_sums("forward", in(layer) + 1, out(layer), std::move(arguments));
  }
  /// Whether the product of the last layer makes the deltas of the outputs, too: forward_outputs().
  [[nodiscard]] bool makes_output_deltas() const {
    return shape_.product == Product::tiles && layers_.outputs() <= kOutputsOfTile;
  }
  void forward_outputs(std::vector<Argument> arguments) const { of_rows(of_outputs(), std::move(arguments)); }
  /// Sums of squared errors that a launch leaves.
  [[nodiscard]] std::int64_t squares() const {
    return makes_output_deltas() ? of_outputs().blocks() : blocks_of_rows(rows_, layers_.outputs());
  }
  /// Deltas of the neurons whose values the layer takes.
  void backward(int layer, std::vector<Argument> arguments) const {
    if (shape_.product == Product::library) return backward_by_library(layer, arguments);
    if (shape_.product == Product::tiles) {
      Writer::Tiles tiles = rows_by("backward_layer", out(layer), in(layer));
      tiles.right_across = true;
      return of_rows(tiles, std::move(arguments));
    }
    by_sums("backward", out(layer), in(layer), std::move(arguments));
  }
  /// `arguments` before the number of all parameters, which kernels for tiles do not ask for, and `after` it.
  void gradient(int layer, std::vector<Argument> arguments, const std::vector<Argument>& after) const {
    if (shape_.product != Product::tiles) arguments.emplace_back(int32(layers_.parameters()));
    arguments.insert(arguments.end(), after.begin(), after.end());
    switch (shape_.product) {
      case Product::tiles: {
        const GradientShape of(layers_, layer, rows_, shape_);
        arguments.emplace_back(StructArgument(part_));
        return writer_.tiles({.kernel = "find_layer_gradient",
                              .more = of.deltas_left ? ", true" : ", false",
                              .shape = of.tile,
                              .left_across = true,
                              .right_across = true,
                              .count = of.tiles * of.parts,
                              .among = shape_},
                             std::move(arguments));
      }
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

  /// The left factor is rows.
  [[nodiscard]] Writer::Tiles rows_by(std::string_view kernel, std::int64_t addends, std::int64_t sums) const {
    const TileShape tile = tile_of_rows(addends, sums, shape_.tile);
    return {.kernel = kernel, .shape = tile, .count = tiles_in(tile, rows_, sums), .among = shape_};
  }
  [[nodiscard]] Writer::Tiles of_outputs() const {
    Writer::Tiles tiles = rows_by("forward_outputs", in(layers_.count - 1), layers_.outputs());
    tiles.more_words = kWordsOfSquares;
    return tiles;
  }
  void of_rows(const Writer::Tiles& tiles, std::vector<Argument> arguments) const {
    arguments.emplace_back(StructArgument(part_));
    writer_.tiles(tiles, std::move(arguments));
  }
  void by_sums(const char* what, std::int64_t addends, std::int64_t sums, std::vector<Argument> arguments) const {
    if (shape_.product == Product::thread) return by_thread(what, sums, std::move(arguments));
    const std::int64_t threads = threads_for(addends);
    const std::int64_t together = threads * sums <= kMost ? sums : 1;  // as published: all neurons, or one
    by_tree(what, {.x = extent(rows_), .y = extent(tiles_of(sums, together))}, threads, together, std::move(arguments));
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

std::int64_t layered_bytes(std::int64_t tile) {
  const int lines = static_cast<int>(tile);
  return kFloatBytes * TileShape{lines, lines}.words(true, true);
}

void add_layered(Plan& plan, const Layers& layers, std::int64_t batch, const LayeredShape& shape,
                 const RunLength& length) {
  const std::int64_t parameters = layers.parameters(), outputs = layers.outputs();
  const std::int64_t piece_rows = tiles_of(batch, shape.pieces), pieces = tiles_of(batch, piece_rows);
  Writer writer(plan);
  Products products(writer, layers, shape, piece_rows);
  const std::int64_t squares = products.squares();
  if (pieces > 1) {
    plan.buffers[at(plan.buffer("rows"))].piece_bytes = kFloatBytes * piece_rows * layers.inputs();
    plan.buffers[at(plan.buffer("targets"))].piece_bytes = kFloatBytes * piece_rows * outputs;
  }
  // "values0" are those of the first hidden layer; "deltas" of the last layer are first its sums.
  for (int l = 0; l < layers.count; ++l) {
    const std::int64_t bytes = kFloatBytes * piece_rows * products.pitch(layers.sizes[l + 1]);
    if (l + 1 < layers.count) writer.scratch(fmt::format("values{}", l), bytes);
    writer.scratch(fmt::format("deltas{}", l), bytes);
  }
  const GradientParts parts = products.gradient_parts();
  const int last_range = parts.count - 1;
  writer.scratch("parts",
                 kFloatBytes * (parts.at[last_range] + std::int64_t{parts.parts[last_range]} *
                                                           (parts.first[parts.count] - parts.first[last_range])));
  const int most_parts = *std::max_element(parts.parts, parts.parts + parts.count);
  std::int64_t groups = 1;
  while (groups < kMostGroups && 2 * groups <= most_parts) groups *= 2;
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
      const Argument squares_at = writer.at("squares", 2 * squares * piece);
      for (int l = 0; l < layers.count; ++l) {
        const bool last = l + 1 == layers.count, makes_deltas = last && products.makes_output_deltas();
        std::vector<Argument> arguments{l == 0 ? rows : writer.values_of("values", l - 1),
                                        writer.at("parameters"),
                                        writer.values_of(last ? "deltas" : "values", l),
                                        control,
                                        now,
                                        order,
                                        products.of_layer(l),
                                        place_of(layers, l)};
        if (makes_deltas) arguments.insert(arguments.end(), {writer.at("targets"), squares_at});
        arguments.insert(arguments.end(), {done, steps, slots});
        if (makes_deltas) {
          products.forward_outputs(std::move(arguments));
        } else {
          products.forward(l, std::move(arguments));
        }
      }
      if (!products.makes_output_deltas()) {
        writer.launch(
            "heddle::mlp::find_output_deltas", {.x = extent(squares)}, kLayeredBlock, kFloatBytes * kWordsOfSquares,
            {writer.values_of("deltas", layers.count - 1), writer.at("targets"), control, now, order, squares_at,
             int32(outputs), int32(products.pitch(layers.outputs())), done, steps, slots, StructArgument(part)});
      }
      for (int l = layers.count - 1; l >= 0; --l) {
        const Argument deltas = writer.values_of("deltas", l);
        const Argument values = l == 0 ? rows : writer.values_of("values", l - 1);
        if (l > 0) {
          products.backward(l, {deltas, values, writer.at("parameters"), writer.values_of("deltas", l - 1), control,
                                now, products.of_layer(l), done, steps});
        }
        products.gradient(
            l, {deltas, values, writer.at("parts"), control, now, order, products.of_layer(l), place_of(layers, l)},
            {done, steps, slots});
      }
    }
    writer.launch(
        "heddle::mlp::learn_layered",
        {.x = shape.alone ? 1 : extent(std::min(tiles_of(parameters * groups, kLayeredBlock), kMostLearning))},
        kLayeredBlock, kFloatBytes * kLearnWords,
        {writer.at("parameters"), writer.at("state"), writer.at("gradient"), writer.at("parts"), writer.at("squares"),
         control, now, writer.at(writes_progress ? "progress" : "next"), writer.at("errors"), StructArgument(parts),
         int32(groups), int32(squares * pieces), int32(outputs), done, steps, slots});
  }
}

void add_layered_prediction(Plan& plan, const Layers& layers, std::int64_t rows, const LayeredShape& shape) {
  Writer writer(plan);
  for (int l = 0; l + 1 < layers.count; ++l) {
    writer.scratch(fmt::format("values{}", l), kFloatBytes * rows * padded_neurons(layers.sizes[l + 1]));
  }
  plan.captured = true;
  for (int l = 0; l < layers.count; ++l) {
    const LayerAt at = layer_at(layers, l);
    const bool last = l + 1 == layers.count;
    const TileShape tile = tile_of_rows(at.in, at.out, shape.tile);
    writer.tiles({.kernel = "predict_layer", .shape = tile, .count = tiles_in(tile, rows, at.out), .among = shape},
                 {l == 0 ? writer.at("rows") : writer.values_of("values", l - 1), writer.at("parameters"),
                  last ? writer.at("outputs") : writer.values_of("values", l), writer.at("control"),
                  StructArgument(TiledLayer{.weights = at.weights,
                                            .in = at.in,
                                            .out = at.out,
                                            .in_pitch = l == 0 ? at.in : padded_neurons(at.in),
                                            .out_pitch = last ? at.out : padded_neurons(at.out),
                                            .parts = 0,
                                            .parts_at = 0}),
                  place_of(layers, l)});
  }
  writer.launch("heddle::mlp::finish_rows", {.x = extent(blocks_of_rows(rows, layers.outputs()))}, kLayeredBlock, 0,
                {writer.at("outputs"), writer.at("control"), int32(layers.outputs())});
}

}  // namespace heddle::mlp
