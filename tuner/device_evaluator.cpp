#include "heddle/tuner/device_evaluator.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <stdexcept>
#include <utility>

#include "fmt/format.h"
#include "heddle/runtime/device/provenance.hpp"

namespace heddle {

namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kBusyCoreSeconds = 0.05;  // much longer than a time slice of the scheduler

std::string key_of(const Kernels& kernels) {
  std::string key;
  for (const KernelInstance& kernel : kernels) key.append(kernel.text()).append("\n");
  return key;
}

class DeviceRunner final : public Runner {
 public:
  DeviceRunner(Device& device, Trial trial, std::shared_ptr<const Binary> binary)
      : device_(device), execution_(device.prepare(std::move(trial.plan), std::move(binary))) {
    for (const auto& [name, bytes] : trial.initial) execution_->memory(name).write(bytes);
    execution_->save();
    execution_->synchronize();
  }

  using Runner::time;
  double time(const Stop&) override {
    execution_->restore();
    execution_->synchronize();  // or the restoring would hide the latency of the first launch
    return execution_->time() * kMicroseconds / static_cast<double>(execution_->plan().samples);
  }

  std::optional<double> busy_core_time() override {
    const std::shared_ptr<void> other_program = device_.occupy();
    if (!other_program) return std::nullopt;
    double taken = 0.0, samples = 0.0;
    while (taken < kBusyCoreSeconds) {
      execution_->restore();
      execution_->synchronize();
      const auto start = std::chrono::steady_clock::now();
      execution_->launch();  // not time(): the team of threads may shrink between launches, as it does in training
      execution_->synchronize();
      taken += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      samples += static_cast<double>(execution_->plan().samples);
    }
    return taken * kMicroseconds / samples;
  }

  void check_guards() override {
    if (const auto buffer = execution_->overrun()) {
      throw DeviceFailure(Status::overrun, fmt::format("wrote behind buffer '{}'", *buffer));
    }
  }

 private:
  Device& device_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace

/// Kernels that are compiled or being compiled, by the expressions that name them. From one thread at a time.
class DeviceEvaluator::KernelCache {
 public:
  KernelCache(Device& device, const TemplateSource& source) : device_(device), source_(source) {}

  struct Entry {
    CompileOutcome outcome;
    double unreported_seconds = 0.0;  ///< seconds of the compiler that no caller was told of
  };

  /// A batch in flight. Lives as long as a compilation waits for one of its kernels.
  struct CompilingBatch {
    explicit CompilingBatch(KernelCache& owner) : cache(owner) {}
    ~CompilingBatch() { cache.drop(std::move(batch)); }
    CompilingBatch(const CompilingBatch&) = delete;
    CompilingBatch& operator=(const CompilingBatch&) = delete;
    KernelCache& cache;
    std::vector<std::string> keys;
    std::unique_ptr<CompileBatch> batch;
    std::set<std::string> under_way;
  };

  /// Starts to compile the kernels that are neither compiled nor in flight.
  std::shared_ptr<CompilingBatch> start(const std::map<std::string, Kernels>& wanted) {
    std::vector<CompileRequest> requests;
    auto compiling = std::make_shared<CompilingBatch>(*this);
    for (const auto& [key, kernels] : wanted) {
      if (find(key) != nullptr || batch_with(key)) continue;
      requests.push_back({.source = &source_, .kernels = kernels});
      compiling->keys.push_back(key);
      compiling->under_way.insert(key);
    }
    if (requests.empty()) return nullptr;
    compiling->batch = device_.compile(std::move(requests));
    std::erase_if(in_flight_, [](const auto& other) { return other.expired(); });
    in_flight_.push_back(compiling);
    return compiling;
  }

  Entry* find(const std::string& key) {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  std::shared_ptr<CompilingBatch> batch_with(const std::string& key) const {
    for (const auto& some : in_flight_) {
      if (auto compiling = some.lock(); compiling && compiling->under_way.contains(key)) return compiling;
    }
    return nullptr;
  }

  /// Waits for one more kernel of the batch.
  void wait_for_one(CompilingBatch& compiling, const Stop& stop) {
    auto outcome = compiling.batch->next(stop);
    if (!outcome) {
      compiling.under_way.clear();
      return;
    }
    const std::string& key = compiling.keys[outcome->first];
    compiling.under_way.erase(key);
    Entry& entry = entries_[key];
    entry.unreported_seconds = outcome->second.cached ? 0.0 : outcome->second.seconds;
    entry.outcome = std::move(outcome->second);
  }

  /// Waits for this kernel, whichever compilation asked for it first.
  Entry& await(const std::string& key, const Kernels& kernels) {
    while (find(key) == nullptr) {
      const auto compiling = batch_with(key);
      if (compiling) {
        wait_for_one(*compiling, {});
      } else {
        entries_[key].outcome = compile_one(device_, {.source = &source_, .kernels = kernels});
      }
    }
    return *find(key);
  }

 private:
  /// Destroying a batch waits for the compiler. On a CPU that happens here, because the compiler would disturb the
  /// measurements; on a GPU it happens on a thread of its own.
  void drop(std::unique_ptr<CompileBatch> batch) {
    if (device_.identity().backend != "cuda") return;
    std::erase_if(dropped_,
                  [](const auto& end) { return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    dropped_.push_back(std::async(std::launch::async, [last = std::move(batch)]() mutable { last.reset(); }));
  }

  Device& device_;
  const TemplateSource& source_;
  std::map<std::string, Entry> entries_;
  std::vector<std::weak_ptr<CompilingBatch>> in_flight_;
  std::vector<std::future<void>> dropped_;
};

/// Returns the configurations that are compiled already first, then waits for the device.
class DeviceEvaluator::PendingCompilation final : public Compilation {
 public:
  PendingCompilation(std::shared_ptr<KernelCache> kernel_cache, const std::vector<Kernels>& kernels)
      : kernels_(std::move(kernel_cache)) {
    std::map<std::string, Kernels> wanted;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::string key = key_of(kernels[i]);
      wanted.emplace(key, kernels[i]);
      waiting_[key].push_back(i);
    }
    own_ = kernels_->start(wanted);
    for (const auto& [key, kernel] : wanted) {
      if (auto compiling = kernels_->batch_with(key); compiling && compiling != own_)
        others_.push_back(std::move(compiling));
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
      if (const auto compiling = first_batch()) {
        kernels_->wait_for_one(*compiling, stop);
      } else if (winding_up_) {
        break;
      } else {
        throw std::logic_error("nobody compiles " + waiting_.begin()->first);
      }
    }
    return std::nullopt;
  }

  void wind_up() override {
    winding_up_ = true;
    if (own_) own_->batch->wind_up();
  }

 private:
  /// A batch in flight that compiles a kernel this compilation waits for.
  [[nodiscard]] std::shared_ptr<KernelCache::CompilingBatch> first_batch() const {
    for (const auto& [key, indices] : waiting_) {
      if (auto compiling = kernels_->batch_with(key)) return compiling;
    }
    return nullptr;
  }

  std::shared_ptr<KernelCache> kernels_;
  std::map<std::string, std::vector<std::size_t>> waiting_;  ///< configurations by what they need
  bool winding_up_ = false;
  std::shared_ptr<KernelCache::CompilingBatch> own_;
  /// Keeps alive batches of other compilations that compile our kernels.
  std::vector<std::shared_ptr<KernelCache::CompilingBatch>> others_;
};

DeviceEvaluator::DeviceEvaluator(Device& device, const KernelFamily& family, std::uint64_t seed)
    : device_(device),
      family_(family),
      seed_(seed),
      verifier_(device, family, seed, [this](const Kernels& kernels) { return binary(kernels); }) {
  if (!family.supports(device.identity().backend)) {
    throw Error(ErrorKind::usage, fmt::format("kernel family '{}' has no kernels for device '{}' (backend {})",
                                              family.name(), device.label(), device.identity().backend));
  }
  kernels_ = std::make_shared<KernelCache>(device, family.source(device.identity().backend));
}

DeviceEvaluator::~DeviceEvaluator() = default;

Provenance DeviceEvaluator::provenance() const {
  Provenance provenance = device_.provenance();
  provenance.date = utc_now();
  return provenance;
}

std::unique_ptr<Compilation> DeviceEvaluator::compile(const std::vector<Configuration>& configurations,
                                                      const Problem& problem) {
  std::vector<Kernels> kernels;
  kernels.reserve(configurations.size());
  for (const Configuration& configuration : configurations) {
    kernels.push_back(family_.kernels(configuration, problem, device()));
  }
  return std::make_unique<PendingCompilation>(kernels_, kernels);
}

std::unique_ptr<Runner> DeviceEvaluator::prepare(const Configuration& configuration, const Problem& problem,
                                                 std::int64_t samples) {
  Trial trial = family_.trial(configuration, problem, device(), samples, seed_);
  auto kernels = binary(trial.plan.kernels);
  return std::make_unique<DeviceRunner>(device_, std::move(trial), std::move(kernels));
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
  return verifier_.verify(configuration, problem, extent);
}

Verdict DeviceEvaluator::verify_timed_run(const Configuration& configuration, const Problem& problem,
                                          std::int64_t samples, const Configuration& untuned) {
  return verifier_.verify_timed_run(configuration, problem, samples, untuned);
}

/// Kernels that depend on the sizes may not have been compiled for an awkward problem before.
std::shared_ptr<const Binary> DeviceEvaluator::binary(const Kernels& kernels) {
  const CompileOutcome& outcome = kernels_->await(key_of(kernels), kernels).outcome;
  if (!outcome.binary) throw DeviceFailure(Status::compilation, first_complaint(outcome.log));
  return outcome.binary;
}

}  // namespace heddle
