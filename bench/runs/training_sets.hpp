// The sets of the published table of total run times, as far as they can be had, as a network sees them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"

namespace heddle::bench {

struct TrainingSet {
  std::string name;        ///< "letter", "random-2048"
  std::int64_t rules = 0;  ///< at the end of training, as published; the cap here
  LearningRows rows;
  sonfin::Hyperparameters options;
};

/// Those of the published table.
[[nodiscard]] const std::vector<std::string>& training_set_names();
/// One of these, or "random-5000-long", which has 10000 rows. `folder`: where the files lie, at any depth; `rows`: at
/// most so many, 0: all. Inputs scaled to 0..1, classes one-hot; "random-D" is drawn uniformly, with one target. Throws
/// Error(usage) for another name, Error(input) if a file is missing.
[[nodiscard]] TrainingSet load_training_set(const std::string& name, const std::filesystem::path& folder,
                                            std::int64_t rows = 0);

}  // namespace heddle::bench
