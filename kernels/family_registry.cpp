#include "heddle/kernels/family_registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

/// Such a name can stand in a table, in a list of the command line and in a key of the database.
bool good_family_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@";
  return !name.empty() && name.size() <= kLongest && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

const KernelFamily& FamilyRegistry::add(std::shared_ptr<const KernelFamily> family) {
  if (family == nullptr) throw Error(ErrorKind::bug, "a kernel family that is not there cannot be added");
  const std::string_view name = family->name();
  if (!good_family_name(name)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("a kernel family is called {}, expected 1 to 64 letters, digits, and '-', '_', '.', '/', '@'",
                    in_quotes(name)));
  }
  if (find(name) != nullptr) {
    throw Error(ErrorKind::usage, fmt::format("there is a kernel family {} already", in_quotes(name)));
  }
  check_axes(family->axes());
  return *families_.emplace_back(std::move(family));
}

const KernelFamily& FamilyRegistry::add(FamilyDescription description) {
  const auto maker = std::ranges::find(makers_, description.maker, &std::pair<std::string, FamilyMaker>::first);
  if (maker == makers_.end()) {
    throw Error(ErrorKind::usage,
                fmt::format("this program has no maker of kernel families called {}", in_quotes(description.maker)));
  }
  const KernelFamily& made = add(description.here ? description.here() : maker->second(description.text));
  descriptions_.push_back(std::move(description));
  return made;
}

void FamilyRegistry::add_maker(const std::string& name, FamilyMaker maker) {
  std::erase_if(makers_, [&](const auto& known) { return known.first == name; });
  makers_.emplace_back(name, std::move(maker));
}

const KernelFamily* FamilyRegistry::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(
      families_, [&](const std::shared_ptr<const KernelFamily>& each) { return each->name() == name; });
  return found == families_.end() ? nullptr : found->get();
}

const KernelFamily& FamilyRegistry::at(std::string_view name) const {
  if (const KernelFamily* const family = find(name)) return *family;
  throw Error(ErrorKind::usage, fmt::format("no kernel family {}: expected one of {}", in_quotes(name), names()));
}

std::string FamilyRegistry::names() const {
  std::string names;
  for (const std::shared_ptr<const KernelFamily>& family : families_) {
    names += names.empty() ? "" : ", ";
    names += family->name();
  }
  return names;
}

}  // namespace heddle
