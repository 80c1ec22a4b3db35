// Parameters, configurations, constraints and the space they span, in the words of Kernel Tuner, KTT and CLTune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/value.hpp"

namespace heddle {

/// One value for every parameter that has a meaning under the others' values, in the order of its space. Immutable.
class Configuration {
 public:
  using Entry = std::pair<std::string, Value>;

  Configuration() = default;
  explicit Configuration(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool has(std::string_view name) const;
  /// The value of a parameter; throws std::out_of_range if it has no meaning here, std::bad_variant_access if it is of
  /// another kind.
  [[nodiscard]] const Value& value(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] const std::string& word(std::string_view name) const;
  /// "scheme=graph kernels=1 block_size=128": the canonical text, the database key.
  [[nodiscard]] std::string text() const;

  bool operator==(const Configuration&) const = default;

 private:
  friend class SearchSpace;  // grows and shrinks one while it enumerates
  std::vector<Entry> entries_;
};

struct Parameter {
  std::string name;
  std::vector<Value> values;  ///< in the order in which they are tried; at least one
  std::string meaning;        ///< one line for people
  /// Whether the parameter has a meaning, given the parameters before it. Empty: always.
  std::function<bool(const Configuration& before)> active;
  /// Whether a search leaves it at its first value, and tries the others for the fastest configuration alone, at the
  /// end. Such parameters come behind all others. A configuration with the first value does not name it.
  bool chosen_last = false;
};

struct Constraint {
  std::string name;  ///< shown when violated
  /// Called as soon as the values of all parameters up to and including `last` are known, so that an enumeration drops
  /// a whole branch at once; parameters without a meaning are absent. Empty: called with complete configurations.
  std::string last;
  std::function<bool(const Configuration&, const Problem&, const DeviceIdentity&)> holds;
  /// Whether it may hold for some values of the parameters that a configuration does not have yet. Called before the
  /// first value, and with each value that `foresees` names, so that a branch without any configuration is dropped as
  /// early as that can be seen. Empty: nobody can tell.
  std::function<bool(const Configuration& before, const Problem&, const DeviceIdentity&)> may_hold = {};
  bool asks_no_parameter = false;          ///< only the problem and the device: called before the first value
  std::vector<std::string> foresees = {};  ///< the parameters, but for `last`, that may_hold() depends on
};

/// All configurations of a kernel family on one device. There may be far more than can be listed.
class SearchSpace {
 public:
  /// The place of a value in Parameter::values.
  using Level = std::uint16_t;
  /// The level of a parameter without a meaning.
  static constexpr Level kNoMeaning = 0xffff;

  /// Throws std::out_of_range if a constraint names a parameter that is not there, std::invalid_argument for a real
  /// that is not finite or a parameter chosen last before one that is not, and Error(input) if a parameter has more
  /// than 65534 values.
  SearchSpace(DeviceIdentity device, std::vector<Parameter> parameters, std::vector<Constraint> constraints);

  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const std::vector<Constraint>& constraints() const noexcept { return constraints_; }

  /// A number of configurations.
  struct Count {
    double configurations = 0.0;
    bool exact = true;  ///< false: an estimate
  };
  /// An estimate of how many configurations satisfy the constraints for `problem`: the mean over random descents
  /// through the tree of values (Knuth 1975). The same calls give the same estimate, unless `stop` ends them after
  /// fewer descents; one is always made.
  [[nodiscard]] double estimate(const Problem& problem, std::size_t descents, const Stop& stop = {}) const;

  /// A random number in [0, 1).
  using Uniform = std::function<double()>;
  /// A random configuration that satisfies the constraints for `problem`; all are about equally likely. Nothing if
  /// many attempts found none, or if `stop` says so before one was found.
  [[nodiscard]] std::optional<Configuration> draw(const Problem& problem, const Uniform& uniform,
                                                  const Stop& stop = {}) const;

  /// Puts the levels of a parameter (its index is the first argument) into the order in which they are tried; those
  /// that it removes are not tried.
  using Order = std::function<void(std::size_t parameter, std::vector<Level>& levels)>;
  /// Called with a configuration and its levels, one per parameter. Returns whether to go on.
  using Visit = std::function<bool(const Configuration& configuration, const std::vector<Level>& levels)>;
  /// Visits the configurations that satisfy the constraints for `problem` and name no parameter chosen last, one value
  /// after the other, until `visit` returns false, `most_steps` values were tried or `stop` says so. Without an order,
  /// that of Parameter::values: lexicographic. Returns whether it came to the end.
  bool walk(const Problem& problem, const Order& order, const Visit& visit,
            std::size_t most_steps = std::numeric_limits<std::size_t>::max(), const Stop& stop = {}) const;
  /// All configurations that walk() visits, in lexicographic order. Only for spaces that are known to be small.
  [[nodiscard]] std::vector<Configuration> enumerate(const Problem& problem) const;

  /// The name of the first constraint that `configuration` violates, or nothing.
  [[nodiscard]] std::optional<std::string> violated(const Configuration& configuration, const Problem& problem) const;
  /// Whether the configuration names a parameter that is chosen last.
  [[nodiscard]] bool is_refined(const Configuration& configuration) const;
  /// The same without these.
  [[nodiscard]] Configuration unrefined(const Configuration& configuration) const;
  /// The parameters that are chosen last and have a meaning with this configuration. They live as long as the space.
  [[nodiscard]] std::vector<const Parameter*> chosen_last(const Configuration& configuration) const;
  /// Those that satisfy the constraints for `problem` and differ from `configuration` in one parameter that is chosen
  /// last, in the order of parameters and values.
  [[nodiscard]] std::vector<Configuration> refinements(const Configuration& configuration,
                                                       const Problem& problem) const;
  /// Reads Configuration::text(). Throws Error(input) for a name or value outside the space, a missing or repeated
  /// parameter, or one that has no meaning there. Constraints are not checked.
  [[nodiscard]] Configuration parse(std::string_view text) const;
  /// The levels of a configuration of this space, one per parameter. They order configurations as enumerate() does.
  [[nodiscard]] std::vector<Level> levels(const Configuration& configuration) const;

 private:
  struct Walk;
  struct Descent {
    Configuration configuration;
    double weight = 0.0;    ///< product of the numbers of values to choose from; 0: a dead end
    std::size_t steps = 0;  ///< values that were tried
  };
  /// A random value that is allowed, and how many there are.
  struct Choice {
    std::size_t level = 0;
    double allowed = 0.0;  ///< expected, of many values; 0: none
    std::size_t steps = 0;
  };
  [[nodiscard]] Choice choose(std::size_t parameter, Configuration& prefix, const Problem& problem,
                              const Uniform& uniform) const;
  bool extend(Walk& walk, Configuration& prefix, std::size_t parameter) const;
  [[nodiscard]] Descent descend(const Problem& problem, const Uniform& uniform) const;
  /// Whether the constraints hold that wait for the first `parameters` parameters, and the others may yet.
  [[nodiscard]] bool holds(const Configuration& prefix, std::size_t parameters, const Problem& problem) const;

  DeviceIdentity device_;
  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
  // [number of parameters]: the constraints that have waited for so many, and those that may be foreseen then.
  std::vector<std::vector<std::size_t>> known_after_, foreseen_after_;
};

}  // namespace heddle
