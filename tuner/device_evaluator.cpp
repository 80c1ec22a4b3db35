#include "heddle/tuner/device_evaluator.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/provenance.hpp"
#include "heddle/tuner/energy.hpp"

namespace heddle {

namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kBusyCoreSeconds = 0.05;  // much longer than a time slice of the scheduler
// The scheduler gets used to the other program in the shorter time, the number of threads in the longer one. A training
// run lasts much longer than both, and several runs in a row keep the number of threads.
constexpr double kSettlingSeconds = 0.02, kFirstSettlingSeconds = 0.12;

/// Of a problem's contents, beside which the buffers of what is measured have to find room.
std::int64_t kept_bytes(const Device& device) {
  constexpr std::int64_t kPart = 8;
  return (device.identity().memory_gib << 30) / kPart;
}

/// Mean over so many runs with a cold cache: emptying it takes longer than most kernels.
constexpr std::int64_t kMostColdRuns = 32;
/// After this time no further one begins: where a processor empties its own large cache, a single time would otherwise
/// take longer than a search has.
constexpr double kMostColdSeconds = 0.1;

class DeviceRunner final : public Runner {
 public:
  /// `evictor`: written as a whole before each of `cold_runs` runs that a time is the mean of; empty: a time is that of
  /// one run, whose launches find in the cache what the one before left there.
  /// `kept`: forgets all when a kernel wrote behind a buffer.
  DeviceRunner(Device& device, Plan plan, std::shared_ptr<const Binary> binary, HeldContents contents,
               KeptContents& kept, std::shared_ptr<Memory> evictor, std::int64_t cold_runs)
      : device_(device),
        kept_(kept),
        execution_(device.prepare(std::move(plan), std::move(binary))),
        contents_(std::move(contents)),
        evictor_(std::move(evictor)),
        cold_runs_(cold_runs) {
    contents_.write(*execution_);
    contents_.save(*execution_);
    execution_->synchronize();
  }

  using Runner::time;
  double time(const Stop&) override {
    if (evictor_) return cold_time();
    restore();
    execution_->synchronize();  // or the restoring would hide the latency of the first launch
    return execution_->time() * kMicroseconds / static_cast<double>(execution_->plan().samples);
  }

  std::optional<double> busy_core_time() override {
    const std::shared_ptr<void> other_program = device_.occupy();
    if (!other_program) return std::nullopt;
    const auto seconds_of_launch = [this] {
      restore();
      execution_->synchronize();
      const auto start = std::chrono::steady_clock::now();
      execution_->launch();  // not time(): the team of threads may shrink between launches, as it does in training
      execution_->synchronize();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const double settling = std::exchange(settled_, true) ? kSettlingSeconds : kFirstSettlingSeconds;
    for (double settled = 0.0; settled < settling;) settled += seconds_of_launch();
    double taken = 0.0, samples = 0.0;
    while (taken < kBusyCoreSeconds) {
      taken += seconds_of_launch();
      samples += static_cast<double>(execution_->plan().samples);
    }
    return taken * kMicroseconds / samples;
  }

  std::optional<KernelResources> resources() override { return execution_->resources(); }

  std::optional<double> energy() override {
    const auto joules = joules_of_launch({.joules = [this] { return device_.joules(); },
                                          .launch =
                                              [this] {
                                                restore();
                                                execution_->launch();
                                              },
                                          .wait = [this] { execution_->synchronize(); }});
    if (!joules) return std::nullopt;
    return *joules / static_cast<double>(execution_->plan().samples);
  }

  void check_guards() override {
    if (const auto buffer = execution_->overrun()) {
      kept_.clear();  // it may have written there, too
      throw DeviceFailure(Status::overrun, fmt::format("wrote behind buffer '{}'", *buffer));
    }
  }

 private:
  /// What the first run has left alone is not brought back before later ones: these are about times, and a verification
  /// brings back everything.
  void restore() {
    if (++restored_ == 2) unwritten_ = contents_.large_and_unwritten(device_, *execution_);
    contents_.restore(*execution_, unwritten_);
  }

  double cold_time() {
    double seconds = 0.0;
    std::int64_t runs = 0;
    for (const Stop late = stop_after(kMostColdSeconds); runs < cold_runs_ && (runs == 0 || !late()); ++runs) {
      restore();
      evictor_->fill(static_cast<std::byte>(runs));
      execution_->synchronize();
      seconds += execution_->time();
    }
    return seconds * kMicroseconds / static_cast<double>(runs * execution_->plan().samples);
  }

  Device& device_;
  KeptContents& kept_;
  std::unique_ptr<Execution> execution_;
  HeldContents contents_;
  int restored_ = 0;  // times
  BufferNames unwritten_;
  std::shared_ptr<Memory> evictor_;
  std::int64_t cold_runs_;
  bool settled_ = false;  // whether it ran beside another program before
};

}  // namespace

/// Returns the configurations that are compiled already first, then waits for the device.
class DeviceEvaluator::PendingCompilation final : public Compilation {
 public:
  /// `requests`: one per configuration.
  PendingCompilation(std::shared_ptr<KernelCache> kernels, const std::vector<CompileRequest>& requests)
      : kernels_(std::move(kernels)) {
    std::map<std::string, CompileRequest> wanted;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::string key = KernelCache::key_of(requests[i]);
      wanted.emplace(key, requests[i]);
      waiting_[key].push_back(i);
    }
    std::vector<CompileRequest> list;
    list.reserve(wanted.size());
    for (const auto& [key, request] : wanted) list.push_back(request);
    own_ = kernels_->start(list);
    for (const auto& [key, request] : wanted) {
      if (auto batch = kernels_->batch_with(key); batch && batch != own_) others_.push_back(std::move(batch));
    }
  }

  using Compilation::next;
  std::optional<Done> next(const Stop& stop) override {
    while (!waiting_.empty()) {
      for (auto& [key, indices] : waiting_) {
        KernelCache::Entry* const entry = kernels_->find(key);
        if (entry == nullptr) continue;
        const Done done{.index = indices.back(),
                        .compiled = entry->outcome.binary != nullptr,
                        .seconds = std::exchange(entry->unreported_seconds, 0.0),
                        .log = entry->outcome.log};
        indices.pop_back();
        if (indices.empty()) waiting_.erase(key);
        return done;
      }
      if (const auto batch = first_batch()) {
        kernels_->wait_for_one(*batch, stop);
      } else if (winding_up_) {
        break;
      } else {
        throw std::logic_error("nobody compiles " + waiting_.begin()->first);
      }
    }
    return std::nullopt;
  }

  bool done() override {
    return std::ranges::all_of(waiting_, [this](const auto& one) { return kernels_->is_done(one.first); });
  }

  void wind_up() override {
    winding_up_ = true;
    if (own_) own_->wind_up();
  }

 private:
  /// A batch in flight that compiles a kernel this compilation waits for.
  [[nodiscard]] std::shared_ptr<KernelCache::Batch> first_batch() const {
    for (const auto& [key, indices] : waiting_) {
      if (auto batch = kernels_->batch_with(key)) return batch;
    }
    return nullptr;
  }

  std::shared_ptr<KernelCache> kernels_;
  std::map<std::string, std::vector<std::size_t>> waiting_;  ///< configurations by what they need
  bool winding_up_ = false;
  std::shared_ptr<KernelCache::Batch> own_;
  /// Keeps alive batches of other compilations that compile our kernels.
  std::vector<std::shared_ptr<KernelCache::Batch>> others_;
};

DeviceEvaluator::DeviceEvaluator(Device& device, const KernelFamily& family, std::uint64_t seed, bool cold_cache)
    : device_(device),
      family_(family),
      seed_(seed),
      cold_cache_(cold_cache),
      contents_(device, kept_bytes(device)),
      kernels_(std::make_shared<KernelCache>(device)),
      verifier_(
          device, family, seed, [this](const Kernels& kernels) { return binary(kernels); }, kernels_) {
  if (!family.supports(device.identity().backend)) {
    throw Error(ErrorKind::usage, fmt::format("kernel family '{}' has no kernels for device '{}' (backend {})",
                                              family.name(), device.label(), device.identity().backend));
  }
}

DeviceEvaluator::~DeviceEvaluator() = default;

Provenance DeviceEvaluator::provenance() const {
  Provenance provenance = device_.provenance();
  provenance.date = utc_now();
  return provenance;
}

std::unique_ptr<Compilation> DeviceEvaluator::compile(const std::vector<Configuration>& configurations,
                                                      const Problem& problem) {
  std::vector<CompileRequest> requests;
  requests.reserve(configurations.size());
  for (const Configuration& configuration : configurations) {
    requests.push_back(request(family_.kernels(configuration, problem, device())));
  }
  return std::make_unique<PendingCompilation>(kernels_, requests);
}

std::unique_ptr<Runner> DeviceEvaluator::prepare(const Configuration& configuration, const Problem& problem,
                                                 std::int64_t samples) {
  try {
    return prepare_beside_kept(configuration, problem, samples);
  } catch (const DeviceFailure& failure) {
    if (contents_.empty() || failure.status() != Status::out_of_memory) throw;
  }
  contents_.clear();  // what is kept of other problems may have taken the room
  return prepare_beside_kept(configuration, problem, samples);
}

std::unique_ptr<Runner> DeviceEvaluator::prepare_beside_kept(const Configuration& configuration, const Problem& problem,
                                                             std::int64_t samples) {
  auto [evictor, cold_runs] = eviction(samples);
  if (evictor) samples = 1;
  Prepared prepared = prepared_trial(configuration, problem, samples);
  auto kernels = binary(prepared.plan.kernels);
  return std::make_unique<DeviceRunner>(device_, std::move(prepared.plan), std::move(kernels),
                                        std::move(prepared.contents), contents_, std::move(evictor), cold_runs);
}

/// Contents that configurations share go to the device once, and from there to the buffers of each.
DeviceEvaluator::Prepared DeviceEvaluator::prepared_trial(const Configuration& configuration, const Problem& problem,
                                                          std::int64_t samples) {
  const auto kept = [&]() -> std::optional<HeldContents> {
    const KeptContents::Buffers* const found = contents_.find(problem);
    return found == nullptr ? std::nullopt : std::optional(HeldContents(*found));
  };
  if (auto contents = kept()) {
    return {.plan = family_.measured_plan(configuration, problem, device(), samples), .contents = std::move(*contents)};
  }
  Trial trial = family_.trial(configuration, problem, device(), samples, seed_);
  if (family_.shares_contents()) contents_.keep(problem, trial.initial.views());
  auto contents = kept();
  return {.plan = std::move(trial.plan), .contents = contents ? std::move(*contents) : HeldContents(trial.initial)};
}

DeviceEvaluator::Eviction DeviceEvaluator::eviction(std::int64_t samples) {
  if (!cold_cache_) return {};
  if (!evictor_) {
    constexpr std::int64_t kTimes = 2;  // what is read from the cache meanwhile may keep its place
    const std::int64_t cache = device().cache_bytes;
    if (cache <= 0) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} does not say how large its cache is, so it cannot be emptied", device_.label()));
    }
    evictor_ = device_.allocate(kTimes * cache);
  }
  return {.memory = evictor_, .repetitions = std::min(samples, kMostColdRuns)};
}

void DeviceEvaluator::check_device() {
  try {
    std::vector<std::byte> bytes(64);
    const auto memory = device_.allocate(static_cast<std::int64_t>(bytes.size()));
    memory->write(bytes);
    memory->read(bytes);
  } catch (const DeviceFailure& failure) {
    throw Error(ErrorKind::device,
                fmt::format("{} does not answer any more: {}; what was measured is kept, and another "
                            "run will leave out the configuration that did this",
                            device_.label(), failure.what()));
  }
}

Verdict DeviceEvaluator::verify(const Configuration& configuration, const Problem& problem, VerificationExtent extent) {
  return unless_faulty(verifier_.verify(configuration, problem, extent));
}

Verdict DeviceEvaluator::verify_timed_run(const Configuration& configuration, const Problem& problem,
                                          std::int64_t samples, const Configuration& untuned) {
  return unless_faulty(verifier_.verify_timed_run(configuration, problem, samples, untuned, contents_.find(problem)));
}

/// A kernel that is wrong may have written to what is kept beside its buffers.
Verdict DeviceEvaluator::unless_faulty(Verdict verdict) {
  if (verdict.status != Status::correct) contents_.clear();
  return verdict;
}

HostImage DeviceEvaluator::outcome(const Configuration& configuration, const Problem& problem,
                                   const BufferNames& names) {
  return results_of(*after_one_launch(configuration, problem), names);
}

std::unique_ptr<Execution> DeviceEvaluator::after_one_launch(const Configuration& configuration,
                                                             const Problem& problem) {
  Prepared prepared = prepared_trial(configuration, problem, 1);
  auto kernels = binary(prepared.plan.kernels);
  auto execution = device_.prepare(std::move(prepared.plan), std::move(kernels));
  run_once(*execution, prepared.contents);
  return execution;
}

/// Only buffers whose bytes differ are brought to the host.
double DeviceEvaluator::difference(const Configuration& configuration, const Configuration& reference,
                                   const Problem& problem) {
  const DefinedFamily* const defined = family_.defined();
  if (defined == nullptr) throw Error(ErrorKind::bug, "only defined kernels say how far apart two results are");
  std::optional<HeldContents> expected;
  try {
    const auto execution = after_one_launch(reference, problem);
    expected = HeldContents::copied(device_, *execution, names_of_results(execution->plan()));
  } catch (const DeviceFailure& failure) {
    throw DeviceFailure(failure.status(), fmt::format("nothing to compare with: {}", failure.what()));
  }
  const auto execution = after_one_launch(configuration, problem);
  double worst = 0.0;
  for (const KernelArgument& argument : defined->definition().arguments) {
    if (!argument.is_compared() || expected->same(device_, *execution, argument.name)) continue;
    const HostImage found = results_of(*execution, {argument.name});
    worst = std::max(worst, defined->difference(argument, found.at(argument.name), expected->bytes(argument.name)));
  }
  return worst;
}

CompileRequest DeviceEvaluator::request(Kernels kernels) const {
  return {.source = &family_.source(device().backend), .kernels = std::move(kernels)};
}

/// Kernels that depend on the sizes may not have been compiled for an awkward problem before.
std::shared_ptr<const Binary> DeviceEvaluator::binary(const Kernels& kernels) {
  const CompileOutcome& outcome = kernels_->await(request(kernels)).outcome;
  if (!outcome.binary) throw DeviceFailure(Status::compilation, first_complaint(outcome.log));
  return outcome.binary;
}

}  // namespace heddle
