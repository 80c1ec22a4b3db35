#include "heddle/kernels/tsk/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/common/options.hpp"

namespace heddle::tsk {

namespace {

using cuda::kWarp;
constexpr std::int64_t kGatherBlock = 1024;
constexpr std::int64_t kStepBlock = 256;
constexpr std::int64_t kKeptBlock = 256;  // of the kernels of kept.cuh
constexpr std::int64_t kCompareBlock = 512;
constexpr std::int64_t kDepth = 16;       // rows of their tiles in shared memory
constexpr std::int64_t kTile = 64;        // kTile in kept.cuh, and of fire_kept
constexpr std::int64_t kMostInY = 65535;  // blocks of a grid

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::vector<Value> values(std::initializer_list<std::int64_t> list) { return {list.begin(), list.end()}; }
std::vector<Value> words(std::initializer_list<const char*> list) {
  std::vector<Value> result;
  for (const char* word : list) result.emplace_back(std::string(word));
  return result;
}

bool is(const Configuration& c, const char* parameter, std::string_view word) {
  return c.has(parameter) && c.word(parameter) == word;
}
/// Whether both passes compute the activations in shared memory.
bool recomputes(const Configuration& c) { return is(c, "scheme", "block") || is(c, "storage", "recomputed"); }
bool is_resident(const Configuration& c) { return is(c, "scheme", "resident"); }
/// Pieces that the rows come in.
std::int64_t pieces_of(const Configuration& c) { return c.has("pieces") ? c.number("pieces") : 1; }
bool solves_in_block(const Configuration& c) { return is(c, "scheme", "block") || is(c, "solver", "block"); }

/// The numbers of a problem.
struct Sizes {
  Sizes(const Problem& problem, int order)
      : rules(problem.at("rules")),
        dim(problem.at("dim")),
        outputs(problem.at("outputs")),
        rows(problem.at("rows")),
        terms(order == 0 ? 1 : dim + 1),
        unknowns(rules * terms),
        columns(unknowns + outputs),
        tasks(rules * dim) {}
  std::int64_t rules, dim, outputs, rows, terms, unknowns, columns, tasks;

  [[nodiscard]] std::int64_t solve_bytes() const { return 8 * (columns * (unknowns | 1) + unknowns); }
  [[nodiscard]] std::int64_t elements(std::int64_t side) const {
    const std::int64_t sides = ceil_div(columns, side);
    return sides * (sides + 1) / 2 * side * side;
  }
};

/// Of the passes that compute activations in shared memory.
struct Tile {
  explicit Tile(const Configuration& c)
      : rows(c.number("tile_rows")), lanes(c.number("lanes")), side(c.number("side")) {}
  std::int64_t rows, lanes, side;

  [[nodiscard]] std::int64_t block() const { return rows * lanes; }
  /// Doubles of a row: an odd number of pairs, so that the rows of neighbouring threads start in different banks.
  [[nodiscard]] std::int64_t pitch(const Sizes& sizes) const {
    std::int64_t pitch = ceil_div(sizes.columns, side) * side;
    while (pitch % 4 != 2) ++pitch;
    return pitch;
  }
  static std::int64_t phi_pitch(const Sizes& sizes) { return sizes.rules | 1; }
  [[nodiscard]] std::int64_t accumulate_bytes(const Sizes& sizes) const {
    return 8 * std::max(rows * pitch(sizes), block() * side * side) + 4 * (rows * phi_pitch(sizes) + 2 * sizes.tasks);
  }
  [[nodiscard]] std::int64_t descend_bytes(const Sizes& sizes) const {
    const std::int64_t groups = block() / std::min(sizes.tasks, block());
    return 8 * (2 * sizes.tasks * groups + 2 * block()) +
           4 * (rows * phi_pitch(sizes) + 2 * rows * sizes.outputs + sizes.unknowns * sizes.outputs + 2 * sizes.tasks);
  }
};

/// Of the blocks that do all iterations in one launch: resident.cuh.
struct Resident {
  Resident(const Configuration& c, const Sizes& sizes)
      : real(sizes.rows <= kFewRows ? 8 : 4),
        threads(c.number("block_size")),
        blocks(c.number("blocks")),
        column_tiles(ceil_div(sizes.columns, 8)),
        rules(ceil_div(sizes.rules, 8)),
        most(std::max(sizes.unknowns * (sizes.unknowns + 1) / 2 + sizes.unknowns * sizes.outputs, 2 * sizes.tasks + 2)),
        packets(blocks * ceil_div(most, blocks) * blocks + std::clamp<std::int64_t>(blocks / 16, 1, 8) * most) {
    const std::int64_t warps = threads / kWarp, side = ceil_div(8 * column_tiles, 16) * 16;
    const std::int64_t numbers = 2 * sizes.tasks + sizes.unknowns * sizes.outputs;  // of a system
    shared_bytes =
        8 * (std::max(warps * column_tiles * (column_tiles + 1) / 2 * 64, warps * 4 * (2 * sizes.tasks + 2)) + most +
             3 * side) +
        real * (numbers + (sizes.terms > 1 ? warps * 4 * sizes.rules : 0)) + 4 * numbers;
  }
  static constexpr std::int64_t kMostBlocks = 192;  // kPolls of a warp there
  /// In a thread's registers: the normal equations in one pass; antecedents and slopes of its rules in the other.
  [[nodiscard]] std::int64_t registers(std::int64_t dim) const {
    return 56 + std::max(2 * column_tiles * (column_tiles + 1) + real / 2 * rules * dim, 8 * rules * dim);
  }
  std::int64_t real;  ///< bytes
  std::int64_t threads, blocks, column_tiles, rules;
  std::int64_t most;     ///< elements of an exchange
  std::int64_t packets;  ///< as grid_sums.cuh lays them out
  std::int64_t shared_bytes = 0;
};

/// A block on every multiprocessor, or fewer: numbers of blocks, falling.
std::vector<std::int64_t> resident_blocks(const DeviceIdentity& device) {
  std::vector<std::int64_t> counts{std::clamp<std::int64_t>(device.units, 1, Resident::kMostBlocks)};
  for (std::int64_t count = 128; count >= 1; count /= 2) {
    if (count < counts.front()) counts.push_back(count);
  }
  return counts;
}

std::int64_t sample_block(const Sizes& sizes) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(sizes.rules, kWarp))));
}

/// Collects the buffers and launches of one plan.
class Builder {
 public:
  Builder(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
          std::int64_t iterations)
      : c_(configuration),
        sizes_(problem, order),
        units_(std::max<std::int64_t>(device.units, 1)),
        gram_pitch_(sizes_.columns + sizes_.columns % 2),
        iterations_(iterations),
        piece_rows_(ceil_div(sizes_.rows, pieces_of(c_))),
        pieces_(ceil_div(sizes_.rows, piece_rows_)) {
    plan_.buffers = common_buffers(problem, order, iterations);
    if (pieces_ > 1) {
      const auto buffer = [&](std::string_view name) -> Buffer& {
        return plan_.buffers[static_cast<std::size_t>(plan_.buffer(name))];
      };
      buffer("rows").piece_bytes = 4 * piece_rows_ * sizes_.dim;
      buffer("targets").piece_bytes = 4 * piece_rows_ * sizes_.outputs;
    }
    scratch("before", sizeof(Progress));
    scratch("solution", 8 * sizes_.unknowns * sizes_.outputs);
    scratch("info", 4);
    scratch("gradient", 8 * (2 * sizes_.tasks + 2));
  }

  Plan build() {
    if (is(c_, "scheme", "block")) {
      block();
      return std::move(plan_);
    }
    if (is_resident(c_)) {
      resident();
      return std::move(plan_);
    }
    if (is(c_, "scheme", "sample")) {
      sample();
    } else if (is(c_, "storage", "kept")) {
      kept();
    } else {
      recomputed();
    }
    finish();
    const std::vector<Launch> once = plan_.launches;
    for (std::int64_t i = 1; i < iterations_; ++i)
      plan_.launches.insert(plan_.launches.end(), once.begin(), once.end());
    plan_.captured = is(c_, "solver", "block") && pieces_ == 1;
    return std::move(plan_);
  }

 private:
  void scratch(std::string name, std::int64_t bytes) {
    plan_.buffers.push_back({std::move(name), bytes, Role::scratch});
  }
  [[nodiscard]] Argument at(std::string_view buffer, std::size_t offset = 0) const {
    return BufferArgument{plan_.buffer(buffer), static_cast<std::int64_t>(offset)};
  }
  enum class Divides { no, yes };
  static Argument whole(std::int64_t value) { return static_cast<std::int32_t>(value); }

  void launch(const std::string& kernel, std::pair<std::int64_t, std::int64_t> grid, std::int64_t threads,
              std::int64_t shared_bytes, std::vector<Argument> arguments, const std::vector<std::int64_t>& numbers,
              Divides divides = Divides::no) {
    const std::string expression = "heddle::" + kernel;
    const auto known = std::find(plan_.kernels.begin(), plan_.kernels.end(), expression);
    const auto index = static_cast<int>(known - plan_.kernels.begin());
    if (known == plan_.kernels.end()) plan_.kernels.push_back(expression);
    for (const std::int64_t number : numbers) arguments.push_back(whole(number));
    // Kernels of iterate.cuh divide their shared memory themselves, and have to know how large it is.
    if (divides == Divides::yes) arguments.push_back(whole(shared_bytes / 4));
    plan_.launches.push_back({.kernel = index,
                              .grid = {.x = static_cast<unsigned>(grid.first), .y = static_cast<unsigned>(grid.second)},
                              .block = {.x = static_cast<unsigned>(threads)},
                              .shared_bytes = shared_bytes,
                              .programmatic = c_.has("overlap") && c_.number("overlap") != 0,
                              .piece = static_cast<int>(piece_),
                              .arguments = std::move(arguments)});
  }
  void call(const char* routine, std::vector<Argument> arguments, const std::vector<std::int64_t>& numbers) {
    for (const std::int64_t number : numbers) arguments.push_back(whole(number));
    plan_.launches.push_back(
        {.kernel = -1, .grid = {}, .block = {}, .arguments = std::move(arguments), .routine = routine});
  }

  void block() {
    const Tile tile(c_);
    scratch("products", 8 * sizes_.elements(tile.side));
    scratch("gram", 8 * sizes_.columns * gram_pitch_);
    scratch("slopes", 8 * (2 * sizes_.tasks + 2));
    scratch("squares", 8);
    const std::int64_t shared =
        std::max({tile.accumulate_bytes(sizes_), tile.descend_bytes(sizes_), sizes_.solve_bytes(), 8 * tile.block()});
    launch(fmt::format("tsk::iterate_block<{}, {}, {}>", tile.rows, tile.lanes, tile.side), {1, 1}, tile.block(),
           shared,
           {at("rows"), at("targets"), at("centres"), at("widths"), at("consequents"), at("best_centres"),
            at("best_widths"), at("best_consequents"), at("control"), at("progress"), at("errors"), at("products"),
            at("gram"), at("solution"), at("info"), at("slopes"), at("gradient"), at("squares")},
           {iterations_, sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, tile.pitch(sizes_),
            Tile::phi_pitch(sizes_), gram_pitch_},
           Divides::yes);
  }

  void resident() {
    constexpr std::int64_t kEmpty = 256;  // threads that empty the packets
    const Resident shape(c_, sizes_);
    scratch("packets", 16 * shape.packets);
    launch("tsk::begin_resident", {ceil_div(shape.packets, kEmpty), 1}, kEmpty, 0,
           {at("packets"), whole(shape.packets), at("progress"), at("before")}, {});
    launch(fmt::format("tsk::iterate_resident<{}, {}, {}, {}, {}, {}>", shape.threads, shape.column_tiles, shape.rules,
                       sizes_.dim, sizes_.terms > 1 ? 1 : 0, shape.real == 8 ? "double" : "float"),
           {shape.blocks, 1}, shape.threads, shape.shared_bytes,
           {at("rows"), at("targets"), at("centres"), at("widths"), at("consequents"), at("best_centres"),
            at("best_widths"), at("best_consequents"), at("low_parts"), at("control"), at("before"), at("progress"),
            at("errors"), at("packets")},
           {shape.most, iterations_, sizes_.outputs, sizes_.rules}, Divides::yes);
    plan_.launches.back().resident = shape.blocks > 1;
  }

  void recomputed() {
    const Tile tile(c_);
    parts_ = std::min(ceil_div(piece_rows_, tile.rows), units_ * c_.number("blocks_per_unit"));
    scratch("products", 8 * parts_ * sizes_.elements(tile.side));
    scratch("slopes", 8 * parts_ * (2 * sizes_.tasks + 2));
    for_pieces(Order::rising, [&] {
      launch(fmt::format("tsk::accumulate_rows<{}, {}, {}>", tile.rows, tile.lanes, tile.side), {parts_, 1},
             tile.block(), tile.accumulate_bytes(sizes_),
             {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("progress"), at("before"),
              at("products")},
             {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_, tile.pitch(sizes_),
              Tile::phi_pitch(sizes_)},
             Divides::yes);
    });
    solve_products(parts_, tile.side);
    for_pieces(Order::falling, [&] {
      launch(fmt::format("tsk::descend_rows<{}, {}>", tile.rows, tile.lanes), {parts_, 1}, tile.block(),
             tile.descend_bytes(sizes_),
             {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("before"), at("solution"),
              at("slopes")},
             {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_, Tile::phi_pitch(sizes_)},
             Divides::yes);
    });
  }

  /// Activations of a piece, where row 0 would have them.
  [[nodiscard]] Argument kept_rows() const { return BufferArgument{plan_.buffer("kept"), -4 * first() * sizes_.rules}; }
  void activate_kept() {
    launch("tsk::fire_kept<64, 64, 4, 4, 16>", {ceil_div(sizes_.rules, kTile), ceil_div(piece_rows_, kTile)}, 256,
           4 * 16 * 3 * (kTile + 1), {at("rows"), at("centres"), at("widths"), at("control"), kept_rows()},
           {sizes_.dim, sizes_.rules, first(), end()});
    // This kernel knows nothing of launches that overlap: it waits for all before it, and the next one waits for it.
    plan_.launches.back().programmatic = false;
    const std::int64_t warps = kKeptBlock / kWarp;
    launch(fmt::format("tsk::normalise_rows<{}>", kKeptBlock), {std::min(ceil_div(piece_rows_, warps), 16 * units_), 1},
           kKeptBlock, 0, {kept_rows(), at("control"), at("progress"), at("before")}, {sizes_.rules, first(), end()});
  }

  void kept() {
    constexpr std::int64_t kMostSlopes = std::int64_t{1} << 25;  // elements of all parts together
    parts_ =
        std::clamp(kMostSlopes / sizes_.tasks, std::int64_t{1}, std::min(2 * units_, ceil_div(piece_rows_, kDepth)));
    scratch("kept", 4 * piece_rows_ * sizes_.rules);
    scratch("slopes", 8 * parts_ * (2 * sizes_.tasks + 2));
    if (is(c_, "solver", "orthogonal")) {
      activate_kept();
      const std::int64_t pitch = sizes_.rows + sizes_.unknowns;
      scratch("columns", 8 * sizes_.columns * pitch);
      const std::int64_t blocks = std::min(ceil_div(sizes_.columns * pitch, kKeptBlock), 16 * units_);
      launch(fmt::format("tsk::lay_out_columns<{}>", kKeptBlock), {blocks, 1}, kKeptBlock, 0,
             {at("rows"), at("targets"), at("kept"), at("control"), at("before"), at("columns")},
             {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, pitch});
      call("least_squares", {at("columns"), at("solution"), at("control", offsetof(Control, ridge)), at("info")},
           {sizes_.rows, sizes_.unknowns, sizes_.outputs, pitch});
    } else {
      const std::int64_t sides = ceil_div(sizes_.columns, kTile), pairs = sides * (sides + 1) / 2;
      const std::int64_t splits =
          std::clamp(ceil_div(2 * units_, pairs), std::int64_t{1}, ceil_div(piece_rows_, kDepth));
      scratch("products", 8 * splits * pairs * kTile * kTile);
      for_pieces(Order::rising, [&] {
        activate_kept();
        launch(fmt::format("tsk::multiply_kept<{}>", kDepth), {pairs, splits}, kKeptBlock, 8 * 2 * kDepth * (kTile + 2),
               {at("rows"), at("targets"), kept_rows(), at("control"), at("before"), at("products")},
               {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_});
      });
      solve_products(splits, kTile);
    }
    const auto across =
        static_cast<std::int64_t>(std::min<std::uint64_t>(16, std::bit_ceil(static_cast<std::uint64_t>(sizes_.dim))));
    const std::int64_t down = kKeptBlock / across;
    for_pieces(Order::falling, [&] {
      // Of all pieces but the last, which comes first here, the activations are no longer there.
      if (piece_ < pieces_ - 1) activate_kept();
      launch(fmt::format("tsk::compare_kept<{}>", kCompareBlock), {parts_, 1}, kCompareBlock,
             kCompareBlock / kWarp * (16 + 8 * sizes_.outputs),
             {at("rows"), at("targets"), kept_rows(), at("control"), at("before"), at("solution"), at("slopes")},
             {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_});
      launch(fmt::format("tsk::slopes_kept<{}, {}>", kKeptBlock, kDepth),
             {ceil_div(sizes_.rules, down) * ceil_div(sizes_.dim, across), parts_}, kKeptBlock,
             4 * kDepth * (down + across),
             {at("rows"), kept_rows(), at("centres"), at("widths"), at("control"), at("before"), at("slopes")},
             {sizes_.dim, sizes_.rules, across, first(), end(), adds_});
    });
  }

  void sample() {
    const std::int64_t block = sample_block(sizes_), pitch = sizes_.rows + sizes_.unknowns;
    parts_ = sizes_.rows;
    scratch("columns", 8 * sizes_.columns * pitch);
    scratch("slopes", 4 * parts_ * (2 * sizes_.tasks + 2));
    launch(fmt::format("tsk::activate_sample<{}>", block), {sizes_.rows, 1}, block, 4 * block,
           {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("progress"), at("before"),
            at("columns")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, pitch});
    call("least_squares", {at("columns"), at("solution"), at("control", offsetof(Control, ridge)), at("info")},
         {sizes_.rows, sizes_.unknowns, sizes_.outputs, pitch});
    launch(fmt::format("tsk::gradient_sample<{}>", block), {sizes_.rows, 1}, block, 4 * block,
           {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("before"), at("solution"),
            at("slopes")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms});
  }

  /// From the parts of the products to the solution.
  void solve_products(std::int64_t parts, std::int64_t side) {
    scratch("gram", 8 * sizes_.columns * gram_pitch_);
    launch(fmt::format("tsk::gather_products<{}, {}>", kGatherBlock, side),
           {std::min(ceil_div(sizes_.elements(side), kWarp), std::int64_t{1} << 20), 1}, kGatherBlock, 8 * kGatherBlock,
           {at("control"), at("before"), at("products"), whole(parts), at("gram")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, gram_pitch_}, Divides::yes);
    if (is(c_, "solver", "library")) {
      call("normal_equations", {at("gram"), at("solution"), at("control", offsetof(Control, ridge)), at("info")},
           {sizes_.unknowns, sizes_.outputs, gram_pitch_});
      return;
    }
    const std::int64_t block = c_.number("solve_size");
    launch(fmt::format("tsk::solve_products<{}>", block), {1, 1}, block, sizes_.solve_bytes(),
           {at("control"), at("before"), at("gram"), at("solution"), at("info")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, gram_pitch_}, Divides::yes);
  }

  void finish() {
    const std::int64_t blocks = std::min(ceil_div(2 * sizes_.tasks + 2, kWarp), 32 * units_);
    scratch("squares", 8 * blocks);
    launch(fmt::format("tsk::gather_gradient<{}, {}>", kGatherBlock, is(c_, "scheme", "sample") ? "float" : "double"),
           {blocks, 1}, kGatherBlock, 8 * kGatherBlock,
           {at("control"), at("before"), at("slopes"), whole(parts_), at("widths"), at("gradient"), at("squares")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms}, Divides::yes);
    const std::int64_t numbers = std::max(sizes_.tasks, sizes_.unknowns * sizes_.outputs);
    launch(fmt::format("tsk::take_step<{}>", kStepBlock), {std::min(ceil_div(numbers, kStepBlock), 4 * units_), 1},
           kStepBlock, 8 * kStepBlock,
           {at("centres"), at("widths"), at("consequents"), at("best_centres"), at("best_widths"),
            at("best_consequents"), at("solution"), at("info"), at("gradient"), at("squares"), whole(blocks),
            at("control"), at("before"), at("progress"), at("errors")},
           {iterations_, sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms}, Divides::yes);
  }

  /// `launches` for every piece of the rows, the second time in the opposite order: one piece is still there.
  enum class Order { rising, falling };
  template <class Launches>
  void for_pieces(Order order, const Launches& launches) {
    for (std::int64_t i = 0; i < pieces_; ++i) {
      adds_ = i > 0 ? 1 : 0;
      piece_ = order == Order::rising ? i : pieces_ - 1 - i;
      launches();
    }
    piece_ = adds_ = 0;
  }
  [[nodiscard]] std::int64_t first() const { return piece_ * piece_rows_; }
  [[nodiscard]] std::int64_t end() const { return std::min(sizes_.rows, first() + piece_rows_); }

  const Configuration& c_;
  Sizes sizes_;
  std::int64_t units_, gram_pitch_, iterations_;
  std::int64_t piece_rows_, pieces_;
  std::int64_t piece_ = 0, adds_ = 0;  // of the launches that are made: their piece; whether another came before
  std::int64_t parts_ = 1;             // of the slopes
  Plan plan_;
};

class CudaMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/tsk/cuda/iterate.cuh", cuda_network_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device, int order) const override {
    const auto graph = [](const Configuration& c) { return is(c, "scheme", "graph"); };
    const std::vector<std::int64_t> counts = resident_blocks(device);
    return {
        device,
        {{.name = "scheme",
          .values = words({"graph", "resident", "block", "sample"}),
          .meaning = "kernels that follow each other; blocks that run at the same time and do many iterations in a "
                     "launch, compiled for the numbers of rules and inputs; one block that does; a block for a row, as "
                     "published",
          .active = {}},
         {.name = "storage",
          .values = words({"recomputed", "kept"}),
          .meaning = "activations: computed in both passes, or stored in between",
          .active = graph},
         {.name = "solver",
          .values = words({"block", "library", "orthogonal"}),
          .meaning = "least squares: normal equations in one block, by cuSOLVER, or an orthogonal factorisation by "
                     "cuSOLVER",
          .active = graph},
         {.name = "pieces",
          .values = values({1, 4, 16, 64, 256}),
          .meaning =
              "pieces of the rows that come from the host's memory one after the other; 1: all are on the device",
          .active = [](const Configuration& c) { return is(c, "scheme", "graph") && !is(c, "solver", "orthogonal"); }},
         {.name = "tile_rows",
          .values = values({64, 32, 128, 256}),
          .meaning = "rows in shared memory at a time",
          .active = recomputes},
         {.name = "lanes", .values = values({4, 2, 8, 1}), .meaning = "threads that share a row", .active = recomputes},
         {.name = "side",
          .values = values({4, 6, 8}),
          .meaning = "columns x columns of the normal equations in a thread's registers",
          .active = recomputes},
         {.name = "blocks_per_unit",
          .values = values({1, 2, 4}),
          .meaning = "blocks per multiprocessor that share the rows",
          .active = [](const Configuration& c) { return is(c, "storage", "recomputed"); }},
         {.name = "block_size",
          .values = values({256, 384, 128, 512}),
          .meaning = "threads of a resident block",
          .active = is_resident},
         {.name = "blocks",
          .values = {counts.begin(), counts.end()},
          .meaning = "resident blocks",
          .active = is_resident},
         {.name = "solve_size",
          .values = values({256, 128, 512, 1024}),
          .meaning = "threads that solve",
          .active = [](const Configuration& c) { return is(c, "solver", "block"); }},
         {.name = "overlap",
          .values = values({0, 1}),
          .meaning = "1: a launch is set up while the one before it runs",
          .active = [](const Configuration& c) { return is(c, "solver", "block"); }}},
        {unknowns_constraint(order),
         {.name = "an orthogonal factorisation needs activations that are kept",
          .last = "solver",
          .holds = [](const Configuration& c, const Problem&,
                      const DeviceIdentity&) { return !is(c, "solver", "orthogonal") || is(c, "storage", "kept"); }},
         {.name = "a block has at most 1024 threads, and registers for its part of the normal equations",
          .last = "side",
          .holds =
              [](const Configuration& c, const Problem&, const DeviceIdentity&) {
                if (!recomputes(c)) return true;
                const Tile tile(c);
                return tile.block() >= 64 && tile.block() <= 1024 && tile.block() * tile.side * tile.side <= 16384;
              }},
         {.name = "shared memory",
          .last = "side",
          .holds =
              [order](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
                const Sizes sizes(problem, order);
                if (solves_in_block(c) && sizes.solve_bytes() > on.local_bytes) return false;
                if (!recomputes(c)) return kCompareBlock / kWarp * (16 + 8 * sizes.outputs) <= on.local_bytes;
                const Tile tile(c);
                return std::max(tile.accumulate_bytes(sizes), tile.descend_bytes(sizes)) <= on.local_bytes;
              }},
         {.name = "registers and shared memory of a resident block",
          .last = "blocks",
          .holds =
              [order](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
                if (!is_resident(c)) return true;
                const Sizes sizes(problem, order);
                const Resident shape(c, sizes);
                return sizes.columns <= 64 && sizes.dim <= 8 &&
                       shape.registers(sizes.dim) <= cuda::registers_of_thread(shape.threads) &&
                       shape.shared_bytes <= on.local_bytes;
              }},
         {.name = "rows for every resident block",
          .last = "blocks",
          .holds =
              [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
                return !is_resident(c) ||
                       (c.number("blocks") - 1) * c.number("block_size") / kWarp * 4 < problem.at("rows");
              }},
         {.name = "one block for at most 16384 rows",
          .last = "scheme",
          .holds = [](const Configuration& c, const Problem& problem,
                      const DeviceIdentity&) { return !is(c, "scheme", "block") || problem.at("rows") <= 16384; }},
         {.name = "at most 1024 rules where each has a thread",
          .last = "scheme",
          .holds = [](const Configuration& c, const Problem& problem,
                      const DeviceIdentity&) { return !is(c, "scheme", "sample") || problem.at("rules") <= 1024; }},
         {.name = "blocks of a grid for the rows",
          .last = "pieces",
          .holds =
              [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
                return !is(c, "storage", "kept") || ceil_div(problem.at("rows"), pieces_of(c)) <= kTile * kMostInY;
              }},
         {.name = "memory",
          .last = "pieces",
          .holds = [order](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
            const Sizes sizes(problem, order);
            const std::int64_t pieces = pieces_of(c);
            const auto rows = static_cast<double>(ceil_div(sizes.rows, pieces) * (pieces > 1 ? 2 : 1));
            const auto whole = [](std::int64_t number) { return static_cast<double>(number); };
            double bytes = 4.0 * rows * whole(sizes.dim + sizes.outputs) + 16.0 * whole(sizes.columns * sizes.columns);
            const double columns = 8.0 * whole(sizes.columns) * whole(sizes.rows + sizes.unknowns);
            if (is(c, "storage", "kept")) {
              bytes += 4.0 * whole(ceil_div(sizes.rows, pieces)) * whole(sizes.rules);
              if (is(c, "solver", "orthogonal")) bytes += 2.0 * columns;
            }
            if (is(c, "scheme", "sample"))
              bytes += 2.0 * columns + 4.0 * whole(sizes.rows) * whole(2 * sizes.tasks + 2);
            return bytes <= 0.9 * 1073741824.0 * static_cast<double>(on.memory_gib);
          }}}};
  }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem, int order) const override {
    const SearchSpace all = space(device, order);
    // Four rows a warp pay for an exchange with more blocks.
    const std::int64_t affordable = std::max<std::int64_t>(1, problem.at("rows") / 32);
    for (const std::int64_t blocks : resident_blocks(device)) {
      if (blocks > affordable) continue;
      Configuration configuration = all.parse(fmt::format("scheme=resident block_size=256 blocks={}", blocks));
      if (!all.violated(configuration, problem)) return configuration;
      break;
    }
    for (const int pieces : {1, 4, 16, 64, 256}) {
      for (const char* text :
           {"scheme=graph storage=recomputed solver=block pieces={} tile_rows=64 lanes=4 side=4 blocks_per_unit=1 "
            "solve_size=256 overlap=0",
            "scheme=graph storage=recomputed solver=block pieces={} tile_rows=32 lanes=4 side=4 blocks_per_unit=1 "
            "solve_size=256 overlap=0",
            "scheme=graph storage=kept solver=block pieces={} solve_size=512 overlap=0",
            "scheme=graph storage=kept solver=library pieces={}"}) {
        Configuration configuration = all.parse(fmt::format(fmt::runtime(text), pieces));
        if (!all.violated(configuration, problem)) return configuration;
      }
    }
    return all.parse("scheme=graph storage=kept solver=library pieces=256");
  }

  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device, int order) const override {
    const SearchSpace all = space(device, order);
    return {{.name = "published-split",
             .meaning = "Ferreira and Cruz: a block for a row, a thread for a rule, least squares by a library",
             .configuration = [all](const Problem& problem) -> std::optional<Configuration> {
               Configuration configuration = all.parse("scheme=sample");
               if (all.violated(configuration, problem)) return std::nullopt;
               return configuration;
             }}};
  }

  /// The launches of one iteration name them all.
  Kernels kernels(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                  int order) const override {
    return Builder(configuration, problem, device, order, 1).build().kernels;
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
            std::int64_t iterations) const override {
    return Builder(configuration, problem, device, order, iterations).build();
  }
};

}  // namespace

const Mapping& cuda_mapping() {
  static const CudaMapping mapping;
  return mapping;
}

}  // namespace heddle::tsk
