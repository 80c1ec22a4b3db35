// The arguments of a launch, as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/kernels/argument.hpp"

namespace heddle {

/// Holds every argument as the kernel's parameter does: in its own type and alignment. Stays where it is when it is
/// moved from one owner to the next.
class ArgumentValues {
 public:
  ArgumentValues() = default;
  /// A buffer gets room for an address, which is 0 at first. Throws std::invalid_argument for a struct without bytes or
  /// with an alignment that no type has.
  explicit ArgumentValues(const std::vector<Argument>& arguments);

  /// Where each argument lies.
  [[nodiscard]] std::vector<void*>& places() noexcept { return places_; }
  /// The address that argument `index`, a buffer, has.
  void set_address(std::size_t index, std::uint64_t address) noexcept;

 private:
  struct Free {
    std::size_t alignment;
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<void*> places_;
};

}  // namespace heddle
