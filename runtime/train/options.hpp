// Options of a trainer as data: the command line iterates over them, a program sets them by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct Option {
  enum class Kind { integer, number, choice, flag, integers };
  std::string name;           ///< "max-rules": the command line's --max-rules; a flag also has --no-<name>
  Kind kind = Kind::number;   ///< integers: a list with commas, or nothing
  std::string default_value;  ///< as set() takes it; a flag's is "true" or "false"
  std::string meaning;        ///< one line
  double minimum = 0.0;       ///< of numbers, both ends allowed
  double maximum = 0.0;
  std::vector<std::string> choices = {};
  bool exclusive_minimum = false;  ///< the minimum itself is not allowed

  /// The allowed values, for help and errors: "a number from 0 to 1", "one of scaled, plain".
  [[nodiscard]] std::string expected() const;
};

/// How one trainer describes the options that every trainer has.
struct CommonOptions {
  std::string epochs, epochs_meaning;  ///< default, and what an epoch is
  std::string seed_meaning;            ///< "of the order of the rows"
  std::string patience;                ///< default
  std::string scale = "minmax";        ///< default
};
/// A trainer's own options among those that all have: epochs, scale, seed, validation, patience, target-error.
[[nodiscard]] std::vector<Option> with_common_options(std::vector<Option> own, const CommonOptions& common);
/// The end of ranges that have none.
inline constexpr double kLargeNumber = 1e30;

/// Values for declared options; what was not set has its default.
class OptionValues {
 public:
  explicit OptionValues(std::vector<Option> declared);

  /// Throws Error(usage): an unknown option, a value of the wrong kind or out of range.
  void set(std::string_view name, std::string_view value);
  [[nodiscard]] bool is_set(std::string_view name) const;

  /// Values by name; throw std::out_of_range for an option that was not declared.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const std::string& word(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;

  [[nodiscard]] const std::vector<Option>& declared() const noexcept { return declared_; }

 private:
  [[nodiscard]] const Option& find(std::string_view name) const;

  std::vector<Option> declared_;
  std::map<std::string, std::string, std::less<>> set_;
};

}  // namespace heddle
