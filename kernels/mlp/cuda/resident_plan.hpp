// The plan of scheme = resident: resident.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// The blocks that do all steps of a run in one launch.
struct ResidentLayout {
  static constexpr std::int64_t kMostBlocks = kPolls * 32;

  std::int64_t blocks, threads;
  RowsIn rows_in;
  ResidentShape<std::int64_t> shape;
  std::int64_t packets;       ///< of all exchanges
  std::int64_t padded;        ///< floats of all rows in global memory; 0: they are not there
  std::int64_t shared_bytes;  ///< of a block

  /// `rows`: of a step.
  ResidentLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t threads, RowsIn rows_in);
};

/// Adds the packets of a resident scheme, the place of the progress before its steps, and the launch that fills both.
void add_packets(Plan& plan, std::int64_t packets);

/// Adds the scratch buffers, the kernels and the launches of a run of `length` to a plan that has training_buffers().
void add_resident(Plan& plan, const ResidentLayout& layout, const RunLength& length);

}  // namespace heddle::mlp
