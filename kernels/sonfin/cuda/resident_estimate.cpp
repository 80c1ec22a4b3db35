#include "heddle/kernels/sonfin/cuda/resident_estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "heddle/kernels/sonfin/cuda/arrangement.hpp"

namespace heddle::sonfin {

namespace {

using Step = ResidentStep;

constexpr double kSchedulers = 4.0;  // of a multiprocessor; what more warps have to issue comes one after the other

constexpr double one(const Step&) { return 1.0; }
constexpr double tasks(const Step& s) { return s.tasks * s.issued; }
constexpr double rules(const Step& s) { return s.rules; }
constexpr double packs(const Step& s) { return s.packs; }
constexpr double warps(const Step& s) { return s.warps; }
constexpr double several(const Step& s) { return s.outputs > 1.0 ? 1.0 : 0.0; }
constexpr double narrow(const Step& s) { return s.groups > 0.0 ? 1.0 : 0.0; }
constexpr double kept(const Step& s) { return s.in_registers ? 0.0 : 1.0; }
constexpr double kept_tasks(const Step& s) { return s.in_registers ? 0.0 : s.tasks * s.issued; }
constexpr double twice_kept_tasks(const Step& s) { return s.none_kept ? s.tasks * s.issued : 0.0; }
constexpr double scattered(const Step& s) { return s.scattered ? 2.0 * s.share : 0.0; }
constexpr double crowded(const Step& s) { return std::max(0.0, s.registers - 230.0) / 25.0; }

// Configurations that keep parameters in shared memory are never among the fastest of a block or a cluster, so tuning
// tries too few of them for a fit. Their weights come from an exhaustive search with earlier kernels.
constexpr std::array kBlock{
    ResidentTerm{"the step itself", one, 197.9},
    ResidentTerm{"tasks of a scheduler", tasks, 9.396},
    ResidentTerm{"rules of a scheduler", [](const Step& s) { return s.rules * s.issued; }, 25.43},
    ResidentTerm{"packs of inputs", packs, 0.8575},
    ResidentTerm{"shuffles of slopes", [](const Step& s) { return s.rules * s.sharers; }, 5.586},
    ResidentTerm{"outputs and errors to the lanes that keep their consequents", scattered, 6.881},
    ResidentTerm{"several outputs", several, 21.41},
    ResidentTerm{"rules narrower than a warp", narrow, 76.84},
    ResidentTerm{"warps", warps, 14.63},
    ResidentTerm{"parameters in shared memory", kept, 106.5},
    ResidentTerm{"tasks of a scheduler in shared memory", kept_tasks, 6.658},
    ResidentTerm{"those with both parameters there", twice_kept_tasks, 1},
    ResidentTerm{"registers beyond 230, in 25", crowded, 249.5},
};

constexpr std::array kCluster{
    ResidentTerm{"the step itself", one, 339.6},
    ResidentTerm{"tasks of a scheduler", tasks, 7.142},
    ResidentTerm{"rules", rules, 33.92},
    ResidentTerm{"packs of inputs", packs, 0.6091},
    ResidentTerm{"inputs", [](const Step& s) { return s.inputs; }, 3.046},
    ResidentTerm{"packs of 4", [](const Step& s) { return s.inputs == 4.0 * s.packs ? 1.0 : 0.0; }, 4.418},
    ResidentTerm{"shuffles of sums, of a scheduler",
                 [](const Step& s) { return (1.0 + s.share) * s.groups * s.issued; }, 2.36},
    ResidentTerm{"shuffles of slopes, of a scheduler", [](const Step& s) { return s.rules * s.sharers * s.issued; },
                 5.638},
    ResidentTerm{"several outputs", several, 8.191},
    ResidentTerm{"several outputs of a lane", [](const Step& s) { return s.share > 1.0 ? 1.0 : 0.0; }, 17.52},
    ResidentTerm{"rules narrower than a warp", narrow, 38.41},
    ResidentTerm{"warps", warps, 3.165},
    ResidentTerm{"messages to a block", [](const Step& s) { return s.messages * s.warps * s.blocks; }, 0.474},
    ResidentTerm{"those to all blocks", [](const Step& s) { return s.messages * s.warps * s.blocks * s.blocks; },
                 0.03851},
    ResidentTerm{"messages of a block, for each beyond 12",
                 [](const Step& s) { return s.messages * s.warps * std::max(0.0, s.blocks - 12.0); }, 0.2941},
    ResidentTerm{"records that a lane adds up", [](const Step& s) { return s.records; }, 3.681},
    ResidentTerm{"records that all warps add up", [](const Step& s) { return s.records * s.warps; }, 0.3227},
    ResidentTerm{"turns in which they do", [](const Step& s) { return s.turns; }, 26.07},
    ResidentTerm{"parameters in shared memory", kept, 187.4},
    ResidentTerm{"tasks of a scheduler in shared memory", kept_tasks, 4.262},
    ResidentTerm{"those with both parameters there", twice_kept_tasks, 2.109},
    ResidentTerm{"registers beyond 200, in 25", [](const Step& s) { return std::max(0.0, s.registers - 200.0) / 25.0; },
                 96.03},
};

constexpr std::array kGrid{
    ResidentTerm{"the step itself", one, 406.8},
    ResidentTerm{"tasks of a scheduler", tasks, 7.428},
    ResidentTerm{"rules", rules, 42.78},
    ResidentTerm{"packs of inputs, of a scheduler", [](const Step& s) { return s.packs * s.issued; }, 1.326},
    ResidentTerm{"several outputs", several, 49.96},
    ResidentTerm{"rules narrower than a warp", narrow, 119.6},
    ResidentTerm{"warps", warps, 4.328},
    ResidentTerm{"doublings of blocks", [](const Step& s) { return std::log2(s.blocks); }, 14.04},
    ResidentTerm{"columns of packets", [](const Step& s) { return s.columns; }, 8.505},
    ResidentTerm{"columns of a warp beyond 1", [](const Step& s) { return std::max(0.0, s.columns / s.warps - 1.0); },
                 28.49},
    ResidentTerm{"doublings of the lanes that take a column", [](const Step& s) { return std::log2(s.column_lanes); },
                 67.44},
    ResidentTerm{"trips through L2", [](const Step& s) { return s.trips; }, 368.7},
    ResidentTerm{
        "looks of all warps",
        [](const Step& s) { return s.looks * std::min(s.warps, std::ceil(s.columns * s.column_lanes / kWarp)); },
        5.501},
    ResidentTerm{"parameters in shared memory", kept, 83.32},
    ResidentTerm{"tasks of a scheduler in shared memory", kept_tasks, 5.669},
    ResidentTerm{"those with both parameters there", twice_kept_tasks, 3.007},
    ResidentTerm{"registers beyond 230, in 25", crowded, 577},
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

std::span<const ResidentTerm> resident_terms(ResidentShape::Link link) {
  switch (link) {
    case ResidentShape::Link::block:
      return kBlock;
    case ResidentShape::Link::cluster:
      return kCluster;
    case ResidentShape::Link::grid:
      break;
  }
  return kGrid;
}

double resident_estimate(const ResidentShape& shape) {
  const ResidentStep step(shape);
  double nanoseconds = 0.0;
  for (const ResidentTerm& term : resident_terms(shape.link)) nanoseconds += term.nanoseconds * term.count(step);
  return 1e-3 * nanoseconds;
}

}  // namespace heddle::sonfin
