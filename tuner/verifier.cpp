#include "heddle/tuner/verifier.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "fmt/format.h"

namespace heddle {

namespace {

/// The distance of a timed run from the reference may be this many times that of the untuned configuration.
constexpr double kFartherThanUntuned = 4.0;
/// Distances in units of what rounding explains. Below kNegligible every run passes. Above kExplained, rounding is an
/// explanation only if training amplifies it.
constexpr double kNegligible = 1.0, kExplained = 16.0;
/// Training that amplifies rounding by more is chaotic: its end says little about a kernel. It is then compared after
/// 1 / kShorter of the samples, repeatedly, down to kFewestOfTimed samples.
constexpr double kChaotic = 16.0;
constexpr std::int64_t kShorter = 4, kFewestOfTimed = 16;

bool poisoned(Role role) { return role == Role::output || role == Role::scratch; }

void fill(Execution& execution, const HeldContents& contents) {
  for (const Buffer& buffer : execution.plan().buffers) {
    if (poisoned(buffer.role)) execution.memory(buffer.name).fill(kPoison);
  }
  contents.write(execution);
}

void launch(Execution& execution, int launches) {
  for (int i = 0; i < launches; ++i) execution.launch();
  execution.synchronize();
}

bool is_result(const Buffer& buffer) { return buffer.role != Role::scratch && buffer.role != Role::input; }

Verdict failed(Status status, double error, std::string message) {
  return {.status = status, .worst_error = error, .message = std::move(message)};
}

BufferNames names_of_inputs(const Plan& plan) {
  BufferNames names;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.role == Role::input) names.push_back(buffer.name);
  }
  return names;
}

/// A failed verdict if the run wrote behind a buffer or to an input; otherwise `correct`.
Verdict trespass(Device& device, Execution& execution, const HeldContents& before) {
  if (const auto buffer = execution.overrun()) {
    return failed(Status::overrun, 0.0, fmt::format("wrote behind buffer '{}'", *buffer));
  }
  for (const std::string& name : names_of_inputs(execution.plan())) {
    if (!before.same(device, execution, name)) {
      return failed(Status::wrong_result, 0.0, fmt::format("wrote to the input '{}'", name));
    }
  }
  return {};
}

bool is_awkward(const Problem::Size& size) { return size.value % 2 != 0 && size.value > 1; }

Problem with_odd_sizes(const Problem& problem, int change) {
  std::vector<Problem::Size> sizes = problem.sizes();
  for (Problem::Size& size : sizes) {
    if (size.value % 2 == 0) size.value = std::max<std::int64_t>(1, size.value + change);
  }
  return Problem(std::move(sizes));
}

/// Replaces each size of `problem` by that of `familys_awkward`, or by the odd number above or below it, as far as
/// `accepts` allows.
template <class Accepts>
Problem with_awkward_sizes(const Problem& problem, const Problem& familys_awkward, Accepts accepts) {
  Problem awkward = problem;
  for (const Problem::Size& size : problem.sizes()) {
    for (const std::int64_t value : {familys_awkward.at(size.name), size.value + 1, size.value - 1}) {
      const Problem candidate = awkward.with(size.name, value);
      if (value < 1 || value % 2 == 0 || !accepts(candidate)) continue;
      awkward = candidate;
      break;
    }
  }
  return awkward;
}

}  // namespace

void run_once(Execution& execution, const HeldContents& contents, int launches) {
  fill(execution, contents);
  launch(execution, launches);
}

BufferNames names_of_results(const Plan& plan) {
  BufferNames names;
  for (const Buffer& buffer : plan.buffers) {
    if (is_result(buffer)) names.push_back(buffer.name);
  }
  return names;
}

HostImage results_of(Execution& execution, const BufferNames& names) {
  HostImage image;
  for (const Buffer& buffer : execution.plan().buffers) {
    if (!is_result(buffer)) continue;
    if (!names.empty() && std::ranges::find(names, buffer.name) == names.end()) continue;
    std::vector<std::byte>& bytes = image[buffer.name];
    bytes.resize(static_cast<std::size_t>(buffer.bytes));
    execution.memory(buffer.name).read(bytes);
  }
  return image;
}

HostImage outcome_of(Execution& execution, const HostImage& contents, int launches) {
  run_once(execution, HeldContents(SharedImage(ViewedImage(contents.begin(), contents.end()), nullptr)), launches);
  return results_of(execution);
}

namespace {

RunOnDevice run_with(Device& device, std::shared_ptr<KernelCache> kernels) {
  return [&device, kernels = std::move(kernels)](const TemplateSource& source, const Plan& plan,
                                                 const HostImage& contents, int launches) {
    try {
      const CompileOutcome& compiled = kernels->await({.source = &source, .kernels = plan.kernels}).outcome;
      if (!compiled.binary) throw DeviceFailure(Status::compilation, first_complaint(compiled.log));
      return outcome_of(*device.prepare(plan, compiled.binary), contents, launches);
    } catch (const DeviceFailure& failure) {  // whoever asked is not the one that failed
      throw DeviceFailure(failure.status(), fmt::format("the reference: {}", failure.what()));
    }
  };
}

}  // namespace

RunOnDevice run_on(Device& device) { return run_with(device, std::make_shared<KernelCache>(device)); }

/// The plans of one list of runs, prepared when they are first needed.
class Verifier::Executions {
 public:
  Executions(Verifier& owner, const std::vector<Plan>& plans) : owner_(owner), plans_(plans), prepared_(plans.size()) {}

  Verdict run(const VerificationRun& run, bool repeat) {
    HostImage left;
    std::string remark;
    for (const VerificationStage& stage : run.stages) {
      auto& [prepared, inputs] = of_plan(stage.plan);
      Execution& execution = *prepared;
      const HeldContents before(stage.contents(left));
      fill(execution, before);
      // Of buffers that the contents do not fill, the rest counts, too.
      if (inputs) {
        inputs->copy_again(execution);
      } else {
        inputs = HeldContents::copied(owner_.device_, execution, names_of_inputs(execution.plan()));
      }
      launch(execution, stage.launches);
      HostImage after = results_of(execution);
      if (Verdict verdict = trespass(owner_.device_, execution, *inputs); verdict.status != Status::correct) {
        return verdict;
      }
      const Accuracy accuracy = stage.check(after);
      worst_error_ = std::max(worst_error_, accuracy.worst_error);
      if (!accuracy.accepted) return failed(Status::wrong_result, accuracy.worst_error, accuracy.message);
      if (!accuracy.message.empty()) remark = accuracy.message;
      if (repeat) {
        run_once(execution, before, stage.launches);
        if (results_of(execution) != after) {
          return failed(Status::wrong_result, 0.0, "a second run differs from the first");
        }
      }
      left = std::move(after);
    }
    return {.status = Status::correct, .worst_error = worst_error_, .message = remark};
  }

 private:
  struct Prepared {
    std::unique_ptr<Execution> execution;
    std::optional<HeldContents> inputs;  ///< before the present run
  };
  Prepared& of_plan(std::size_t plan) {
    Prepared& prepared = prepared_[plan];
    if (!prepared.execution) {
      prepared.execution = owner_.device_.prepare(plans_[plan], owner_.find_binary_(plans_[plan].kernels));
    }
    return prepared;
  }

  Verifier& owner_;
  const std::vector<Plan>& plans_;
  std::vector<Prepared> prepared_;
  double worst_error_ = 0.0;
};

Verifier::Verifier(Device& device, const KernelFamily& family, std::uint64_t seed, FindBinary find_binary,
                   std::shared_ptr<KernelCache> kernels)
    : device_(device),
      family_(family),
      seed_(seed),
      find_binary_(std::move(find_binary)),
      kernels_(kernels ? std::move(kernels) : std::make_shared<KernelCache>(device)) {
  if (!find_binary_) {
    find_binary_ = [this](const Kernels& wanted) {
      return compile_one(device_, {.source = &family_.source(device_.identity().backend), .kernels = wanted}).binary;
    };
  }
  device_.prepare_to_compare();
  verification_ = family_.verification(device_.identity(), seed_, run_with(device_, kernels_));
  std::vector<CompileRequest> requests;
  for (const auto& [source, names] : verification_->programs())
    requests.push_back({.source = source, .kernels = names});
  reference_kernels_ = kernels_->start(requests);
}

Verifier::~Verifier() = default;

Verdict Verifier::verify(const Configuration& configuration, const Problem& problem, VerificationExtent extent) {
  if (extent == VerificationExtent::one_run) return verify_run(configuration, problem, 0, false);
  const auto awkward = awkward_problem(family_, device_.identity(), configuration, problem);
  Verdict own = verdict_of(configuration, problem, !awkward);
  if (own.status != Status::correct || !awkward) return own;
  Verdict verdict = verdict_of(configuration, *awkward, true);
  verdict.worst_error = std::max(verdict.worst_error, own.worst_error);
  if (verdict.status == Status::correct && !own.message.empty()) verdict.message = own.message;
  return verdict;
}

Verdict Verifier::verify_run(const Configuration& configuration, const Problem& problem, std::size_t check_index,
                             bool repeat) {
  const Verification::Runs runs = verification_->runs(configuration, problem);
  Executions executions(*this, runs.plans);
  return judge(executions, configuration, runs.runs[check_index % runs.runs.size()], repeat);
}

/// `thorough`: the thorough verification runs, not only the essential ones.
Verdict Verifier::verdict_of(const Configuration& configuration, const Problem& problem, bool thorough) {
  const Verification::Runs runs = verification_->runs(configuration, problem);
  Executions executions(*this, runs.plans);
  Verdict worst;
  for (std::size_t i = 0; i < std::min(thorough ? runs.thorough : runs.essential, runs.runs.size()); ++i) {
    Verdict verdict = judge(executions, configuration, runs.runs[i], false);
    if (verdict.status != Status::correct) return verdict;
    worst.worst_error = std::max(worst.worst_error, verdict.worst_error);
    if (worst.message.empty()) worst.message = verdict.message;
  }
  return worst;
}

Verdict Verifier::judge(Executions& executions, const Configuration& configuration, const VerificationRun& run,
                        bool repeat) {
  const std::string key = configuration.text() + ", " + run.name;
  if (const auto known = verdicts_.find(key); known != verdicts_.end() && !repeat) return known->second;
  Verdict verdict;
  try {
    verdict = executions.run(run, repeat);
  } catch (const DeviceFailure& failure) {
    verdict = failed(failure.status(), 0.0, failure.what());
  }
  if (!verdict.message.empty()) verdict.message = fmt::format("{}: {}", run.name, verdict.message);
  verdicts_[key] = verdict;
  return verdict;
}

/// The run that a configuration is timed with, on memory of its own.
class Verifier::Timed {
 public:
  /// `kept`: as of verify_timed_run().
  Timed(Verifier& owner, const Configuration& configuration, const Problem& problem, std::int64_t samples,
        const KeptContents::Buffers* kept = nullptr)
      : Timed(owner, configuration, problem, samples, begin(owner, configuration, problem, samples, kept)) {}

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }

  /// The result of the first whole run.
  const HostImage& end() {
    if (!end_) {
      HostImage image;
      for (const std::string& name : left().names()) image.emplace(name, left().bytes(name));
      end_ = std::move(image);
    }
    return *end_;
  }
  /// A verdict on what the first whole run did beside computing its results.
  Verdict trespassed() {
    static_cast<void>(left());
    return trespass(owner_.device_, *execution_, initial_);
  }
  /// Whether another whole run leaves the same bits.
  bool repeats() {
    const HeldContents& first = left();
    launch();
    return std::ranges::all_of(first.names(),
                               [&](const std::string& name) { return first.same(owner_.device_, *execution_, name); });
  }

  /// After `end` samples, which shortens later runs too. Nothing if the reference takes too long.
  std::optional<double> rounding_distance(std::int64_t end) {
    const auto timed = owner_.verification_->timed_run(configuration_, problem_, samples_, end);
    if (!timed) return std::nullopt;
    if (left_ && end == samples_) return timed->distance(this->end());
    for (const auto& [name, bytes] : timed->overwrites) execution_->memory(name).write(bytes);
    launch();
    return timed->distance(results_of(*execution_));
  }
  /// How many times farther from float64 training leads within `end` samples than rounding does by itself; at least 1.
  double amplification(std::int64_t end) {
    const auto timed = owner_.verification_->timed_run(configuration_, problem_, samples_, end);
    return timed && timed->rounding ? std::max(1.0, timed->rounding()) : 1.0;
  }

 private:
  using Begin = std::pair<Plan, HeldContents>;
  static Begin begin(Verifier& owner, const Configuration& configuration, const Problem& problem, std::int64_t samples,
                     const KeptContents::Buffers* kept) {
    const DeviceIdentity& device = owner.device_.identity();
    if (kept != nullptr) {
      return {owner.family_.measured_plan(configuration, problem, device, samples), HeldContents(*kept)};
    }
    Trial trial = owner.family_.trial(configuration, problem, device, samples, owner.seed_);
    return {std::move(trial.plan), HeldContents(std::move(trial.initial))};
  }
  Timed(Verifier& owner, const Configuration& configuration, const Problem& problem, std::int64_t samples, Begin begin)
      : owner_(owner),
        configuration_(configuration),
        problem_(problem),
        samples_(samples),
        initial_(std::move(begin.second)),
        execution_(owner.device_.prepare(begin.first, owner.find_binary_(begin.first.kernels))) {
    fill(*execution_, initial_);
    initial_.save(*execution_);
  }

  void launch() {
    initial_.restore(*execution_);
    execution_->launch();
    execution_->synchronize();
  }
  /// What the first whole run left.
  const HeldContents& left() {
    if (!left_) {
      launch();
      left_ = HeldContents::copied(owner_.device_, *execution_, names_of_results(execution_->plan()));
    }
    return *left_;
  }

  Verifier& owner_;
  const Configuration& configuration_;
  const Problem& problem_;
  std::int64_t samples_;
  HeldContents initial_;
  std::unique_ptr<Execution> execution_;
  std::optional<HeldContents> left_;
  std::optional<HostImage> end_;
};

std::optional<double> Verifier::rounding_distance(const Configuration& configuration, const Problem& problem,
                                                  std::int64_t samples, std::int64_t end) {
  return Timed(*this, configuration, problem, samples).rounding_distance(end);
}

/// Nothing if the untuned configuration fails.
std::optional<double> Verifier::untuned_distance(const Configuration& untuned, const Problem& problem,
                                                 std::int64_t samples, std::int64_t end) {
  const std::string key = fmt::format("{}, {}, {} of {}", untuned.text(), problem.text(), end, samples);
  if (const auto known = distances_.find(key); known != distances_.end()) return known->second;
  std::optional<double>& found = distances_[key];
  try {
    found = rounding_distance(untuned, problem, samples, end);
  } catch (const DeviceFailure&) {  // its own measurement records the failure
  }
  return found;
}

/// Compares after `end` samples, or after fewer: as far into the run as the reference gets, and as it is not chaotic.
/// The reference alone says whether it is chaotic; a wrong kernel would say so too readily.
Verifier::Compared Verifier::compare_with_reference(Timed& timed, const Configuration& untuned, std::int64_t end) {
  auto own = timed.rounding_distance(end);
  while (!own && end / 2 >= kFewestOfTimed) own = timed.rounding_distance(end /= 2);
  if (!own) return {};
  Compared compared;
  std::optional<double> other;
  double explained = kExplained;
  while (true) {
    other.reset();
    if (*own > kNegligible && timed.configuration() != untuned) {
      other = untuned_distance(untuned, timed.problem(), timed.samples(), end);
    }
    explained = kExplained;
    if (std::max(*own, other.value_or(0.0)) <= kExplained) break;
    const double amplification = timed.amplification(end);
    explained *= std::min(amplification, kChaotic);
    if (amplification <= kChaotic || end / kShorter < kFewestOfTimed) break;
    const auto earlier = timed.rounding_distance(end / kShorter);
    if (!earlier) break;
    own = earlier;
    end /= kShorter;
    compared.chaotic = true;
  }
  compared.end = end;
  const double allowed = other && *other <= explained ? std::max(kNegligible, kFartherThanUntuned * *other) : explained;
  if (*own <= allowed) return compared;
  compared.verdict =
      failed(Status::wrong_result, 0.0,
             fmt::format("after {} of {} {}s of the timed run: {:.3g} times as far from float64 as rounding explains, "
                         "allowed {:.3g}",
                         end, timed.samples(), family_.unit(), *own, allowed));
  return compared;
}

/// After the whole timed run. Nothing if the untuned configuration fails, or if the two cannot be compared.
std::optional<double> Verifier::difference_from_untuned(Timed& timed, const Configuration& untuned) {
  if (!verification_->compares_ends()) return std::nullopt;
  const Problem& problem = timed.problem();
  auto& [known, end] = untuned_end_;
  const std::string key = fmt::format("{}, {}, {}", untuned.text(), problem.text(), timed.samples());
  if (known != key) {
    known = key;
    end.reset();
    try {
      end = timed.configuration() == untuned ? timed.end() : Timed(*this, untuned, problem, timed.samples()).end();
    } catch (const DeviceFailure&) {  // its own measurement records the failure
    }
  }
  if (!end) return std::nullopt;
  return verification_->difference(problem, timed.samples(), {timed.configuration(), timed.end()}, {untuned, *end});
}

Verdict Verifier::verify_timed_run(const Configuration& configuration, const Problem& problem, std::int64_t samples,
                                   const Configuration& untuned, const KeptContents::Buffers* kept) {
  try {
    Timed timed(*this, configuration, problem, samples, kept);
    if (Verdict verdict = timed.trespassed(); verdict.status != Status::correct) return verdict;
    if (!timed.repeats()) {
      return failed(Status::wrong_result, 0.0,
                    fmt::format("the timed run of {} {}s differs from one time to the next", samples, family_.unit()));
    }
    Compared usual = compare_with_reference(timed, untuned, verification_->compared_samples(problem, samples));
    if (usual.verdict.status != Status::correct || usual.end == samples) return usual.verdict;

    const auto difference = difference_from_untuned(timed, untuned);
    if (difference.value_or(0.0) <= kExplained) return {};
    // One of the two is wrong, or training is chaotic.
    Compared whole = compare_with_reference(timed, untuned, samples);
    if (whole.verdict.status != Status::correct) return whole.verdict;
    if (whole.end == samples || whole.chaotic || *difference <= kExplained * kChaotic) return {};
    return failed(
        Status::wrong_result, 0.0,
        fmt::format("after {} {}s of the timed run: {:.3g} times as far from the untuned configuration as rounding "
                    "explains, allowed {:.3g}",
                    samples, family_.unit(), *difference, kExplained * kChaotic));
  } catch (const DeviceFailure& failure) {
    return failed(failure.status(), 0.0, failure.what());
  }
}

std::optional<Problem> awkward_problem(const KernelFamily& family, const DeviceIdentity& device,
                                       const Configuration& configuration, const Problem& problem) {
  const SearchSpace space = family.space(device);
  const auto kernels = [&](const Problem& sizes) { return family.kernels(configuration, sizes, device); };
  const Kernels own = kernels(problem);
  const auto is_allowed = [&](const Problem& sizes) {
    return !misfit(sizes, family.axes()) && family.has_workload(sizes) && !space.violated(configuration, sizes);
  };
  const auto shares_kernels = [&](const Problem& sizes) { return is_allowed(sizes) && kernels(sizes) == own; };
  const Problem familys_awkward = family.awkward_problem();
  if (familys_awkward != problem && shares_kernels(familys_awkward)) return familys_awkward;
  if (const Problem odd = with_awkward_sizes(problem, familys_awkward, shares_kernels); odd != problem) return odd;
  const std::vector<Problem::Size>& sizes = problem.sizes();
  if (std::any_of(sizes.begin(), sizes.end(), is_awkward)) return std::nullopt;
  for (const Problem& candidate : {familys_awkward, with_odd_sizes(problem, 1), with_odd_sizes(problem, -1)}) {
    if (candidate != problem && is_allowed(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace heddle
