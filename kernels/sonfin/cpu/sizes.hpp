// How the CPU templates divide their scratch buffers. Compiled at run time too: no other header is included.
#pragma once

namespace heddle::sonfin::cpu {

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/// Scratch of the training templates, in floats. Rules lie in tiles of `width`, dealt to the threads in turn.
struct TrainSizes {
  int capacity;  ///< rules, a multiple of width * threads
  int outputs;
  int threads;
  int width;  ///< W

  constexpr int own_tiles() const { return capacity / width / threads; }
  constexpr int padded_outputs() const { return round_up(outputs, width); }
  /// What a thread tells the others about one sample: 4 words, then a sum per output; whole pairs of cache lines.
  constexpr int record() const { return round_up(4 + padded_outputs(), 32); }
  constexpr int records() const { return 2 * threads * record(); }
  /// What a thread keeps for itself.
  constexpr int own() const { return round_up(own_tiles() * (3 * width + 3) + 2 * padded_outputs(), 32); }
};

/// Scratch of the prediction template, in floats.
struct PredictSizes {
  int capacity;  ///< rules, a multiple of the vector's width
  int rows;      ///< of one block

  constexpr int own() const { return round_up(rows * capacity, 32); }
};

}  // namespace heddle::sonfin::cpu
