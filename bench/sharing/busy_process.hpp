// Another program on this machine that always has something to do.
#pragma once

#include <sys/types.h>

namespace heddle::bench {

/// A process of one thread that keeps a core busy for as long as this lives, and no longer than this process.
class BusyProcess {
 public:
  BusyProcess();  ///< throws std::system_error
  ~BusyProcess();
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  pid_t process_;
};

}  // namespace heddle::bench
