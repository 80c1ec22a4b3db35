// The kernel families that a program works with, by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle {

/// How a family that is added at run time is made: by a maker that programs know under a name, from a text. Another
/// process makes the same family again from the same description.
struct FamilyDescription {
  std::string maker;  ///< the name given to FamilyRegistry::add_maker()
  std::string text;   ///< what the maker reads: a name, or the whole contents of a file
  /// Makes the family in this process, where it may have what a text cannot say. Empty: by the maker. Worker processes
  /// have only the text, so that the family they make has to do the same with every configuration that this one allows.
  std::function<std::shared_ptr<const KernelFamily>()> here = {};
};

/// Makes a family from the text of its description. The same text gives the same family in every process. Throws Error
/// for a text that describes none.
using FamilyMaker = std::function<std::shared_ptr<const KernelFamily>(const std::string& text)>;

/// A value: copies share the families themselves, which live as long as any registry that has them. What is built for a
/// family (a dispatcher, an evaluator) refers to it, so the registry has to outlive that.
class FamilyRegistry {
 public:
  /// Throws Error(usage) if there is a family of that name already, or if the name is not made of 1 to 64 letters,
  /// digits, and '-', '_', '.', '/', '@', and for axes that check_axes() refuses. A family added like this is unknown
  /// to worker processes, unless their program adds it as well.
  const KernelFamily& add(std::shared_ptr<const KernelFamily> family);
  /// Makes the family described and adds it; worker processes are told the description. Throws Error(usage) for a maker
  /// that is not registered, what the maker throws, and what the other add() throws.
  const KernelFamily& add(FamilyDescription description);
  /// Registers a maker, in place of an earlier one of this name. A worker process needs a maker of the same name.
  void add_maker(const std::string& name, FamilyMaker maker);

  /// The family called `name`, or null.
  [[nodiscard]] const KernelFamily* find(std::string_view name) const noexcept;
  /// The family called `name`. Throws Error(usage) with the names there are.
  [[nodiscard]] const KernelFamily& at(std::string_view name) const;
  /// In the order in which they were added.
  [[nodiscard]] const std::vector<std::shared_ptr<const KernelFamily>>& all() const& noexcept { return families_; }
  [[nodiscard]] std::vector<std::shared_ptr<const KernelFamily>> all() && { return std::move(families_); }
  /// "sonfin-train, sonfin-predict"
  [[nodiscard]] std::string names() const;
  /// The descriptions of all families that were made from one, in their order.
  [[nodiscard]] const std::vector<FamilyDescription>& descriptions() const noexcept { return descriptions_; }

 private:
  std::vector<std::shared_ptr<const KernelFamily>> families_;
  std::vector<FamilyDescription> descriptions_;
  std::vector<std::pair<std::string, FamilyMaker>> makers_;
};

/// The families that heddle is built with. They themselves live as long as the program. The registry also has the maker
/// of defined kernels (kernels/own/kernel_definition.hpp).
[[nodiscard]] FamilyRegistry builtin_families();

}  // namespace heddle
