// An array of fuzzy numbers together with what it needs to live.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"

namespace heddle::python {

/// What arrays share, and what outlives them: a device, its calculator, and the lock of both.
struct Desk {
  Desk(const std::string& label, const std::string& profiles)
      : process(::getpid()), device(open_device(label)), calculator(*device, {.profiles = profiles, .notice = {}}) {}

  /// Runs `work` with the lock and without the GIL. Throws Error(usage) in a process that was forked off.
  template <class Work>
  auto use(const Work& work) {
    if (process != ::getpid()) {
      throw Error(ErrorKind::usage,
                  "fuzzy arrays: found those of a parent process, expected ones made in this process");
    }
    const nanobind::gil_scoped_release released;
    const std::scoped_lock lock(mutex);
    return work();
  }

  pid_t process;
  std::unique_ptr<Device> device;
  fuzzy::Calculator calculator;
  std::mutex mutex;  ///< calls come from one thread at a time
};

/// Deletes in the process that made it. In one that was forked off, the threads and the GPU's context that deleting
/// needs are not there.
struct DeleteAtHome {
  pid_t process = ::getpid();
  template <class Owned>
  void operator()(Owned* owned) const {
    if (::getpid() == process) delete owned;
  }
};

class FuzzyArray {
 public:
  FuzzyArray(std::shared_ptr<Desk> desk, fuzzy::Array array)
      : desk_(std::move(desk)), array_(new fuzzy::Array(std::move(array)), DeleteAtHome()) {}

  [[nodiscard]] const std::shared_ptr<Desk>& desk() const { return desk_; }
  [[nodiscard]] const fuzzy::Array& array() const { return *array_; }

 private:
  std::shared_ptr<Desk> desk_;
  std::shared_ptr<const fuzzy::Array> array_;  // goes before the desk
};

}  // namespace heddle::python
