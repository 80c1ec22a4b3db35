// The parts of documents about a training, which `heddle train --json` and training logs share. docs/formats.md
// describes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "heddle/runtime/train/metrics.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

/// Over all samples of all epochs; 0 if there were none.
[[nodiscard]] double microseconds_per_sample(const std::vector<EpochReport>& epochs);
[[nodiscard]] nlohmann::ordered_json epoch_document(const EpochReport& report, Task task);
/// Of an epoch between two reports. Its members are those of a reported one, as far as they are known.
[[nodiscard]] nlohmann::ordered_json epoch_document(const EpochRecord& record, Task task);
/// A member for each count of a network's size.
void add_counts(nlohmann::ordered_json& object, const NetworkSize& size);
/// `test`: null if there are none.
[[nodiscard]] nlohmann::ordered_json data_document(const Dataset& train, const Dataset* test);
/// `source`: of the rows.
[[nodiscard]] nlohmann::ordered_json metrics_document(const Metrics& metrics, const std::string& source);
/// The options of a trainer by name, with their defaults: numbers, words, truth values, arrays.
[[nodiscard]] nlohmann::ordered_json options_document(const OptionValues& options);
/// Name and range of each input of training data; null for more than 1000 inputs.
[[nodiscard]] nlohmann::ordered_json input_ranges(const Dataset& data);

}  // namespace heddle
