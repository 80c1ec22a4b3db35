// The part of TunedKernel that does not depend on the types of its arguments.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/candidate_row.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/runtime/kernel/kernel_explanation.hpp"
#include "heddle/runtime/kernel/size_table.hpp"

namespace heddle {

struct TunedKernelOptions {
  /// The first call at new sizes waits until the chosen configuration is compiled. Otherwise the default configuration
  /// runs until it is, and only the default is waited for.
  bool wait = false;
  /// Told of choices that failed or are stale. One call at a time, from any thread. It must not use the kernel that
  /// tells it, which holds its locks meanwhile: neither call it, nor prepare() or explain(). What it throws is dropped.
  Notice notice = {};
};

/// The type of an argument that a program passes.
struct CallType {
  std::size_t kind = 0;    ///< index in Argument
  bool read_only = false;  ///< of a pointer
  std::size_t bytes = 0, alignment = 1;
};

/// Chooses, compiles, loads and launches. All functions may be called from several threads at once. Device and family
/// must outlive it.
class CallableKernel {
 public:
  /// Throws Error(usage) if the family cannot be called like this; see TunedKernel.
  CallableKernel(Device& device, const KernelFamily& family, Knowledge known, std::vector<CallType> types,
                 TunedKernelOptions options);
  ~CallableKernel();
  CallableKernel(const CallableKernel&) = delete;
  CallableKernel& operator=(const CallableKernel&) = delete;

  /// LoadedKernel::launch() of what runs at these sizes. Takes no lock if the sizes were called before. Throws
  /// Error(usage) for sizes that the family does not have, and the last DeviceFailure if every candidate failed.
  void launch(Sizes sizes, void* const* values, std::optional<Stream> stream) {
    const Choice* const known = table_.find(sizes);
    const Running* running = known == nullptr ? nullptr : known->running.load(std::memory_order_acquire);
    if (running == nullptr) running = first_call(sizes);
    try {
      running->kernel->launch(values, stream);
    } catch (const DeviceFailure& failure) {
      launch_another(sizes, running, failure, values, stream);
    }
  }
  /// What runs at these sizes: what launch() finds out before it launches.
  [[nodiscard]] const Candidate& choice(Sizes sizes) {
    const Choice* const known = table_.find(sizes);
    const Running* const running = known == nullptr ? nullptr : known->running.load(std::memory_order_acquire);
    return running == nullptr ? first_call(sizes)->candidate : running->candidate;
  }

  /// Waits until what was chosen is compiled and loaded, or replaced.
  void prepare(Sizes sizes);
  [[nodiscard]] KernelExplanation explain(Sizes sizes) const;
  /// TunedKernel::capture(). `lengths[i]`: bytes of the memory at argument i, where the caller knows them.
  void capture(const Problem& problem, Stream stream, const std::filesystem::path& file, void* const* values,
               const std::vector<std::optional<std::int64_t>>& lengths) const;

  [[nodiscard]] const KernelFamily& family() const noexcept { return dispatcher_.family(); }

 private:
  struct Running {
    Candidate candidate;
    std::unique_ptr<LoadedKernel> kernel;
  };
  /// All that is known of one problem.
  struct Choice {
    Choice(const Dispatcher& dispatcher, Problem problem) : row(dispatcher, std::move(problem)) {}
    [[nodiscard]] const Problem& problem() const noexcept { return row.problem(); }  ///< without the mutex

    std::atomic<const Running*> running = nullptr;  ///< null: nothing yet
    mutable std::mutex mutex;                       ///< of all below
    bool settled = false;                           ///< no other configuration is going to run
    CandidateRow row;
    std::string gave_up;                              ///< why nothing else was tried, if so
    std::vector<std::unique_ptr<const Running>> all;  ///< that ever ran: a call may still be at one of them
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Choice& choice_of(Sizes sizes);
  [[nodiscard]] Problem problem_of(Sizes sizes) const;
  const Running* first_call(Sizes sizes);
  void launch_another(Sizes sizes, const Running* failed, const DeviceFailure& failure, void* const* values,
                      std::optional<Stream> stream);
  void start(Choice& choice, Lock& lock);
  [[nodiscard]] bool leave_to_worker(Choice& choice);
  void settle(Choice& choice, Lock& lock, const Stop& stop = {});
  void try_candidate(Choice& choice, Lock& lock, const Stop& stop);
  void fail(Choice& choice, const std::string& why);
  void publish(Choice& choice, Candidate candidate, std::unique_ptr<LoadedKernel> kernel);

  [[nodiscard]] Kernels kernels_of(const Candidate& candidate, const Problem& problem) const;
  [[nodiscard]] std::unique_ptr<LoadedKernel> load(const Candidate& candidate, const Problem& problem,
                                                   const CompileOutcome& outcome);
  void require_callable(const Plan& plan) const;

  /// Compiled kernels, or those that somebody compiles.
  using Compiled = std::shared_future<CompileOutcome>;
  [[nodiscard]] bool is_compiled(const Choice& choice);
  [[nodiscard]] std::optional<Kernels> kernels_if_any(const Choice& choice) const;
  [[nodiscard]] CompileOutcome compile(const Kernels& kernels, const Stop& stop = {});
  void give_up(const Kernels& kernels, std::promise<CompileOutcome>& own, const std::string& why);
  [[nodiscard]] const TemplateSource& source() const;

  void work(const std::stop_token& stop);
  void compile_for(const std::vector<Choice*>& waiting, const Stop& stop);
  void compile_batch(const std::vector<Choice*>& waiting, const Stop& stop);
  enum class Wait : std::uint8_t { no, yes };  ///< for a compiler
  void settle_quietly(Choice& choice, const Stop& stop, Wait wait);
  void give_up(Choice& choice, const std::string& why);
  void notify(const std::string& line);

  Device& device_;
  Dispatcher dispatcher_;
  std::vector<CallType> types_;
  TunedKernelOptions options_;
  SizeTable<Choice> table_;

  std::mutex compiling_;  ///< of compiled_
  std::map<Kernels, Compiled> compiled_;

  std::mutex notifying_;  ///< of told_stale_, and around the notice
  bool told_stale_ = false;

  std::mutex queueing_;  ///< of queue_, and of the start of worker_
  std::condition_variable_any queued_;
  std::vector<Choice*> queue_;
  std::jthread worker_;  ///< started when needed; the last member: it ends before the others do
};

}  // namespace heddle
