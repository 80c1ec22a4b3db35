// DLPack, version 0: what every library takes.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>

namespace heddle::python::dlpack {

/// Its struct, whose beginning nanobind declares.
struct Managed {
  nanobind::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

constexpr std::int32_t kHost = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;  // kinds of devices

/// Of a capsule, before and after somebody took what it holds.
constexpr const char *kName = "dltensor", *kUsedName = "used_dltensor";

}  // namespace heddle::python::dlpack
