#include "fuzzy_view.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>
#include <span>
#include <utility>

#include "dlpack.hpp"
#include "heddle/kernels/error.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

/// What a capsule holds.
struct Exported {
  explicit Exported(FuzzyArray of) : array(std::move(of)) {}

  dlpack::Managed managed{};
  std::vector<std::int64_t> shape, strides;
  FuzzyArray array;
};

void delete_exported(dlpack::Managed* managed) { delete static_cast<Exported*>(managed->context); }

/// Of a capsule that nobody took.
void drop(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, dlpack::kName) == 0) return;
  delete_exported(static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::kName)));
}

template <class Number>
nb::tuple pair_of(Number first, Number second) {
  return nb::make_tuple(first, second);
}

}  // namespace

FuzzyView::FuzzyView(FuzzyArray array, const std::string& part) : array_(std::move(array)) {
  const fuzzy::ArrayShape& shape = array_.array().shape();
  const std::int64_t element = shape.bits / 8, row = shape.components() * element;
  const bool is_bounds = shape.encoding == fuzzy::Encoding::lower_upper;
  const bool is_second = part == "upper" || part == "radius";
  if (is_bounds ? part != "lower" && part != "upper" : part != "midpoint" && part != "radius") {
    throw Error(ErrorKind::usage, fmt::format("view: found '{}', expected {} of an array encoded {}", part,
                                              is_bounds ? "'lower' or 'upper'" : "'midpoint' or 'radius'",
                                              fuzzy::suffix(shape.encoding)));
  }
  offset_ = is_second ? element : 0;
  dimensions_.push_back({.length = shape.numbers, .stride = row});
  if (part != "midpoint") dimensions_.push_back({.length = shape.cuts, .stride = is_bounds ? 2 * element : element});
}

nb::tuple FuzzyView::shape() const {
  nb::list lengths;
  for (const Dimension& dimension : dimensions_) lengths.append(dimension.length);
  return nb::tuple(lengths);
}

nb::tuple FuzzyView::device() const {
  const int gpu = gpu_number(*array_.desk()->device);
  return gpu < 0 ? pair_of(dlpack::kHost, 0) : pair_of(dlpack::kCuda, gpu);
}

std::byte* FuzzyView::wait() const {
  return array_.desk()->use([&] {
    Memory& memory = *array_.array().memory();
    std::array<std::byte, 1> byte{};
    memory.read(byte);  // after all that the device has to do
    return static_cast<std::byte*>(memory.pointer()) + offset_;
  });
}

nb::dict FuzzyView::interface() const {
  nb::list strides;
  for (const Dimension& dimension : dimensions_) strides.append(dimension.stride);
  nb::dict entry;
  entry["shape"] = shape();
  entry["strides"] = nb::tuple(strides);
  entry["typestr"] = bits() == 32 ? "<f4" : "<f8";
  entry["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(wait()), true);
  entry["version"] = 3;
  entry["stream"] = nb::none();
  return entry;
}

nb::object FuzzyView::capsule() const {
  auto exported = std::make_unique<Exported>(array_);
  for (const Dimension& dimension : dimensions_) {
    exported->shape.push_back(dimension.length);
    exported->strides.push_back(dimension.stride / (bits() / 8));  // there in numbers
  }
  nb::dlpack::dltensor& tensor = exported->managed.tensor;
  tensor.data = wait();
  const int gpu = gpu_number(*array_.desk()->device);
  tensor.device = {.device_type = gpu < 0 ? dlpack::kHost : dlpack::kCuda, .device_id = gpu < 0 ? 0 : gpu};
  tensor.ndim = static_cast<std::int32_t>(dimensions_.size());
  tensor.dtype = nb::dtype<double>();
  tensor.dtype.bits = static_cast<std::uint8_t>(bits());
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  exported->managed.context = exported.get();
  exported->managed.deleter = delete_exported;
  PyObject* const capsule = PyCapsule_New(&exported->managed, dlpack::kName, drop);
  if (capsule == nullptr) nb::raise_python_error();
  static_cast<void>(exported.release());
  return nb::steal(capsule);
}

}  // namespace heddle::python
