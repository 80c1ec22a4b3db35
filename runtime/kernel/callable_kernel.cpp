#include "heddle/runtime/kernel/callable_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>
#include <variant>

namespace heddle {

namespace {

constexpr std::array<std::string_view, 8> kKinds{"a pointer", "int32", "uint32", "int64",
                                                 "uint64",    "float", "double", "a struct"};
static_assert(kKinds.size() == std::variant_size_v<Argument>);

bool ready(const std::shared_future<CompileOutcome>& compiled) {
  return compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

CompileOutcome not_compiled(const std::string& why) {
  CompileOutcome outcome;
  outcome.log = why;
  return outcome;
}

}  // namespace

CallableKernel::CallableKernel(Device& device, const KernelFamily& family, std::vector<Profile> profiles,
                               std::vector<CallType> types, TunedKernelOptions options)
    : device_(device),
      dispatcher_(device.identity(), family, std::move(profiles)),
      types_(std::move(types)),
      options_(std::move(options)) {
  const Problem problem = family.awkward_problem();
  require_callable(
      family.plan(family.default_configuration(device.identity(), problem), problem, device.identity(), 1));
  if (const auto& left_out = dispatcher_.left_out(); !left_out.empty()) {
    notify(fmt::format("{}: profiles left out, because their sizes are others in this program: {}{}", family.name(),
                       left_out.front().reason,
                       left_out.size() > 1 ? fmt::format(", and {} more", left_out.size() - 1) : ""));
  }
  worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

CallableKernel::~CallableKernel() = default;

/// Throws Error(usage) with what is wrong.
void CallableKernel::require_callable(const Plan& plan) const {
  const std::string_view family = dispatcher_.family().name();
  try {
    require_one_kernel(plan);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", family, error.what()));
  }
  const std::vector<Argument>& arguments = plan.launches.front().arguments;
  if (arguments.size() != types_.size()) {
    throw Error(ErrorKind::usage, fmt::format("{}: the kernel takes {} arguments, the program passes {}", family,
                                              arguments.size(), types_.size()));
  }
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const CallType& type = types_[i];
    if (arguments[i].index() != type.kind) {
      throw Error(ErrorKind::usage, fmt::format("{}: argument {} is {} to the kernel, the program passes {}", family,
                                                i + 1, kKinds[arguments[i].index()], kKinds[type.kind]));
    }
    if (const auto* const buffer = std::get_if<BufferArgument>(&arguments[i])) {
      const Buffer& what = plan.buffers.at(static_cast<std::size_t>(buffer->buffer));
      if (type.read_only && what.role != Role::input) {
        throw Error(ErrorKind::usage, fmt::format("{}: argument {} is '{}', which the kernel writes; the program "
                                                  "passes a pointer to const",
                                                  family, i + 1, what.name));
      }
    } else if (const auto* const bytes = std::get_if<StructArgument>(&arguments[i])) {
      if (bytes->bytes.size() != type.bytes || bytes->alignment != type.alignment) {
        throw Error(ErrorKind::usage,
                    fmt::format("{}: argument {} has {} bytes aligned to {}, the program passes {} aligned to {}",
                                family, i + 1, bytes->bytes.size(), bytes->alignment, type.bytes, type.alignment));
      }
    }
  }
}

Problem CallableKernel::problem_of(Sizes sizes) const {
  const std::vector<Axis>& axes = dispatcher_.family().axes();
  if (sizes.size() != axes.size()) {
    throw Error(ErrorKind::usage, fmt::format("{} has {} sizes, the program passes {}", dispatcher_.family().name(),
                                              axes.size(), sizes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (allows(axes[i], sizes[i])) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is {}, expected {}", dispatcher_.family().name(), axes[i].name,
                            sizes[i] ? std::to_string(*sizes[i]) : std::string("missing"), range_text(axes[i])));
  }
  return Problem::from(axes, {sizes.begin(), sizes.end()});
}

CallableKernel::Choice& CallableKernel::choice_of(Sizes sizes) {
  if (Choice* const known = table_.find(sizes)) return *known;
  return table_.insert(sizes, std::make_unique<Choice>(problem_of(sizes)));
}

const CallableKernel::Running* CallableKernel::first_call(Sizes sizes) {
  Choice& choice = choice_of(sizes);
  Lock lock(choice.mutex);
  if (choice.running.load(std::memory_order_relaxed) == nullptr) {
    if (options_.wait) {
      settle(choice, lock);
    } else {
      start(choice, lock);
    }
  }
  return choice.running.load(std::memory_order_relaxed);
}

/// What is to run next.
const Candidate& CallableKernel::candidate(Choice& choice) const {
  if (choice.next == 0) {  // the first one alone is much faster to have
    if (!choice.first) choice.first = dispatcher_.choose(choice.problem);
    return *choice.first;
  }
  if (choice.candidates.empty()) choice.candidates = dispatcher_.candidates(choice.problem);
  return choice.candidates[choice.next];
}

/// Finds something that can run at once, and leaves what is to be compiled to the worker.
void CallableKernel::start(Choice& choice, Lock& lock) {
  const Candidate wanted = candidate(choice);
  if (wanted.tier == Tier::fallback) return settle(choice, lock);
  const auto compiled = known_binary(kernels_of(wanted, choice.problem));
  if (compiled && ready(*compiled)) return settle(choice, lock);

  Candidate untuned{.configuration = dispatcher_.family().default_configuration(device_.identity(), choice.problem),
                    .tier = Tier::fallback,
                    .reason = "runs while the chosen configuration is being compiled"};
  try {
    auto kernel = load(untuned, choice.problem, compile(kernels_of(untuned, choice.problem)));
    publish(choice, std::move(untuned), std::move(kernel));
  } catch (const DeviceFailure&) {
    return settle(choice, lock);  // where it is the last candidate
  }
  {
    const std::lock_guard queueing(queueing_);
    queue_.push_back(&choice);
  }
  queued_.notify_one();
}

/// Makes the first candidate run that can. Throws the last failure if none can, unless something runs already.
void CallableKernel::settle(Choice& choice, Lock& lock, const Stop& stop) {
  while (!choice.settled) {
    const std::size_t turn = choice.next;
    const Candidate wanted = candidate(choice);
    std::unique_ptr<LoadedKernel> kernel;
    std::string why;
    Status status = Status::launch;
    lock.unlock();  // others may look at the choice meanwhile
    try {
      kernel = load(wanted, choice.problem, compile(kernels_of(wanted, choice.problem), stop));
    } catch (const DeviceFailure& failure) {
      status = failure.status();
      why = failure.what();
    } catch (const Error& error) {  // this configuration cannot be called
      why = error.what();
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
    if (choice.settled || choice.next != turn) continue;  // another thread was faster
    if (kernel) {
      choice.settled = true;
      publish(choice, wanted, std::move(kernel));
      continue;
    }
    fail(choice, why);
    if (choice.next < choice.candidates.size()) continue;
    choice.settled = choice.running.load(std::memory_order_relaxed) != nullptr;
    if (!choice.settled) {
      choice.next = 0;  // the next call tries again
      throw DeviceFailure(status, why);
    }
  }
}

/// The candidate whose turn it is failed.
void CallableKernel::fail(Choice& choice, const std::string& why) {
  const std::string failed = candidate(choice).configuration.text();
  choice.failures.push_back(fmt::format("{} ({})", failed, why));
  if (choice.candidates.empty()) choice.candidates = dispatcher_.candidates(choice.problem);
  if (++choice.next == choice.candidates.size()) return;
  notify(fmt::format("{} at {}: {} failed ({}); using {} instead", dispatcher_.family().name(), choice.problem.text(),
                     failed, why, choice.candidates[choice.next].configuration.text()));
}

void CallableKernel::publish(Choice& choice, Candidate candidate, std::unique_ptr<LoadedKernel> kernel) {
  const bool stale = candidate.tier == Tier::stale;
  choice.all.push_back(
      std::make_unique<const Running>(Running{.candidate = std::move(candidate), .kernel = std::move(kernel)}));
  choice.running.store(choice.all.back().get(), std::memory_order_release);
  if (!stale) return;
  {
    const std::lock_guard lock(notifying_);
    if (std::exchange(told_stale_, true)) return;
  }
  notify(fmt::format("{}: the kernel source has changed since the profiles were measured; tune again",
                     dispatcher_.family().name()));
}

/// A kernel that was loaded and does not launch: its choice is replaced, and the launch repeated.
void CallableKernel::launch_another(Sizes sizes, const Running* failed, const DeviceFailure& failure,
                                    void* const* values, std::optional<Stream> stream) {
  for (DeviceFailure last = failure;;) {
    if (last.status() != Status::launch) throw DeviceFailure(last);  // the device itself may be lost
    Choice& choice = *table_.find(sizes);
    Lock lock(choice.mutex);
    if (choice.running.load(std::memory_order_relaxed) == failed) {
      if (choice.settled) {
        const auto none_left = [&] { return !choice.candidates.empty() && choice.next == choice.candidates.size(); };
        if (!none_left()) fail(choice, last.what());
        if (none_left()) throw DeviceFailure(last);
        choice.settled = false;
        start(choice, lock);
      } else {  // the default, which ran meanwhile
        settle(choice, lock);
      }
    }
    const Running* const next = choice.running.load(std::memory_order_relaxed);
    lock.unlock();
    try {
      return next->kernel->launch(values, stream);
    } catch (const DeviceFailure& again) {
      last = again;
      failed = next;
    }
  }
}

Kernels CallableKernel::kernels_of(const Candidate& candidate, const Problem& problem) const {
  return dispatcher_.family().kernels(candidate.configuration, problem, device_.identity());
}

std::unique_ptr<LoadedKernel> CallableKernel::load(const Candidate& candidate, const Problem& problem,
                                                   const CompileOutcome& outcome) {
  if (!outcome.binary) throw DeviceFailure(Status::compilation, first_complaint(outcome.log));
  const Plan plan = dispatcher_.family().plan(candidate.configuration, problem, device_.identity(), 1);
  require_callable(plan);
  return device_.load(plan, outcome.binary);
}

std::optional<CallableKernel::Compiled> CallableKernel::known_binary(const Kernels& kernels) {
  const std::lock_guard lock(compiling_);
  const auto known = compiled_.find(kernels);
  return known == compiled_.end() ? std::nullopt : std::optional(known->second);
}

/// Compiles, or waits for whoever does.
CompileOutcome CallableKernel::compile(const Kernels& kernels, const Stop& stop) {
  std::promise<CompileOutcome> own;
  Compiled compiled;
  bool is_own = false;
  {
    const std::lock_guard lock(compiling_);
    const auto [known, added] = compiled_.try_emplace(kernels);
    if (added) known->second = own.get_future().share();
    compiled = known->second;
    is_own = added;
  }
  if (!is_own) return compiled.get();
  try {
    const auto batch = device_.compile({{.source = &source(), .kernels = kernels}});
    own.set_value(batch->next(stop).value().second);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    own.set_value(not_compiled(error.what()));
  }
  return compiled.get();
}

const TemplateSource& CallableKernel::source() const { return dispatcher_.family().source(device_.identity().backend); }

void CallableKernel::work(const std::stop_token& stop) {
  const Stop stopped = [&stop] { return stop.stop_requested(); };
  for (;;) {
    std::vector<Choice*> waiting;
    {
      std::unique_lock lock(queueing_);
      if (!queued_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      waiting.swap(queue_);
    }
    try {
      compile_for(waiting, stopped);
    } catch (const Interrupted&) {
      return;
    }
  }
}

/// Compiles what the choices wait for, all in one batch, and lets each run as soon as it can.
void CallableKernel::compile_for(const std::vector<Choice*>& waiting, const Stop& stop) {
  std::map<Kernels, std::vector<Choice*>> wanted;
  for (Choice* const choice : waiting) {
    const Lock lock(choice->mutex);
    if (!choice->settled) wanted[kernels_of(candidate(*choice), choice->problem)].push_back(choice);
  }
  std::vector<CompileRequest> requests;
  std::vector<std::promise<CompileOutcome>> own;
  std::vector<const std::vector<Choice*>*> users;
  {
    const std::lock_guard lock(compiling_);
    for (const auto& [kernels, choices] : wanted) {
      const auto [known, added] = compiled_.try_emplace(kernels);
      if (!added) continue;
      known->second = own.emplace_back().get_future().share();
      requests.push_back({.source = &source(), .kernels = kernels});
      users.push_back(&choices);
    }
  }
  std::vector<bool> is_done(own.size(), false);
  try {
    const auto batch = requests.empty() ? nullptr : device_.compile(std::move(requests));
    while (auto done = batch ? batch->next(stop) : std::nullopt) {
      is_done[done->first] = true;
      own[done->first].set_value(std::move(done->second));
      for (Choice* const choice : *users[done->first]) settle_quietly(*choice, stop);
    }
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!is_done[i]) own[i].set_value(not_compiled(error.what()));
    }
  }
  for (Choice* const choice : waiting) settle_quietly(*choice, stop);  // those that somebody else compiled for
}

/// Something runs already, so that nothing that goes wrong concerns a caller.
void CallableKernel::settle_quietly(Choice& choice, const Stop& stop) {
  Lock lock(choice.mutex);
  try {
    settle(choice, lock, stop);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    choice.settled = true;
    choice.failures.emplace_back(error.what());
    notify(fmt::format("{} at {}: {}", dispatcher_.family().name(), choice.problem.text(), error.what()));
  }
}

void CallableKernel::notify(const std::string& line) {
  const std::lock_guard lock(notifying_);
  if (options_.notice) options_.notice(line);
}

void CallableKernel::prepare(Sizes sizes) {
  Choice& choice = choice_of(sizes);
  Lock lock(choice.mutex);
  settle(choice, lock);
}

KernelExplanation CallableKernel::explain(Sizes sizes) const {
  KernelExplanation result{.family = std::string(dispatcher_.family().name()),
                           .device = device_.identity(),
                           .problem = problem_of(sizes),
                           .running = {},
                           .awaited = {},
                           .failures = {}};
  Choice* const choice = table_.find(sizes);
  if (choice == nullptr) {
    result.awaited = dispatcher_.choose(result.problem);
    return result;
  }
  const Lock lock(choice->mutex);
  if (const Running* const running = choice->running.load(std::memory_order_relaxed))
    result.running = running->candidate;
  if (!choice->settled) result.awaited = candidate(*choice);
  result.failures = choice->failures;
  return result;
}

}  // namespace heddle
