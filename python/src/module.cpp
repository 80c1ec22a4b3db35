// The extension module heddle._heddle: what the package's Python files call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <string>
#include <vector>

#include "fuzzy.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/device.hpp"
#include "kernel.hpp"
#include "model.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

nb::list devices() {
  std::vector<DeviceListing> listings;
  {
    const nb::gil_scoped_release released;
    listings = list_devices();
  }
  nb::list all;
  for (const DeviceListing& listing : listings) {
    nb::dict entry;
    entry["label"] = listing.label;
    entry["usable"] = listing.identity.has_value();
    entry["name"] = listing.identity ? listing.identity->name : std::string();
    entry["remark"] = listing.remark;
    all.append(entry);
  }
  return all;
}

/// The class of heddle.errors for a kind of error.
const char* class_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "UsageError";
    case ErrorKind::input:
      return "InputError";
    case ErrorKind::device:
      return "DeviceError";
    case ErrorKind::profiles:
      return "ProfilesError";
    case ErrorKind::bug:
      break;
  }
  return "Error";
}

void raise(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("heddle.errors").attr(class_for(error.kind()));
    PyErr_SetString(type.ptr(), error.what());
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace
}  // namespace heddle::python

NB_MODULE(_heddle, module) {
  module.doc() = "Bindings of heddle's C++ libraries";
  nb::register_exception_translator(heddle::python::raise);
  module.attr("version") = HEDDLE_VERSION;
  module.def("devices", &heddle::python::devices, nb::sig("def devices() -> list[DeviceListing]"),
             R"(All devices that heddle knows how to look for, the best usable one first.

Returns
-------
list of dict
    ``label`` (``"cuda:0"``, ``"cpu"``, ``"emulator"``), ``usable`` (bool), ``name`` (of the model; empty where it
    cannot be used) and ``remark`` (why it cannot be used, or what limits it).

Raises
------
DeviceError
    A driver is there, and fails.)");
  heddle::python::bind_model(module);
  heddle::python::bind_training(module);
  heddle::python::bind_kernel(module);
  heddle::python::bind_fuzzy(module);
  heddle::python::bind_bench(module);
  heddle::python::bind_worker(module);
}
