#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle {
namespace {

TEST_CASE("families are found by name") {
  REQUIRE(!families().empty());
  for (const KernelFamily* each : families()) CHECK(&family(each->name()) == each);
}

TEST_CASE("an unknown family is answered with the names there are") {
  try {
    static_cast<void>(family("carpet"));
    FAIL("found");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    const std::string line = error.what();
    CHECK(line.find("carpet") != std::string::npos);
    for (const KernelFamily* each : families()) CHECK(line.find(each->name()) != std::string::npos);
  }
}

TEST_CASE("which kernels a configuration needs is known without its plan") {
  const std::vector<DeviceIdentity> devices{{"cuda", "any", "9.0", 132, 80, 50 << 20, 227 << 10},
                                            {"cuda", "any", "7.5", 40, 16, 4 << 20, 64 << 10},
                                            {"cpu", "any", "x86-64-v3", 4, 16, 32 << 20, 0}};
  std::mt19937 random(11);
  for (const DeviceIdentity& device : devices) {
    for (const KernelFamily* family : families()) {
      std::vector<Problem> problems = family->default_problems(device);
      std::shuffle(problems.begin(), problems.end(), random);
      problems.erase(problems.begin() + 1, problems.end());
      problems.push_back(family->awkward_problem());
      for (const Problem& problem : problems) {
        std::vector<Configuration> all = family->space(device).enumerate(problem);
        std::shuffle(all.begin(), all.end(), random);
        all.resize(std::min<std::size_t>(all.size(), 25));
        for (const Configuration& configuration : all) {
          CAPTURE(device.backend);
          CAPTURE(problem.text());
          CAPTURE(configuration.text());
          const Kernels kernels = family->kernels(configuration, problem, device);
          CHECK_FALSE(kernels.empty());
          for (const std::int64_t samples : {1, 3, 100}) {
            CHECK(family->plan(configuration, problem, device, samples).kernels == kernels);
          }
        }
      }
    }
  }
}

TEST_CASE("every family says how much work a timed run does, in which unit") {
  const DeviceIdentity device{"cuda", "any", "9.0", 132, 80, 50 << 20, 227 << 10};
  for (const KernelFamily* family : families()) {
    CHECK_FALSE(family->unit().empty());
    for (const Problem& problem : family->default_problems(device)) {
      const WorkRange range = family->timed_work(problem, device);
      CHECK(range.least >= 1);
      CHECK(range.least <= range.most);
    }
  }
}

TEST_CASE("kernels are told apart by name and definitions") {
  const KernelInstance plain("scale"), wide("scale", {{"WIDTH", "8"}}), same("scale", {{"WIDTH", "8"}});
  CHECK(plain == KernelInstance(std::string("scale")));
  CHECK(wide == same);
  CHECK(plain != wide);
  CHECK(wide != KernelInstance("scale", {{"WIDTH", "4"}}));
  CHECK(plain.text() == "scale");
  CHECK(KernelInstance("scale", {{"WIDTH", "8"}, {"TYPE", "float"}}).text() == "scale WIDTH=8 TYPE=float");
}

TEST_CASE("buffers of a plan by name") {
  Plan plan;
  plan.buffers = {{.name = "rows", .bytes = 4, .role = Role::input},
                  {.name = "sums", .bytes = 8, .role = Role::output}};
  CHECK(plan.buffer("sums") == 1);
  CHECK_THROWS_AS(static_cast<void>(plan.buffer("none")), std::out_of_range);
}

}  // namespace
}  // namespace heddle
