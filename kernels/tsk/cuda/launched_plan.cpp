#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "heddle/kernels/tsk/cuda/plan_writer.hpp"
#include "heddle/kernels/tsk/cuda/plans.hpp"
#include "heddle/kernels/tsk/cuda/shapes.hpp"
#include "heddle/kernels/tsk/mapping.hpp"

namespace heddle::tsk {

namespace {

constexpr std::int64_t kGatherBlock = 1024;
constexpr std::int64_t kStepBlock = 256;

std::int64_t power_of_two_from(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

/// Writes one iteration after the other.
class LaunchedPlan {
 public:
  using Geometry = PlanWriter::Geometry;

  LaunchedPlan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
               std::int64_t iterations)
      : c_(configuration),
        sizes_(sizes_of(problem, order)),
        rows_(problem.at("rows")),
        units_(std::max<std::int64_t>(device.units, 1)),
        iterations_(iterations),
        piece_rows_(ceil_div(rows_, pieces_of(c_))),
        pieces_(ceil_div(rows_, piece_rows_)),
        plan_(plan_with_buffers(problem, order, iterations)),
        writer_(plan_) {
    if (pieces_ == 1) return;
    writer_.buffer("rows").piece_bytes = 4 * piece_rows_ * sizes_.dim;
    writer_.buffer("targets").piece_bytes = 4 * piece_rows_ * sizes_.outputs;
  }

  Plan write() {
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
  [[nodiscard]] Argument at(std::string_view buffer, std::size_t offset = 0) const {
    return writer_.at(buffer, static_cast<std::int64_t>(offset));
  }
  void launch(const std::string& kernel, const Geometry& geometry, std::vector<Argument> arguments,
              const std::vector<std::int64_t>& numbers) {
    mark(writer_.launch(kernel, geometry, std::move(arguments), numbers));
  }
  void launch_dividing(const std::string& kernel, const Geometry& geometry, std::vector<Argument> arguments,
                       const std::vector<std::int64_t>& numbers) {
    mark(writer_.launch_dividing(kernel, geometry, std::move(arguments), numbers));
  }
  void mark(Launch& launch) const {
    launch.programmatic = c_.has("overlap") && c_.number("overlap") != 0;
    launch.piece = static_cast<int>(piece_);
  }

  void recomputed() {
    const TileShape tile(c_);
    parts_ = std::min(ceil_div(piece_rows_, tile.rows), units_ * c_.number("blocks_per_unit"));
    writer_.scratch("products", 8 * parts_ * products(tile.side));
    writer_.scratch("slopes", 8 * parts_ * sizes_.slopes());
    for_pieces(Order::rising, [&] {
      launch_dividing(fmt::format("tsk::accumulate_rows<{}, {}, {}>", tile.rows, tile.lanes, tile.side),
                      {{parts_, 1}, tile.block(), tile.accumulate_bytes(sizes_)},
                      {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("progress"),
                       at("before"), at("products")},
                      {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_,
                       tile.pitch(sizes_), TileShape::phi_pitch(sizes_)});
    });
    solve_products(parts_, tile.side);
    for_pieces(Order::falling, [&] {
      launch_dividing(fmt::format("tsk::descend_rows<{}, {}>", tile.rows, tile.lanes),
                      {{parts_, 1}, tile.block(), tile.descend_bytes(sizes_)},
                      {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("before"),
                       at("solution"), at("slopes")},
                      {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_,
                       TileShape::phi_pitch(sizes_)});
    });
  }

  /// Activations of a piece, where row 0 would have them.
  [[nodiscard]] Argument kept_rows() const { return writer_.at("kept", -4 * first() * sizes_.rules); }
  void activate_kept() {
    launch(fmt::format("tsk::fire_kept<{}, {}, {}, {}, {}>", kFire.rows, kFire.rules, kFire.thread_rows,
                       kFire.thread_rules, kFire.depth),
           {{ceil_div(sizes_.rules, kFire.rules), ceil_div(piece_rows_, kFire.rows)},
            kFire.threads(),
            kWord * kFire.words()},
           {at("rows"), at("centres"), at("widths"), at("control"), kept_rows()},
           {sizes_.dim, sizes_.rules, first(), end()});
    // This kernel knows nothing of launches that overlap: it waits for all before it, and the next one waits for it.
    plan_.launches.back().programmatic = false;
    const std::int64_t warps = kKeptBlock / kWarp;
    launch(fmt::format("tsk::normalise_rows<{}>", kKeptBlock),
           {{std::min(ceil_div(piece_rows_, warps), 16 * units_), 1}, kKeptBlock},
           {kept_rows(), at("control"), at("progress"), at("before")}, {sizes_.rules, first(), end()});
  }

  void kept() {
    constexpr std::int64_t kMostSlopes = std::int64_t{1} << 25;  // elements of all parts together
    parts_ =
        std::clamp(kMostSlopes / sizes_.tasks(), std::int64_t{1}, std::min(2 * units_, ceil_div(piece_rows_, kDepth)));
    writer_.scratch("kept", 4 * piece_rows_ * sizes_.rules);
    writer_.scratch("slopes", 8 * parts_ * sizes_.slopes());
    if (is(c_, "solver", "orthogonal")) {
      factorise_kept();
    } else {
      multiply_kept();
    }
    const std::int64_t across = std::min<std::int64_t>(16, power_of_two_from(sizes_.dim));
    const SlopesTile tile(static_cast<int>(kKeptBlock), static_cast<int>(across), static_cast<int>(kDepth));
    for_pieces(Order::falling, [&] {
      // Of all pieces but the last, which comes first here, the activations are no longer there.
      if (piece_ < pieces_ - 1) activate_kept();
      launch(fmt::format("tsk::compare_kept<{}>", kCompareBlock), {{parts_, 1}, kCompareBlock, compare_bytes(sizes_)},
             {at("rows"), at("targets"), kept_rows(), at("control"), at("before"), at("solution"), at("slopes")},
             {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_});
      launch(fmt::format("tsk::slopes_kept<{}, {}>", kKeptBlock, kDepth),
             {{ceil_div(sizes_.rules, tile.down) * ceil_div(sizes_.dim, across), parts_},
              kKeptBlock,
              kWord * tile.words()},
             {at("rows"), kept_rows(), at("centres"), at("widths"), at("control"), at("before"), at("slopes")},
             {sizes_.dim, sizes_.rules, across, first(), end(), adds_});
    });
  }

  void factorise_kept() {
    activate_kept();
    const std::int64_t pitch = rows_ + sizes_.unknowns();
    writer_.scratch("columns", 8 * sizes_.columns() * pitch);
    const std::int64_t blocks = std::min(ceil_div(sizes_.columns() * pitch, kKeptBlock), 16 * units_);
    launch(fmt::format("tsk::lay_out_columns<{}>", kKeptBlock), {{blocks, 1}, kKeptBlock},
           {at("rows"), at("targets"), at("kept"), at("control"), at("before"), at("columns")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, pitch});
    least_squares(pitch);
  }

  void multiply_kept() {
    const std::int64_t pairs = triangle(sizes_.sides(kTile));
    const std::int64_t splits = std::clamp(ceil_div(2 * units_, pairs), std::int64_t{1}, ceil_div(piece_rows_, kDepth));
    writer_.scratch("products", 8 * splits * products(kTile));
    for_pieces(Order::rising, [&] {
      activate_kept();
      launch(fmt::format("tsk::multiply_kept<{}>", kDepth),
             {{pairs, splits}, kTileBlock, kWord * MultiplyPieces(static_cast<int>(kDepth)).words()},
             {at("rows"), at("targets"), kept_rows(), at("control"), at("before"), at("products")},
             {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, first(), end(), adds_});
    });
    solve_products(splits, kTile);
  }

  void sample() {
    const std::int64_t block = power_of_two_from(std::max(sizes_.rules, kWarp)), pitch = rows_ + sizes_.unknowns();
    parts_ = rows_;
    writer_.scratch("columns", 8 * sizes_.columns() * pitch);
    writer_.scratch("slopes", 4 * parts_ * sizes_.slopes());
    launch(fmt::format("tsk::activate_sample<{}>", block), {{rows_, 1}, block, kWord * block},
           {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("progress"), at("before"),
            at("columns")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, pitch});
    least_squares(pitch);
    launch(fmt::format("tsk::gradient_sample<{}>", block), {{rows_, 1}, block, kWord * block},
           {at("rows"), at("targets"), at("centres"), at("widths"), at("control"), at("before"), at("solution"),
            at("slopes")},
           {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms});
  }

  /// From the columns of Phi and Y, `pitch` doubles apart, to the solution.
  void least_squares(std::int64_t pitch) {
    writer_.call("least_squares", {at("columns"), at("solution"), at("control", offsetof(Control, ridge)), at("info")},
                 {rows_, sizes_.unknowns(), sizes_.outputs, pitch});
  }

  /// Elements of a part of the products.
  [[nodiscard]] std::int64_t products(std::int64_t side) const {
    return elements_of_squares<std::int64_t>(sizes_.sides(side), side);
  }

  /// From the parts of the products to the solution.
  void solve_products(std::int64_t parts, std::int64_t side) {
    const std::int64_t pitch = gram_pitch(sizes_), elements = products(side);
    writer_.scratch("gram", 8 * sizes_.columns() * pitch);
    launch_dividing(fmt::format("tsk::gather_products<{}, {}>", kGatherBlock, side),
                    {{std::min(ceil_div(elements, kWarp), std::int64_t{1} << 20), 1},
                     kGatherBlock,
                     kWord * SumPieces(kGatherBlock).words()},
                    {at("control"), at("before"), at("products"), PlanWriter::whole(parts), at("gram")},
                    {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, pitch});
    if (is(c_, "solver", "library")) {
      writer_.call("normal_equations",
                   {at("gram"), at("solution"), at("control", offsetof(Control, ridge)), at("info")},
                   {sizes_.unknowns(), sizes_.outputs, pitch});
      return;
    }
    const std::int64_t block = c_.number("solve_size");
    launch_dividing(fmt::format("tsk::solve_products<{}>", block), {{1, 1}, block, solve_bytes(sizes_)},
                    {at("control"), at("before"), at("gram"), at("solution"), at("info")},
                    {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms, pitch});
  }

  void finish() {
    const std::int64_t blocks = std::min(ceil_div(sizes_.slopes(), kWarp), 32 * units_);
    writer_.scratch("squares", 8 * blocks);
    launch_dividing(
        fmt::format("tsk::gather_gradient<{}, {}>", kGatherBlock, is(c_, "scheme", "sample") ? "float" : "double"),
        {{blocks, 1}, kGatherBlock, kWord * SumPieces(kGatherBlock).words()},
        {at("control"), at("before"), at("slopes"), PlanWriter::whole(parts_), at("widths"), at("gradient"),
         at("squares")},
        {sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms});
    const std::int64_t numbers = std::max(sizes_.tasks(), sizes_.consequents());
    launch_dividing(
        fmt::format("tsk::take_step<{}>", kStepBlock),
        {{std::min(ceil_div(numbers, kStepBlock), 4 * units_), 1}, kStepBlock, kWord * SumPieces(kStepBlock).words()},
        {at("centres"), at("widths"), at("consequents"), at("best_centres"), at("best_widths"), at("best_consequents"),
         at("solution"), at("info"), at("gradient"), at("squares"), PlanWriter::whole(blocks), at("control"),
         at("before"), at("progress"), at("errors")},
        {iterations_, sizes_.dim, sizes_.outputs, sizes_.rules, sizes_.terms});
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
  [[nodiscard]] std::int64_t end() const { return std::min(rows_, first() + piece_rows_); }

  const Configuration& c_;
  const HostSizes sizes_;
  const std::int64_t rows_, units_, iterations_;
  const std::int64_t piece_rows_, pieces_;
  std::int64_t piece_ = 0, adds_ = 0;  // of the launches that are made: their piece; whether another came before
  std::int64_t parts_ = 1;             // of the slopes
  Plan plan_;
  PlanWriter writer_;
};

}  // namespace

Plan launched_plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
                   std::int64_t iterations) {
  return LaunchedPlan(configuration, problem, device, order, iterations).write();
}

}  // namespace heddle::tsk
