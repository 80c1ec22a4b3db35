// A family whose axes are of every kind: by ratio, by difference with 0 for none, optional, and one that must be equal.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle::test {

inline const std::vector<Axis>& carving_axes() {
  static const std::vector<Axis> axes{
      {.name = "elements"},
      {.name = "cuts", .weight = 0.25, .maximum = 64, .spacing = Spacing::difference, .zero_means_none = true},
      {.name = "halo", .weight = 0.5, .maximum = 1 << 10, .zero_means_none = true, .optional = true},
      {.name = "bytes", .maximum = 16, .spacing = Spacing::equal}};
  return axes;
}

inline Problem carving(std::int64_t elements, std::int64_t cuts, AxisValue halo, std::int64_t bytes) {
  return Problem::from(carving_axes(), {elements, cuts, halo, bytes});
}

/// A problem with a value for each axis, drawn from all that are allowed; often the smallest, the largest or none.
inline Problem any_problem(const std::vector<Axis>& axes, std::mt19937_64& random) {
  std::vector<AxisValue> values;
  for (const Axis& axis : axes) {
    const double part = static_cast<double>(random() % 1001) / 1000.0;
    AxisValue& value = values.emplace_back(between(axis, smallest(axis), axis.maximum, part));
    if (axis.spacing == Spacing::equal) value = 1 + static_cast<std::int64_t>(random() % 3);
    if (random() % 8 == 0) value = random() % 2 == 0 ? smallest(axis) : axis.maximum;
    if (axis.optional && random() % 3 == 0) value.reset();
  }
  return Problem::from(axes, values);
}

/// Nothing runs: width 1..20 x depth 1..10 is only searched, stored and chosen from.
class CarvingFamily : public KernelFamily {
 public:
  std::string_view name() const override { return "carving"; }
  std::string_view meaning() const override { return "cuts elements"; }
  const std::vector<Axis>& axes() const override { return carving_axes(); }
  std::vector<Problem> default_problems(const DeviceIdentity&) const override {
    std::vector<Problem> grid;
    for (const std::int64_t bytes : {4, 8}) {
      for (const AxisValue halo : {AxisValue(), AxisValue(0), AxisValue(16)}) {
        for (const std::int64_t elements : {64, 1024, 65536}) {
          for (const std::int64_t cuts : {0, 12}) grid.push_back(carving(elements, cuts, halo, bytes));
        }
      }
    }
    return grid;
  }
  Problem awkward_problem() const override { return carving(97, 0, std::nullopt, 4); }
  bool supports(std::string_view backend) const override { return backend == "emulator"; }
  const TemplateSource& source(std::string_view) const override {
    static const TemplateSource source("heddle/kernels/sonfin/control.cuh");
    return source;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    const auto up_to = [](std::int64_t last) {
      std::vector<Value> values;
      for (std::int64_t value = 1; value <= last; ++value) values.emplace_back(value);
      return values;
    };
    std::vector<Parameter> parameters{{.name = "width", .values = up_to(20), .meaning = "", .active = {}},
                                      {.name = "depth", .values = up_to(10), .meaning = "", .active = {}}};
    Constraint shallow;
    shallow.name = "depth <= cuts + 4";
    shallow.holds = [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
      return c.number("depth") <= p.at("cuts") + 4;
    };
    std::vector<Constraint> constraints{shallow};
    return {device, std::move(parameters), std::move(constraints)};
  }
  static Configuration configuration(std::int64_t width, std::int64_t depth) {
    return Configuration({{"width", width}, {"depth", depth}});
  }
  Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return configuration(1, 1);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override { return {}; }
  Plan plan(const Configuration& configuration, const Problem&, const DeviceIdentity&,
            std::int64_t samples) const override {
    Plan plan;
    plan.kernels = {"carve<" + text(configuration.number("width")) + ">"};
    plan.samples = samples;
    return plan;
  }
  Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t) const override {
    return {.plan = plan(configuration, problem, device, samples), .initial = {}};
  }
  std::unique_ptr<Verification> verification(const DeviceIdentity&, std::uint64_t, RunOnDevice) const override {
    throw Error(ErrorKind::bug, "nothing of this family runs");
  }
  Work work(const Problem& problem) const override {
    return {.bytes = static_cast<double>(problem.at("bytes") * problem.at("elements")),
            .operations = static_cast<double>(problem.at("elements"))};
  }
};

}  // namespace heddle::test
