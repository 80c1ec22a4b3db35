#include "heddle/kernels/tsk/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "heddle/kernels/recent.hpp"
#include "heddle/kernels/tsk/comparison.hpp"
#include "heddle/kernels/tsk/mapping.hpp"
#include "heddle/kernels/tsk/train.hpp"

namespace heddle::tsk {
namespace {

constexpr std::int64_t kIterationsOfPlan = 2;
constexpr int kLaunches = 3;
constexpr std::size_t kKeptBytes = std::size_t{64} << 20;
/// A host's most operations for the reference of a timed run: they take about a second.
constexpr double kMostOperations = 1e9;
/// As long as nothing is suspicious: some hundredths of a second. Where all iterations take longer, the first ones are
/// compared.
constexpr double kUsualOperations = 4e7;
/// A problem of more rows than that passes some of the option sets, others pass the rest.
constexpr std::int64_t kManyRows = 4096;
/// Relative error of a change that rounding explains.
constexpr double kRounding = 1e-3;

template <class T>
std::vector<T> values_of(const HostImage& image, std::string_view name) {
  const std::vector<std::byte>& bytes = image.find(name)->second;
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

System system_after(const System& before, const HostImage& after, const std::string& prefix) {
  System system = before;
  system.centres = values_of<float>(after, prefix + "centres");
  system.widths = values_of<float>(after, prefix + "widths");
  system.consequents = values_of<float>(after, prefix + "consequents");
  return system;
}

Outcome outcome_of(const Workload& work, const HostImage& after) {
  const auto errors = values_of<double>(after, "errors");  // [slots][2], learnt and held back
  const auto progress = values_of<Progress>(after, "progress").front();
  const std::size_t last = static_cast<std::size_t>(std::max(progress.iteration, 1) - 1) % (errors.size() / 2);
  return {.system = system_after(work.system, after, ""),
          .best = system_after(work.system, after, "best_"),
          .progress = progress,
          .held_back = errors[2 * last + 1]};
}

class TskVerification final : public Verification {
 public:
  TskVerification(const KernelFamily& family, int order, DeviceIdentity device, std::uint64_t seed)
      : family_(family),
        order_(order),
        device_(std::move(device)),
        seed_(seed),
        known_(kKeptBytes),
        timed_(kKeptBytes) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    Runs all;
    all.plans.push_back(plan_of(configuration, problem, device_, order_, kIterationsOfPlan));
    // The first two differ in everything.
    std::vector<OptionSet> sets{{.plain_step = false, .holds_rows_back = true, .far_rows = true},
                                {.plain_step = true, .holds_rows_back = false, .far_rows = false}};
    all.essential = sets.size();
    // Only one of all runs halts: it is the third.
    sets.push_back({.plain_step = false, .holds_rows_back = true, .far_rows = false, .halts = true});
    for (const OptionSet& set : option_sets()) {
      if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
    }
    int turn = 0;
    for (const Problem::Size& size : problem.sizes()) turn += std::bit_width(static_cast<std::uint64_t>(size.value));
    const auto others = sets.begin() + static_cast<std::ptrdiff_t>(all.essential + 1);
    std::rotate(others, others + turn % std::distance(others, sets.end()), sets.end());
    if (problem.at("rows") > kManyRows) all.thorough = 5;
    for (const OptionSet& set : sets) all.runs.push_back(run_of(all.plans.front(), problem, set));
    return all;
  }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem& problem, std::int64_t samples,
                                    std::int64_t end) override {
    const std::int64_t iterations = iterations_after(problem, samples, end);
    if (!is_comparable(problem) || iterations < 1) return std::nullopt;
    if (operations(problem, iterations) > kMostOperations) return std::nullopt;
    const auto work = shared_timing_workload(problem, order_, seed_);
    TimedRun timed;
    Control control = work->control;
    control.end = static_cast<int>(iterations);
    const auto bytes = std::as_bytes(std::span(&control, 1));
    timed.overwrites["control"].assign(bytes.begin(), bytes.end());
    const auto expected = [this, work, problem, iterations](Rounding rounding) {
      const auto name =
          fmt::format("{} {}{}", problem.text(), iterations, rounding == Rounding::none ? "" : " rounded");
      return timed_.get(name, work->system.centres.size() * 32,
                        [&] { return expectation(*work, static_cast<int>(iterations), rounding); });
    };
    timed.distance = [work, expected](const HostImage& after) {
      return distance(*work, *expected(Rounding::none), ended(*work, after));
    };
    timed.rounding = [work, expected] {
      const auto rounded = expected(Rounding::kernels);
      Ended last{.system = work->system, .iterations = rounded->progress.iteration};
      last.system.centres.assign(rounded->centres.begin(), rounded->centres.end());
      last.system.widths.assign(rounded->widths.begin(), rounded->widths.end());
      return distance(*work, *expected(Rounding::none), last);
    };
    return timed;
  }

  std::int64_t compared_samples(const Problem& problem, std::int64_t samples) override {
    std::int64_t end = samples;
    while (iterations_after(problem, samples, end / 2) >= 1 &&
           operations(problem, iterations_after(problem, samples, end)) > kUsualOperations) {
      end /= 2;
    }
    return end;
  }

  std::optional<double> difference(const Problem& problem, std::int64_t, const TimedEnd& found,
                                   const TimedEnd& expected) override {
    if (!is_comparable(problem)) return std::nullopt;
    const auto work = shared_timing_workload(problem, order_, seed_);
    const Ended right = ended(*work, expected.after);
    Expectation other{.centres = {right.system.centres.begin(), right.system.centres.end()},
                      .widths = {right.system.widths.begin(), right.system.widths.end()},
                      .best = {}};
    other.progress.iteration = static_cast<int>(right.iterations);
    return distance(*work, other, ended(*work, found.after));
  }

 private:
  /// The end of a timed run.
  struct Ended {
    System system;
    std::int64_t iterations = 0;
  };
  static Ended ended(const Workload& work, const HostImage& after) {
    return {.system = system_after(work.system, after, ""),
            .iterations = values_of<Progress>(after, "progress").front().iteration};
  }
  static double distance(const Workload& work, const Expectation& expected, const Ended& found) {
    if (found.iterations != expected.progress.iteration) return std::numeric_limits<double>::infinity();
    return error_of_change(work.system, expected, found.system) / kRounding;
  }

  /// The direction of a step is rounding where the system fits its rows, and with one rule.
  [[nodiscard]] bool is_comparable(const Problem& problem) const {
    return problem.at("rows") >= 2 * tsk::unknowns(problem, order_) && problem.at("rules") > 1;
  }
  [[nodiscard]] std::int64_t iterations_after(const Problem& problem, std::int64_t samples, std::int64_t end) const {
    return iterations_of_run(problem, device_, order_, samples) * end / samples;
  }
  /// Of the reference: the normal equations, and the activation of every rule by every row.
  [[nodiscard]] double operations(const Problem& problem, std::int64_t iterations) const {
    const auto unknowns = static_cast<double>(tsk::unknowns(problem, order_));
    const double of_row = unknowns * unknowns + 4.0 * static_cast<double>(problem.at("rules") * problem.at("dim"));
    return static_cast<double>(distinct_rows(problem, order_) * iterations) * of_row;
  }

  VerificationRun run_of(const Plan& plan, const Problem& problem, const OptionSet& set) {
    const std::string name = problem.text() + ", " + set.text();
    const auto known = [this, name, problem, set] {
      const std::int64_t rows = verified_rows(problem, order_);
      const std::size_t bytes = 4 * static_cast<std::size_t>(rows * (problem.at("dim") + problem.at("outputs")));
      return known_.get(name, bytes, [&] { return Comparison(verification_workload(problem, order_, set, seed_)); });
    };
    VerificationRun run{.name = name, .stages = {}};
    run.stages.push_back({.plan = 0,
                          .launches = kLaunches,
                          .contents = [known, plan](const HostImage&) { return contents_of(known()->work(), plan); },
                          .check =
                              [known](const HostImage& after) {
                                const auto comparison = known();
                                return comparison->compare(outcome_of(comparison->work(), after));
                              }});
    return run;
  }

  const KernelFamily& family_;
  int order_;
  DeviceIdentity device_;
  std::uint64_t seed_;
  Recent<Comparison> known_;
  Recent<Expectation> timed_;
};

}  // namespace

std::unique_ptr<Verification> verification(const KernelFamily& family, int order, const DeviceIdentity& device,
                                           std::uint64_t seed) {
  return std::make_unique<TskVerification>(family, order, device, seed);
}

}  // namespace heddle::tsk
