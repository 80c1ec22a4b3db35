// The parts of a step of a resident scheme that its time is a sum over. With the weights of a device the sum is good
// enough to tell which of several configurations is the fastest at sizes where none of them was measured.
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
  // Several warps a rule
  double tasks_in_registers;  ///< of a thread, with centre and width there
  double tasks_split;         ///< with the width in shared memory
  double tasks_in_shared;     ///< with both there
  double tasks_streamed;      ///< with both in global memory
  double megabytes_streamed;  ///< read by all blocks, and written by those whose rules move
  double records_of_block;    ///< groups of warps
  double row;                 ///< inputs that a block has room for
  double crowding;            ///< registers of a thread, as a share of those it may have
};

/// KernelFamily::cost_terms(): those of a block, then those of a cluster, of a grid, and of a grid where several warps
/// share a rule.
[[nodiscard]] std::span<const std::string_view> resident_term_names();

/// KernelFamily::term_counts() of a configuration; `shape` need not have what depends on the problem.
[[nodiscard]] TermCounts resident_term_counts(const ResidentShape& shape);

}  // namespace heddle::sonfin
