// Plans of scheme = neurons: see neurons.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/cuda/neurons_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// What a configuration takes. Of a network with one hidden layer.
struct NeuronsLayout {
  NeuronsShape<std::int64_t> shape{};
  std::int64_t threads;       ///< of a block
  std::int64_t packets;       ///< of all blocks
  std::int64_t shared_bytes;  ///< of a block

  NeuronsLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts,
                std::int64_t of_threads);

  static bool takes(const Layers& layers);
  /// Whether every block has inputs and neurons, a cluster no more neurons than there are slots for, and a warp no more
  /// rows to bring than it has lanes.
  [[nodiscard]] bool all_have_some() const;
};

/// Appends the buffers, kernels and launches of a run. The buffers of training are there already.
void add_neurons(Plan& plan, const NeuronsLayout& layout, const RunLength& length);

}  // namespace heddle::mlp
