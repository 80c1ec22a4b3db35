// A recorded search space in the shape of a kernel family, so that the tuner can search it like any other.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/tuner/replay/recorded_space.hpp"

namespace heddle {

/// Its one problem is the recording; its configurations are those recorded. There is nothing to be run: plan() and
/// what runs them throw Error(bug).
class RecordedFamily final : public KernelFamily {
 public:
  /// Throws Error(input) if a parameter is there in some configurations and missing in others that agree in all
  /// parameters before it.
  explicit RecordedFamily(RecordedSpace recording);
  RecordedFamily(const RecordedFamily&) = delete;  // spaces refer to it
  RecordedFamily& operator=(const RecordedFamily&) = delete;

  [[nodiscard]] const RecordedSpace& recording() const noexcept { return recording_; }
  [[nodiscard]] Problem problem() const;
  /// Backend "replay".
  [[nodiscard]] DeviceIdentity device() const;
  /// Throws std::out_of_range for a configuration that was not recorded.
  [[nodiscard]] const RecordedOutcome& outcome(const Configuration& configuration) const;

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view verified_against() const override {
    if (recording_.verified_against.empty()) return "what was expected when they were recorded";
    return recording_.verified_against;
  }
  [[nodiscard]] std::string_view meaning() const override { return "a recorded search space"; }
  [[nodiscard]] const std::vector<Axis>& axes() const override;
  [[nodiscard]] std::string_view unit() const override { return "launch"; }
  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity&) const override { return {problem()}; }
  [[nodiscard]] Problem awkward_problem() const override { return problem(); }
  [[nodiscard]] bool supports(std::string_view backend) const override { return backend == "replay"; }
  [[nodiscard]] const TemplateSource& source(std::string_view) const override { return source_; }
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override;
  /// The first one recorded.
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return recording_.configurations.front();
  }
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  [[nodiscard]] Plan plan(const Configuration&, const Problem&, const DeviceIdentity&, std::int64_t) const override;
  [[nodiscard]] Trial trial(const Configuration&, const Problem&, const DeviceIdentity&, std::int64_t,
                            std::uint64_t) const override;
  [[nodiscard]] std::unique_ptr<Verification> verification(const DeviceIdentity&, std::uint64_t,
                                                           RunOnDevice) const override;
  [[nodiscard]] Work work(const Problem&) const override { return {}; }

 private:
  RecordedSpace recording_;
  std::string name_;
  std::string contents_;  ///< what source() refers to: another recording makes profiles stale
  TemplateSource source_;
  std::unordered_map<std::string, std::size_t> places_;  ///< by canonical text
  std::unordered_set<std::string> prefixes_;             ///< canonical texts of all first parts
  std::vector<std::vector<Value>> values_;               ///< one list per parameter, in order of appearance
};

}  // namespace heddle
