// The sizes of a fully connected network as a problem of the perceptron families. The layout of its parameters, and
// what host and kernels share: control.cuh.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/mlp/control.cuh"
#include "heddle/kernels/problem.hpp"

namespace heddle::mlp {

/// The largest sizes of the problems: neurons of a layer, and rows. Kernels count rows in int32, and further than there
/// are some.
inline constexpr std::int64_t kMostInputs = 1 << 16, kMostNeurons = 1 << 16, kMostOutputs = 1 << 14,
                              kMostRows = 1 << 30;
/// More parameters are in no network: a GiB of float32.
inline constexpr std::int64_t kMostParameters = std::int64_t{1} << 28;

/// Sizes "inputs", "hidden1" to "hidden8" (0: no such layer), "outputs".
[[nodiscard]] const std::vector<Axis>& network_axes();
/// What a number of a row takes: kByteBits if all of them are whole numbers from 0 to 255, or all are such numbers /
/// 255, as pixels are; otherwise kFloatBits.
inline constexpr std::int64_t kByteBits = 8, kFloatBits = 32;

/// The same, and "rows", "batch": rows of one step, as many as `rows` if all are learnt at once; "input_bits": of a
/// number of a row.
[[nodiscard]] const std::vector<Axis>& training_axes();

/// Of a problem of either family. A hidden layer of size 0 is left out, wherever it stands.
[[nodiscard]] Layers layers_of(const Problem& problem);
/// `hidden`: at most kMostHidden, each at least 1.
[[nodiscard]] Layers layers(std::int64_t inputs, std::span<const std::int64_t> hidden, std::int64_t outputs);
[[nodiscard]] Problem network_problem(const Layers& layers);
/// `batch`: from 1; more than `rows` is as many as `rows`. `bits`: kByteBits or kFloatBits.
[[nodiscard]] Problem training_problem(const Layers& layers, std::int64_t rows, std::int64_t batch,
                                       std::int64_t bits = kFloatBits);
/// Bits of these numbers of all rows. Kernels look for themselves, so that no number is ever taken for a byte.
[[nodiscard]] std::int64_t bits_of(std::span<const float> numbers);

/// "784-25-15-10"
[[nodiscard]] std::string text(const Layers& layers);
[[nodiscard]] bool same(const Layers& a, const Layers& b);

}  // namespace heddle::mlp
