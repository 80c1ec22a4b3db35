#pragma once

#include <nanobind/nanobind.h>

namespace heddle::python {

/// Calculators and arrays of fuzzy numbers.
void bind_fuzzy(nanobind::module_& module);

}  // namespace heddle::python
