// What a trainer does with its data whatever the network: check it, and keep a part of it back.
#pragma once

#include <cstdint>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

/// The training data of a job. Throws Error(input) unless it has labelled rows that test data and resumed model agree
/// with, Error(usage) if there is none.
[[nodiscard]] const Dataset& checked_data(const TrainingJob& job);

/// The rows that are learnt, and those kept back; both in the data's order.
struct DataParts {
  const Dataset* whole = nullptr;  ///< where nothing is kept back: the data itself, which must outlive this
  Dataset subset;                  ///< else the rows that are left
  Dataset validation;              ///< without rows if nothing is kept back

  [[nodiscard]] const Dataset& learn() const { return whole != nullptr ? *whole : subset; }
};
/// Keeps back floor(fraction * N) rows, picked by the seed. Throws Error(usage) if a fraction above 0 is less than one
/// row. 0 <= fraction < 1.
[[nodiscard]] DataParts part_data(const Dataset& data, double fraction, std::uint64_t seed);

}  // namespace heddle
