#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "skip.hpp"

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int failed = context.run();
  return failed == 0 && heddle::test::skipped() ? heddle::test::kSkipped : failed;
}
