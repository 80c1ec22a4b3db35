#include "heddle/bench/sharing/busy_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace heddle::bench {

namespace {

[[noreturn]] void work_for_ever() {
  for (volatile unsigned long count = 0;;) count = count + 1;
}

}  // namespace

BusyProcess::BusyProcess() : process_(::fork()) {
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (process_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  work_for_ever();
}

BusyProcess::~BusyProcess() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace heddle::bench
