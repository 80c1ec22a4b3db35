// Sizes on the command line, and the problems of a family that they ask for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle::cli {

/// Sizes as `--size NAME=LIST` named them, or `--NAME LIST`. What LIST may be depends on the axis of the family that
/// asks: "64", "32,64,128", "32..1024" (doubling on an axis by ratio, otherwise every number; the last value always
/// belongs to it), "absent" for an optional size.
class Sizes {
 public:
  [[nodiscard]] bool empty() const noexcept { return named_.empty(); }
  /// Notes the text of one option. `list`: whether it may be more than one value. Throws Error(usage) if no family
  /// has an axis of this name that allows these values, or if the axis was named before. Some family must have the
  /// axis.
  void add(const FamilyRegistry& families, const std::string& option, const std::string& name, const std::string& text,
           bool list);
  /// Which of some families the user means, where none is named: those that have every size that is named; all, if none
  /// has.
  [[nodiscard]] std::vector<const KernelFamily*> meant(std::vector<const KernelFamily*> families) const;
  /// Throws Error(usage) if a size is named that none of the chosen families has.
  void check_names(const std::vector<const KernelFamily*>& chosen) const;
  /// The values named for an axis, ascending; nothing if none were. Throws Error(usage) if the axis does not allow one.
  [[nodiscard]] std::optional<std::vector<AxisValue>> values(const Axis& axis) const;

 private:
  struct Named {
    std::string option, text;
    bool list;
  };
  [[nodiscard]] static std::vector<AxisValue> read(const Named& named, const Axis& axis);

  std::map<std::string, Named, std::less<>> named_;
};
/// Reads what follows `--size`: "NAME=LIST". Throws Error(usage) for a name that no family has, and what Sizes::add()
/// throws.
void read_size(Sizes& sizes, const FamilyRegistry& families, const std::string& text, bool list);
/// `--size NAME=LIST`, and `--NAME LIST` for every axis that some family has. `list`: whether an option takes more than
/// one value. `families`: whose sizes are read; those of the program unless the command has more. They have to live
/// until the action has run.
void add_sizes(Command& command, Sizes& sizes, bool list, const FamilyRegistry& families);

/// The family's default problems for the device; where sizes are named, every combination of these with the default
/// sizes of the other axes. Sizes of axes that the family does not have are left out. Throws Error(usage) for values
/// that an axis does not allow, and for more than 100000 problems.
[[nodiscard]] std::vector<Problem> problem_grid(const KernelFamily& family, const DeviceIdentity& device,
                                                const Sizes& sizes);
/// One problem; an axis that is not named has its smallest default size.
[[nodiscard]] Problem one_problem(const KernelFamily& family, const DeviceIdentity& device, const Sizes& sizes);
/// Whether the problem of `key` has the sizes that are named, as far as its family has such axes.
[[nodiscard]] bool matches(const FamilyRegistry& families, const ProfileKey& key, const Sizes& sizes);

}  // namespace heddle::cli
