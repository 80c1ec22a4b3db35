// The kernel family that a definition describes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// Its unit is a launch. A plan of S samples is S launches of the kernel, one after the other on the same buffers.
class DefinedFamily final : public KernelFamily {
 public:
  /// The name of the constraint that every definition for CUDA has beside its own.
  static constexpr const char* kLaunchLimits = "launch limits of CUDA";

  /// Throws Error(input) with what is wrong.
  DefinedFamily(KernelDefinition definition, KernelExamples examples);

  [[nodiscard]] const KernelDefinition& definition() const noexcept { return definition_; }

  [[nodiscard]] std::string_view name() const override { return definition_.name; }
  [[nodiscard]] std::string_view meaning() const override { return definition_.meaning; }
  [[nodiscard]] const std::vector<Axis>& axes() const override { return definition_.axes; }
  [[nodiscard]] bool shares_contents() const override { return true; }
  [[nodiscard]] std::string_view unit() const override { return "launch"; }
  [[nodiscard]] std::string_view verified_against() const override;
  [[nodiscard]] WorkRange timed_work(const Problem& problem, const DeviceIdentity& device) const override;
  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity& device) const override;
  [[nodiscard]] Problem awkward_problem() const override;
  [[nodiscard]] bool supports(std::string_view backend) const override;
  [[nodiscard]] const TemplateSource& source(std::string_view backend) const override;
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override;
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity& device,
                                                    const Problem& problem) const override;
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  [[nodiscard]] Kernels kernels(const Configuration& configuration, const Problem& problem,
                                const DeviceIdentity& device) const override;
  [[nodiscard]] Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                          std::int64_t samples) const override;
  [[nodiscard]] Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                            std::int64_t samples, std::uint64_t seed) const override;
  [[nodiscard]] std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                                           RunOnDevice run) const override;
  [[nodiscard]] std::int64_t host_threads(const Configuration& configuration,
                                          const DeviceIdentity& device) const override;
  [[nodiscard]] Work work(const Problem& problem) const override;

  /// How far buffers that a launch wrote are from those that another configuration left, as a part of their norm: the
  /// largest over the buffers. Infinite where whole numbers differ.
  [[nodiscard]] double difference(const HostImage& found, const HostImage& expected) const;
  [[nodiscard]] bool checked_elsewhere() const noexcept { return examples_.checked_elsewhere; }

 private:
  /// KernelCode with its expressions read.
  struct Code {
    /// All that decides what the kernel computes beside its text, so that the hash of the source covers it.
    std::unique_ptr<const std::string> contract;
    std::unique_ptr<TemplateSource> source;
    /// The kernel's name in parts: texts, and the expressions between them.
    std::vector<std::string> name_texts;
    std::vector<Expression> name_values;
    bool entry_point = false;
    std::string untuned;
    std::vector<Expression> grid, block;
    std::optional<Expression> shared_bytes;
  };
  struct Argument {
    std::optional<Expression> elements, value;
  };

  [[nodiscard]] const Code& code(std::string_view backend) const;
  /// That the launch geometry of a configuration has values, and ones that CUDA can launch.
  [[nodiscard]] Constraint launch_limits() const;
  void foresee(Constraint& constraint, const Expression& holds) const;
  [[nodiscard]] Code read(const std::string& language, const KernelCode& code) const;
  /// Reads an expression that may ask for the names in `known`.
  [[nodiscard]] Expression expression(const std::string& text, const char* of,
                                      const std::vector<std::string>& known) const;
  [[nodiscard]] std::vector<std::string> known_names(std::size_t parameters, bool axes, bool device) const;
  [[nodiscard]] std::int64_t bytes_of(std::size_t argument, const Expression::Names& names) const;

  KernelDefinition definition_;
  KernelExamples examples_;
  std::map<std::string, Code, std::less<>> code_;
  std::vector<std::optional<Expression>> active_;
  std::vector<Expression> constraints_;
  std::vector<Argument> arguments_;
  std::optional<Expression> bytes_, operations_;
};

}  // namespace heddle
