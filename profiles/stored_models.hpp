// The weights of models of times, per device and family. For the files of this folder only; inside
// StoreFile::guarded() or, what writes, StoreFile::in_transaction(). ProfileStore says what each function does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/fitted_model.hpp"
#include "heddle/profiles/store_file.hpp"
#include "heddle/profiles/tuning_run.hpp"

namespace heddle {

[[nodiscard]] std::optional<FittedModel> find_model(StoreFile& store, const std::string& family,
                                                    const DeviceIdentity& device);
/// In the order of families and devices.
[[nodiscard]] std::vector<FittedModel> models_of(StoreFile& store, const std::string& family);
[[nodiscard]] std::vector<FittedModel> models_before_run(StoreFile& store, const TuningRun& run);

}  // namespace heddle
