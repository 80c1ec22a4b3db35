// Layouts, plans and estimates for sizes up to the largest that anybody may name: size_mutations [COUNT [SEED]].
// Nothing may overflow, and no buffer or argument may come out negative. Device numbers are as large as an import may
// bring.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"

namespace {

using namespace heddle;
using Random = std::mt19937_64;

[[noreturn]] void report(const std::string& what) {
  std::fputs((what + "\n").c_str(), stderr);
  std::abort();
}

std::vector<DeviceIdentity> devices() {
  const auto cuda = [](const char* architecture, std::int64_t units, std::int64_t local) {
    return DeviceIdentity{.backend = "cuda",
                          .name = "card",
                          .architecture = architecture,
                          .units = units,
                          .memory_gib = 1 << 20,
                          .cache_bytes = std::int64_t{1} << 40,
                          .local_bytes = local};
  };
  const auto cpu = [](const char* architecture, std::int64_t units) {
    return DeviceIdentity{.backend = "cpu",
                          .name = "processor",
                          .architecture = architecture,
                          .units = units,
                          .memory_gib = 0,
                          .cache_bytes = std::int64_t{1} << 40,
                          .local_bytes = std::int64_t{1} << 40};
  };
  return {cuda("9.0", 132, 232448), cuda("8.6", 1, 101376),    cuda("5.0", 1, 0), cuda("99.9", 1 << 12, 1 << 20),
          cpu("x86-64-v4", 2),      cpu("x86-64-v3", 1 << 12), cpu("", 1)};
}

/// Any size, most of them small, some the largest.
Problem any_problem(Random& random, const KernelFamily& family) {
  std::vector<AxisValue> sizes;
  for (const Axis& axis : family.axes()) {
    const double part = static_cast<double>(random() % 1000) / 999.0;
    const std::int64_t value = between(axis, smallest(axis), axis.maximum, part);
    const std::int64_t largest = std::max(smallest(axis), axis.maximum - static_cast<std::int64_t>(random() % 2));
    sizes.emplace_back(random() % 8 == 0 ? largest : value);
    if (axis.optional && random() % 4 == 0) sizes.back().reset();
  }
  return Problem::from(family.axes(), sizes);
}

/// A value for every parameter, whether or not the constraints allow it.
Configuration any_configuration(Random& random, const SearchSpace& space) {
  std::vector<Configuration::Entry> entries;
  for (const Parameter& parameter : space.parameters()) {
    const Configuration before(entries);
    if (parameter.active && !parameter.active(before)) continue;
    entries.emplace_back(parameter.name, parameter.values[random() % parameter.values.size()]);
  }
  return Configuration(std::move(entries));
}

void check_plan(const Plan& plan, const std::string& about) {
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.bytes < 0) report(fmt::format("{}: buffer {} has {} bytes", about, buffer.name, buffer.bytes));
  }
  for (const Launch& launch : plan.launches) {
    if (launch.shared_bytes < 0) report(about + ": negative shared memory");
    for (const Argument& argument : launch.arguments) {
      const auto* const number = std::get_if<std::int32_t>(&argument);
      if (number != nullptr && *number < -1) report(fmt::format("{}: an argument is {}", about, *number));
    }
  }
}

}  // namespace

int main(int count, char** values) {
  const long times = count > 1 ? std::atol(values[1]) : 5000;
  Random random(count > 2 ? std::strtoull(values[2], nullptr, 10) : 1);
  const std::vector<DeviceIdentity> all = devices();
  const auto families = builtin_families().all();
  long planned = 0, refused = 0;
  for (long i = 0; i < times; ++i) {
    const KernelFamily& family = *families[random() % families.size()];
    const DeviceIdentity& device = all[random() % all.size()];
    const SearchSpace space = family.space(device);
    const Problem problem = any_problem(random, family);
    try {
      const Configuration untuned = family.default_configuration(device, problem);
      const Configuration configuration = random() % 4 == 0 ? untuned : any_configuration(random, space);
      const std::string about =
          fmt::format("{} {} {} {}", family.name(), device.text(), problem.text(), configuration.text());
      const double operations = family.work(problem).operations;
      if (!(std::isfinite(operations) && operations >= 0.0)) report(about + ": cost");
      if (space.violated(configuration, problem)) {
        ++refused;
        continue;
      }
      check_plan(family.plan(configuration, problem, device, std::int64_t{1} << (random() % 11)), about);
      if (const TermCounts terms = family.term_counts(configuration, device); terms.count) {
        std::vector<double> counts(terms.size, -1.0);
        terms.count(problem, counts);
        for (const double each : counts) {
          if (!(std::isfinite(each) && each >= 0.0)) report(fmt::format("{}: {} of a term", about, each));
        }
      }
      ++planned;
    } catch (const Error&) {  // too large for the device
      ++refused;
    }
  }
  fmt::print("{} problems and configurations: {} planned, {} refused\n", times, planned, refused);
  return planned > 0 ? 0 : 1;
}
