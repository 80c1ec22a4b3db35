// A model of the time of a step of a resident scheme, as a sum over its parts. It is good enough to tell which of
// several configurations is the fastest at sizes where none of them was measured.
#pragma once

#include <span>
#include <string_view>

#include "heddle/kernels/sonfin/cuda/resident_shape.hpp"

namespace heddle::sonfin {

/// The numbers of a step that its time depends on.
struct ResidentStep {
  explicit ResidentStep(const ResidentShape& shape);

  double tasks;   ///< of a thread
  double rules;   ///< of a thread
  double packs;   ///< of inputs, of a thread
  double inputs;  ///< of a thread
  double issued;  ///< warps that a scheduler has instructions of, one after the other; at least 1
  double warps;   ///< of a block
  double blocks;
  double outputs;
  double share;       ///< outputs of a lane
  double groups;      ///< shuffles to add up over groups of lanes
  double sharers;     ///< shuffles to add up over the lanes that share the outputs
  bool scattered;     ///< outputs lie in more lanes than keep consequents
  double registers;   ///< of a thread, roughly
  bool in_registers;  ///< centres and widths are
  bool none_kept;     ///< of them in registers
  // Cluster and block
  double records;   ///< that a lane adds up
  double turns;     ///< in which it does
  double messages;  ///< of a record
  // Grid
  double columns;       ///< of packets
  double column_lanes;  ///< that take one together
  double trips;         ///< through L2, for all columns
  double looks;         ///< of a lane
};

/// One part of a step.
struct ResidentTerm {
  std::string_view name;
  double (*count)(const ResidentStep&);
  double nanoseconds;  ///< that one of it takes
};

/// The parts of a step for a link, with times fitted to measurements on an H200 (bench/tuning/fit_estimate.cpp).
[[nodiscard]] std::span<const ResidentTerm> resident_terms(ResidentShape::Link link);

/// Microseconds per sample.
[[nodiscard]] double resident_estimate(const ResidentShape& shape);

}  // namespace heddle::sonfin
