#include "given_array.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "call_reader.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/caller_memory.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

fuzzy::GivenNumbers numbers_of(const ArrayView& view, int gpu) {
  fuzzy::GivenNumbers numbers{.address = view.address, .rows = 1, .bits = 8 * std::int64_t{view.kind.bytes}};
  if (!view.dimensions.empty()) {
    numbers.rows = view.dimensions[0].length;
    numbers.row_stride = view.dimensions[0].stride;
  }
  if (view.dimensions.size() > 1) {
    numbers.columns = view.dimensions[1].length;
    numbers.column_stride = view.dimensions[1].stride;
  }
  const std::uintptr_t stream = stream_of(view, gpu).value_or(0);
  numbers.stream.handle = reinterpret_cast<void*>(stream);  // NOLINT(performance-no-int-to-ptr)
  return numbers;
}

}  // namespace

GivenArray::GivenArray(nb::object array, const std::string& what, const Desk& desk) : array_(std::move(array)) {
  const int gpu = gpu_number(*desk.device);
  try {
    view_ = ArrayView::with_shape(array_, gpu >= 0, 0);
  } catch (const Error& error) {
    refuse(ErrorKind::input, fmt::format("{}: {}", what, error.what()));
  }
  const bool on_gpu = view_->place != ArrayView::kHost;
  if (on_gpu != (gpu >= 0) || (view_->place >= 0 && view_->place != gpu)) {
    refuse(ErrorKind::input,
           fmt::format("{}: lies {}, the calculator runs on {}", what, place_text(view_->place), desk.device->label()));
  }
  for (const Dimension& dimension : view_->dimensions) shape_.push_back(dimension.length);
  numbers_ = numbers_of(*view_, gpu);
  if (view_->bytes == 0 || view_->kind.bytes == 0) return;  // nothing is there, or nothing that anybody reads
  const std::int64_t element = numbers_.element();
  const auto misplaced = [&](std::int64_t bytes) { return bytes % element != 0; };
  if (misplaced(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view_->address))) ||
      misplaced(numbers_.row_stride) || misplaced(numbers_.column_stride)) {
    refuse(ErrorKind::input, fmt::format("{}: its numbers lie at no multiples of {} bytes", what, element));
  }
  if (view_->address == nullptr) refuse(ErrorKind::input, fmt::format("{}: has no memory (was it freed?)", what));
  const auto* const memory = dynamic_cast<const CallerMemory*>(desk.device.get());
  if (memory == nullptr || view_->library != Library::other) return;
  // Nothing but the driver knows whether an interface tells the truth.
  const fuzzy::ByteSpan span = fuzzy::span_of(numbers_);
  const auto behind = memory->bytes_behind(static_cast<const std::byte*>(view_->address) - span.start);
  if (!behind) {
    refuse(ErrorKind::input, fmt::format("{}: lies in no memory of {} (was it freed?)", what, desk.device->label()));
  }
  if (*behind < span.bytes) {
    refuse(ErrorKind::input, fmt::format("{}: has {} bytes of memory, expected {}", what, *behind, span.bytes));
  }
}

nb::tuple GivenArray::shape() const {
  nb::list lengths;
  for (const std::int64_t length : shape_) lengths.append(length);
  return nb::tuple(lengths);
}

GivenArray GivenArray::column() const {
  GivenArray same = *this;
  same.shape_.push_back(1);
  return same;
}

}  // namespace heddle::python
