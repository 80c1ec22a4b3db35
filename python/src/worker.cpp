// The process in which kernels are measured: another interpreter, which loads this module and nothing else of the
// package.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdio>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/runtime/process/child_process.hpp"
#include "heddle/tuner/worker/serve.hpp"
#include "kernel.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

/// Answers a tuner until that ends. `compiler`: starts this process's like as a compiler; empty: it is one itself.
/// Returns an exit code.
int serve_tuner(const std::vector<std::string>& compiler) {
  const nb::gil_scoped_release released;
  try {
    if (compiler.empty()) {
      run_compiler(ChildProcess::kDescriptor);
    } else {
      WorkerWorld world;
      world.compiler = compiler;
      serve(ChildProcess::kDescriptor, world);
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}

}  // namespace

void bind_worker(nb::module_& module) { module.def("serve_tuner", &serve_tuner, nb::arg("compiler")); }

}  // namespace heddle::python
