// The JSON file of whole_runs. A call that was cut short leaves it behind, and a later one goes on with what it lacks.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace heddle::bench {

class RunsFile {
 public:
  using Json = nlohmann::ordered_json;

  /// `call`: members that differ from call to call, as the command and the date. `conditions`: members that a run
  /// depends on, among them "commit". Runs that `file` has under the same conditions count as measured; others are
  /// forgotten, so that a file never has runs of two commits. Without the name of a commit nothing is known to be the
  /// same, and every call begins anew. Nothing is written yet.
  RunsFile(std::filesystem::path file, const Json& call, const Json& conditions);

  /// Whether this way to train was run on this set, or was left out for a reason that the file gives.
  [[nodiscard]] bool has(const std::string& set, const std::string& way) const;

  /// `about`: the members of a set's entry beside its "name" and its "runs". Writes the file; throws Error(input).
  void add(const std::string& set, const Json& about, const std::string& way, Json run);

  /// Notes whether all that was asked for is there. Writes the file; throws Error(input).
  void end(bool complete);

 private:
  void write() const;

  std::filesystem::path file_;
  Json document_;
};

}  // namespace heddle::bench
