#include "heddle/cli/tune_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/kernel_review.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/replay/replay_evaluator.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"

namespace heddle::cli {

namespace {

class DeviceTarget final : public TuneTarget {
 public:
  DeviceTarget(const FamilyRegistry& families, const std::string& device, double compile_seconds, bool cold_cache)
      : families_(families),
        worker_({.device = device,
                 .families = families.descriptions(),
                 .compile_seconds = compile_seconds,
                 .cold_cache = cold_cache,
                 .stop = interrupted}) {}

  const std::string& label() const override { return worker_.label(); }
  const DeviceIdentity& identity() const override { return worker_.identity(); }
  std::string remark() const override { return worker_.remark(); }
  std::vector<FamilyTask> tasks(const std::vector<std::string>& names, const Sizes& sizes) const override {
    const DeviceIdentity& device = worker_.identity();
    std::vector<FamilyTask> tasks;
    for (const std::string& name : names) {
      const KernelFamily& family = families_.at(name);
      if (!family.supports(device.backend)) {
        throw Error(ErrorKind::usage,
                    fmt::format("{}{} has no templates for the backend {}",
                                family.defined() == nullptr ? "option --family: " : "", name, device.backend));
      }
      tasks.push_back({&family, {}});
    }
    if (tasks.empty()) {
      std::vector<const KernelFamily*> able;
      able.reserve(families_.all().size());
      for (const auto& each : families_.all()) {
        if (each->supports(device.backend) && each->tuned_unasked()) able.push_back(each.get());
      }
      for (const KernelFamily* family : sizes.meant(std::move(able))) tasks.push_back({family, {}});
    }
    std::vector<const KernelFamily*> chosen;
    chosen.reserve(tasks.size());
    for (const FamilyTask& task : tasks) chosen.push_back(task.family);
    sizes.check_names(chosen);
    for (FamilyTask& task : tasks) {
      task.problems = problem_grid(*task.family, device, sizes);
      check_described(task, device, sizes);
    }
    return tasks;
  }
  std::unique_ptr<Evaluator> evaluator(const KernelFamily& family, std::uint64_t seed) override {
    return std::make_unique<IsolatedEvaluator>(worker_, family, seed);
  }
  std::int64_t compiler_calls() const override { return worker_.compiler_calls(); }

 private:
  /// A kernel from a file has the sizes that the user or the file names, and is refused early if it cannot run.
  static void check_described(const FamilyTask& task, const DeviceIdentity& device, const Sizes& sizes) {
    const auto* const family = task.family->defined();
    if (family == nullptr) return;
    if (sizes.empty() && family->definition().problems.empty()) {
      throw Error(ErrorKind::usage, fmt::format("option --size: {} names no sizes, expected --size {}=LIST",
                                                family->name(), family->axes().front().name));
    }
    for (const Problem& problem : task.problems) {
      if (!family->has_workload(problem)) {
        throw Error(ErrorKind::usage, fmt::format("option --size: {} was captured at other sizes than {}",
                                                  family->name(), problem.text()));
      }
      check_kernel(*family, device, problem);
    }
  }

  const FamilyRegistry& families_;
  Worker worker_;
};

class ReplayTarget final : public TuneTarget {
 public:
  explicit ReplayTarget(const std::string& file)
      : label_("replay of " + file), family_(read_recorded_space(file)), identity_(family_.device()) {}

  const std::string& label() const override { return label_; }
  const DeviceIdentity& identity() const override { return identity_; }
  std::vector<FamilyTask> tasks(const std::vector<std::string>& families, const Sizes& sizes) const override {
    if (!families.empty() || !sizes.empty()) {
      throw Error(ErrorKind::usage, "option --replay: a recording has one problem, so neither a family nor sizes");
    }
    return {{.family = &family_, .problems = {family_.problem()}}};
  }
  std::unique_ptr<Evaluator> evaluator(const KernelFamily&, std::uint64_t) override {
    return std::make_unique<ReplayEvaluator>(family_, now_);
  }
  StopCondition::Clock clock() const override {
    return [now = now_] { return *now; };
  }

 private:
  std::string label_;
  RecordedFamily family_;
  DeviceIdentity identity_;
  std::shared_ptr<double> now_ = std::make_shared<double>(0.0);
};

}  // namespace

std::vector<std::string> device_labels(const std::string& text) {
  std::vector<std::string> labels;
  if (text == "all") {
    const std::vector<DeviceListing> listings = list_devices();
    for (const DeviceListing& listing : listings) {
      // The CPU compiles for the cards meanwhile.
      if (listing.identity && can_be_timed(listing.identity->backend) && listing.identity->backend != "cpu") {
        labels.push_back(listing.label);
      }
    }
    if (labels.empty()) {
      std::string why;
      for (const DeviceListing& listing : listings) {
        if (!listing.identity) why += fmt::format("; {}: {}", listing.label, listing.remark);
      }
      throw Error(ErrorKind::device, "option --device all: no card can be used here" + why);
    }
    return labels;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    labels.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (labels.size() > 1 && std::ranges::any_of(labels, &std::string::empty)) {
    throw Error(ErrorKind::usage,
                fmt::format("option --device: found {}, expected labels with commas between them", in_quotes(text)));
  }
  return labels;
}

std::unique_ptr<TuneTarget> device_target(const Context& context, const std::string& device, double compile_seconds,
                                          bool cold_cache) {
  return std::make_unique<DeviceTarget>(context.families, device, compile_seconds, cold_cache);
}

std::unique_ptr<TuneTarget> replay_target(const std::string& file) { return std::make_unique<ReplayTarget>(file); }

}  // namespace heddle::cli
