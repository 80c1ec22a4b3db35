// How the CPU templates divide their scratch buffers. Compiled at run time too: no other header is included.
#pragma once

namespace heddle::sonfin::cpu {

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/// Scratch of the training templates, in floats. Rules lie in tiles of `width`, dealt to the banks in turn.
struct TrainSizes {
  int capacity;  ///< rules, a multiple of width * banks
  int outputs;
  int banks;
  int width;  ///< W

  constexpr int bank_tiles() const { return capacity / width / banks; }
  constexpr int padded_outputs() const { return round_up(outputs, width); }
  /// The record of a bank about one sample: 4 words, then a sum per output; whole pairs of cache lines.
  constexpr int record() const { return round_up(4 + padded_outputs(), 32); }
  constexpr int records() const { return 2 * banks * record(); }
  /// Numbers that a bank keeps from one phase of a sample to the next.
  constexpr int notes() const { return round_up(bank_tiles() * (3 * width + 3) + 1, 32); }
  /// Output and error of a sample, as one thread found them.
  constexpr int answer() const { return round_up(2 * padded_outputs(), 32); }
  /// There are at most as many threads as banks.
  constexpr int scratch() const { return banks * (notes() + answer()); }
};

/// Scratch of the prediction template, in floats.
struct PredictSizes {
  int capacity;  ///< rules, a multiple of the vector's width
  int rows;      ///< of one block

  constexpr int own() const { return round_up(rows * capacity, 32); }
};

}  // namespace heddle::sonfin::cpu
