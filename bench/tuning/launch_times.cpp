// What each launch of a plan takes: the plan ends after one launch more each time, and a launch takes what is added.
//
//   launch_times --device cuda:0 --family fuzzy-sort-lu --problems 10000000x1x32x1
//   launch_times --family fuzzy-sort-lu --problems 10000000x1x32x1 --only "block_size=512 blocks=2 ..."
//
// A launch that is fast because of what the one before has left in the cache is so here, too; one that overlaps with
// the next is only told apart from it by the time that both take. Plans of thousands of launches have as many lines.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/forwarding_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t kSeed = 1;

/// A family whose plans, when they are timed, end after so many launches: those whose contents are there already, and
/// those that come with theirs.
class FirstLaunches final : public ForwardingFamily {
 public:
  FirstLaunches(const KernelFamily& whole, std::size_t launches) : ForwardingFamily(whole), launches_(launches) {}
  [[nodiscard]] Plan measured_plan(const Configuration& configuration, const Problem& problem,
                                   const DeviceIdentity& device, std::int64_t samples) const override {
    Plan plan = ForwardingFamily::measured_plan(configuration, problem, device, samples);
    cut(plan);
    return plan;
  }
  [[nodiscard]] Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                            std::int64_t samples, std::uint64_t seed) const override {
    Trial trial = ForwardingFamily::trial(configuration, problem, device, samples, seed);
    cut(trial.plan);
    return trial;
  }

 private:
  void cut(Plan& plan) const { plan.launches.resize(std::min(launches_, plan.launches.size())); }

  std::size_t launches_;
};

std::string name_of(const Plan& plan, const Launch& launch) {
  if (!launch.routine.empty()) return launch.routine;
  return plan.kernels[static_cast<std::size_t>(launch.kernel)].text();
}

void tell(Device& device, const KernelFamily& family, const Problem& problem, const Configuration& configuration,
          std::int64_t samples, int rounds) {
  const Plan plan = family.measured_plan(configuration, problem, device.identity(), samples);
  std::deque<FirstLaunches> families;
  std::deque<DeviceEvaluator> evaluators;
  std::vector<bench::Contestant> contestants;
  for (std::size_t launches = 1; launches <= plan.launches.size(); ++launches) {
    const FirstLaunches& first = families.emplace_back(family, launches);
    contestants.push_back({&evaluators.emplace_back(device, first, kSeed), configuration});
  }
  bench::compile(contestants, problem);
  const auto times = bench::interleave(contestants, problem, samples, rounds);
  fmt::print("{}: {}\n", problem.text(), configuration.text());
  double before = 0.0;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    if (times[i].empty()) return;  // why is told already
    const double until = median(times[i]) * static_cast<double>(plan.samples);
    fmt::print("  {:>9.2f} us  {}\n", until - before, name_of(plan, plan.launches[i]));
    before = until;
  }
  fmt::print("  {:>9.2f} us in all\n", before);
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) {
  using namespace heddle;
  std::string label, name = "sonfin-train";
  std::vector<std::string> problems, only;
  std::int64_t samples = 1;
  int rounds = 9;
  CLI::App app("What each launch of a plan takes");
  app.add_option("--device", label, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", name, "kernel family");
  app.add_option("--problems", problems, "sizes in the order of the family's axes: 640x16x1,...")
      ->delimiter(',')
      ->required();
  app.add_option("--only", only, "configurations' texts; the untuned one if left out")->expected(1)->take_all();
  app.add_option("--samples", samples, "samples in one run")->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds, "runs of which the median is told")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, count, values);
  return bench::exit_code("launch_times", [&] {
    const auto device = open_device(label);
    const FamilyRegistry families = builtin_families();
    const KernelFamily& family = families.at(name);
    for (const Problem& problem : bench::problems_of(family, problems)) {
      const auto tell_of = [&](const Configuration& configuration) {
        tell(*device, family, problem, configuration, samples, rounds);
      };
      for (const std::string& text : only) tell_of(family.space(device->identity()).parse(text));
      if (only.empty()) tell_of(family.default_configuration(device->identity(), problem));
    }
    return 0;
  });
}
