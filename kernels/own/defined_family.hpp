// The kernel family that a definition describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/own/defined_space.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/kernels/own/parsed_definition.hpp"
#include "heddle/kernels/recent.hpp"

namespace heddle {

/// Its unit is a launch. A plan of S samples is S launches of the kernel, one after the other on the same buffers.
class DefinedFamily final : public KernelFamily {
 public:
  /// Throws Error(input) with what is wrong.
  DefinedFamily(KernelDefinition definition, KernelExamples examples);

  [[nodiscard]] const DefinedFamily* defined() const override { return this; }
  [[nodiscard]] const KernelDefinition& definition() const noexcept { return kernel_.definition; }

  [[nodiscard]] std::string_view name() const override { return kernel_.definition.name; }
  [[nodiscard]] std::string_view meaning() const override { return kernel_.definition.meaning; }
  [[nodiscard]] const std::vector<Axis>& axes() const override { return kernel_.definition.axes; }
  [[nodiscard]] bool shares_contents() const override { return true; }
  [[nodiscard]] std::string_view unit() const override { return "launch"; }
  [[nodiscard]] std::string_view verified_against() const override;
  [[nodiscard]] WorkRange timed_work(const Problem& problem, const DeviceIdentity& device) const override;
  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity& device) const override;
  [[nodiscard]] Problem awkward_problem() const override;
  [[nodiscard]] bool supports(std::string_view backend) const override;
  [[nodiscard]] const TemplateSource& source(std::string_view backend) const override;
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override { return space_of(kernel_, device); }
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
    return default_configuration_of(kernel_, device);
  }
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  [[nodiscard]] Kernels kernels(const Configuration& configuration, const Problem& problem,
                                const DeviceIdentity& device) const override;
  [[nodiscard]] Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                          std::int64_t samples) const override;
  /// plan() with the numbers of the captured call, where there is one: what is timed and verified. It is no part of
  /// what the kernel is, so that profiles found with it are those of the program that called.
  [[nodiscard]] Plan measured_plan(const Configuration& configuration, const Problem& problem,
                                   const DeviceIdentity& device, std::int64_t samples) const override;
  /// The buffers of its arguments at some sizes, which are all that they depend on.
  [[nodiscard]] std::vector<Buffer> buffers(const Problem& problem) const;
  /// Whether its contents and numbers are those of calls that a program captured (KernelExamples::calls).
  [[nodiscard]] bool captured() const noexcept { return !examples_.calls.empty(); }
  /// Captured calls have contents at their sizes alone, and contents that were made up could lead a kernel astray.
  [[nodiscard]] bool has_workload(const Problem& problem) const override;
  [[nodiscard]] Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                            std::int64_t samples, std::uint64_t seed) const override;
  /// What the buffers of a plan hold before it runs. Kept for further runs, and the same for all configurations: a
  /// saved example must not change any more.
  [[nodiscard]] SharedImage initial(const Plan& plan, const Problem& problem, std::uint64_t seed) const;
  [[nodiscard]] std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                                           RunOnDevice run) const override;
  [[nodiscard]] std::int64_t host_threads(const Configuration& configuration,
                                          const DeviceIdentity& device) const override;
  [[nodiscard]] Work work(const Problem& problem) const override;
  [[nodiscard]] std::span<const Metric> metrics() const override { return kernel_.metrics; }

  /// How far buffers that a launch wrote are from those that are expected, as a part of their norm: the largest over
  /// the buffers that are compared. Infinite where whole numbers differ.
  [[nodiscard]] double difference(const HostImage& found, const HostImage& expected) const;
  /// The same of one buffer. 0 if both have the same bytes.
  [[nodiscard]] double difference(const KernelArgument& argument, const std::vector<std::byte>& found,
                                  const std::vector<std::byte>& expected) const;
  [[nodiscard]] bool checked_elsewhere() const noexcept { return examples_.checked_elsewhere; }

  /// The expected outputs, where the reference is files and there are some of the problem's sizes.
  [[nodiscard]] std::optional<HostImage> expected_outputs(const Problem& problem) const;
  /// What has to be run for the expected outputs otherwise: the reference kernel, or a configuration.
  struct ReferenceRun {
    const TemplateSource* source = nullptr;
    Plan plan;
  };
  [[nodiscard]] ReferenceRun reference_run(const Problem& problem, const DeviceIdentity& device) const;
  /// Throws Error(input) if the reference cannot be had at `problem`, or a file that a buffer is filled from: a file is
  /// missing or of another size, the reference kernel has no launch, a constraint forbids the configuration.
  void check_reference(const Problem& problem, const DeviceIdentity& device) const;

 private:
  [[nodiscard]] Plan plan_with(const KernelNumbers& numbers, const Configuration& configuration, const Problem& problem,
                               const DeviceIdentity& device, std::int64_t samples) const;
  /// Those of the captured call at `problem`; none where nothing was captured.
  [[nodiscard]] KernelNumbers numbers_at(const Problem& problem) const;
  /// What the buffers hold before a launch.
  [[nodiscard]] HostImage contents(const std::vector<Buffer>& buffers, const Problem& problem,
                                   std::uint64_t seed) const;
  /// The bytes of a file for an argument, by its index. Throws Error(input).
  [[nodiscard]] std::vector<std::byte> contents_of(std::size_t argument, const ParsedDefinition::Pattern& file,
                                                   const Problem& problem) const;

  KernelExamples examples_;
  ParsedDefinition kernel_;

  /// Random numbers for large buffers take longer than most measurements.
  static constexpr std::size_t kMostContents = std::size_t{1} << 30U;  // bytes
  mutable std::mutex filling_;
  mutable Recent<const SharedImage> contents_{kMostContents};
};

}  // namespace heddle
