// What a launch passes to its kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace heddle {

/// The address of a buffer, by its index in Plan::buffers.
struct BufferArgument {
  int buffer = 0;
  std::int64_t offset = 0;  ///< bytes
};

/// A value of any other type, by its bytes: a struct that the kernel takes as a whole. The kernel's declaration of the
/// type must have the same layout.
struct StructArgument {
  StructArgument(std::vector<std::byte> content, std::size_t type_alignment)
      : bytes(std::move(content)), alignment(type_alignment) {}
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
           !std::is_same_v<T, StructArgument>) explicit StructArgument(const T& value)
      : bytes(sizeof(T)), alignment(alignof(T)) {
    std::memcpy(bytes.data(), &value, sizeof(T));
  }

  std::vector<std::byte> bytes;  ///< at least one
  std::size_t alignment = 1;     ///< of the type; a power of two
};

/// Numbers have exactly the type that the kernel declares: a launch does not convert them.
using Argument = std::variant<BufferArgument, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double,
                              StructArgument>;

}  // namespace heddle
