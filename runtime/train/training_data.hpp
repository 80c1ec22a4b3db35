// A trainer checks its data and keeps a part of it back, whatever the network.
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

/// A digest of all these rows: inputs, labels and targets as read, and which are kept back.
[[nodiscard]] std::string digest(const DataParts& parts);

/// Rows as the network sees them.
struct LearningRows {
  std::int64_t dim = 0, outputs = 0;
  std::vector<float> rows;     ///< N x D, scaled
  std::vector<float> targets;  ///< N x L, one-hot or standardised
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(rows.size()) / dim; }
};

/// Of `data` as `model` scales it.
[[nodiscard]] LearningRows learning_rows(const Model& model, const Dataset& data);

/// A model for `learn` with a network that has learnt nothing yet; the scaling of its inputs follows from the option
/// `scale`, that of numbers to predict is `targets`.
[[nodiscard]] Model model_for(const Dataset& learn, const OptionValues& options, AnyNetwork network,
                              Scale targets = Scale::zscore);
/// Options and seed as they are set; tool, device, date and data.
void sign(Model& model, const OptionValues& options, const Device& device, const Dataset& learn);
/// The options of a job for the trainer called `trainer`: where none is set, those that a resumed model was trained
/// with. Throws Error(usage): options that need each other; a resumed model of another kind, of another scale, or with
/// as many epochs as are asked for.
[[nodiscard]] OptionValues training_options(const TrainingJob& job, std::string_view trainer);

}  // namespace heddle
