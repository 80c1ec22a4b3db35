#include "heddle/kernels/usable_cores.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "temporary_folder.hpp"

namespace heddle {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST_CASE("a thread that is bound to one core may use one, whatever the machine has") {
  unsigned bound = 0;
  bool is_bound = false;
  std::thread([&] {
    cpu_set_t mask, one;
    CPU_ZERO(&mask);
    ::sched_getaffinity(0, sizeof mask, &mask);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &mask)) CPU_SET(core, &one);
    }
    is_bound = ::sched_setaffinity(0, sizeof one, &one) == 0;
    bound = allowed_cores();
  }).join();
  REQUIRE(is_bound);
  CHECK(bound == 1);
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= allowed_cores());
}

TEST_CASE("a quota is the least of a control group and those around it") {
  const TemporaryFolder folder;
  const std::filesystem::path& root = folder.path();
  SUBCASE("second version") {
    CHECK_FALSE(quota_of_cores("0::/job/step\n", root));
    write(root / "job/step/cpu.max", "max 100000\n");
    CHECK_FALSE(quota_of_cores("0::/job/step\n", root));
    write(root / "job/cpu.max", "250000 100000\n");
    CHECK(quota_of_cores("0::/job/step\n", root) == 2.5);
    write(root / "job/step/cpu.max", "50000 100000\n");
    CHECK(quota_of_cores("0::/job/step\n", root) == 0.5);
    CHECK_FALSE(quota_of_cores("0::/other\n", root));
  }
  SUBCASE("a container that sees its own group alone, as the mount") {
    write(root / "cpu.max", "200000 100000\n");
    CHECK(quota_of_cores("0::/../../docker/abc\n", root) == 2.0);
    CHECK(quota_of_cores("0::/", root) == 2.0);
  }
  SUBCASE("first version, beside a second without controllers") {
    write(root / "cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    write(root / "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    const std::string memberships = "5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n";
    CHECK_FALSE(quota_of_cores(memberships, root));
    write(root / "cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
    CHECK(quota_of_cores(memberships, root) == 4.0);
    CHECK_FALSE(quota_of_cores("4:cpuset:/job\n", root));
  }
  SUBCASE("no words that are none") {
    write(root / "cpu.max", "much of it\n");
    CHECK_FALSE(quota_of_cores("0::/\n", root));
    CHECK_FALSE(quota_of_cores("nothing\n:\n", root));
    CHECK_FALSE(quota_of_cores("", root));
  }
}

}  // namespace
}  // namespace heddle
