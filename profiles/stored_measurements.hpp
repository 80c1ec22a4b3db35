// Which measurements are asked for. For the files of this folder only; inside StoreFile::guarded().
#pragma once

#include <optional>
#include <vector>

#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/store_file.hpp"
#include "heddle/profiles/tuning_run.hpp"

namespace heddle {

/// Newest first. Without a key, all.
[[nodiscard]] std::vector<Measurement> measurements_of(StoreFile& store, const std::optional<ProfileKey>& key);
/// Oldest first.
[[nodiscard]] std::vector<Measurement> measurements_with(StoreFile& store, const std::string& family,
                                                         const DeviceIdentity& device, const KernelVersion& kernels);
/// ProfileStore::known().
[[nodiscard]] std::vector<Measurement> measurements_known(StoreFile& store, const ProfileKey& key,
                                                          const Measurement& like, const TuningRun& run);

}  // namespace heddle
