// One piece of work worth tuning. A new family is one folder under kernels/ and a line in builtin_families.cpp, or is
// added to a program's FamilyRegistry.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle {

/// Bytes and operations that any implementation has to move and do for one unit of work: the floor.
struct Work {
  double bytes = 0.0;
  double operations = 0.0;
};

/// How much work a timed run does, in the family's unit: more if the configurations are fast, so that a run is long
/// compared to the noise of clocks. Powers of two.
struct WorkRange {
  std::int64_t least = 16;    ///< where it takes longest; at least 1
  std::int64_t most = 16384;  ///< where it takes no time; not less than `least`
};

/// How often a configuration does the parts of a unit of work (KernelFamily::cost_terms()): those from `first` on, as
/// many as `size`; it does nothing of the others. Schemes with parts of their own each have such a range.
struct TermCounts {
  std::size_t first = 0, size = 0;
  /// Writes `size` numbers, finite and at least 0.
  std::function<void(const Problem&, std::span<double> counts)> count = {};
};

/// A configuration with a name: a published mapping, the baseline of tables.
struct NamedConfiguration {
  std::string name;     ///< "gpu-fnn"
  std::string meaning;  ///< one line
  /// The configuration for a problem; nothing where the mapping cannot run (GPU-FNN: dim above 1024).
  std::function<std::optional<Configuration>(const Problem&)> configuration;
};

/// What expressions over measurements may name beside sizes and parameters. `time`: microseconds per unit of work;
/// `energy`: joules per unit; `bytes`, `operations`: Work; the rest: what the kernel takes of a multiprocessor.
inline constexpr std::array<std::string_view, 8> kMeasuredNames{
    "time", "energy", "bytes", "operations", "registers", "shared_bytes", "local_bytes", "occupancy"};

/// A number that tables show beside the time, "GFLOP/s". Its expression may name the sizes, the parameters, and what
/// was measured: measured_names() of tuner/objective.hpp.
struct Metric {
  std::string name;
  Expression value;
};

class DefinedFamily;

/// Stateless and immutable: may be shared between threads.
class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;     ///< "sonfin-train"
  [[nodiscard]] virtual std::string_view meaning() const = 0;  ///< one line
  [[nodiscard]] virtual const std::vector<Axis>& axes() const = 0;
  /// What work is counted in, in the singular: "sample", "launch", "element". Costs are microseconds per unit, and
  /// where this interface says samples, it means units.
  [[nodiscard]] virtual std::string_view unit() const { return "sample"; }
  /// Whether Trial::initial depends on the problem and the seed alone, so that configurations can share it.
  [[nodiscard]] virtual bool shares_contents() const { return false; }
  /// What the results of a verified configuration agree with, in a few words.
  [[nodiscard]] virtual std::string_view verified_against() const { return "the float64 reference"; }
  /// Whether a tuning run that names no family takes this one, too. Not so for what only some programs use: it would
  /// spend the time of all others.
  [[nodiscard]] virtual bool tuned_unasked() const { return true; }
  /// The work of one timed run.
  [[nodiscard]] virtual WorkRange timed_work(const Problem&, const DeviceIdentity&) const { return {}; }
  /// The problems that a first tuning run covers when the user names none.
  [[nodiscard]] virtual std::vector<Problem> default_problems(const DeviceIdentity& device) const = 0;
  /// Odd sizes, which no block or tile divides, for verification beside a problem's own sizes.
  [[nodiscard]] virtual Problem awkward_problem() const = 0;

  /// Whether there are templates for this backend.
  [[nodiscard]] virtual bool supports(std::string_view backend) const = 0;
  [[nodiscard]] virtual const TemplateSource& source(std::string_view backend) const = 0;
  [[nodiscard]] virtual SearchSpace space(const DeviceIdentity& device) const = 0;
  /// Valid for every problem; on `cpu` its kernels are compiled into the binary.
  [[nodiscard]] virtual Configuration default_configuration(const DeviceIdentity& device,
                                                            const Problem& problem) const = 0;
  [[nodiscard]] virtual std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const = 0;
  /// Configurations that are often the fastest, different in kind: a search tries them before it draws any, so that one
  /// whose kernels take the compiler long has seen them. Few, and only such as the space allows for the problem.
  [[nodiscard]] virtual std::vector<Configuration> likely_configurations(const DeviceIdentity&, const Problem&) const {
    return {};
  }

  /// The kernels that plan() names for this configuration, in its order, whatever the samples. They depend on the
  /// configuration, and on sizes as little as may be, so that one compiled kernel serves many problems. A family
  /// whose plans are large gives a shorter way than to make one.
  [[nodiscard]] virtual Kernels kernels(const Configuration& configuration, const Problem& problem,
                                        const DeviceIdentity& device) const {
    return plan(configuration, problem, device, 1).kernels;
  }
  /// The plan of a configuration. `samples`: rows that one run shall handle.
  [[nodiscard]] virtual Plan plan(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device, std::int64_t samples) const = 0;
  /// Whether there is anything to run at `problem`. Not everywhere where a family has no contents of its own but those
  /// of calls that were captured.
  [[nodiscard]] virtual bool has_workload(const Problem&) const { return true; }
  /// plan() as it is timed and verified. Another one only where a family measures with numbers that are no part of what
  /// its kernel is, those of a captured call for example.
  [[nodiscard]] virtual Plan measured_plan(const Configuration& configuration, const Problem& problem,
                                           const DeviceIdentity& device, std::int64_t samples) const {
    return plan(configuration, problem, device, samples);
  }
  /// measured_plan() with seeded contents, for timing: realistic, and sizes stay fixed while it runs. The same
  /// arguments give the same bytes.
  [[nodiscard]] virtual Trial trial(const Configuration& configuration, const Problem& problem,
                                    const DeviceIdentity& device, std::int64_t samples, std::uint64_t seed) const = 0;
  /// The verification runs. `run` computes references that would take the host too long; if it is empty, the host
  /// computes them. The same seed gives the same contents.
  [[nodiscard]] virtual std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                                                   RunOnDevice run) const = 0;
  /// Threads of the machine's own processor that a configuration uses; 0 on a device that has other processors. Of
  /// configurations that are as fast the tuner prefers the one with fewer.
  [[nodiscard]] virtual std::int64_t host_threads(const Configuration&, const DeviceIdentity&) const { return 0; }
  [[nodiscard]] virtual Work work(const Problem& problem) const = 0;
  /// Further numbers that tables show.
  [[nodiscard]] virtual std::span<const Metric> metrics() const { return {}; }
  /// The parts of a unit of work that the time of a configuration is a sum over, by name; each name once. The family
  /// counts them, and what one of each costs on a device is fitted to measurements (heddle/profiles/cost_model.hpp).
  /// Empty: the family has no model of times on this backend.
  [[nodiscard]] virtual std::span<const std::string_view> cost_terms(std::string_view) const { return {}; }
  /// How often a configuration does each of cost_terms(), at any sizes; the configuration need not be valid there.
  /// Nothing to call: there is no model of this configuration.
  [[nodiscard]] virtual TermCounts term_counts(const Configuration&, const DeviceIdentity&) const { return {}; }
  /// This family, where a definition describes it (heddle/kernels/own/defined_family.hpp): for what only such kernels
  /// have, arguments by their names. Null where the family is a class of its own.
  [[nodiscard]] virtual const DefinedFamily* defined() const { return nullptr; }
};

}  // namespace heddle
