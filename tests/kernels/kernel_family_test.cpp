#include "heddle/kernels/kernel_family.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"

namespace heddle {
namespace {

TEST_CASE("which kernels a configuration needs is known without its plan") {
  const std::vector<DeviceIdentity> devices{{"cuda", "any", "9.0", 132, 80, 50 << 20, 227 << 10},
                                            {"cuda", "any", "7.5", 40, 16, 4 << 20, 64 << 10},
                                            {"cpu", "any", "x86-64-v3", 4, 16, 32 << 20, 0}};
  std::mt19937 random(11);
  for (const DeviceIdentity& device : devices) {
    for (const auto& family : builtin_families().all()) {
      if (!family->supports(device.backend)) continue;
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
  for (const auto& family : builtin_families().all()) {
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

}  // namespace
}  // namespace heddle
