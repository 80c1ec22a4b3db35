// Described kernels that Python calls, and the processes that measure them.
#pragma once

#include <nanobind/nanobind.h>

namespace heddle::python {

void bind_bench(nanobind::module_& module);
void bind_kernel(nanobind::module_& module);
void bind_worker(nanobind::module_& module);

}  // namespace heddle::python
