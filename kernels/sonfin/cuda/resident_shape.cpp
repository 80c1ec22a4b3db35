#include "heddle/kernels/sonfin/cuda/resident_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/cuda/plan_writer.hpp"

namespace heddle::sonfin {

namespace {

constexpr std::int64_t kPacketBytes = 16;

ResidentShape::Link link_of(const Configuration& c) {
  const std::string_view scheme = c.word("scheme");
  if (scheme == "block") return ResidentShape::Link::block;
  return scheme == "cluster" ? ResidentShape::Link::cluster : ResidentShape::Link::grid;
}

ResidentShape::Storage storage_of(const Configuration& c) {
  const std::string_view storage = c.word("storage");
  if (storage == "registers") return ResidentShape::Storage::registers;
  if (storage == "halves") return ResidentShape::Storage::halves;
  if (storage == "stream") return ResidentShape::Storage::stream;
  return storage == "shared" ? ResidentShape::Storage::shared : ResidentShape::Storage::split;
}

}  // namespace

bool is_resident(const Configuration& c) {
  const std::string_view scheme = c.word("scheme");
  return scheme == "block" || scheme == "cluster" || scheme == "grid";
}

ResidentShape::ResidentShape(const Configuration& c)
    : block(c.number("block_size")),
      lanes(c.number("threads_per_rule")),
      rules(c.number("coarsen_count")),
      vector(c.number("vector")),
      storage(storage_of(c)),
      link(link_of(c)) {
  if (c.has("first_look")) first_look = c.number("first_look");
  if (c.has("packets_per_cycle")) packets_of_cycle = c.number("packets_per_cycle");
  if (c.has("replicas")) replicas = c.number("replicas");
  if (c.has("rows_ahead")) rows_ahead = c.number("rows_ahead");
  if (c.has("kept_rules")) kept_rules = c.number("kept_rules");
  if (c.has("packs_ahead")) packs_ahead = c.number("packs_ahead");
  if (c.has("moved_packs")) moved_packs = c.number("moved_packs");
}

ResidentShape ResidentShape::at(const Problem& problem) const {
  ResidentShape shape = *this;
  shape.packs = ceil_div(padded(problem.at("dim")), lanes * vector);
  shape.outputs = problem.at("outputs");
  shape.blocks = ceil_div(problem.at("rules"), rules_per_block());
  return shape;
}

std::int64_t ResidentShape::records_of_block() const { return several_warps() ? block / lanes : warps(); }

std::int64_t ResidentShape::value_lanes() const { return std::min(kWarp, power_of_two_from(outputs)); }

RecordTurns ResidentShape::turns() const {
  const int lanes_of_set = static_cast<int>(value_lanes()), own = static_cast<int>(records_of_block());
  return link == Link::cluster ? turns_of_cluster(own, lanes_of_set) : turns_of_block(own, lanes_of_set);
}

std::int64_t ResidentShape::records() const {
  const auto all = static_cast<int>(link == Link::cluster ? blocks * records_of_block() : records_of_block());
  return in_whole_turns(all, turns().sets * turns().at_once);
}

std::int64_t ResidentShape::kept_registers() const {
  const std::int64_t row = packs * vector;
  return (packs - moved_packs) * vector * rules_in_registers() + (storage == Storage::registers ? 2 * row : 0);
}

std::int64_t ResidentShape::rules_in_registers() const {
  const int where = storage_code(), count = static_cast<int>(rules);
  return centres_in_registers(where, count) + widths_in_registers(where, count);
}

int ResidentShape::storage_code() const {
  return static_cast<int>(storage) + (storage == Storage::stream ? static_cast<int>(kept_rules) : 0);
}

std::int64_t ResidentShape::streamed_rules() const {
  return rules - rules_on_chip(storage_code(), static_cast<int>(rules));
}

std::int64_t ResidentShape::streamed_bytes() const {
  return kWord * 2 * blocks * block * vector * packs * streamed_rules();
}

std::int64_t ResidentShape::registers() const {
  const std::int64_t sharers = std::min(lanes, power_of_two_from(outputs));
  return kept_registers() + rules * ceil_div(outputs, sharers) + 48;
}

PacketTurns ResidentShape::packet_turns() const {
  const std::int64_t most = cuda::registers_of_thread(block), columns = ceil_div(2 + outputs, 3);
  return turns_of_grid(static_cast<int>(columns), static_cast<int>(block),
                       static_cast<int>(most - kept_registers() - 2 * rules));
}

/// The pieces that `resident` takes from its SharedMemory.
std::int64_t ResidentShape::shared_bytes() const {
  const std::int64_t whole = padded(2 + outputs);
  const std::int64_t columns = ceil_div(2 + outputs, 3);
  std::int64_t words = 0;
  switch (link) {
    case Link::block:
      words = 2 * records_of_block() * (outputs == 1 ? whole : (2 + outputs) | 1);
      break;
    case Link::cluster:
      words = 4 + (records_of_block() + 2 * records()) * pitch_of_cluster(static_cast<int>(outputs), turns().sets);
      break;
    case Link::grid:
      // A group that is the whole block leaves its record in every warp.
      words = (lanes == block ? warps() : records_of_block()) * (outputs == 1 ? whole : (3 * columns) | 1) +
              3 * columns + 1;
      break;
  }
  const std::int64_t rows =
      storage == Storage::registers ? 0 : (rows_ahead + (several_warps() ? 1 : 2)) * lanes * packs * vector;
  const std::int64_t group_sums = several_warps() ? 2 * warps() * power_of_two_from(rules) : 0;
  const std::int64_t kept = 2 * (rules - streamed_rules()) - rules_in_registers();
  const std::int64_t moved = moved_packs * rules_in_registers();
  const std::int64_t ring =
      2 * places_of_ring(static_cast<int>(packs_ahead), static_cast<int>(packs), static_cast<int>(streamed_rules()));
  return kWord * (words + rows + group_sums + (kept * packs + moved + ring) * block * vector);
}

Kernels ResidentShape::kernels() const {
  std::string exchange;  // where it is as the templates have it, it is not named: the same code has one name
  if (first_look != kFirstLook || packets_of_cycle != kPacketsOfCycle || replicas != kReplicas || rows_ahead != 1 ||
      packs_ahead != kPacksAhead || moved_packs != 0) {
    exchange = fmt::format(", {}, {}, {}, {}", first_look, packets_of_cycle, replicas, rows_ahead);
  }
  if (packs_ahead != kPacksAhead || moved_packs != 0) exchange += fmt::format(", {}", packs_ahead);
  if (moved_packs != 0) exchange += fmt::format(", {}", moved_packs);
  Kernels all{fmt::format("heddle::sonfin::resident<{}, {}, {}, {}, {}, {}, {}, {}{}>", block, lanes, packs, rules,
                          vector, outputs, storage_code(), static_cast<int>(link), exchange)};
  if (link == Link::grid) all.emplace_back("heddle::sonfin::begin");
  return all;
}

void ResidentShape::write(Plan& plan, const Layout& where, std::int64_t samples) const {
  // Two rounds of packets, one for every three values of a record, and that several times.
  const std::int64_t packets = link == Link::grid ? 2 * replicas * ceil_div(2 + where.outputs, 3) * blocks : 1;
  plan.buffers.push_back({"packets", kPacketBytes * packets, Role::scratch});
  if (streamed_rules() > 0) plan.buffers.push_back({"streamed", streamed_bytes(), Role::scratch});
  PlanWriter writer(plan);
  if (link == Link::grid) {
    plan.buffers.push_back({"before", static_cast<std::int64_t>(sizeof(Progress)), Role::scratch});
    writer.launch(1, ceil_div(packets, 256), 256, 0,
                  {writer.at("packets"), int32(packets), writer.at("progress"), writer.at("before")});
  }
  Launch& launch =
      writer.launch(0, blocks, block, shared_bytes(),
                    {writer.at("centres"), writer.at("widths"), writer.at("consequents"), writer.at("control"),
                     writer.at(link == Link::grid ? "before" : "progress"), writer.at("progress"), writer.at("rows"),
                     writer.at("targets"), writer.at("order"), writer.at("packets"), int32(samples),
                     int32(where.stride), int32(where.target_stride), int32(where.capacity),
                     writer.at(streamed_rules() > 0 ? "streamed" : "packets")});  // one that it does not use
  launch.resident = link == Link::grid;
  if (link == Link::cluster) launch.cluster = static_cast<unsigned>(blocks);
}

}  // namespace heddle::sonfin
