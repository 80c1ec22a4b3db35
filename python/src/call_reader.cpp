#include "call_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "heddle/kernels/own/number_types.hpp"
#include "heddle/kernels/text.hpp"

namespace nb = nanobind;

namespace heddle::python {

namespace {

/// An address, or an object of CuPy (`ptr`), PyTorch (`cuda_stream`), Numba (`handle`), or with `__cuda_stream__`.
std::optional<std::uintptr_t> stream_in(const nb::object& given) {
  if (given.is_none()) return std::nullopt;
  try {
    if (PyIndex_Check(given.ptr()) != 0) return nb::cast<std::uintptr_t>(given);
    for (const char* const name : {"ptr", "cuda_stream"}) {
      if (nb::hasattr(given, name)) return nb::cast<std::uintptr_t>(given.attr(name));
    }
    if (nb::hasattr(given, "__cuda_stream__")) {
      const nb::object pair = given.attr("__cuda_stream__")();
      return nb::cast<std::uintptr_t>(pair[1]);
    }
    if (nb::hasattr(given, "handle")) return nb::cast<std::uintptr_t>(nb::object(given.attr("handle").attr("value")));
  } catch (const nb::cast_error&) {
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
  }
  throw Error(ErrorKind::usage, "stream: found no stream, expected one of CuPy, PyTorch or Numba, or its address");
}

}  // namespace

void refuse(ErrorKind kind, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  throw Error(kind, line);
}

void CallReader::read(Call& call, const nb::args& arguments, const nb::kwargs& keywords) const {
  const std::size_t count = arguments.size();
  if (count != parameters_.all.size()) {
    throw Error(ErrorKind::usage, fmt::format("kernel {} takes {} arguments ({}), found {}", family_.definition().name,
                                              parameters_.all.size(), fmt::join(parameters_.names(), ", "), count));
  }
  if (parameters_.bytes > call.few.size()) {
    call.many.resize(parameters_.bytes / sizeof(std::max_align_t) + 1);
    call.bytes = reinterpret_cast<std::byte*>(call.many.data());
  }
  std::optional<std::uintptr_t> stream;
  if (keywords.size() > 0 && keywords.contains("stream")) stream = stream_in(nb::object(keywords["stream"]));
  for (std::size_t i = 0; i < count; ++i) {
    call.values[i] = call.bytes + parameters_.all[i].offset;
    if (parameters_.all[i].is_buffer) {
      take_array(call, i, arguments[i], stream.value_or(0));
    } else {
      take_value(call.bytes + parameters_.all[i].offset, i, arguments[i]);
    }
  }
  if (gpu_ >= 0) choose_stream(call, stream);
  fill_sizes(keywords, &call, call.sizes.data());
}

std::vector<AxisValue> CallReader::sizes_of(const nb::kwargs& named) const {
  std::vector<AxisValue> sizes(family_.axes().size());
  fill_sizes(named, nullptr, sizes.data());
  return sizes;
}

std::vector<std::string> CallReader::size_names() const {
  std::vector<std::string> names;
  for (const Axis& axis : family_.axes()) names.push_back(axis.name);
  return names;
}

void CallReader::refuse_size(const std::string& name) const {
  throw Error(ErrorKind::usage, fmt::format("kernel {} has no size {}, expected {}", family_.definition().name,
                                            in_quotes(name), fmt::join(size_names(), ", ")));
}

void CallReader::fill_sizes(const nb::kwargs& named, const Call* call, AxisValue* sizes) const {
  const std::vector<Axis>& all = family_.axes();
  std::size_t used = 0;
  const std::size_t given = named.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (given > 0 && named.contains(all[i].name.c_str())) {
      ++used;
      sizes[i] = whole(nb::object(named[all[i].name.c_str()]), fmt::format("size {}", all[i].name));
    } else if (call != nullptr && parameters_.size_sources[i].argument) {
      sizes[i] = size_from(*parameters_.size_sources[i].argument, *call);
    } else if (!all[i].optional) {
      throw Error(ErrorKind::usage, fmt::format("kernel {}: the size {} is missing, expected {}=NUMBER",
                                                family_.definition().name, all[i].name, all[i].name));
    }
    if (call != nullptr && sizes[i]) require_same(i, *sizes[i], *call);
  }
  if (used < given) {
    for (const auto& [name, value] : named) {
      std::string text;
      if (!nb::try_cast(name, text)) text = "(no Unicode text)";
      if (text != "stream" && std::ranges::find(all, text, &Axis::name) == all.end()) refuse_size(text);
    }
  }
}

void CallReader::require_same(std::size_t axis, std::int64_t size, const Call& call) const {
  for (const std::size_t i : parameters_.size_sources[axis].numbers) {
    if (const std::int64_t said = size_from(i, call); said != size) {
      throw Error(ErrorKind::usage, fmt::format("{} is {}, and the size {} is {}, expected the same", named(i), said,
                                                family_.axes()[axis].name, size));
    }
  }
}

std::int64_t CallReader::size_from(std::size_t argument, const Call& call) const {
  const Parameter& parameter = parameters_.all[argument];
  if (parameter.is_buffer) {
    return call.views[argument]->bytes / (size_of(parameter.type) * parameter.lanes);
  }
  return with_number(parameter.type, [&](auto sample) -> std::int64_t {
    if constexpr (std::is_integral_v<decltype(sample)>) {
      std::memcpy(&sample, call.bytes + parameter.offset, sizeof sample);
      return std::in_range<std::int64_t>(sample) ? static_cast<std::int64_t>(sample)
                                                 : std::numeric_limits<std::int64_t>::max();
    } else {
      return 0;
    }
  });
}

std::int64_t CallReader::whole(nb::handle number, const std::string& what) const {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) refuse_pending(ErrorKind::usage, what);
  const std::int64_t value = PyLong_AsLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) refuse_pending(ErrorKind::usage, what);
  return value;
}

void CallReader::refuse_pending(ErrorKind kind, const std::string& what) const {
  const nb::python_error error;
  if (!error.matches(PyExc_Exception)) nb::raise_python_error();
  refuse(kind, fmt::format("kernel {}: {}: {}", family_.definition().name, what,
                           nb::cast<std::string>(nb::str(error.value()))));
}

std::string CallReader::named(std::size_t argument) const {
  return fmt::format("kernel {}: argument {} ({})", family_.definition().name, argument + 1,
                     parameters_.all[argument].name);
}

void CallReader::take_array(Call& call, std::size_t i, nb::handle array, std::uintptr_t stream) const {
  const Parameter& parameter = parameters_.all[i];
  try {
    call.views[i].emplace(array, gpu_ >= 0, stream);
  } catch (const Error& error) {
    refuse(ErrorKind::input, fmt::format("{} {}", named(i), error.what()));
  }
  const ArrayView& view = *call.views[i];
  const bool on_gpu = view.place != ArrayView::kHost;
  if (on_gpu != (gpu_ >= 0) || (view.place >= 0 && view.place != gpu_)) {
    refuse(ErrorKind::input,
           fmt::format("{} lies {}, the kernel runs on {}", named(i), place_text(view.place), device_.label()));
  }
  const NumberKind expected = kind_of(parameter.type);
  const bool truth = view.kind == NumberKind{'?', 1} && parameter.type == ElementType::uint8;
  if (view.kind != expected && !truth) {
    refuse(ErrorKind::input,
           fmt::format("{} has elements of {}, expected {}", named(i), text(view.kind), text(expected)));
  }
  if (!view.contiguous) {
    refuse(ErrorKind::input, fmt::format("{} is not contiguous, expected rows one after the other", named(i)));
  }
  if (view.read_only && parameter.role != Role::input) {
    refuse(ErrorKind::input, fmt::format("{} can only be read, and the kernel writes it", named(i)));
  }
  std::memcpy(call.bytes + parameter.offset, &view.address, sizeof view.address);
}

void CallReader::take_value(std::byte* to, std::size_t i, nb::handle value) const {
  const Parameter& parameter = parameters_.all[i];
  if (!parameter.is_number) return take_bytes(to, i, value);
  with_number(parameter.type, [&](auto sample) {
    using Number = decltype(sample);
    if constexpr (std::is_integral_v<Number>) {
      const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
      if (!index.is_valid()) refuse_pending(ErrorKind::input, fmt::format("argument {} ({})", i + 1, parameter.name));
      if constexpr (std::is_same_v<Number, std::uint64_t>) {
        sample = PyLong_AsUnsignedLongLong(index.ptr());
        if (PyErr_Occurred() != nullptr) refuse_pending(ErrorKind::input, fmt::format("argument {}", i + 1));
      } else {
        const std::int64_t number = PyLong_AsLongLong(index.ptr());
        const bool fails = PyErr_Occurred() != nullptr;
        if (fails) PyErr_Clear();
        if (fails || !std::in_range<Number>(number)) {
          refuse(ErrorKind::input, fmt::format("{} is {}, which is no {}", named(i),
                                               nb::cast<std::string>(nb::str(index)), name_of(parameter.type)));
        }
        sample = static_cast<Number>(number);
      }
    } else {
      const double number = PyFloat_AsDouble(value.ptr());
      if (PyErr_Occurred() != nullptr) refuse_pending(ErrorKind::input, fmt::format("argument {}", i + 1));
      sample = static_cast<Number>(number);
    }
    std::memcpy(to, &sample, sizeof sample);
  });
}

void CallReader::take_bytes(std::byte* to, std::size_t i, nb::handle value) const {
  Py_buffer buffer{};
  if (PyObject_CheckBuffer(value.ptr()) == 0 || PyObject_GetBuffer(value.ptr(), &buffer, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    refuse(ErrorKind::input,
           fmt::format("{} is a struct or a vector, expected its {} bytes", named(i), parameters_.all[i].bytes));
  }
  const auto found = static_cast<std::size_t>(buffer.len);
  if (found == parameters_.all[i].bytes) std::memcpy(to, buffer.buf, found);
  PyBuffer_Release(&buffer);
  if (found != parameters_.all[i].bytes) {
    refuse(ErrorKind::input, fmt::format("{} has {} bytes, expected {}", named(i), found, parameters_.all[i].bytes));
  }
}

void CallReader::choose_stream(Call& call, std::optional<std::uintptr_t> stream) const {
  const ArrayView* said = nullptr;
  for (std::size_t i = 0; i < parameters_.all.size(); ++i) {
    if (!call.views[i]) continue;
    const ArrayView& view = *call.views[i];
    call.waits = call.waits || view.library == Library::jax;
    if (stream && said == nullptr) continue;
    // The stream of a library that has been asked is not asked for again.
    if (said != nullptr && said->library == view.library && !view.has_stream) continue;
    const std::optional<std::uintptr_t> own = stream_of(view, gpu_);
    if (!own) continue;
    if (said != nullptr && *own != *stream) {
      throw Error(ErrorKind::usage, fmt::format("{} belongs to another stream than an argument before it; stream= says "
                                                "which to use",
                                                named(i)));
    }
    stream = own;
    said = &view;
  }
  call.stream.handle = reinterpret_cast<void*>(stream.value_or(0));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace heddle::python
