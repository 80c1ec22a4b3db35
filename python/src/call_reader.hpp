// Calls of a described kernel: what Python objects say, as a launch takes it.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array_view.hpp"
#include "call_parameters.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::python {

constexpr std::size_t kMostAxes = 32;  // of a description

/// All that one call holds.
struct Call {
  std::array<AxisValue, kMostAxes> sizes;
  std::array<std::optional<ArrayView>, LoadedKernel::kMostArguments> views;
  std::array<void*, LoadedKernel::kMostArguments + 1> values;
  alignas(16) std::array<std::byte, 1024> few;
  std::vector<std::max_align_t> many;
  std::byte* bytes = few.data();
  Stream stream;
  bool waits = false;  ///< the library has no stream of its own to wait for the launch
};

/// Throws Error with what Python may have said in several lines as one.
[[noreturn]] void refuse(ErrorKind kind, std::string line);

/// With the GIL. All that it is given has to outlive it.
class CallReader {
 public:
  /// `gpu`: the number of the device; -1: it works in the host's memory.
  CallReader(const DefinedFamily& family, const CallParameters& parameters, const Device& device, int gpu)
      : family_(family), parameters_(parameters), device_(device), gpu_(gpu) {}

  /// Fills an empty call. Throws Error(usage) for other arguments than the kernel takes, Error(input) for one that is
  /// not of its type or lies elsewhere.
  void read(Call& call, const nanobind::args& arguments, const nanobind::kwargs& keywords) const;
  /// Sizes without a call: all have to be named.
  [[nodiscard]] std::vector<AxisValue> sizes_of(const nanobind::kwargs& named) const;
  /// Throws Error(usage).
  [[noreturn]] void refuse_size(const std::string& name) const;
  /// "kernel scale: argument 2 (x)"
  [[nodiscard]] std::string named(std::size_t argument) const;
  [[nodiscard]] std::vector<std::string> size_names() const;

 private:
  /// `call`: from whose arguments sizes that are not named follow; null: all have to be named.
  void fill_sizes(const nanobind::kwargs& named, const Call* call, AxisValue* sizes) const;
  /// Throws Error(usage) where an argument that is the size on an axis says otherwise: the kernel would reach beyond
  /// the arrays, whose lengths are those for the size.
  void require_same(std::size_t axis, std::int64_t size, const Call& call) const;
  [[nodiscard]] std::int64_t size_from(std::size_t argument, const Call& call) const;
  /// A whole number of any library.
  [[nodiscard]] std::int64_t whole(nanobind::handle number, const std::string& what) const;
  /// What Python has raised, as an error of ours.
  [[noreturn]] void refuse_pending(ErrorKind kind, const std::string& what) const;
  void take_array(Call& call, std::size_t i, nanobind::handle array, std::uintptr_t stream) const;
  void take_value(std::byte* to, std::size_t i, nanobind::handle value) const;
  /// A struct, or a vector of numbers: anything whose memory has as many bytes.
  void take_bytes(std::byte* to, std::size_t i, nanobind::handle value) const;
  /// The stream of the arrays' library, unless the caller named one.
  void choose_stream(Call& call, std::optional<std::uintptr_t> stream) const;

  const DefinedFamily& family_;
  const CallParameters& parameters_;
  const Device& device_;
  int gpu_;
};

}  // namespace heddle::python
