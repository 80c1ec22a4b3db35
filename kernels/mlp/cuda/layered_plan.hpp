// The plans of kernels that follow each other, layer by layer: layered.cuh, predict.cuh.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/kernels/mlp/cuda/layered_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// Of shared memory that a block takes at most for tiles of this size.
[[nodiscard]] std::int64_t layered_bytes(std::int64_t tile);

/// Blocks of a product of tile x tile sums cover all lines of both factors.
[[nodiscard]] std::int64_t tiles_of(std::int64_t lines, std::int64_t tile);

/// How a step computes its products: tiles of the tensor cores, layered.cuh; a sum of one thread, or of the threads of
/// a block, layered_sums.cuh; the routine matrix_product of the device's library, layered_library.cuh.
enum class Product { tiles, thread, tree, library };

struct LayeredShape {
  Product product = Product::tiles;
  std::int64_t tile = 0;         ///< of Product::tiles: sums of a block in both directions, where there are as many
  bool alone = false;            ///< one block changes all weights
  std::int64_t pieces = 1;       ///< of Product::tiles, where all rows are learnt at once: pieces in which they come
  std::int64_t units = 1;        ///< multiprocessors that share the tiles
  std::int64_t local_bytes = 0;  ///< of shared memory that each of them has
};

/// Adds the scratch buffers, the kernels and the launches of a run of `length` to a plan that has training_buffers(),
/// and captures it where it calls no routine and all rows are on the device. `batch`: rows of a step at most.
void add_layered(Plan& plan, const Layers& layers, std::int64_t batch, const LayeredShape& shape,
                 const RunLength& length);

/// The same for a plan that has prediction_buffers() for so many rows.
void add_layered_prediction(Plan& plan, const Layers& layers, std::int64_t rows, const LayeredShape& shape);

}  // namespace heddle::mlp
