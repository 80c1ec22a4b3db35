#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "heddle/kernels/recent.hpp"
#include "heddle/kernels/sonfin/comparison.hpp"
#include "heddle/kernels/sonfin/device_reference.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/sonfin/verification.hpp"
#include "heddle/kernels/sonfin/verification_workload.hpp"

namespace heddle::sonfin {
namespace {

constexpr std::int64_t kSamples = 44, kSamplesOfLaunch = 21;
/// Of the first leg, which halts in its second launch, and of the second, which one launch ends: the last launch finds
/// nothing to do.
constexpr int kLaunchesToHalt = 3, kLaunchesToEnd = 2;

/// A network of more centres than that passes some of the option sets, others pass the rest.
constexpr std::int64_t kManyCells = 1 << 15;

/// The reference takes 10 us a sample on a GPU even for small networks. Of longer runs the beginning is compared,
/// unless something is suspicious.
constexpr std::int64_t kComparedSamples = 256, kFewestCompared = 16;

/// A workload and its reference result, which is computed when it is first needed.
struct KnownTraining {
  VerificationWorkload work;
  std::optional<Expectation> expected;
};

std::optional<Progress> progress_in(const HostImage& image, const Layout& layout) {
  Progress progress{};
  std::memcpy(&progress, image.find("progress")->second.data(), sizeof progress);
  if (progress.rules < 0 || progress.rules > layout.capacity) return std::nullopt;
  return progress;
}

Accuracy overwritten() { return {.accepted = false, .worst_error = 0.0, .message = "the rule count was overwritten"}; }

/// Whether the first leg ended as it has to: at the row that wants a rule for which there is no room.
Accuracy compare_halt(const VerificationWorkload& work, std::int64_t rules, const Progress& progress) {
  if (progress.halted == kFull && progress.position == work.second_far && progress.rules == rules) {
    return {.accepted = true, .worst_error = 0.0, .message = {}};
  }
  return {.accepted = false,
          .worst_error = 0.0,
          .message = "without room for a rule wanted at position " + std::to_string(work.second_far) + ": halted " +
                     std::to_string(progress.halted) + " at position " + std::to_string(progress.position) + " with " +
                     std::to_string(progress.rules) + " of " + std::to_string(rules) + " rules"};
}

class TrainVerification final : public Verification {
 public:
  TrainVerification(const KernelFamily& family, DeviceIdentity device, std::uint64_t seed, RunOnDevice run)
      : family_(family),
        device_(std::move(device)),
        space_(family.space(device_)),
        seed_(seed),
        references_(device_, std::move(run)),
        known_(kKeptBytes),
        timed_(kKeptBytes) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    Runs all;
    all.plans.push_back(plan_of(configuration, problem));
    Legs legs{.problem = problem, .next = problem, .configuration = configuration};
    // Where one rule more needs other kernels, which the tuner has not compiled, the awkward sizes move to a larger
    // plan.
    const Problem larger = problem.with("rules", problem.at("rules") + 1);
    if (!space_.violated(configuration, larger)) {
      Plan plan = plan_of(configuration, larger);
      if (plan.kernels == all.plans.front().kernels) {
        all.plans.push_back(std::move(plan));
        legs.next = larger;
      }
    }
    for (const OptionSet& set : ordered_sets(problem)) all.runs.push_back(run_of(legs, set));
    all.essential = 2;
    if (problem.at("rules") * problem.at("dim") > kManyCells) all.thorough = 4;
    return all;
  }

  std::vector<DeviceProgram> programs() const override { return references_.programs(); }

  std::optional<TimedRun> timed_run(const Configuration& configuration, const Problem& problem, std::int64_t samples,
                                    std::int64_t end) override {
    if (operations(problem, end) > (references_.device_agrees() ? kMostDeviceOperations : kMostHostOperations)) {
      return std::nullopt;
    }
    const auto work = shared_timing_workload(problem, samples, seed_);
    const Layout layout = train_layout(configuration, problem, device_);
    TimedRun timed;
    timed.overwrites["control"] = bytes_of(control(work->options, end));
    const auto name = problem.text() + " " + std::to_string(samples) + " " + std::to_string(end);
    const auto expected = [this, work, name, end] {
      return timed_.get(name, size_of(work->network), [&] { return references_.expectation(*work, end); });
    };
    timed.distance = [expected, layout](const HostImage& after) {
      const auto progress = progress_in(after, layout);
      if (!progress) return HUGE_VAL;
      return distance_of_training(*expected(), unpack(after, layout, progress->rules), *progress);
    };
    timed.rounding = [this, work, expected, name, end] {
      const auto other = timed_.get(name + " disturbed", size_of(work->network),
                                    [&] { return references_.expectation(disturbed(*work, end, seed_), end); });
      return distance_of_training(*expected(), *other);
    };
    return timed;
  }

  std::int64_t compared_samples(const Problem& problem, std::int64_t samples) override {
    const double most = references_.device_agrees() ? kUsualDeviceOperations : kMostHostOperations;
    std::int64_t end = samples;
    while (end / 2 >= kFewestCompared && (end > kComparedSamples || operations(problem, end) > most)) end /= 2;
    return end;
  }

  std::optional<double> difference(const Problem& problem, std::int64_t, const TimedEnd& found,
                                   const TimedEnd& expected) override {
    const Layout own = train_layout(found.configuration, problem, device_);
    const Layout other = train_layout(expected.configuration, problem, device_);
    const auto progress = progress_in(found.after, own), right = progress_in(expected.after, other);
    if (!right) return std::nullopt;
    if (!progress) return HUGE_VAL;
    return distance_of_training(unpack(expected.after, other, right->rules), *right,
                                unpack(found.after, own, progress->rules), *progress);
  }

 private:
  static double operations(const Problem& problem, std::int64_t samples) {
    return static_cast<double>(problem.at("rules") * problem.at("dim") * samples);
  }

  /// A run in two plans of one configuration: for `problem`, where it halts, and for `next`, where it goes on.
  struct Legs {
    Problem problem, next;
    Configuration configuration;
  };

  /// For more rows than its samples: a run of several launches finds all of them.
  [[nodiscard]] Plan plan_of(const Configuration& configuration, const Problem& problem) const {
    Plan plan = family_.plan(configuration, problem, device_, kSamplesOfLaunch);
    for (const char* name : {"rows", "targets", "order"}) {
      std::int64_t& bytes = plan.buffers[static_cast<std::size_t>(plan.buffer(name))].bytes;
      bytes = bytes / kSamplesOfLaunch * kSamples;
    }
    return plan;
  }

  /// Every set. The first one finds most faults: it has training's own step, and firing so deep that a kernel which
  /// does not subtract the largest log firing fails. The second one differs from it in every option. Problems take
  /// turns with the width of the first two, and with the order of the others.
  static std::vector<OptionSet> ordered_sets(const Problem& problem) {
    int turn = 0;
    for (const Problem::Size& size : problem.sizes()) turn += std::bit_width(static_cast<std::uint64_t>(size.value));
    const bool squared = turn % 2 != 0;
    std::vector<OptionSet> sets{
        {.step = Step::scaled, .width = squared ? Width::squared : Width::distance, .deep = true},
        {.step = Step::plain, .width = squared ? Width::distance : Width::squared, .deep = false}};
    for (const OptionSet& set : option_sets()) {
      if (set != sets[0] && set != sets[1]) sets.push_back(set);
    }
    const auto others = sets.begin() + 2;
    std::rotate(others, others + turn % std::distance(others, sets.end()), sets.end());
    return sets;
  }

  VerificationRun run_of(const Legs& legs, const OptionSet& set) {
    const std::int64_t rules = legs.problem.at("rules"), cap = legs.next.at("rules");
    const Layout first = train_layout(legs.configuration, legs.problem, device_);
    const Layout second = train_layout(legs.configuration, legs.next, device_);
    const auto known = [this, problem = legs.problem, set, cap] { return known_workload(problem, set, cap); };
    VerificationRun run{.name = legs.problem.text() + ", " + set.text(), .stages = {}};
    run.stages.push_back({.plan = 0,
                          .launches = kLaunchesToHalt,
                          .contents =
                              [known, first, rules](const HostImage&) {
                                const VerificationWorkload& work = known()->work;
                                Hyperparameters options = work.options;
                                options.max_rules = rules + 1;  // more than there is room for
                                return train_contents(work, work.network, first, control(options, kSamples),
                                                      beginning(rules - 1));
                              },
                          .check =
                              [known, first, rules](const HostImage& after) {
                                const auto progress = progress_in(after, first);
                                return progress ? compare_halt(known()->work, rules, *progress) : overwritten();
                              }});
    run.stages.push_back({.plan = cap > rules ? std::size_t{1} : std::size_t{0},
                          .launches = kLaunchesToEnd,
                          .contents =
                              [known, first, second, rules](const HostImage& left) {
                                const VerificationWorkload& work = known()->work;
                                Progress progress = *progress_in(left, first);
                                progress.halted = 0;
                                return train_contents(work, unpack(left, first, rules), second,
                                                      control(work.options, kSamples), progress);
                              },
                          .check =
                              [this, known, second](const HostImage& after) {
                                const auto progress = progress_in(after, second);
                                if (!progress) return overwritten();
                                const auto shared = known();
                                if (!shared->expected)
                                  shared->expected = references_.expectation(shared->work, kSamples);
                                return compare_training(*shared->expected, unpack(after, second, progress->rules),
                                                        *progress);
                              }});
    return run;
  }

  std::shared_ptr<KnownTraining> known_workload(const Problem& problem, const OptionSet& set, std::int64_t cap) {
    const std::string name = problem.text() + " " + set.text() + " " + std::to_string(cap);
    const std::size_t cells =
        static_cast<std::size_t>(problem.at("rules") * (problem.at("dim") + problem.at("outputs")));
    // Centres and widths: of the workload, before and after.
    return known_.get(name, cells * (8 + 8 + 16), [&] {
      return KnownTraining{.work = verification_workload(problem, set, cap, kSamples, seed_), .expected = {}};
    });
  }

  /// Bytes of the reference's result for it.
  static std::size_t size_of(const Network& network) { return network.centres.size() * (8 + 16); }

  const KernelFamily& family_;
  DeviceIdentity device_;
  SearchSpace space_;
  std::uint64_t seed_;
  References references_;
  Recent<KnownTraining> known_;
  Recent<Expectation> timed_;
};

}  // namespace

std::unique_ptr<Verification> train_verification(const KernelFamily& family, const DeviceIdentity& device,
                                                 std::uint64_t seed, RunOnDevice run) {
  return std::make_unique<TrainVerification>(family, device, seed, std::move(run));
}

}  // namespace heddle::sonfin
