// Files that tests need at run time. They are where they were when the tests were built, unless the environment names
// another place: a packed build runs on a machine that has neither that build nor the sources there.
#pragma once

#include <cstdlib>
#include <string>

namespace heddle::test {

[[nodiscard]] inline std::string placed(const char* variable, const char* built) {
  const char* const other = std::getenv(variable);
  return other != nullptr ? other : built;
}

#ifdef HEDDLE_WORKER_PROGRAM
/// The program of the tests that measures in a process of its own.
[[nodiscard]] inline std::string worker_program() { return placed("HEDDLE_TEST_WORKER", HEDDLE_WORKER_PROGRAM); }
#endif

}  // namespace heddle::test
