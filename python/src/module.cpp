// The extension module heddle._heddle: what the package's Python files call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/provenance.hpp"

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
    entry["remark"] = listing.remark;
    if (listing.identity) entry["name"] = listing.identity->name;
    all.append(entry);
  }
  return all;
}

}  // namespace
}  // namespace heddle::python

NB_MODULE(_heddle, module) {
  module.doc() = "Bindings of heddle's C++ libraries";
  module.attr("version") = heddle::host_provenance().tool;
  module.def("devices", &heddle::python::devices);
}
