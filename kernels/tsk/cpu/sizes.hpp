// The sizes of a problem, and how the CPU templates divide their scratch buffers. Compiled at run time too: no other
// header is included.
#pragma once

namespace heddle::tsk::cpu {

// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

/// The problem, the same for both kernels.
struct Sizes {
  long long dim, outputs, rules, terms;
  [[nodiscard]] constexpr long long unknowns() const { return rules * terms; }
  [[nodiscard]] constexpr long long columns() const { return unknowns() + outputs; }
  [[nodiscard]] constexpr long long tasks() const { return rules * dim; }
  [[nodiscard]] constexpr long long consequents() const { return unknowns() * outputs; }
};

}  // namespace

struct BatchSizes {
  int rules, dim, outputs, terms;
  int rows;  ///< of a tile
  int real;  ///< bytes of a Real

  static constexpr int kLargestSide = 8;  ///< columns are padded to whole sides of any size up to this
  static constexpr long long round_up(long long value, long long unit) { return (value + unit - 1) / unit * unit; }

  [[nodiscard]] constexpr long long columns() const {
    return static_cast<long long>(rules) * terms + outputs + kLargestSide;
  }
  /// Reals; all begin at whole cache lines.
  [[nodiscard]] constexpr long long inputs() const { return round_up(static_cast<long long>(dim) * rows, 16); }
  [[nodiscard]] constexpr long long activations() const { return round_up(static_cast<long long>(rules) * rows, 16); }
  /// Bytes of a thread: inputs, activations, and then columns as doubles in one kernel, outputs and errors in the
  /// other.
  [[nodiscard]] constexpr long long own() const {
    const long long doubles = 8 * columns() * rows, reals = 2LL * real * outputs * rows;
    return real * (inputs() + activations()) + round_up(doubles > reals ? doubles : reals, 64);
  }
  /// Doubles of a part: the lower triangle of the product of the columns in squares, or a gradient and 3 sums.
  [[nodiscard]] constexpr long long sums() const {
    const long long product = (columns() + kLargestSide) * (columns() + kLargestSide) / 2 + kLargestSide * columns();
    const long long gradient = 2LL * rules * dim + 3;
    return round_up(product > gradient ? product : gradient, 8);
  }
};

}  // namespace heddle::tsk::cpu
