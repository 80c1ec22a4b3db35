// A recorded search space, whose every configuration was measured: a tuner can search it without the device.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/search_space.hpp"
#include "heddle/profiles/status.hpp"

namespace heddle {

/// The recorded outcome of one configuration.
struct RecordedOutcome {
  Status status = Status::correct;  ///< correct, or the way it failed
  std::optional<double> time;       ///< the objective, microseconds; nothing if it failed
  std::vector<double> times;  ///< single repetitions, microseconds; written, not read: files differ in what they mean
  double compile_seconds = 0.0;
  std::string message;
};

struct RecordedSpace {
  std::string name;                     ///< the file's, without its folder and endings
  std::string device, kernel, problem;  ///< as recorded; empty if it was not
  std::string verified_against;         ///< what the results of the kernel were compared with; empty if not recorded
  std::vector<std::string> parameters;  ///< in their order
  std::vector<Configuration> configurations;
  std::vector<RecordedOutcome> outcomes;  ///< one per configuration
  /// The shortest time, microseconds.
  [[nodiscard]] double best() const;
};

/// Reads T4 and T1 (the results and the cache file of Kernel Tuner; a cache whose run was interrupted too), gzip or
/// not. The objective is the measurement called `time`, in T1 the field of that name. Throws Error(input) with the
/// file's name: what read_data_file() throws, no such document, a value that makes no sense, no configuration that
/// worked.
[[nodiscard]] RecordedSpace read_recorded_space(const std::filesystem::path& file);

/// Writes T4; gzip if the name ends in ".gz". What read_recorded_space() reads back is equal, but for name and
/// repetitions. Throws Error(input) as write_file() does.
void write_recorded_space(const std::filesystem::path& file, const RecordedSpace& space);

}  // namespace heddle
