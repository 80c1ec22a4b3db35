#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "heddle/kernels/recent.hpp"
#include "heddle/kernels/sonfin/comparison.hpp"
#include "heddle/kernels/sonfin/device_reference.hpp"
#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/verification.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle::sonfin {
namespace {

/// Rows that differ; the others repeat them in turn. A prime, so that the same place in two tiles has different rows.
constexpr std::int64_t kDistinctRows = 61;
/// More rows than are to be predicted have room in a plan.
constexpr std::int64_t kRowsToSpare = 5;
/// Relative error of outputs that rounding explains.
constexpr double kRounding = 1e-6;

enum class Firing { as_in_training, deep, far_from_zero };

const char* text(Firing firing) {
  switch (firing) {
    case Firing::as_in_training:
      return "firing as in training";
    case Firing::deep:
      return "deep";
    case Firing::far_from_zero:
      return "far from zero";
  }
  return "";
}

/// The timing workload has all rules of the problem from the start, which is what a prediction needs.
Workload workload_of(const Problem& problem, Firing firing, std::uint64_t seed) {
  Workload work = timing_workload(problem, kDistinctRows, seed);
  if (firing == Firing::deep) {  // l of the winner at -110 or below in place of -1.2: exp(l) is 0 in float32
    for (float& width : work.network.widths) width *= 0.1F;
  }
  if (firing == Firing::far_from_zero) {  // thousands of widths away
    constexpr float kAway = 65536.0F;
    for (float& centre : work.network.centres) centre += kAway;
    for (float& x : work.rows) x += kAway;
  }
  return work;
}

struct KnownOutputs {
  Workload work;
  std::optional<std::vector<double>> expected;  ///< outputs of its rows
};

/// The first `count` of them.
std::vector<float> outputs_in(const HostImage& image, std::size_t count) {
  std::vector<float> outputs(count);
  std::memcpy(outputs.data(), image.find("outputs")->second.data(), count * sizeof(float));
  return outputs;
}

class PredictVerification final : public Verification {
 public:
  PredictVerification(const KernelFamily& family, DeviceIdentity device, std::uint64_t seed, RunOnDevice run)
      : family_(family),
        device_(std::move(device)),
        seed_(seed),
        references_(device_, std::move(run)),
        known_(kKeptBytes),
        timed_(kKeptBytes) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    const std::int64_t tile = predict_tile(configuration, device_);
    const std::int64_t rows = 2 * tile + tile / 2 + 7;
    Runs all;
    all.plans.push_back(family_.plan(configuration, problem, device_, rows + kRowsToSpare));
    for (const Firing firing : {Firing::deep, Firing::as_in_training, Firing::far_from_zero}) {
      all.runs.push_back(run_of(predict_layout(configuration, problem, device_), problem, firing, rows));
    }
    all.essential = 2;
    return all;
  }

  std::vector<DeviceProgram> programs() const override { return references_.programs(); }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem& problem, std::int64_t samples,
                                    std::int64_t end) override {
    if (operations(problem, end) > (references_.device_agrees() ? kMostDeviceOperations : kMostHostOperations)) {
      return std::nullopt;
    }
    const auto work = shared_timing_workload(problem, samples, seed_);
    const std::int64_t dim = problem.at("dim"), outputs = problem.at("outputs");
    TimedRun timed;
    timed.overwrites["control"] =
        bytes_of(PredictControl{.rules = static_cast<int>(work->network.rules()), .rows = static_cast<int>(end)});
    const std::string name = problem.text() + " " + std::to_string(samples) + " " + std::to_string(end);
    timed.distance = [this, work, name, end, dim, outputs](const HostImage& after) {
      const auto expected = timed_.get(name, static_cast<std::size_t>(end * outputs) * sizeof(double), [&] {
        return references_.predictions(work->network, {work->rows.begin(), work->rows.begin() + end * dim});
      });
      return error_of_prediction(*expected, outputs_in(after, expected->size())) / kRounding;
    };
    return timed;
  }

  std::int64_t compared_samples(const Problem& problem, std::int64_t samples) override {
    const double most = references_.device_agrees() ? kUsualDeviceOperations : kMostHostOperations;
    std::int64_t end = samples;
    while (end > 1 && operations(problem, end) > most) end /= 2;
    return end;
  }

  std::optional<double> difference(const Problem& problem, std::int64_t samples, const TimedEnd& found,
                                   const TimedEnd& expected) override {
    const auto count = static_cast<std::size_t>(samples * problem.at("outputs"));
    const std::vector<float> right = outputs_in(expected.after, count);
    return error_of_prediction({right.begin(), right.end()}, outputs_in(found.after, count)) / kRounding;
  }

 private:
  static double operations(const Problem& problem, std::int64_t samples) {
    return static_cast<double>(problem.at("rules") * problem.at("dim") * samples);
  }

  VerificationRun run_of(const Layout& layout, const Problem& problem, Firing firing, std::int64_t rows) {
    const std::string name = problem.text() + ", " + text(firing);
    const auto known = [this, name, problem, firing] {
      const std::size_t bytes = static_cast<std::size_t>(problem.at("rules") * problem.at("dim")) * 8;
      return known_.get(name, bytes,
                        [&] { return KnownOutputs{.work = workload_of(problem, firing, seed_), .expected = {}}; });
    };
    VerificationRun run{.name = name + ", " + std::to_string(rows) + " rows", .stages = {}};
    run.stages.push_back(
        {.plan = 0,
         .launches = 1,
         .contents =
             [known, layout, rows](const HostImage&) {
               const auto shared = known();
               return predict_contents(shared->work.network,
                                       repeated(shared->work.rows, layout.dim, rows + kRowsToSpare), rows, layout);
             },
         .check =
             [this, known, layout, rows](const HostImage& after) {
               const auto shared = known();
               if (!shared->expected) {
                 shared->expected = references_.predictions(shared->work.network, shared->work.rows);
               }
               return compare_prediction(repeated(*shared->expected, layout.outputs, rows),
                                         outputs_in(after, static_cast<std::size_t>(rows * layout.outputs)));
             }});
    return run;
  }

  /// Rows 0, 1, ..., 60, 0, 1, ..., `count` of them.
  template <class T>
  static std::vector<T> repeated(const std::vector<T>& rows, std::int64_t width, std::int64_t count) {
    std::vector<T> all;
    all.reserve(static_cast<std::size_t>(count * width));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = rows.begin() + i % kDistinctRows * width;
      all.insert(all.end(), first, first + width);
    }
    return all;
  }

  const KernelFamily& family_;
  DeviceIdentity device_;
  std::uint64_t seed_;
  References references_;
  Recent<KnownOutputs> known_;
  Recent<std::vector<double>> timed_;
};

}  // namespace

std::unique_ptr<Verification> predict_verification(const KernelFamily& family, const DeviceIdentity& device,
                                                   std::uint64_t seed, RunOnDevice run) {
  return std::make_unique<PredictVerification>(family, device, seed, std::move(run));
}

}  // namespace heddle::sonfin
