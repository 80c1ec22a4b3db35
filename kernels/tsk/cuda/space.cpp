#include "heddle/kernels/tsk/cuda/space.hpp"

#include <algorithm>
#include <string>

#include "heddle/kernels/tsk/cuda/shapes.hpp"
#include "heddle/kernels/tsk/mapping.hpp"

namespace heddle::tsk {

namespace {

bool is_graph(const Configuration& c) { return is(c, "scheme", "graph"); }

std::vector<Parameter> parameters(const DeviceIdentity& device) {
  const std::vector<std::int64_t> counts = resident_blocks(device);
  return {
      {.name = "scheme",
       .values = words({"graph", "resident", "block", "sample"}),
       .meaning = "kernels that follow each other; blocks that run at the same time and do many iterations in a "
                  "launch, compiled for the numbers of rules and inputs; one block that does; a block for a row, as "
                  "published",
       .active = {}},
      {.name = "storage",
       .values = words({"recomputed", "kept"}),
       .meaning = "activations: computed in both passes, or stored in between",
       .active = is_graph},
      {.name = "solver",
       .values = words({"block", "library", "orthogonal"}),
       .meaning = "least squares: normal equations in one block, by cuSOLVER, or an orthogonal factorisation by "
                  "cuSOLVER",
       .active = is_graph},
      {.name = "pieces",
       .values = numbers({1, 4, 16, 64, 256}),
       .meaning = "pieces of the rows that come from the host's memory one after the other; 1: all are on the device",
       .active = [](const Configuration& c) { return is(c, "scheme", "graph") && !is(c, "solver", "orthogonal"); }},
      {.name = "tile_rows",
       .values = numbers({64, 32, 128, 256}),
       .meaning = "rows in shared memory at a time",
       .active = recomputes},
      {.name = "lanes", .values = numbers({4, 2, 8, 1}), .meaning = "threads that share a row", .active = recomputes},
      {.name = "side",
       .values = numbers({4, 6, 8}),
       .meaning = "columns x columns of the normal equations in a thread's registers",
       .active = recomputes},
      {.name = "blocks_per_unit",
       .values = numbers({1, 2, 4}),
       .meaning = "blocks per multiprocessor that share the rows",
       .active = [](const Configuration& c) { return is(c, "storage", "recomputed"); }},
      {.name = "block_size",
       .values = numbers({256, 384, 128, 512}),
       .meaning = "threads of a resident block",
       .active = is_resident},
      {.name = "row_sets",
       .values = numbers({1, 2}),
       .meaning = "sets of four rows that a warp takes together, so that they need not wait for each other",
       .active = is_resident},
      {.name = "blocks", .values = {counts.begin(), counts.end()}, .meaning = "resident blocks", .active = is_resident},
      {.name = "solve_size",
       .values = numbers({256, 128, 512, 1024}),
       .meaning = "threads that solve",
       .active = [](const Configuration& c) { return is(c, "solver", "block"); }},
      {.name = "overlap",
       .values = numbers({0, 1}),
       .meaning = "1: a launch is set up while the one before it runs",
       .active = [](const Configuration& c) { return is(c, "solver", "block"); }},
      {.name = "first_look",
       .values = numbers({0, 300, 600, 900}),
       .meaning = "cycles that a resident block waits for the packets of others before it looks for them",
       .active = [](const Configuration& c) { return is_resident(c) && c.number("blocks") > 1; },
       .chosen_last = true}};
}

constexpr std::int64_t kMostInY = 65535;  // blocks of a grid

/// What the plan needs of the device's memory, roughly. Rows that come in pieces are there twice: while the device
/// works on one piece, the next one comes.
double bytes_of_plan(const Configuration& c, const Problem& problem, int order) {
  const HostSizes sizes = sizes_of(problem, order);
  const std::int64_t all_rows = problem.at("rows"), pieces = pieces_of(c);
  const auto rows = static_cast<double>(ceil_div(all_rows, pieces) * (pieces > 1 ? 2 : 1));
  const auto whole = [](std::int64_t number) { return static_cast<double>(number); };
  double bytes = 4.0 * rows * whole(sizes.dim + sizes.outputs) + 16.0 * whole(sizes.columns() * sizes.columns());
  const double columns = 8.0 * whole(sizes.columns()) * whole(all_rows + sizes.unknowns());
  if (is(c, "storage", "kept")) {
    bytes += 4.0 * whole(ceil_div(all_rows, pieces)) * whole(sizes.rules);
    if (is(c, "solver", "orthogonal")) bytes += 2.0 * columns;
  }
  if (is(c, "scheme", "sample")) bytes += 2.0 * columns + 4.0 * whole(all_rows) * whole(sizes.slopes());
  return bytes;
}

std::vector<Constraint> constraints(int order) {
  return {
      unknowns_constraint(order),
      {.name = "an orthogonal factorisation needs activations that are kept",
       .last = "solver",
       .holds = [](const Configuration& c, const Problem&,
                   const DeviceIdentity&) { return !is(c, "solver", "orthogonal") || is(c, "storage", "kept"); }},
      {.name = "a block has at most 1024 threads, and registers for its part of the normal equations",
       .last = "side",
       .holds =
           [](const Configuration& c, const Problem&, const DeviceIdentity&) {
             if (!recomputes(c)) return true;
             const TileShape tile(c);
             return tile.block() >= 64 && tile.block() <= 1024 && tile.block() * tile.side * tile.side <= 16384;
           }},
      {.name = "shared memory",
       .last = "side",
       .holds =
           [order](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             const HostSizes sizes = sizes_of(problem, order);
             if (solves_in_block(c) && solve_bytes(sizes) > on.local_bytes) return false;
             if (!recomputes(c)) return compare_bytes(sizes) <= on.local_bytes;
             const TileShape tile(c);
             return std::max(tile.accumulate_bytes(sizes), tile.descend_bytes(sizes)) <= on.local_bytes;
           }},
      {.name = "registers and shared memory of a resident block",
       .last = "blocks",
       .holds =
           [order](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
             if (!is_resident(c)) return true;
             const HostSizes sizes = sizes_of(problem, order);
             const ResidentShape shape(c, sizes, problem.at("rows"));
             return sizes.columns() <= 64 && sizes.dim <= 8 &&
                    shape.registers(sizes.dim) <= cuda::registers_of_thread(shape.threads) &&
                    shape.shared_bytes <= on.local_bytes;
           }},
      {.name = "rows for every resident block",
       .last = "blocks",
       .holds =
           [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
             return !is_resident(c) || (c.number("blocks") - 1) * ResidentShape::rows_at_once(c) < problem.at("rows");
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
             return !is(c, "storage", "kept") || ceil_div(problem.at("rows"), pieces_of(c)) <= kFire.rows * kMostInY;
           }},
      {.name = "memory",
       .last = "pieces",
       .holds = [order](const Configuration& c, const Problem& problem, const DeviceIdentity& on) {
         return bytes_of_plan(c, problem, order) <= 0.9 * 1073741824.0 * static_cast<double>(on.memory_gib);
       }}};
}

}  // namespace

SearchSpace cuda_space(const DeviceIdentity& device, int order) {
  return {device, parameters(device), constraints(order)};
}

std::vector<std::int64_t> resident_blocks(const DeviceIdentity& device) {
  std::vector<std::int64_t> counts{std::clamp<std::int64_t>(device.units, 1, ResidentShape::kMostBlocks)};
  for (std::int64_t count = 128; count >= 1; count /= 2) {
    if (count < counts.front()) counts.push_back(count);
  }
  return counts;
}

}  // namespace heddle::tsk
