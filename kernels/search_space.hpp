// Parameters, configurations, constraints and the space they span, in the words of Kernel Tuner, KTT and CLTune.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/problem.hpp"
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
};

struct Constraint {
  std::string name;  ///< shown when violated
  /// Called as soon as the values of all parameters up to and including `last` are known, so that an enumeration drops
  /// a whole branch at once; parameters without a meaning are absent. Empty: called with complete configurations.
  std::string last;
  std::function<bool(const Configuration&, const Problem&, const DeviceIdentity&)> holds;
};

/// All configurations of a kernel family on one device.
class SearchSpace {
 public:
  /// Throws std::out_of_range if a constraint names a parameter that is not there, std::invalid_argument for a real
  /// that is not finite.
  SearchSpace(DeviceIdentity device, std::vector<Parameter> parameters, std::vector<Constraint> constraints);

  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }

  /// Every configuration that satisfies the constraints for `problem`, in lexicographic order of the parameters.
  [[nodiscard]] std::vector<Configuration> enumerate(const Problem& problem) const;
  /// The name of the first constraint that `configuration` violates, or nothing.
  [[nodiscard]] std::optional<std::string> violated(const Configuration& configuration, const Problem& problem) const;
  /// Valid configurations that differ in one parameter (parameters that gain or lose their meaning follow with
  /// their first value).
  [[nodiscard]] std::vector<Configuration> neighbours(const Configuration& configuration, const Problem& problem) const;
  /// Reads Configuration::text(). Throws Error(input) for a name or value outside the space, a missing or repeated
  /// parameter, or one that has no meaning there. Constraints are not checked.
  [[nodiscard]] Configuration parse(std::string_view text) const;

 private:
  void extend(Configuration& prefix, std::size_t parameter, const Problem& problem,
              std::vector<Configuration>& found) const;

  DeviceIdentity device_;
  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
  std::vector<std::size_t> known_after_;  // per constraint: how many parameters it has to wait for
};

}  // namespace heddle
