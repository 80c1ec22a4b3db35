#include "heddle/kernels/tsk/cuda/plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/tsk/cuda/plan_writer.hpp"
#include "heddle/kernels/tsk/cuda/shapes.hpp"
#include "heddle/kernels/tsk/mapping.hpp"

namespace heddle::tsk {

namespace {

/// One block does all iterations.
Plan block_plan(const Configuration& configuration, const Problem& problem, int order, std::int64_t iterations) {
  const HostSizes sizes = sizes_of(problem, order);
  const TileShape tile(configuration);
  Plan plan = plan_with_buffers(problem, order, iterations);
  PlanWriter writer(plan);
  const auto at = [&writer](std::string_view name) { return writer.at(name); };
  writer.scratch("products", 8 * elements_of_squares<std::int64_t>(sizes.sides(tile.side), tile.side));
  writer.scratch("gram", 8 * sizes.columns() * gram_pitch(sizes));
  writer.scratch("slopes", 8 * sizes.slopes());
  writer.scratch("squares", 8);
  const std::int64_t shared = std::max({tile.accumulate_bytes(sizes), tile.descend_bytes(sizes), solve_bytes(sizes),
                                        kWord * SumPieces(tile.block()).words()});
  writer.launch_dividing(
      fmt::format("tsk::iterate_block<{}, {}, {}>", tile.rows, tile.lanes, tile.side), {{1, 1}, tile.block(), shared},
      {at("rows"), at("targets"), at("centres"), at("widths"), at("consequents"), at("best_centres"), at("best_widths"),
       at("best_consequents"), at("control"), at("progress"), at("errors"), at("products"), at("gram"), at("solution"),
       at("info"), at("slopes"), at("gradient"), at("squares")},
      {iterations, sizes.dim, sizes.outputs, sizes.rules, sizes.terms, tile.pitch(sizes), TileShape::phi_pitch(sizes),
       gram_pitch(sizes)});
  return plan;
}

/// Blocks that run at the same time do all iterations.
Plan resident_plan(const Configuration& configuration, const Problem& problem, int order, std::int64_t iterations) {
  constexpr std::int64_t kEmpty = 256;  // threads that empty the packets
  const HostSizes sizes = sizes_of(problem, order);
  const ResidentShape shape(configuration, sizes, problem.at("rows"));
  Plan plan = plan_with_buffers(problem, order, iterations);
  PlanWriter writer(plan);
  const auto at = [&writer](std::string_view name) { return writer.at(name); };
  writer.scratch("packets", kPacketBytes * shape.packets);
  writer.launch("tsk::begin_resident", {{ceil_div(shape.packets, kEmpty), 1}, kEmpty},
                {at("packets"), PlanWriter::whole(shape.packets), at("progress"), at("before")}, {});
  Launch& iterate = writer.launch_dividing(
      fmt::format("tsk::iterate_resident<{}, {}, {}, {}, {}, {}, {}{}>", shape.threads, shape.sets, shape.column_tiles,
                  shape.rule_tiles, sizes.dim, order == 0 ? 0 : 1, shape.real == sizeof(double) ? "double" : "float",
                  configuration.has("first_look") ? fmt::format(", {}", configuration.number("first_look")) : ""),
      {{shape.blocks, 1}, shape.threads, shape.shared_bytes},
      {at("rows"), at("targets"), at("centres"), at("widths"), at("consequents"), at("best_centres"), at("best_widths"),
       at("best_consequents"), at("low_parts"), at("control"), at("before"), at("progress"), at("errors"),
       at("packets")},
      {shape.most, iterations, sizes.outputs, sizes.rules});
  iterate.resident = shape.blocks > 1;
  return plan;
}

}  // namespace

Plan cuda_plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
               std::int64_t iterations) {
  if (is(configuration, "scheme", "block")) return block_plan(configuration, problem, order, iterations);
  if (is_resident(configuration)) return resident_plan(configuration, problem, order, iterations);
  return launched_plan(configuration, problem, device, order, iterations);
}

}  // namespace heddle::tsk
