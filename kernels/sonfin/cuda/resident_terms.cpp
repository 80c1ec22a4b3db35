#include "heddle/kernels/sonfin/cuda/resident_terms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/cuda/storage.cuh"

namespace heddle::sonfin {

namespace {

constexpr double kSchedulers = 4.0;  // of a multiprocessor; what more warps have to issue comes one after the other

constexpr double one(const ResidentStep&) { return 1.0; }
constexpr double tasks(const ResidentStep& s) { return s.tasks * s.issued; }
constexpr double rules(const ResidentStep& s) { return s.rules; }
constexpr double packs(const ResidentStep& s) { return s.packs; }
constexpr double warps(const ResidentStep& s) { return s.warps; }
constexpr double several(const ResidentStep& s) { return s.outputs > 1.0 ? 1.0 : 0.0; }
constexpr double narrow(const ResidentStep& s) { return s.groups > 0.0 ? 1.0 : 0.0; }
constexpr double kept(const ResidentStep& s) { return s.in_registers ? 0.0 : 1.0; }
constexpr double kept_tasks(const ResidentStep& s) { return s.in_registers ? 0.0 : s.tasks * s.issued; }
constexpr double twice_kept_tasks(const ResidentStep& s) { return s.none_kept ? s.tasks * s.issued : 0.0; }
constexpr double scattered(const ResidentStep& s) { return s.scattered ? 2.0 * s.share : 0.0; }
constexpr double crowded(const ResidentStep& s) { return std::max(0.0, s.registers - 230.0) / 25.0; }

/// One part of a step. Its name begins with the link, because the same part costs other times with another link.
struct Term {
  std::string_view name;
  double (*count)(const ResidentStep&);
};

constexpr std::array kBlock{
    Term{"block: the step itself", one},
    Term{"block: tasks of a scheduler", tasks},
    Term{"block: rules of a scheduler", [](const ResidentStep& s) { return s.rules * s.issued; }},
    Term{"block: packs of inputs", packs},
    Term{"block: shuffles of slopes", [](const ResidentStep& s) { return s.rules * s.sharers; }},
    Term{"block: outputs and errors to the lanes that keep their consequents", scattered},
    Term{"block: several outputs", several},
    Term{"block: rules narrower than a warp", narrow},
    Term{"block: warps", warps},
    Term{"block: parameters in shared memory", kept},
    Term{"block: tasks of a scheduler in shared memory", kept_tasks},
    Term{"block: those with both parameters there", twice_kept_tasks},
    Term{"block: registers beyond 230, in 25", crowded},
};

constexpr std::array kCluster{
    Term{"cluster: the step itself", one},
    Term{"cluster: tasks of a scheduler", tasks},
    Term{"cluster: rules", rules},
    Term{"cluster: packs of inputs", packs},
    Term{"cluster: inputs", [](const ResidentStep& s) { return s.inputs; }},
    Term{"cluster: packs of 4", [](const ResidentStep& s) { return s.inputs == 4.0 * s.packs ? 1.0 : 0.0; }},
    Term{"cluster: shuffles of sums, of a scheduler",
         [](const ResidentStep& s) { return (1.0 + s.share) * s.groups * s.issued; }},
    Term{"cluster: shuffles of slopes, of a scheduler",
         [](const ResidentStep& s) { return s.rules * s.sharers * s.issued; }},
    Term{"cluster: several outputs", several},
    Term{"cluster: several outputs of a lane", [](const ResidentStep& s) { return s.share > 1.0 ? 1.0 : 0.0; }},
    Term{"cluster: rules narrower than a warp", narrow},
    Term{"cluster: warps", warps},
    Term{"cluster: messages to a block", [](const ResidentStep& s) { return s.messages * s.warps * s.blocks; }},
    Term{"cluster: those to all blocks",
         [](const ResidentStep& s) { return s.messages * s.warps * s.blocks * s.blocks; }},
    Term{"cluster: messages of a block, for each beyond 12",
         [](const ResidentStep& s) { return s.messages * s.warps * std::max(0.0, s.blocks - 12.0); }},
    Term{"cluster: records that a lane adds up", [](const ResidentStep& s) { return s.records; }},
    Term{"cluster: records that all warps add up", [](const ResidentStep& s) { return s.records * s.warps; }},
    Term{"cluster: turns in which they do", [](const ResidentStep& s) { return s.turns; }},
    Term{"cluster: parameters in shared memory", kept},
    Term{"cluster: tasks of a scheduler in shared memory", kept_tasks},
    Term{"cluster: those with both parameters there", twice_kept_tasks},
    Term{"cluster: registers beyond 200, in 25",
         [](const ResidentStep& s) { return std::max(0.0, s.registers - 200.0) / 25.0; }},
    // With packs of 2 or 4 the same registers suffice.
    Term{"cluster: registers beyond 160, in 25, of several rules in packs of 1",
         [](const ResidentStep& s) {
           return s.rules > 1.0 && s.inputs == s.packs ? std::max(0.0, s.registers - 160.0) / 25.0 : 0.0;
         }},
};

constexpr std::array kGrid{
    Term{"grid: the step itself", one},
    Term{"grid: tasks of a scheduler", tasks},
    Term{"grid: rules", rules},
    Term{"grid: packs of inputs, of a scheduler", [](const ResidentStep& s) { return s.packs * s.issued; }},
    Term{"grid: several outputs", several},
    Term{"grid: rules narrower than a warp", narrow},
    Term{"grid: warps", warps},
    Term{"grid: doublings of blocks", [](const ResidentStep& s) { return std::log2(s.blocks); }},
    Term{"grid: columns of packets", [](const ResidentStep& s) { return s.columns; }},
    Term{"grid: columns of a warp beyond 1",
         [](const ResidentStep& s) { return std::max(0.0, s.columns / s.warps - 1.0); }},
    Term{"grid: doublings of the lanes that take a column",
         [](const ResidentStep& s) { return std::log2(s.column_lanes); }},
    Term{"grid: trips through L2", [](const ResidentStep& s) { return s.trips; }},
    Term{"grid: looks of all warps",
         [](const ResidentStep& s) {
           return s.looks * std::min(s.warps, std::ceil(s.columns * s.column_lanes / kWarp));
         }},
    Term{"grid: parameters in shared memory", kept},
    Term{"grid: tasks of a scheduler in shared memory", kept_tasks},
    Term{"grid: those with both parameters there", twice_kept_tasks},
    Term{"grid: registers beyond 230, in 25", crowded},
};

constexpr std::array kWideGrid{
    Term{"grid, several warps a rule: the step itself", one},
    Term{"grid, several warps a rule: tasks of a scheduler in registers",
         [](const ResidentStep& s) { return s.tasks_in_registers * s.issued; }},
    Term{"grid, several warps a rule: tasks of a scheduler with widths in shared memory",
         [](const ResidentStep& s) { return s.tasks_split * s.issued; }},
    Term{"grid, several warps a rule: tasks of a scheduler in shared memory",
         [](const ResidentStep& s) { return s.tasks_in_shared * s.issued; }},
    Term{"grid, several warps a rule: rules", rules},
    Term{"grid, several warps a rule: rules of a scheduler", [](const ResidentStep& s) { return s.rules * s.issued; }},
    Term{"grid, several warps a rule: outputs of a thread's rules",
         [](const ResidentStep& s) { return s.rules * s.share; }},
    Term{"grid, several warps a rule: several outputs", several},
    Term{"grid, several warps a rule: warps", warps},
    Term{"grid, several warps a rule: groups of warps", [](const ResidentStep& s) { return s.records_of_block; }},
    Term{"grid, several warps a rule: inputs of a row, in 1024",
         [](const ResidentStep& s) { return s.in_registers ? 0.0 : s.row / 1024.0; }},
    Term{"grid, several warps a rule: doublings of blocks", [](const ResidentStep& s) { return std::log2(s.blocks); }},
    Term{"grid, several warps a rule: columns of packets", [](const ResidentStep& s) { return s.columns; }},
    Term{"grid, several warps a rule: trips through L2 beyond the first",
         [](const ResidentStep& s) { return s.trips - 1.0; }},
    Term{"grid, several warps a rule: looks of all warps",
         [](const ResidentStep& s) {
           return s.looks * std::min(s.warps, std::ceil(s.columns * s.column_lanes / kWarp));
         }},
    Term{"grid, several warps a rule: registers beyond nine tenths, in tenths",
         [](const ResidentStep& s) { return std::max(0.0, 10.0 * (s.crowding - 0.9)); }},
    Term{"grid, several warps a rule: tasks of a scheduler in global memory",
         [](const ResidentStep& s) { return s.tasks_streamed * s.issued; }},
    Term{"grid, several warps a rule: megabytes of global memory",
         [](const ResidentStep& s) { return s.megabytes_streamed; }},
};

/// How the warps of a grid await packets: exchange_sums.cuh and await.cuh.
struct Packets {
  explicit Packets(const ResidentShape& shape) : columns(ceil_div(2 + shape.outputs, 3)) {
    const PacketTurns turn = shape.packet_turns();
    lanes = turn.lanes;
    const std::int64_t most = turn.at_once, few = ceil_div(most, 2);
    const std::int64_t passes = ceil_div(columns, shape.block / lanes);
    trips = passes * ceil_div(shape.blocks, most * lanes);
    const std::int64_t rest = shape.blocks % (most * lanes);
    looks = passes * (shape.blocks / (most * lanes) * most + (rest == 0 ? 0 : rest > few * lanes ? most : few));
  }
  std::int64_t columns, lanes = 0, trips = 0, looks = 0;
};

struct TermsOfLink {
  std::size_t first;  // among the terms of all links
  std::span<const Term> list;
};

TermsOfLink terms(const ResidentShape& shape) {
  switch (shape.link) {
    case ResidentShape::Link::block:
      return {.first = 0, .list = kBlock};
    case ResidentShape::Link::cluster:
      return {.first = kBlock.size(), .list = kCluster};
    case ResidentShape::Link::grid:
      break;
  }
  constexpr std::size_t kBefore = kBlock.size() + kCluster.size();
  if (shape.several_warps()) return {.first = kBefore + kGrid.size(), .list = kWideGrid};
  return {.first = kBefore, .list = kGrid};
}

double log2_of(std::int64_t value) { return std::log2(static_cast<double>(value)); }

}  // namespace

ResidentStep::ResidentStep(const ResidentShape& shape) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t value_lanes = shape.value_lanes(), together = std::min(shape.lanes, value_lanes);
  tasks = real(shape.packs * shape.vector * shape.rules);
  rules = real(shape.rules);
  packs = real(shape.packs);
  inputs = real(shape.packs * shape.vector);
  warps = real(shape.warps());
  issued = std::max(warps / kSchedulers, 1.0);
  blocks = real(shape.blocks);
  outputs = real(shape.outputs);
  share = real(ceil_div(shape.outputs, together));
  groups = log2_of(kWarp / std::min(shape.lanes, kWarp));
  sharers = log2_of(together);
  scattered = together < value_lanes;
  registers = real(shape.registers());
  in_registers = shape.storage == ResidentShape::Storage::registers;
  none_kept = shape.storage == ResidentShape::Storage::shared;

  const int where = shape.storage_code();
  const auto count = static_cast<int>(shape.rules);
  const double of_rule = inputs, widths_held = widths_in_registers(where, count),
               centres_held = centres_in_registers(where, count);
  tasks_in_registers = of_rule * widths_held;
  tasks_split = of_rule * (centres_held - widths_held);
  const double streamed = real(shape.streamed_rules());
  tasks_in_shared = of_rule * (rules - streamed - centres_held);
  tasks_streamed = of_rule * streamed;
  megabytes_streamed = real(shape.streamed_bytes()) / 1e6;
  records_of_block = real(shape.records_of_block());
  row = inputs * real(shape.lanes);
  crowding = registers / real(cuda::registers_of_thread(shape.block));

  const RecordTurns turn = shape.turns();
  records = real(shape.records()) / turn.sets;
  turns = records / turn.at_once;
  messages = real(ceil_div(2 + shape.outputs, 4));

  const Packets packets(shape);
  columns = real(packets.columns);
  column_lanes = real(packets.lanes);
  trips = real(packets.trips);
  looks = real(packets.looks);
}

std::span<const std::string_view> resident_term_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    all.reserve(kBlock.size() + kCluster.size() + kGrid.size() + kWideGrid.size());
    for (const std::span<const Term> list : {std::span<const Term>(kBlock), std::span<const Term>(kCluster),
                                             std::span<const Term>(kGrid), std::span<const Term>(kWideGrid)}) {
      for (const Term& term : list) all.push_back(term.name);
    }
    return all;
  }();
  return names;
}

TermCounts resident_term_counts(const ResidentShape& shape) {
  const TermsOfLink terms_of_link = terms(shape);
  return {.first = terms_of_link.first,
          .size = terms_of_link.list.size(),
          .count = [shape, list = terms_of_link.list](const Problem& problem, std::span<double> counts) {
            const ResidentStep step(shape.at(problem));
            for (std::size_t i = 0; i < list.size(); ++i) counts[i] = list[i].count(step);
          }};
}

}  // namespace heddle::sonfin
