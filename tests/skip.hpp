// A test that cannot run where it is says so, and counts as skipped: it has not passed.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace heddle::test {

/// What a test program returns that had to skip something and failed in nothing; CTest knows it.
constexpr int kSkipped = 77;

inline bool& skipped() {
  static bool any = false;
  return any;
}

/// The test case, or a part of it, cannot run here.
inline void skip(const std::string& reason) {
  MESSAGE("skipped: " << reason);
  skipped() = true;
}

}  // namespace heddle::test
