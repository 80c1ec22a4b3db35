// Tuning runs: which process works at which, and the profiles that there were when a run began. For the files of this
// folder only; inside StoreFile::guarded() or, what writes, StoreFile::in_transaction(). ProfileStore says what each
// function does.
#pragma once

#include <string>
#include <vector>

#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/store_file.hpp"
#include "heddle/profiles/tuning_run.hpp"

namespace heddle {

[[nodiscard]] TuningRun resume_or_begin_run(StoreFile& store, const std::string& task);
/// In key order.
[[nodiscard]] std::vector<Profile> profiles_before_run(StoreFile& store, const TuningRun& run);
void store_seconds(StoreFile& store, const TuningRun& run, double seconds);
/// `finished`: the run is not to be continued. Confirms nothing.
void leave_run(StoreFile& store, const TuningRun& run, bool finished);

}  // namespace heddle
