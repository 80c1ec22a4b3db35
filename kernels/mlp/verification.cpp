#include "heddle/kernels/mlp/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/mlp/comparison.hpp"
#include "heddle/kernels/mlp/predict.hpp"
#include "heddle/kernels/random.hpp"
#include "heddle/kernels/recent.hpp"

namespace heddle::mlp {
namespace {

/// Multiply-adds of a reference of a timed run: about a second; and as long as nothing is suspicious.
constexpr double kMostOperations = 5e8, kUsualOperations = 2e7;
constexpr std::size_t kKeptBytes = std::size_t{64} << 20U;

/// Multiply-adds of one row in training: forward, deltas, gradient.
double operations_of_row(const Problem& problem) { return 3.0 * static_cast<double>(layers_of(problem).parameters()); }

/// What the stages of one run hand on: the moment before the present step, and the last of all.
struct Track {
  Moment before, last;
};

class TrainVerification final : public Verification {
 public:
  TrainVerification(const Mapping& mapping, DeviceIdentity device, std::uint64_t seed)
      : mapping_(mapping), device_(std::move(device)), seed_(seed), known_(kKeptBytes), timed_(kKeptBytes) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    Runs all;
    all.plans.push_back(
        mapping_.plan(configuration, problem, device_, {.steps = kVerifiedSteps, .epochs = kVerifiedSteps}));
    const std::vector<OptionSet> sets = option_sets(problem.at("batch") < problem.at("rows"), problem.at("batch") == 1);
    all.runs.reserve(sets.size());
    for (const OptionSet& set : sets) all.runs.push_back(run_of(all.plans.front(), problem, set));
    all.essential = 2;
    return all;
  }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem& problem, std::int64_t samples,
                                    std::int64_t end) override {
    const std::int64_t steps = steps_until(problem, samples, end);
    if (steps < 1 || operations(problem, steps) > kMostOperations) return std::nullopt;
    const auto work = shared_timing_workload(problem, run_length(problem, device_, samples).epochs, seed_);
    Control control = work->control;
    control.steps = static_cast<int>(steps);
    TimedRun timed;
    timed.overwrites["control"] = bytes_of(std::vector<Control>{control});
    const auto expected = [this, work, problem, steps](bool rounded) {
      const std::string name = fmt::format("{} {}{}", problem.text(), steps, rounded ? " rounded" : "");
      return timed_.get(name, work->parameters.size() * sizeof(double), [&] { return end_of(*work, steps, rounded); });
    };
    timed.distance = [work, expected](const HostImage& after) {
      const std::vector<float> found = values_of<float>(after, "parameters");
      return distance(*work, {found.begin(), found.end()}, *expected(false));
    };
    timed.rounding = [work, expected] { return distance(*work, *expected(true), *expected(false)); };
    return timed;
  }

  std::int64_t compared_samples(const Problem& problem, std::int64_t samples) override {
    std::int64_t end = samples;
    while (steps_until(problem, samples, end / 2) >= 1 &&
           operations(problem, steps_until(problem, samples, end)) > kUsualOperations) {
      end /= 2;
    }
    return end;
  }

 private:
  [[nodiscard]] std::int64_t steps_until(const Problem& problem, std::int64_t samples, std::int64_t end) const {
    return run_length(problem, device_, samples).steps * end / samples;
  }
  static double operations(const Problem& problem, std::int64_t steps) {
    return operations_of_row(problem) * static_cast<double>(problem.at("batch")) * static_cast<double>(steps);
  }

  /// Parameters after so many steps. `rounded`: from parameters that differ by as much as rounding to float32 does.
  [[nodiscard]] std::vector<double> end_of(const Workload& work, std::int64_t steps, bool rounded) const {
    Reference reference(work.layers, work.parameters, work.state, work.progress);
    if (rounded) {
      Random random(seed_);
      for (double& value : reference.parameters()) value *= 1.0 + 0x1p-23 * random.symmetric();
    }
    for (std::int64_t i = 0; i < steps; ++i) {
      if (!reference.step(work.batch(reference.progress().epoch), work.control)) break;
    }
    return reference.parameters();
  }
  /// In units of what rounding explains.
  static double distance(const Workload& work, const std::vector<double>& found, const std::vector<double>& right) {
    constexpr double kRounding = 1e-3;
    double difference = 0.0, change = 0.0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      difference += square(found[i] - right[i]);
      change += square(right[i] - static_cast<double>(work.parameters[i]));
    }
    const double error = std::sqrt(difference / change) / kRounding;
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }

  /// Step by step, and then all steps in one run.
  VerificationRun run_of(const Plan& plan, const Problem& problem, const OptionSet& set) {
    const std::string name = fmt::format("{}, {}", problem.text(), set.text());
    const auto known = [this, name, problem, set] {
      const std::size_t bytes = sizeof(float) * at(10 * layers_of(problem).parameters());
      return known_.get(name, bytes, [&] { return verification_workload(problem, set, seed_); });
    };
    const auto track = std::make_shared<Track>();
    VerificationRun run{.name = name, .stages = {}};
    run.stages.reserve(kVerifiedSteps + 1);
    for (int step = 0; step < kVerifiedSteps; ++step) {
      run.stages.push_back({.plan = 0,
                            .launches = 1,
                            .contents =
                                [known, plan, track, step](const HostImage& left) {
                                  const auto work = known();
                                  HostImage image = contents(*work, plan, 1);
                                  if (step > 0) go_on_from(left, image);
                                  track->before = moment_of(image);
                                  return image;
                                },
                            .check =
                                [known, track](const HostImage& after) {
                                  track->last = moment_of(after);
                                  return compare_step(*known(), track->before, track->last);
                                }});
    }
    run.stages.push_back(
        {.plan = 0,
         .launches = 1,
         .contents = [known, plan](const HostImage&) { return contents(*known(), plan, kVerifiedSteps); },
         .check = [track](const HostImage& after) { return compare_moments(moment_of(after), track->last); }});
    return run;
  }

  static HostImage contents(const Workload& work, const Plan& plan, int steps) {
    HostImage image = contents_of(work, plan);
    Control control = work.control;
    control.steps = steps;
    image["control"] = bytes_of(std::vector<Control>{control});
    return image;
  }
  static void go_on_from(const HostImage& left, HostImage& image) {
    for (const char* name : {"parameters", "state", "gradient", "progress", "errors"}) {
      image[name] = left.find(name)->second;
    }
  }

  const Mapping& mapping_;
  DeviceIdentity device_;
  std::uint64_t seed_;
  Recent<Workload> known_;
  Recent<std::vector<double>> timed_;
};

/// Rows of a prediction, with the network that predicts them.
struct KnownOutputs {
  Workload work;
  PredictControl control{};
  std::vector<double> expected;
};

Problem of_training(const Problem& problem, std::int64_t rows) {
  return training_problem(layers_of(problem), rows, rows);
}

HostImage contents_of(const KnownOutputs& known) {
  HostImage image;
  image["parameters"] = bytes_of(known.work.parameters);
  image["control"] = bytes_of(std::vector<PredictControl>{known.control});
  image["rows"] = bytes_of(known.work.rows);
  return image;
}

class PredictVerification final : public Verification {
 public:
  PredictVerification(const Mapping& mapping, DeviceIdentity device, std::uint64_t seed)
      : mapping_(mapping), device_(std::move(device)), seed_(seed), known_(kKeptBytes), timed_(kKeptBytes) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    constexpr std::int64_t kToSpare = 5;  // rows that have room in the plan and are not predicted
    const std::int64_t rows = rows_of_run(problem);
    Runs all;
    all.plans.push_back(mapping_.plan(configuration, problem, device_, {.steps = rows + kToSpare, .epochs = 1}));
    all.runs.reserve(4);
    for (const auto& [hidden, output] : {std::pair(kRelu, kSoftmax), std::pair(kSigmoid, kLinear),
                                         std::pair(kTanh, kSigmoid), std::pair(kLinear, kTanh)}) {
      all.runs.push_back(run_of(problem, rows, hidden, output));
    }
    all.essential = 2;
    return all;
  }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem& problem, std::int64_t samples,
                                    std::int64_t end) override {
    if (operations(problem, end) > kMostOperations) return std::nullopt;
    const auto work = shared_timing_workload(of_training(problem, samples), 1, seed_);
    TimedRun timed;
    PredictControl control = timing_prediction(samples);
    control.rows = static_cast<int>(end);
    timed.overwrites["control"] = bytes_of(std::vector<PredictControl>{control});
    timed.distance = [this, work, problem, end, control](const HostImage& after) {
      const std::int64_t inputs = problem.at("inputs");
      const auto expected =
          timed_.get(fmt::format("{} {}", problem.text(), end), at(end * problem.at("outputs")) * sizeof(double), [&] {
            return Reference(work->layers, work->parameters)
                .predict(std::span(work->rows).first(at(end * inputs)), static_cast<Activation>(control.hidden),
                         static_cast<Activation>(control.output));
          });
      return error_of(values_of<float>(after, "outputs"), *expected) / kRounding;
    };
    return timed;
  }

  std::int64_t compared_samples(const Problem& problem, std::int64_t samples) override {
    std::int64_t end = samples;
    while (end > 1 && operations(problem, end) > kUsualOperations) end /= 2;
    return end;
  }

 private:
  /// Of an output, relative to the largest; what float32 explains.
  static constexpr double kRounding = 2e-6, kTolerance = 1e-4;

  /// So many that no tile divides them.
  static std::int64_t rows_of_run(const Problem& problem) {
    const double affordable = kUsualOperations / operations(problem, 1);
    return affordable > 600.0 ? 619 : affordable > 150.0 ? 157 : 41;
  }
  static double operations(const Problem& problem, std::int64_t rows) {
    return operations_of_row(problem) / 3.0 * static_cast<double>(rows);
  }
  static double error_of(const std::vector<float>& found, const std::vector<double>& expected) {
    double largest = 1e-6, worst = 0.0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
      worst = std::max(worst, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
    }
    return worst / largest;
  }

  VerificationRun run_of(const Problem& problem, std::int64_t rows, Activation hidden, Activation output) {
    const std::string name =
        fmt::format("{}, {} rows, {}", problem.text(), rows, OptionSet{.hidden = hidden, .output = output}.text());
    const auto known = [this, name, problem, rows, hidden, output] {
      return known_.get(name, sizeof(float) * at(6 * layers_of(problem).parameters()), [&] {
        KnownOutputs made{.work = timing_workload(of_training(problem, rows), 1, seed_),
                          .control = {.rows = static_cast<int>(rows), .hidden = hidden, .output = output},
                          .expected = {}};
        made.expected = Reference(made.work.layers, made.work.parameters).predict(made.work.rows, hidden, output);
        return made;
      });
    };
    VerificationRun run{.name = name, .stages = {}};
    run.stages.push_back({.plan = 0,
                          .launches = 1,
                          .contents = [known](const HostImage&) { return contents_of(*known()); },
                          .check =
                              [known](const HostImage& after) {
                                const double error = error_of(values_of<float>(after, "outputs"), known()->expected);
                                Accuracy accuracy{.accepted = error <= kTolerance, .worst_error = error, .message = {}};
                                if (!accuracy.accepted) {
                                  accuracy.message =
                                      fmt::format("outputs: off by {:.3g}, allowed {:.3g}", error, kTolerance);
                                }
                                return accuracy;
                              }});
    return run;
  }

  const Mapping& mapping_;
  DeviceIdentity device_;
  std::uint64_t seed_;
  Recent<KnownOutputs> known_;
  Recent<std::vector<double>> timed_;
};

}  // namespace

std::unique_ptr<Verification> train_verification(const Mapping& mapping, const DeviceIdentity& device,
                                                 std::uint64_t seed) {
  return std::make_unique<TrainVerification>(mapping, device, seed);
}

std::unique_ptr<Verification> predict_verification(const Mapping& mapping, const DeviceIdentity& device,
                                                   std::uint64_t seed) {
  return std::make_unique<PredictVerification>(mapping, device, seed);
}

}  // namespace heddle::mlp
