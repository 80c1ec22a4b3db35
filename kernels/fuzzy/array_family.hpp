// What all families of operations on arrays of fuzzy numbers share. A family says what its buffers hold and what the
// number types make of them; verification and timing follow.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/kernels/fuzzy/workload.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle::fuzzy {

/// Its unit is a launch: a plan of S samples does the operation S times on the same buffers, with the same result.
class ArrayFamily : public KernelFamily {
 public:
  /// `axes`: those of the family's own, and form_axes() behind them.
  ArrayFamily(std::string name, std::string meaning, Encoding encoding, std::vector<Axis> axes);

  /// The plan of one operation. Its buffers are inputs, outputs and scratch.
  [[nodiscard]] virtual Plan once(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device) const = 0;
  /// Random contents of all inputs.
  [[nodiscard]] virtual HostImage contents(const Problem& problem, std::uint64_t seed, NumberKind kind) const = 0;
  /// All outputs that have to follow from these inputs, by the number types on the host.
  [[nodiscard]] virtual HostImage expected(const Problem& problem, const HostImage& contents) const = 0;

  [[nodiscard]] Encoding encoding() const noexcept { return encoding_; }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view meaning() const override { return meaning_; }
  [[nodiscard]] const std::vector<Axis>& axes() const override { return axes_; }
  [[nodiscard]] std::string_view unit() const override { return "launch"; }
  [[nodiscard]] std::string_view verified_against() const override { return "the number types, bit by bit"; }
  [[nodiscard]] bool tuned_unasked() const override { return false; }
  [[nodiscard]] WorkRange timed_work(const Problem& problem, const DeviceIdentity& device) const override;
  [[nodiscard]] bool supports(std::string_view backend) const override;
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  [[nodiscard]] Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                          std::int64_t samples) const override;
  [[nodiscard]] Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                            std::int64_t samples, std::uint64_t seed) const override;
  [[nodiscard]] std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                                           RunOnDevice run) const override;
  /// The parameter "threads", where the space has one.
  [[nodiscard]] std::int64_t host_threads(const Configuration& configuration,
                                          const DeviceIdentity& device) const override;

 private:
  std::string name_, meaning_;
  Encoding encoding_;
  std::vector<Axis> axes_;
};

/// `first`, then form_axes().
[[nodiscard]] std::vector<Axis> with_form_axes(std::vector<Axis> first);

}  // namespace heddle::fuzzy
