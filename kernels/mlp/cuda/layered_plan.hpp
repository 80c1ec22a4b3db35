// The plans of kernels that follow each other, layer by layer: layered.cuh, predict.cuh.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/kernels/mlp/cuda/layered_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// Blocks of a product of tile x tile sums cover all lines of both factors.
[[nodiscard]] std::int64_t tiles_of(std::int64_t lines, std::int64_t tile);

/// Adds the scratch buffers, the kernels and the launches of a run of `length` to a plan that has training_buffers(),
/// and captures it. `batch`: rows of a step at most; `parts`: blocks that share the rows of a gradient.
void add_layered(Plan& plan, const Layers& layers, std::int64_t batch, std::int64_t tile, std::int64_t parts,
                 const RunLength& length);

/// The same for a plan that has prediction_buffers() for so many rows.
void add_layered_prediction(Plan& plan, const Layers& layers, std::int64_t rows, std::int64_t tile);

}  // namespace heddle::mlp
