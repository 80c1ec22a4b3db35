// Which inputs of a perceptron take part in its training.
//
// An input that is 0 in all rows to learn changes no sum, and the gradients of its weights are 0: pixels at the border
// of all pictures, words that no row has, columns that are constant (their z-scores are 0). Training without it is the
// same with fewer products. Its weights rest, and so do their steps, velocities and moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"

namespace heddle {

class ActiveInputs {
 public:
  /// Inputs are left out in groups of so many, so that rows keep the alignment that they have: the widest loads of
  /// kernels take 16 bytes, and a number of a row has one at least. One group or a part of it always stays.
  static constexpr std::int64_t kGroup = 16;

  /// All of them.
  explicit ActiveInputs(const mlp::Layers& layers);
  /// `rows`: N x inputs, all that are learnt. `rests`: whether a parameter stays as it is where its gradients are 0; an
  /// input is left out only if all its weights do.
  ActiveInputs(
      const mlp::Layers& layers, std::span<const float> rows,
      const std::function<bool(std::size_t)>& rests = [](std::size_t) { return true; });

  [[nodiscard]] bool all() const { return rests_.empty(); }
  /// The network that learns.
  [[nodiscard]] const mlp::Layers& layers() const { return layers_; }

  /// Of N x inputs those that are active.
  [[nodiscard]] std::vector<float> of_rows(std::span<const float> rows) const;
  /// Of arrays in the layout of the whole network, one after the other: the same in that of layers().
  [[nodiscard]] std::vector<float> active(std::span<const float> arrays) const;
  /// The other numbers of such arrays.
  [[nodiscard]] std::vector<float> resting(std::span<const float> arrays) const;
  /// The arrays that active() and resting() have divided.
  [[nodiscard]] std::vector<float> together(std::vector<float> active, std::span<const float> resting) const;

 private:
  std::int64_t inputs_;  ///< of the whole network
  mlp::Layers layers_;
  std::vector<char> rests_;  ///< of each parameter of the whole network, whether it rests; empty: none does
};

}  // namespace heddle
