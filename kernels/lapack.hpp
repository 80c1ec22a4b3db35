// LAPACK as heddle calls it.
#pragma once

#include <cblas.h>
#include <lapacke.h>

namespace heddle {

/// While it lives, the library works in the calling thread alone: its own threads would get in the way of a device's,
/// and what it is asked for is a small part of the work around it.
class OneThread {
 public:
  OneThread() { openblas_set_num_threads(1); }
  ~OneThread() { openblas_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = openblas_get_num_threads();
};

}  // namespace heddle
