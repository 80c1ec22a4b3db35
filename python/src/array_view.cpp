#include "array_view.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dlpack.hpp"
#include "heddle/kernels/error.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::input, why); }

/// A name that is looked up again and again; made once, and kept until the process ends.
class Name {
 public:
  explicit Name(const char* text) : text_(text) {}
  [[nodiscard]] nb::object of(nb::handle object) {
    if (interned_ == nullptr) interned_ = PyUnicode_InternFromString(text_);
    PyObject* const found = PyObject_GetAttr(object.ptr(), interned_);
    if (found == nullptr) nb::raise_python_error();
    return nb::steal(found);
  }
  /// The same, null where there is no such attribute.
  [[nodiscard]] nb::object if_any(nb::handle object) {
    if (interned_ == nullptr) interned_ = PyUnicode_InternFromString(text_);
    PyObject* const found = PyObject_GetAttr(object.ptr(), interned_);
    if (found == nullptr) {
      if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) nb::raise_python_error();
      PyErr_Clear();
    }
    return nb::steal(found);
  }

 private:
  const char* text_;
  PyObject* interned_ = nullptr;
};

std::uint64_t unsigned_of(nb::handle number) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) nb::raise_python_error();
  const std::uint64_t value = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

std::int64_t integer_of(nb::handle number) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) nb::raise_python_error();
  const std::int64_t value = PyLong_AsLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

bool truth_of(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth != 0;
}

void* pointer_of(std::uint64_t number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));  // NOLINT(performance-no-int-to-ptr)
}

/// The module, if the program has imported it.
nb::object imported(const char* name) {
  nb::dict modules = nb::borrow<nb::dict>(nb::module_::import_("sys").attr("modules"));
  return modules.contains(name) ? nb::object(modules[name]) : nb::object();
}

bool is_subclass(nb::handle type, const char* module, const char* name) {
  const nb::object found = imported(module);
  if (!found.is_valid() || !nb::hasattr(found, name)) return false;
  const int answer = PyObject_IsSubclass(type.ptr(), found.attr(name).ptr());
  if (answer < 0) PyErr_Clear();
  return answer > 0;
}

/// By the type of the array, which is looked at once.
Library library_of(nb::handle array) {
  static auto& known = *new std::unordered_map<PyObject*, Library>();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()));
  const auto found = known.find(type);
  if (found != known.end()) return found->second;
  Library library = Library::other;
  const nb::handle handle(type);
  const nb::object module = nb::getattr(handle, "__module__", nb::none());
  if (is_subclass(handle, "cupy", "ndarray")) {
    library = Library::cupy;
  } else if (is_subclass(handle, "torch", "Tensor")) {
    library = Library::torch;
  } else if (nb::isinstance<nb::str>(module) && std::string_view(nb::cast<std::string>(module)).substr(0, 3) == "jax") {
    library = Library::jax;
  }
  Py_INCREF(type);  // so that no other type comes to lie at its address
  known.emplace(type, library);
  return library;
}

/// "<f4", as array interfaces have it.
NumberKind kind_in(std::string_view text) {
  constexpr std::string_view kOrders = "<=|";  // of this machine, which is little-endian
  if (text.size() < 3 || kOrders.find(text[0]) == std::string_view::npos) return {};
  const char bytes = text[2];
  if (text.size() > 3 || bytes < '1' || bytes > '8') return {};
  const auto count = static_cast<std::uint8_t>(bytes - '0');
  if (text[1] == 'b') return {'?', count};
  return std::string_view("iuf").find(text[1]) == std::string_view::npos ? NumberKind{} : NumberKind{text[1], count};
}

/// A format of the buffer protocol: of one number of this machine's byte order.
NumberKind kind_in_format(const char* format, std::int64_t bytes) {
  std::string_view text = format == nullptr ? "B" : format;
  if (!text.empty() && std::string_view("@=<").find(text[0]) != std::string_view::npos) text.remove_prefix(1);
  if (text.size() != 1 || bytes < 1 || bytes > 8) return {};
  const auto count = static_cast<std::uint8_t>(bytes);
  if (text[0] == '?') return {'?', count};
  if (std::string_view("bhilq").find(text[0]) != std::string_view::npos) return {'i', count};
  if (std::string_view("BHILQ").find(text[0]) != std::string_view::npos) return {'u', count};
  if (std::string_view("efd").find(text[0]) != std::string_view::npos) return {'f', count};
  return {};
}

/// The data types of PyTorch are objects, each of which there is once.
NumberKind kind_of_torch(nb::handle dtype) {
  static auto& known = *new std::unordered_map<PyObject*, NumberKind>();
  if (known.empty()) {
    const nb::object torch = imported("torch");
    constexpr std::array<std::pair<const char*, NumberKind>, 13> kTypes{{{"float32", {'f', 4}},
                                                                         {"float64", {'f', 8}},
                                                                         {"float16", {'f', 2}},
                                                                         {"bfloat16", {'e', 2}},
                                                                         {"int8", {'i', 1}},
                                                                         {"int16", {'i', 2}},
                                                                         {"int32", {'i', 4}},
                                                                         {"int64", {'i', 8}},
                                                                         {"uint8", {'u', 1}},
                                                                         {"uint16", {'u', 2}},
                                                                         {"uint32", {'u', 4}},
                                                                         {"uint64", {'u', 8}},
                                                                         {"bool", {'?', 1}}}};
    for (const auto& [name, kind] : kTypes) {
      if (!nb::hasattr(torch, name)) continue;
      known.emplace(nb::object(torch.attr(name)).release().ptr(), kind);
    }
  }
  const auto found = known.find(dtype.ptr());
  return found == known.end() ? NumberKind{} : found->second;
}

/// NumPy's dtypes, which CuPy uses too. Those that came before are found by their address.
NumberKind kind_of_numpy(nb::handle dtype) {
  static auto& known = *new std::unordered_map<PyObject*, NumberKind>();
  const auto found = known.find(dtype.ptr());
  if (found != known.end()) return found->second;
  NumberKind kind = kind_in(nb::cast<std::string>(dtype.attr("str")));
  if (nb::cast<std::string>(nb::str(dtype)) == "bfloat16") kind = {'e', 2};
  constexpr std::size_t kMostKept = 256;  // a program may make types without end
  if (known.size() < kMostKept) known.emplace(nb::borrow(dtype).release().ptr(), kind);
  return kind;
}

/// Numbers of an array of this shape; refuses what no memory holds.
std::int64_t count_of(const std::int64_t* shape, std::size_t dimensions, std::int64_t element, std::int64_t& bytes) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (shape[i] < 0 || __builtin_mul_overflow(count, shape[i], &count)) refuse("has a shape that no array has");
  }
  if (__builtin_mul_overflow(count, element, &bytes)) refuse("has a shape that no array has");
  return count;
}

/// `unit`: what a stride counts.
bool rows_first(const std::int64_t* shape, const std::int64_t* strides, std::size_t dimensions, std::int64_t unit) {
  std::int64_t expected = unit;
  bool fits = true;
  for (std::size_t i = dimensions; i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] > 1 && strides[i] != expected) fits = false;
    if (__builtin_mul_overflow(expected, shape[i], &expected)) return false;
  }
  return fits;
}

constexpr std::size_t kMostDimensions = 64;

/// The numbers in a tuple.
std::size_t numbers_in(nb::handle tuple, std::array<std::int64_t, kMostDimensions>& numbers) {
  if (!nb::isinstance<nb::tuple>(tuple)) refuse("has an interface whose shape or strides are no tuple");
  const std::size_t count = nb::len(tuple);
  if (count > kMostDimensions) refuse("has more than 64 dimensions");
  for (std::size_t i = 0; i < count; ++i) numbers[i] = integer_of(tuple[i]);
  return count;
}

NumberKind kind_of_dlpack(const nb::dlpack::dtype& type) {
  if (type.lanes != 1 || type.bits % 8 != 0 || type.bits > 64) return {};
  constexpr std::array<char, 7> kKinds{'i', 'u', 'f', 0, 'e', 0, '?'};
  return {type.code < kKinds.size() ? kKinds[type.code] : char{0}, static_cast<std::uint8_t>(type.bits / 8)};
}

}  // namespace

NumberKind kind_of(ElementType type) {
  const auto bytes = static_cast<std::uint8_t>(size_of(type));
  if (type == ElementType::bfloat16) return {'e', bytes};
  if (is_real(type)) return {'f', bytes};
  return {name_of(type).front() == 'u' ? 'u' : 'i', bytes};
}

std::string text(NumberKind kind) {
  if (kind.kind == '?') return "bool";
  if (kind.kind == 'e') return "bfloat16";
  if (kind.kind == 0) return "another type";
  return fmt::format("{}{}", kind.kind == 'f' ? "float" : kind.kind == 'u' ? "uint" : "int", 8 * kind.bytes);
}

ArrayView::ArrayView(nb::handle array, bool prefers_gpu, std::uintptr_t stream_of_use)
    : ArrayView(array, prefers_gpu, stream_of_use, Detail::length) {}

std::shared_ptr<const ArrayView> ArrayView::with_shape(nb::handle array, bool prefers_gpu,
                                                       std::uintptr_t stream_of_use) {
  return std::shared_ptr<const ArrayView>(new ArrayView(array, prefers_gpu, stream_of_use, Detail::shape));
}

ArrayView::ArrayView(nb::handle array, bool prefers_gpu, std::uintptr_t stream_of_use, Detail detail)
    : detail_(detail) {
  try {
    // JAX's arrays may be awaited still, which DLPack alone takes care of.
    if (prefers_gpu ? look_by_library(array) || (library != Library::jax && look_by_interface(array)) ||
                          look_by_dlpack(array, stream_of_use) || look_by_buffer(array)
                    : look_by_buffer(array) || look_by_library(array) || look_by_interface(array) ||
                          look_by_dlpack(array, stream_of_use)) {
      return;
    }
  } catch (nb::python_error& error) {
    release();
    if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C
    std::string line = nb::cast<std::string>(nb::str(error.value()));
    refuse(fmt::format("cannot be looked at: {}", line.substr(0, line.find('\n'))));
  } catch (...) {
    release();
    throw;
  }
  refuse(fmt::format(
      "is no array: found {}",
      nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()))).attr("__name__")))));
}

ArrayView::~ArrayView() { release(); }

void ArrayView::release() noexcept {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  auto* const managed = static_cast<dlpack::Managed*>(std::exchange(managed_, nullptr));
  if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}

void ArrayView::keep_shape(const std::int64_t* shape, const std::int64_t* strides, std::size_t count,
                           std::int64_t unit) {
  if (detail_ != Detail::shape) return;
  dimensions.resize(count);
  constexpr std::int64_t kMost = std::int64_t{1} << 56;  // of bytes between two numbers: no memory has as many
  std::int64_t next = kind.bytes;                        // in rows one after the other
  for (std::size_t i = count; i-- > 0;) {
    dimensions[i] = {.length = shape[i], .stride = next};
    std::int64_t reach = 0;
    bool fits = !__builtin_mul_overflow(next, shape[i], &next);
    if (strides != nullptr && shape[i] > 1) {  // the stride of a single one means nothing
      fits = fits && !__builtin_mul_overflow(strides[i], unit, &dimensions[i].stride) &&
             !__builtin_mul_overflow(dimensions[i].stride, shape[i], &reach) && reach <= kMost && reach >= -kMost;
    }
    if (!fits) refuse("has a shape that no array has");
  }
}

/// What calls cost most is attributes: these take a quarter of the time of an interface's dictionary. They do not tell
/// the shape.
bool ArrayView::look_by_library(nb::handle array) {
  library = library_of(array);
  if (detail_ == Detail::shape) return false;
  if (library == Library::cupy) {
    static Name data("data"), ptr("ptr"), device_id("device_id"), size("size"), dtype("dtype"), flags("flags"),
        c_contiguous("c_contiguous"), contiguity("_c_contiguous");
    const nb::object memory = data.of(array);
    address = pointer_of(unsigned_of(ptr.of(memory)));
    place = static_cast<int>(integer_of(device_id.of(memory)));
    kind = kind_of_numpy(dtype.of(array));
    bytes = integer_of(size.of(array)) * kind.bytes;
    // The flags are an object that is made anew each time, which takes longer than all the rest.
    const nb::object quick = contiguity.if_any(array);
    contiguous = truth_of(quick.is_valid() ? quick : c_contiguous.of(flags.of(array)));
    return true;
  }
  if (library == Library::torch) {
    static Name get_device("get_device"), data_ptr("data_ptr"), dtype("dtype"), numel("numel"),
        is_contiguous("is_contiguous");
    place = static_cast<int>(integer_of(get_device.of(array)()));
    kind = kind_of_torch(dtype.of(array));
    contiguous = truth_of(is_contiguous.of(array)());
    const std::int64_t count = integer_of(numel.of(array)());
    address = pointer_of(unsigned_of(data_ptr.of(array)()));
    bytes = count * kind.bytes;
    return true;
  }
  return false;
}

bool ArrayView::look_by_interface(nb::handle array) {
  static Name interface("__cuda_array_interface__"), dlpack_device("__dlpack_device__");
  const nb::object found = interface.if_any(array);
  if (!found.is_valid()) return false;
  if (!nb::isinstance<nb::dict>(found)) refuse("has a __cuda_array_interface__ that is no dictionary");
  const nb::dict members = nb::borrow<nb::dict>(found);
  for (const char* const name : {"shape", "typestr", "data"}) {
    if (!members.contains(name)) refuse(fmt::format("has a __cuda_array_interface__ without '{}'", name));
  }
  if (members.contains("mask") && !nb::object(members["mask"]).is_none()) refuse("has a mask");
  const nb::object typestr = members["typestr"], data = members["data"];
  if (!nb::isinstance<nb::str>(typestr)) refuse("has a __cuda_array_interface__ whose typestr is no text");
  kind = kind_in(nb::cast<std::string>(typestr));
  std::array<std::int64_t, kMostDimensions> shape{}, strides{};
  const std::size_t count = numbers_in(members["shape"], shape);
  count_of(shape.data(), count, kind.bytes, bytes);
  if (!nb::isinstance<nb::tuple>(data) || nb::len(data) != 2) {
    refuse("has a __cuda_array_interface__ whose data is no pair of an address and a truth value");
  }
  address = pointer_of(unsigned_of(data[0]));
  read_only = truth_of(data[1]);
  const bool has_strides = members.contains("strides") && !nb::object(members["strides"]).is_none();
  if (has_strides) {
    if (numbers_in(members["strides"], strides) != count) refuse("has as many strides as it has no dimensions");
    contiguous = rows_first(shape.data(), strides.data(), count, kind.bytes);
  }
  keep_shape(shape.data(), has_strides ? strides.data() : nullptr, count, 1);
  if (members.contains("stream") && !nb::object(members["stream"]).is_none()) {
    has_stream = true;
    stream = unsigned_of(members["stream"]);
    if (stream == 1) stream = 0;  // there the default stream, where 0 would be ambiguous
  }
  place = kSomeGpu;
  if (const nb::object device = dlpack_device.if_any(array); device.is_valid()) {
    const nb::object pair = device();
    if (nb::isinstance<nb::tuple>(pair) && nb::len(pair) == 2) place = static_cast<int>(integer_of(pair[1]));
  }
  return true;
}

bool ArrayView::look_by_dlpack(nb::handle array, std::uintptr_t stream_of_use) {
  static Name exporter("__dlpack__"), dlpack_device("__dlpack_device__");
  const nb::object take = exporter.if_any(array), where = dlpack_device.if_any(array);
  if (!take.is_valid() || !where.is_valid()) return false;
  const nb::object pair = where();
  if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) refuse("has a __dlpack_device__ that is no pair");
  const std::int64_t type = integer_of(pair[0]);
  const bool on_gpu = type == dlpack::kCuda || type == dlpack::kCudaManaged;
  if (!on_gpu && type != dlpack::kHost && type != dlpack::kCudaHost) refuse("lies on a device of another kind");
  constexpr std::uintptr_t kDefaultStream = 1;  // in DLPack, where 0 would be ambiguous
  const nb::object capsule =
      on_gpu ? nb::object(take(nb::arg("stream") = stream_of_use == 0 ? kDefaultStream : stream_of_use)) : take();
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kName) == 0) refuse("gives no DLPack capsule of version 0");
  auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kName));
  if (PyCapsule_SetName(capsule.ptr(), dlpack::kUsedName) != 0) nb::raise_python_error();
  managed_ = managed;
  const nb::dlpack::dltensor& tensor = managed->tensor;
  if (tensor.ndim < 0 || static_cast<std::size_t>(tensor.ndim) > kMostDimensions) refuse("has more than 64 dimensions");
  const auto count = static_cast<std::size_t>(tensor.ndim);
  kind = kind_of_dlpack(tensor.dtype);
  count_of(tensor.shape, count, kind.bytes, bytes);
  contiguous = tensor.strides == nullptr || rows_first(tensor.shape, tensor.strides, count, 1);
  keep_shape(tensor.shape, tensor.strides, count, kind.bytes);
  address = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  place = on_gpu ? static_cast<int>(integer_of(pair[1])) : kHost;
  return true;
}

bool ArrayView::look_by_buffer(nb::handle array) {
  if (PyObject_CheckBuffer(array.ptr()) == 0) return false;
  if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    buffer_.obj = nullptr;
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) nb::raise_python_error();
    PyErr_Clear();  // types that the protocol does not know may have another one
    return false;
  }
  address = buffer_.buf;
  bytes = buffer_.len;
  kind = kind_in_format(buffer_.format, buffer_.itemsize);
  contiguous = PyBuffer_IsContiguous(&buffer_, 'C') != 0;
  read_only = buffer_.readonly != 0;
  place = kHost;
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  keep_shape(reinterpret_cast<const std::int64_t*>(buffer_.shape),
             reinterpret_cast<const std::int64_t*>(buffer_.strides), static_cast<std::size_t>(buffer_.ndim), 1);
  return true;
}

namespace {

/// The stream on which a library works at present in this thread, on GPU `place`.
std::uintptr_t current_stream(Library library, int place) {
  if (library == Library::cupy) {
    static Name ptr("ptr");
    static PyObject* const ask =
        nb::object(nb::module_::import_("cupy.cuda").attr("get_current_stream")).release().ptr();
    return unsigned_of(ptr.of(nb::handle(ask)()));
  }
  if (library == Library::torch) {
    static Name cuda_stream("cuda_stream");
    // What PyTorch's own generated code asks; older versions have the longer way alone.
    static PyObject* const raw = [] {
      const nb::object module = nb::module_::import_("torch._C");
      return nb::getattr(module, "_cuda_getCurrentRawStream", nb::none()).release().ptr();
    }();
    if (raw != Py_None) return unsigned_of(nb::handle(raw)(place));
    return unsigned_of(cuda_stream.of(nb::module_::import_("torch.cuda").attr("current_stream")(place)));
  }
  return 0;
}

}  // namespace

std::string place_text(int place) {
  if (place == ArrayView::kHost) return "in the host's memory";
  return place == ArrayView::kSomeGpu ? "on a GPU" : fmt::format("on GPU {}", place);
}

std::optional<std::uintptr_t> stream_of(const ArrayView& view, int gpu) {
  if (view.has_stream) return view.stream;
  if (view.library != Library::cupy && view.library != Library::torch) return std::nullopt;
  return current_stream(view.library, gpu);
}

int gpu_number(const Device& device) {
  constexpr std::string_view kBefore = "cuda:";
  const std::string label = device.label();
  int number = -1;
  if (label.starts_with(kBefore)) std::from_chars(label.data() + kBefore.size(), label.data() + label.size(), number);
  return number;
}

}  // namespace heddle::python
