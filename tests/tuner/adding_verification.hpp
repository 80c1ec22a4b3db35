// How families of the tests are verified, whose kernels add one to every value for every sample.
#pragma once

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::test {

[[nodiscard]] inline std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

[[nodiscard]] inline std::vector<float> starting_values(const Problem& problem, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(problem.at("size")));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(seed % 97 + i);
  return values;
}

/// Of "values" and "result" against `before` and `count` more.
[[nodiscard]] inline double largest_error(const HostImage& after, const std::vector<float>& before,
                                          std::int64_t count) {
  double worst = 0.0;
  for (const char* name : {"values", "result"}) {
    std::vector<float> found(before.size());
    std::memcpy(found.data(), after.at(name).data(), found.size() * sizeof(float));
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double error = std::abs(found[i] - before[i] - static_cast<float>(count));
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

/// Three runs, two of them essential, in two stages: one launch, and two more from where it ended.
class AddingVerification : public Verification {
 public:
  AddingVerification(const KernelFamily& family, DeviceIdentity device, std::uint64_t seed)
      : family_(family), device_(std::move(device)), seed_(seed) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    Runs all;
    all.essential = 2;
    all.plans = {family_.plan(configuration, problem, device_, kSamples)};
    for (std::uint64_t number = 0; number < 3; ++number) {
      VerificationRun run{.name = problem.text() + ", run " + std::to_string(number), .stages = {}};
      const std::vector<float> before = starting_values(problem, seed_ + number);
      run.stages.push_back(
          {.plan = 0,
           .launches = 1,
           .contents = [this, configuration, problem,
                        number](const HostImage&) { return contents_of(configuration, problem, number); },
           .check = [before](const HostImage& after) { return judged(largest_error(after, before, kSamples)); }});
      run.stages.push_back(
          {.plan = 0,
           .launches = 2,
           .contents =
               [this, configuration, problem, number](const HostImage& left) {
                 HostImage contents = contents_of(configuration, problem, number);
                 contents["values"] = left.at("values");
                 return contents;
               },
           .check = [before](const HostImage& after) { return judged(largest_error(after, before, 3 * kSamples)); }});
      all.runs.push_back(std::move(run));
    }
    return all;
  }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem&, std::int64_t, std::int64_t) override {
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t kSamples = 13;

  /// Inputs have room for more, which is 0.
  [[nodiscard]] HostImage contents_of(const Configuration& configuration, const Problem& problem,
                                      std::uint64_t number) const {
    HostImage contents = *family_.trial(configuration, problem, device_, kSamples, seed_ + number).initial;
    if (const auto table = contents.find("table"); table != contents.end())
      table->second.resize(table->second.size() / 2);
    return contents;
  }
  static Accuracy judged(double error) {
    return {.accepted = error < 1e-3, .worst_error = error, .message = error < 1e-3 ? "" : "wrong sums"};
  }

  const KernelFamily& family_;
  DeviceIdentity device_;
  std::uint64_t seed_;
};

}  // namespace heddle::test
