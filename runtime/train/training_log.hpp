// The log of a training (`heddle train --log`): JSON lines, written while the training goes on. docs/formats.md
// describes them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/kernels/line_file.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

/// Writing never fails: a line that the file does not take waits in memory and is tried again with the next one, and
/// the training goes on. The functions may be called from any thread.
class TrainingLog {
 public:
  using Json = nlohmann::ordered_json;

  /// Throws Error(input) as LineFile does.
  TrainingLog(const std::filesystem::path& file, Task task, Stop stop);

  /// The first line: what is trained with what. `more`: members that only the caller knows.
  void begin(const Device& device, std::string_view network, const TrainingJob& job, const Json& more);
  /// An epoch that was reported; the line is written by model(), which knows the epochs before it, too.
  void epoch(const EpochReport& report);
  /// As TrainingObserver::model: a line for each new epoch, and one with the network where it is the first that has
  /// something to show.
  void model(const Model& model);
  void notice(const std::string& line);
  /// The last lines: epochs that no report named, the network as it is kept, and how the training ended. Afterwards
  /// nothing is written.
  void end(const Device& device, const TrainingResult& result, const Json& more);
  /// The last line of a training that failed.
  void fail(const std::string& why);

  /// Throws Error(input) if there are lines that the file did not take; `meanwhile` says what was reached all the same,
  /// "the model is kept in m". They are then in a file where temporary files go, and the error says where.
  void check(const std::string& meanwhile);

 private:
  void epochs(const Model& model);
  void network(const Model& model, std::string_view moment);
  void write(const Json& line);

  std::mutex mutex_;
  LineFile file_;
  Task task_;
  std::int64_t last_epoch_ = -1;  // that has a line; -1: not begun
  std::optional<EpochReport> report_;
  bool shown_ = false;  // the network before training, or the first one after
  bool ended_ = false;
  std::deque<std::string> waiting_;
  std::string failure_;
};

}  // namespace heddle
