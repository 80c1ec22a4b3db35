#include "heddle/kernels/sonfin/device_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/cuda/plan_writer.hpp"
#include "heddle/kernels/sonfin/cuda/reference_control.cuh"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/verification_workload.hpp"

namespace heddle::sonfin {
namespace {

constexpr std::int64_t kDouble = sizeof(double);
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kSweepThreads = 64;
/// Samples of one plan: its launches are captured once and submitted again and again.
constexpr std::int64_t kSamplesOfPlan = 64;
/// Of predictions: several for each multiprocessor, each with its own scratch.
constexpr std::int64_t kPredictionBlocks = 512;

const Kernels kTrainingKernels{"heddle::sonfin::sweep_in_double", "heddle::sonfin::decide_in_double"};
const Kernels kPredictionKernels{"heddle::sonfin::predict_in_double"};

const TemplateSource& source() {
  static const TemplateSource source("heddle/kernels/sonfin/cuda/reference.cuh", cuda_network_options());
  return source;
}

template <class T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

/// `values` as doubles, then zeros up to `count`.
std::vector<std::byte> doubles_of(const std::vector<float>& values, std::int64_t count) {
  std::vector<double> doubles(static_cast<std::size_t>(count));
  std::copy(values.begin(), values.end(), doubles.begin());
  return bytes_of(std::span<const double>(doubles));
}

template <class T>
std::vector<T> values_of(const HostImage& image, std::string_view name, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(values.data(), image.find(name)->second.data(), values.size() * sizeof(T));
  return values;
}

/// Threads of a block in which warps share the outputs, and threads the rules.
std::int64_t threads_of_block(std::int64_t rules, std::int64_t outputs) {
  return std::clamp(ceil_div(std::max(rules, kWarp * outputs), kWarp) * kWarp, kWarp, kMostThreads);
}

Plan training_plan(const Workload& work, std::int64_t capacity, std::int64_t samples) {
  const std::int64_t dim = work.network.dim, outputs = work.network.outputs, rows = work.samples();
  Plan plan;
  plan.samples = samples;
  plan.captured = true;
  plan.kernels = kTrainingKernels;
  plan.buffers = {{"centres", kDouble * capacity * dim, Role::parameter},
                  {"widths", kDouble * capacity * dim, Role::parameter},
                  {"consequents", kDouble * capacity * outputs, Role::parameter},
                  {"progress", sizeof(ReferenceProgress), Role::state},
                  {"made_widths", kDouble * capacity, Role::state},
                  {"made_at", kWord * capacity, Role::state},
                  {"control", sizeof(ReferenceControl), Role::input},
                  {"rows", kWord * rows * dim, Role::input},
                  {"targets", kWord * rows * outputs, Role::input},
                  {"order", kWord * rows, Role::input},
                  {"log_firing", kDouble * capacity, Role::scratch},
                  {"gradient", kDouble * capacity, Role::scratch},
                  {"outputs", kDouble * outputs, Role::scratch}};
  PlanWriter writer(plan);
  const auto sweep = [&](bool learns, bool fires) {
    writer.launch(0, ceil_div(kWarp * capacity, kSweepThreads), kSweepThreads, 0,
                  {writer.at("centres"), writer.at("widths"), writer.at("control"), writer.at("progress"),
                   writer.at("gradient"), writer.at("log_firing"), writer.at("rows"), writer.at("order"),
                   int32(learns ? 1 : 0), int32(fires ? 1 : 0), int32(dim)});
  };
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    sweep(sample > 0, true);
    writer.launch(1, 1, threads_of_block(capacity, outputs), 0,
                  {writer.at("centres"), writer.at("widths"), writer.at("consequents"), writer.at("control"),
                   writer.at("progress"), writer.at("gradient"), writer.at("log_firing"), writer.at("outputs"),
                   writer.at("made_widths"), writer.at("made_at"), writer.at("rows"), writer.at("targets"),
                   writer.at("order"), int32(dim), int32(outputs)});
  }
  sweep(true, false);
  return plan;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? HUGE_VAL : difference;
  }
  return largest;
}

}  // namespace

Expectation expectation_on_device(const RunOnDevice& run, const Workload& work, std::int64_t samples) {
  const Hyperparameters& options = work.options;
  const std::int64_t dim = work.network.dim, outputs = work.network.outputs;
  const std::int64_t capacity = std::max(work.network.rules(), options.max_rules);
  const ReferenceControl control{.consequent_rate = options.consequent_rate,
                                 .antecedent_rate = options.antecedent_rate,
                                 .log_threshold = std::log(options.threshold),
                                 .overlap = options.overlap,
                                 .minimum_width = options.minimum_width,
                                 .first_width = options.first_width,
                                 .plain_step = options.step == Step::plain ? 1 : 0,
                                 .squared_width = options.width == Width::squared ? 1 : 0,
                                 .max_rules = static_cast<int>(options.max_rules),
                                 .end = static_cast<int>(samples)};
  const ReferenceProgress start{
      .rules = static_cast<int>(work.network.rules()), .position = 0, .learned = -1, .reserved = 0, .loss = 0.0};
  HostImage contents;
  contents["centres"] = doubles_of(work.network.centres, capacity * dim);
  contents["widths"] = doubles_of(work.network.widths, capacity * dim);
  contents["consequents"] = doubles_of(work.network.consequents, capacity * outputs);
  contents["progress"] = bytes_of(std::span(&start, 1));
  contents["made_widths"].resize(static_cast<std::size_t>(kDouble * capacity));
  contents["made_at"].resize(static_cast<std::size_t>(kWord * capacity));
  contents["control"] = bytes_of(std::span(&control, 1));
  contents["rows"] = bytes_of(std::span(work.rows));
  contents["targets"] = bytes_of(std::span(work.targets));
  contents["order"] = bytes_of(std::span(work.order));
  const std::int64_t of_plan = std::min(samples, kSamplesOfPlan);
  const HostImage after =
      run(source(), training_plan(work, capacity, of_plan), contents, static_cast<int>(ceil_div(samples, of_plan)));

  const auto progress = values_of<ReferenceProgress>(after, "progress", 1).front();
  const std::int64_t rules = std::clamp<std::int64_t>(progress.rules, 0, capacity);
  Expectation expected{.dim = dim,
                       .outputs = outputs,
                       .rules = rules,
                       .samples = progress.position,
                       .present = work.network.rules(),
                       .loss = progress.loss,
                       .before = work.network,
                       .centres = values_of<double>(after, "centres", rules * dim),
                       .widths = values_of<double>(after, "widths", rules * dim),
                       .consequents = values_of<double>(after, "consequents", rules * outputs)};
  const auto made_widths = values_of<double>(after, "made_widths", rules);
  const auto made_at = values_of<std::int32_t>(after, "made_at", rules);
  Network& before = expected.before;
  for (std::int64_t k = work.network.rules(); k < rules; ++k) {
    const auto position = std::clamp<std::int64_t>(made_at[static_cast<std::size_t>(k)], 0, work.samples() - 1);
    const std::int64_t row = work.order[static_cast<std::size_t>(position)];
    before.centres.insert(before.centres.end(), work.rows.begin() + row * dim, work.rows.begin() + (row + 1) * dim);
    before.widths.insert(before.widths.end(), static_cast<std::size_t>(dim),
                         static_cast<float>(made_widths[static_cast<std::size_t>(k)]));
    before.consequents.insert(before.consequents.end(), work.targets.begin() + row * outputs,
                              work.targets.begin() + (row + 1) * outputs);
  }
  return expected;
}

std::vector<double> predictions_on_device(const RunOnDevice& run, const Network& network,
                                          const std::vector<float>& rows) {
  const std::int64_t dim = network.dim, outputs = network.outputs, rules = network.rules();
  const auto count = static_cast<std::int64_t>(rows.size()) / dim;
  const std::int64_t blocks = std::min(count, kPredictionBlocks);
  Plan plan;
  plan.samples = count;
  plan.kernels = kPredictionKernels;
  plan.buffers = {
      {"centres", kWord * rules * dim, Role::input},         {"widths", kWord * rules * dim, Role::input},
      {"consequents", kWord * rules * outputs, Role::input}, {"rows", kWord * count * dim, Role::input},
      {"outputs", kDouble * count * outputs, Role::output},  {"log_firing", kDouble * blocks * rules, Role::scratch}};
  PlanWriter writer(plan);
  writer.launch(
      0, blocks, threads_of_block(rules, outputs), 0,
      {writer.at("centres"), writer.at("widths"), writer.at("consequents"), writer.at("rows"), writer.at("log_firing"),
       writer.at("outputs"), int32(count), int32(rules), int32(dim), int32(outputs)});
  HostImage contents;
  contents["centres"] = bytes_of(std::span(network.centres));
  contents["widths"] = bytes_of(std::span(network.widths));
  contents["consequents"] = bytes_of(std::span(network.consequents));
  contents["rows"] = bytes_of(std::span<const float>(rows).first(static_cast<std::size_t>(count * dim)));
  return values_of<double>(run(source(), plan, contents, 1), "outputs", count * outputs);
}

std::vector<DeviceProgram> References::programs() const {
  if (!run_) return {};
  return {{.source = &source(), .kernels = kTrainingKernels}, {.source = &source(), .kernels = kPredictionKernels}};
}

template <class OnDevice, class OnHost>
auto References::cheaper(double operations, const OnDevice& device, const OnHost& host) -> decltype(host()) {
  if (operations > kManyOperations && device_agrees()) {
    try {
      return device();
    } catch (const std::exception&) {  // a shape for which it has no room, say: no fault of what is verified
      agrees_ = false;
    }
  }
  return host();
}

Expectation References::expectation(const Workload& work, std::int64_t samples) {
  const auto rules = static_cast<double>(std::max(work.network.rules(), std::int64_t{1}));
  const double operations = rules * static_cast<double>(work.network.dim) * static_cast<double>(samples);
  return cheaper(
      operations, [&] { return expectation_on_device(run_, work, samples); },
      [&] { return sonfin::expectation(work, samples); });
}

std::vector<double> References::predictions(const Network& network, const std::vector<float>& rows) {
  const double operations = static_cast<double>(network.rules()) * static_cast<double>(rows.size());
  return cheaper(
      operations, [&] { return predictions_on_device(run_, network, rows); },
      [&] { return sonfin::predictions(network, rows); });
}

bool References::device_agrees() {
  if (agrees_) return *agrees_;
  agrees_ = false;
  if (!run_) return false;
  constexpr double kRoundingOfSums = 1e-9;
  // Sizes that divide nothing, and two rules that are added.
  const Problem small = problem(37, 19, 3);
  try {
    bool agrees = true;
    for (const OptionSet& set : {option_sets().front(), option_sets().back()}) {
      const Workload work = verification_workload(small, set, small.at("rules") + 1, 44, 1);
      const Expectation host = sonfin::expectation(work), device = expectation_on_device(run_, work, work.samples());
      agrees = agrees && host.rules == device.rules && host.samples == device.samples &&
               host.before.widths == device.before.widths &&
               largest_difference({host.loss}, {device.loss}) < kRoundingOfSums &&
               largest_difference(host.centres, device.centres) < kRoundingOfSums &&
               largest_difference(host.widths, device.widths) < kRoundingOfSums &&
               largest_difference(host.consequents, device.consequents) < kRoundingOfSums &&
               largest_difference(sonfin::predictions(work.network, work.rows),
                                  predictions_on_device(run_, work.network, work.rows)) < kRoundingOfSums;
    }
    agrees_ = agrees;
  } catch (const std::exception&) {  // no such kernels here: the host does
  }
  return *agrees_;
}

}  // namespace heddle::sonfin
