// An array of any library, as a kernel's argument: where it lies, and what it holds.
#pragma once

#include <nanobind/nanobind.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/own/element_type.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::python {

/// Whose array it is, as far as that says which stream is current.
enum class Library : std::uint8_t { other, cupy, torch, jax };

/// The number type of an array's elements: 'i', 'u' and 'f' as NumPy has them, 'e' for bfloat16, '?' for truth values,
/// 0 for anything else.
struct NumberKind {
  char kind = 0;
  std::uint8_t bytes = 0;
  auto operator<=>(const NumberKind&) const = default;
};
[[nodiscard]] NumberKind kind_of(ElementType type);
/// "float32", for messages.
[[nodiscard]] std::string text(NumberKind kind);

/// An index of an array: how many values it has, and the bytes from one to the next.
struct Dimension {
  std::int64_t length = 0, stride = 0;
};

/// Looks at an array by the fastest way that its library offers: attributes of CuPy and PyTorch,
/// `__cuda_array_interface__`, DLPack, and for the host's memory the buffer protocol. Nothing is copied, and the array
/// cannot give its memory away while this exists, as far as its library knows such promises. With the GIL.
class ArrayView {
 public:
  static constexpr int kHost = -1;     ///< a place: the host's memory
  static constexpr int kSomeGpu = -2;  ///< a place: a GPU, and nothing says which

  /// `stream`: the one that DLPack is told, on which the memory is going to be used. Throws Error(input) with a reason
  /// that reads after the name of the argument: "is no array".
  ArrayView(nanobind::handle array, bool prefers_gpu, std::uintptr_t stream);
  /// The same with `dimensions`, which takes a little longer.
  [[nodiscard]] static std::shared_ptr<const ArrayView> with_shape(nanobind::handle array, bool prefers_gpu,
                                                                   std::uintptr_t stream);
  ~ArrayView();
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  void* address = nullptr;
  std::int64_t bytes = 0;
  NumberKind kind;
  bool contiguous = true;             ///< the last index runs fastest, without gaps
  std::vector<Dimension> dimensions;  ///< of with_shape() alone
  bool read_only = false;
  int place = kHost;  ///< or the number of the GPU
  Library library = Library::other;
  /// The stream that `__cuda_array_interface__` names, if it does.
  bool has_stream = false;
  std::uintptr_t stream = 0;

 private:
  enum class Detail : std::uint8_t { length, shape };
  ArrayView(nanobind::handle array, bool prefers_gpu, std::uintptr_t stream, Detail detail);
  bool look_by_library(nanobind::handle array);
  bool look_by_interface(nanobind::handle array);
  bool look_by_dlpack(nanobind::handle array, std::uintptr_t stream);
  bool look_by_buffer(nanobind::handle array);
  /// `strides`: null for rows one after the other.
  void keep_shape(const std::int64_t* shape, const std::int64_t* strides, std::size_t count, std::int64_t unit);
  void release() noexcept;

  Detail detail_;
  Py_buffer buffer_{};       ///< of the buffer protocol, if obj is set
  void* managed_ = nullptr;  ///< a DLManagedTensor
};

/// "in the host's memory", "on GPU 1"
[[nodiscard]] std::string place_text(int place);

/// The stream that an array belongs to, on GPU `gpu`: the one that its interface names, or the one on which its library
/// works at present in this thread. Nothing where neither says one. With the GIL.
[[nodiscard]] std::optional<std::uintptr_t> stream_of(const ArrayView& view, int gpu);

/// The number of a GPU; -1 for a device that works in the host's memory.
[[nodiscard]] int gpu_number(const Device& device);

}  // namespace heddle::python
