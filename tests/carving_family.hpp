// A family that is unlike those of heddle in everything that a family says about itself: its axes are of every kind, it
// counts launches, its kernels take doubles and 64-bit integers, its results depend on how they are rounded.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"

namespace heddle::test {

/// elements: by ratio. cuts: by difference, 0 for none. halo: optional, and may be 0. bytes: must be equal.
[[nodiscard]] const std::vector<Axis>& carving_axes();
[[nodiscard]] Problem carving(std::int64_t elements, std::int64_t cuts, AxisValue halo, std::int64_t bytes);

/// A problem with a value for each axis, drawn from all that are allowed; often the smallest, the largest or none.
[[nodiscard]] Problem any_problem(const std::vector<Axis>& axes, std::mt19937_64& random);

/// A launch replaces every element by the sum of itself and its neighbours up to `halo` on both sides (itself alone, if
/// the problem has no halo), and cuts that so many times: v <- v * scale + shift, rounded twice. Odd elements end as
/// numbers that are subnormal. The sums over all launches are added up in `totals`, which go on from run to run.
/// `bytes`, up to 4: everything is a float; more: a double.
///
/// Space: width 1..20 (elements that a thread does) x depth 1..10 (cuts that are unrolled), depth <= cuts + 4. Results
/// are the same bits for all of them, and those of the host.
class CarvingFamily : public KernelFamily {
 public:
  explicit CarvingFamily(std::string name = "carving") : name_(std::move(name)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view meaning() const override { return "cuts elements"; }
  [[nodiscard]] const std::vector<Axis>& axes() const override { return carving_axes(); }
  [[nodiscard]] std::string_view unit() const override { return "launch"; }
  [[nodiscard]] WorkRange timed_work(const Problem&, const DeviceIdentity&) const override {
    return {.least = 2, .most = 64};
  }
  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity& device) const override;
  [[nodiscard]] Problem awkward_problem() const override { return carving(97, 7, 3, 4); }
  [[nodiscard]] bool supports(std::string_view backend) const override {
    return backend == "cpu" || runs_cuda_templates(backend);
  }
  [[nodiscard]] const TemplateSource& source(std::string_view backend) const override;
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override;
  [[nodiscard]] static Configuration configuration(std::int64_t width, std::int64_t depth) {
    return Configuration({{"width", width}, {"depth", depth}});
  }
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return configuration(1, 1);
  }
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  /// `launches`: of one run.
  [[nodiscard]] Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                          std::int64_t launches) const override;
  [[nodiscard]] Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                            std::int64_t launches, std::uint64_t seed) const override;
  [[nodiscard]] std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                                           RunOnDevice run) const override;
  [[nodiscard]] std::int64_t host_threads(const Configuration&, const DeviceIdentity& device) const override {
    return device.backend == "cpu" ? 1 : 0;
  }
  [[nodiscard]] Work work(const Problem& problem) const override;

 private:
  std::string name_;
};

/// The maker of families called as the text says; "carving" is the name it is registered under.
[[nodiscard]] std::shared_ptr<const KernelFamily> make_carving_family(const std::string& text);

/// The built-in families and this one: what a test that takes every family takes.
[[nodiscard]] FamilyRegistry families_with_carving();

}  // namespace heddle::test
