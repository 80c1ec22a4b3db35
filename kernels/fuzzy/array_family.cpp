#include "heddle/kernels/fuzzy/array_family.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "heddle/kernels/fuzzy/comparison.hpp"
#include "heddle/kernels/recent.hpp"

namespace heddle::fuzzy {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{256} << 20U;
constexpr std::int64_t kMostLaunches = 1024;  // of a timed run

class ArrayVerification final : public Verification {
 public:
  ArrayVerification(const ArrayFamily& family, DeviceIdentity device, std::uint64_t seed)
      : family_(family), device_(std::move(device)), seed_(seed), expected_(kKeptBytes) {}

  /// Two runs, both on the shape of every problem: hostile numbers find most.
  Runs runs(const Configuration& configuration, const Problem& problem) override {
    Runs all;
    all.plans = {family_.once(configuration, problem, device_)};
    all.essential = 2;
    for (const NumberKind kind : {NumberKind::hostile, NumberKind::usual}) {
      const char* const of = kind == NumberKind::hostile ? "hostile numbers" : "usual numbers";
      VerificationRun run{.name = fmt::format("{}, {}", problem.text(), of), .stages = {}};
      run.stages.push_back(
          {.plan = 0,
           .launches = 1,
           .contents = [this, problem, kind](const HostImage&) { return family_.contents(problem, seed_, kind); },
           .check =
               [this, problem, kind](const HostImage& after) {
                 return compare_bits(after, *expected(problem, kind), problem.at("bits"));
               }});
      all.runs.push_back(std::move(run));
    }
    return all;
  }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem& problem, std::int64_t samples,
                                    std::int64_t end) override {
    if (end != samples) return std::nullopt;  // nothing in a buffer says how often the operation is done
    const auto distance = [this, problem](const HostImage& after) {
      const Accuracy accuracy = compare_bits(after, *expected(problem, NumberKind::usual), problem.at("bits"));
      return accuracy.accepted ? 0.0 : std::numeric_limits<double>::infinity();
    };
    return TimedRun{.overwrites = {}, .distance = distance, .rounding = {}};
  }

 private:
  std::shared_ptr<HostImage> expected(const Problem& problem, NumberKind kind) {
    const auto make = [&] { return family_.expected(problem, family_.contents(problem, seed_, kind)); };
    const std::string key = fmt::format("{} {}", problem.text(), static_cast<int>(kind));
    return expected_.get(key, static_cast<std::size_t>(family_.work(problem).bytes), make);
  }

  const ArrayFamily& family_;
  DeviceIdentity device_;
  std::uint64_t seed_;
  Recent<HostImage> expected_;
};

}  // namespace

ArrayFamily::ArrayFamily(std::string name, std::string meaning, Encoding encoding, std::vector<Axis> axes)
    : name_(std::move(name)), meaning_(std::move(meaning)), encoding_(encoding), axes_(std::move(axes)) {}

WorkRange ArrayFamily::timed_work(const Problem&, const DeviceIdentity&) const {
  return {.least = 1, .most = kMostLaunches};
}

bool ArrayFamily::supports(std::string_view backend) const { return backend == "cpu" || runs_cuda_templates(backend); }

Plan ArrayFamily::plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                       std::int64_t samples) const {
  Plan plan = once(configuration, problem, device);
  const std::vector<Launch> one = plan.launches;
  plan.launches.reserve(one.size() * static_cast<std::size_t>(samples));
  for (std::int64_t done = 1; done < samples; ++done) plan.launches.insert(plan.launches.end(), one.begin(), one.end());
  plan.samples = samples;
  return plan;
}

Trial ArrayFamily::trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                         std::int64_t samples, std::uint64_t seed) const {
  return {.plan = plan(configuration, problem, device, samples), .initial = contents(problem, seed, NumberKind::usual)};
}

std::unique_ptr<Verification> ArrayFamily::verification(const DeviceIdentity& device, std::uint64_t seed,
                                                        RunOnDevice) const {
  return std::make_unique<ArrayVerification>(*this, device, seed);
}

std::int64_t ArrayFamily::host_threads(const Configuration& configuration, const DeviceIdentity& device) const {
  return device.backend == "cpu" && configuration.has("threads") ? configuration.number("threads") : 0;
}

std::vector<Axis> with_form_axes(std::vector<Axis> first) {
  const std::vector<Axis> last = form_axes();
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

}  // namespace heddle::fuzzy
