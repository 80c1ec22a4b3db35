#include "heddle/runtime/kernel/callable_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "heddle/runtime/dispatch/notices.hpp"
#include "heddle/runtime/dispatch/spilling.hpp"

namespace heddle {

namespace {

constexpr std::array<std::string_view, 8> kKinds{"a pointer", "int32", "uint32", "int64",
                                                 "uint64",    "float", "double", "a struct"};
constexpr std::size_t kPointer = 0;  // in kKinds
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

CallableKernel::CallableKernel(Device& device, const KernelFamily& family, Knowledge known, std::vector<CallType> types,
                               TunedKernelOptions options)
    : device_(device),
      dispatcher_(device.identity(), family, std::move(known)),
      types_(std::move(types)),
      options_(std::move(options)) {
  const Problem problem = family.awkward_problem();
  require_callable(
      family.plan(family.default_configuration(device.identity(), problem), problem, device.identity(), 1));
  if (const auto& left_out = dispatcher_.left_out(); !left_out.empty()) {
    notify(left_out_line(family.name(), left_out.front().reason, left_out.size()));
  }
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
  std::size_t values = arguments.size();
  for (const CallConstant& constant : call_constants(plan)) {
    values = std::max(values, constant.value + 1);
    const bool passes_pointer = constant.value >= types_.size() || types_[constant.value].kind == kPointer;
    if (!passes_pointer) {
      throw Error(ErrorKind::usage, fmt::format("{}: argument {} is the contents of constant memory, '{}', the program "
                                                "passes {}",
                                                family, constant.value + 1, plan.buffers[constant.buffer].name,
                                                kKinds[types_[constant.value].kind]));
    }
  }
  if (values != types_.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: the kernel takes {} arguments{}, the program passes {}", family, values,
                            values > arguments.size() ? " with constant memory" : "", types_.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
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
  return table_.insert(sizes, std::make_unique<Choice>(dispatcher_, problem_of(sizes)));
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

/// Finds something that can run at once, and leaves what is to be compiled to the worker.
void CallableKernel::start(Choice& choice, Lock& lock) {
  if (choice.row.current().tier == Tier::fallback || is_compiled(choice)) return settle(choice, lock);
  Candidate untuned{.configuration = dispatcher_.family().default_configuration(device_.identity(), choice.problem()),
                    .tier = Tier::fallback,
                    .reason = "runs while the chosen configuration is being compiled"};
  const Running* const before = choice.running.load(std::memory_order_relaxed);
  std::unique_ptr<LoadedKernel> kernel;
  lock.unlock();  // others may look at the choice meanwhile
  try {
    kernel = load(untuned, choice.problem(), compile(kernels_of(untuned, choice.problem())));
  } catch (const DeviceFailure&) {  // the default is among the candidates, so that settle() tells of it
  } catch (const Error&) {
  } catch (...) {
    lock.lock();
    throw;
  }
  lock.lock();
  if (choice.settled || choice.running.load(std::memory_order_relaxed) != before) return;  // another thread was faster
  if (!kernel) return settle(choice, lock);
  publish(choice, std::move(untuned), std::move(kernel));
  if (!leave_to_worker(choice)) settle(choice, lock);
}

/// Whether there is a worker: a process may have no thread left for one.
bool CallableKernel::leave_to_worker(Choice& choice) {
  {
    const std::lock_guard queueing(queueing_);
    try {
      if (!worker_.joinable()) worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error&) {
      return false;
    }
    queue_.push_back(&choice);
  }
  queued_.notify_one();
  return true;
}

/// Makes the first candidate run that can. Throws the last failure if none can, unless something runs already.
void CallableKernel::settle(Choice& choice, Lock& lock, const Stop& stop) {
  while (!choice.settled) try_candidate(choice, lock, stop);
}

/// Makes the candidate run whose turn it is, or gives the turn to the next one.
void CallableKernel::try_candidate(Choice& choice, Lock& lock, const Stop& stop) {
  const std::size_t turn = choice.row.turn();
  const Candidate wanted = choice.row.current();
  std::unique_ptr<LoadedKernel> kernel;
  std::string why;
  std::optional<std::string> spills;
  Status status = Status::launch;
  lock.unlock();  // others may look at the choice meanwhile
  try {
    const CompileOutcome outcome = compile(kernels_of(wanted, choice.problem()), stop);
    kernel = load(wanted, choice.problem(), outcome);
    spills = spilling(dispatcher_, wanted, choice.problem(), device_, *outcome.binary, stop);
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
  if (choice.settled || choice.row.turn() != turn) return;  // another thread was faster
  if (spills) return notify(choice.row.pass_over(*spills));
  if (kernel) {
    choice.settled = true;
    return publish(choice, wanted, std::move(kernel));
  }
  fail(choice, why);
  if (!choice.row.exhausted()) return;
  choice.settled = choice.running.load(std::memory_order_relaxed) != nullptr;
  if (!choice.settled) {
    choice.row.start_again();  // with the next call
    throw DeviceFailure(status, why);
  }
}

/// The candidate whose turn it is failed.
void CallableKernel::fail(Choice& choice, const std::string& why) {
  if (const auto line = choice.row.fail(why)) notify(*line);
}

void CallableKernel::publish(Choice& choice, Candidate candidate, std::unique_ptr<LoadedKernel> kernel) {
  const bool stale = candidate.tier == Tier::stale;
  const Currency currency = candidate.currency;
  choice.all.push_back(
      std::make_unique<const Running>(Running{.candidate = std::move(candidate), .kernel = std::move(kernel)}));
  choice.running.store(choice.all.back().get(), std::memory_order_release);
  if (!stale) return;
  {
    const std::lock_guard lock(notifying_);
    if (std::exchange(told_stale_, true)) return;
  }
  notify(
      stale_line(dispatcher_.family().name(), fmt::format("the profile for {} is", choice.problem().text()), currency));
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
        if (!choice.row.exhausted()) fail(choice, last.what());
        if (choice.row.exhausted()) throw DeviceFailure(last);
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

/// Whether the candidate whose turn it is can be tried without waiting for a compiler.
bool CallableKernel::is_compiled(const Choice& choice) {
  const auto kernels = kernels_if_any(choice);
  if (!kernels) return false;
  const std::lock_guard lock(compiling_);
  const auto known = compiled_.find(*kernels);
  return known != compiled_.end() && ready(known->second);
}

/// The kernels of the candidate whose turn it is. None if the family has none for it; settle() then tells why.
std::optional<Kernels> CallableKernel::kernels_if_any(const Choice& choice) const {
  try {
    return kernels_of(choice.row.current(), choice.problem());
  } catch (const Error&) {
    return std::nullopt;
  }
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
  if (!is_own) {
    while (compiled.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
      if (stop && stop()) throw Interrupted();
    }
    return compiled.get();
  }
  try {
    const auto batch = device_.compile({{.source = &source(), .kernels = kernels}});
    own.set_value(batch->next(stop).value().second);
  } catch (const Interrupted&) {
    give_up(kernels, own, "interrupted");
    throw;
  } catch (const std::exception& error) {
    give_up(kernels, own, error.what());
  } catch (...) {
    give_up(kernels, own, "unknown failure");
  }
  return compiled.get();
}

/// Nothing was found out about the kernels: whoever waits is told why, and who asks later compiles again.
void CallableKernel::give_up(const Kernels& kernels, std::promise<CompileOutcome>& own, const std::string& why) {
  {
    const std::lock_guard lock(compiling_);
    compiled_.erase(kernels);
  }
  own.set_value(not_compiled(why));
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
    } catch (...) {  // as little memory as leaves no room for a list
      for (Choice* const choice : waiting) give_up(*choice, "cannot be compiled in the background");
    }
  }
}

/// Compiles what the choices wait for, all in one batch, and lets each run as soon as it can.
void CallableKernel::compile_for(const std::vector<Choice*>& waiting, const Stop& stop) {
  compile_batch(waiting, stop);
  // Those that somebody else compiled for, and those whose turn went to a candidate outside the batch.
  for (Choice* const choice : waiting) settle_quietly(*choice, stop, Wait::yes);
}

/// While the batch runs, this thread owes its results to all others, and must wait for none: not even for one of its
/// own batch, which only this thread can deliver.
void CallableKernel::compile_batch(const std::vector<Choice*>& waiting, const Stop& stop) {
  std::map<Kernels, std::vector<Choice*>> wanted;
  for (Choice* const choice : waiting) {
    const Lock lock(choice->mutex);
    if (choice->settled) continue;
    if (auto kernels = kernels_if_any(*choice)) wanted[std::move(*kernels)].push_back(choice);
  }
  struct Owed {
    Kernels kernels;
    std::promise<CompileOutcome> outcome;
    bool is_done = false;
  };
  std::vector<CompileRequest> requests;
  std::vector<Owed> owed;
  requests.reserve(wanted.size());
  owed.reserve(wanted.size());
  {
    const std::lock_guard lock(compiling_);
    for (const auto& [kernels, choices] : wanted) {
      const auto [known, added] = compiled_.try_emplace(kernels);
      if (!added) continue;
      known->second = owed.emplace_back(Owed{.kernels = kernels, .outcome = {}}).outcome.get_future().share();
      requests.push_back({.source = &source(), .kernels = kernels});
    }
  }
  if (requests.empty()) return;
  const auto give_up_rest = [&](const std::string& why) {
    for (Owed& one : owed) {
      if (!one.is_done) give_up(one.kernels, one.outcome, why);
    }
  };
  try {
    const auto batch = device_.compile(std::move(requests));
    while (auto done = batch->next(stop)) {
      Owed& one = owed[done->first];
      one.outcome.set_value(std::move(done->second));
      one.is_done = true;
      for (Choice* const choice : wanted.at(one.kernels)) settle_quietly(*choice, stop, Wait::no);
    }
    give_up_rest("not compiled");
  } catch (const Interrupted&) {
    give_up_rest("interrupted");
    throw;
  } catch (const std::exception& error) {
    give_up_rest(error.what());
  } catch (...) {
    give_up_rest("unknown failure");
  }
}

/// Something runs already, so that nothing that goes wrong concerns a caller.
void CallableKernel::settle_quietly(Choice& choice, const Stop& stop, Wait wait) {
  std::string why = "unknown failure";
  Lock lock(choice.mutex);
  try {
    while (!choice.settled && (wait == Wait::yes || is_compiled(choice))) try_candidate(choice, lock, stop);
    return;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {  // of a family or device that is not ours
  }
  lock.unlock();
  give_up(choice, why);
}

/// What runs goes on running.
void CallableKernel::give_up(Choice& choice, const std::string& why) {
  const Lock lock(choice.mutex);
  if (std::exchange(choice.settled, true)) return;
  choice.gave_up = why;
  notify(fmt::format("{} at {}: {}", dispatcher_.family().name(), choice.problem().text(), why));
}

void CallableKernel::notify(const std::string& line) {
  const std::lock_guard lock(notifying_);
  if (!options_.notice) return;
  try {
    options_.notice(line);
  } catch (...) {  // a line that cannot be told must not keep a kernel from running
  }
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
  if (!choice->settled) result.awaited = choice->row.current();
  result.failures = choice->row.failures();
  if (!choice->gave_up.empty()) result.failures.push_back(choice->gave_up);
  return result;
}

}  // namespace heddle
