#include "heddle/tuner/device_evaluator.hpp"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "heddle/runtime/device/provenance.hpp"
#include "heddle/tuner/verify.hpp"

namespace heddle {

namespace {

constexpr double kMicroseconds = 1e6;

std::string key_of(const std::vector<std::string>& kernels) {
  std::string key;
  for (const std::string& kernel : kernels) key += kernel + '\n';
  return key;
}

class DeviceRunner final : public Runner {
 public:
  DeviceRunner(Device& device, Trial trial, std::shared_ptr<const Binary> binary)
      : execution_(device.prepare(std::move(trial.plan), std::move(binary))) {
    for (const auto& [name, bytes] : trial.initial) execution_->memory(name).write(bytes);
    execution_->save();
    execution_->synchronize();
  }

  double time() override {
    execution_->restore();
    execution_->synchronize();  // or the restoring would hide the latency of the first launch
    return execution_->time() * kMicroseconds / static_cast<double>(execution_->plan().samples);
  }

  void check_guards() override {
    if (const auto buffer = execution_->overrun()) {
      throw DeviceFailure(Status::overrun, fmt::format("wrote behind buffer '{}'", *buffer));
    }
  }

 private:
  std::unique_ptr<Execution> execution_;
};

}  // namespace

/// Answers first for what is compiled already, then waits for the device.
class DeviceEvaluator::Batch final : public Compilation {
 public:
  Batch(Device& device, const TemplateSource& source, const std::vector<std::string>& keys,
        const std::vector<std::vector<std::string>>& kernels, std::shared_ptr<Binaries> binaries)
      : binaries_(std::move(binaries)) {
    std::vector<CompileRequest> requests;
    std::map<std::string, std::size_t> requested;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (const auto found = binaries_->find(keys[i]); found != binaries_->end()) {
        done_.push_back(answer(i, found->second, 0.0));
        continue;
      }
      const auto [place, first] = requested.try_emplace(keys[i], requests.size());
      if (first) {
        requests.push_back({.source = &source, .kernels = kernels[i]});
        keys_.push_back(keys[i]);
        waiting_.emplace_back();
      }
      waiting_[place->second].push_back(i);
    }
    if (!requests.empty()) batch_ = device.compile(std::move(requests));
  }

  std::optional<Done> next() override {
    if (done_.empty() && batch_) {
      if (auto outcome = batch_->next()) {
        const std::size_t request = outcome->first;
        double seconds = outcome->second.cached ? 0.0 : outcome->second.seconds;
        for (const std::size_t index : waiting_[request]) {
          done_.push_back(answer(index, outcome->second, std::exchange(seconds, 0.0)));
        }
        binaries_->insert_or_assign(keys_[request], std::move(outcome->second));
      }
    }
    if (done_.empty()) return std::nullopt;
    Done done = std::move(done_.back());
    done_.pop_back();
    return done;
  }

 private:
  static Done answer(std::size_t index, const CompileOutcome& outcome, double seconds) {
    return {.index = index, .compiled = outcome.binary != nullptr, .seconds = seconds, .log = outcome.log};
  }

  std::shared_ptr<Binaries> binaries_;
  std::vector<Done> done_;
  std::vector<std::string> keys_;                  ///< of every request
  std::vector<std::vector<std::size_t>> waiting_;  ///< configurations that need it
  std::unique_ptr<CompileBatch> batch_;
};

DeviceEvaluator::DeviceEvaluator(Device& device, const KernelFamily& family, std::uint64_t seed)
    : device_(device), family_(family), seed_(seed) {
  if (!family.supports(device.identity().backend)) {
    throw Error(ErrorKind::usage, fmt::format("kernel family '{}' has no kernels for device '{}' (backend {})",
                                              family.name(), device.label(), device.identity().backend));
  }
}

Provenance DeviceEvaluator::provenance() const {
  Provenance provenance = device_.provenance();
  provenance.date = utc_now();
  return provenance;
}

std::unique_ptr<Compilation> DeviceEvaluator::compile(const std::vector<Configuration>& configurations,
                                                      const Problem& problem) {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> kernels;
  for (const Configuration& configuration : configurations) {
    kernels.push_back(family_.plan(configuration, problem, device(), 1).kernels);
    keys.push_back(key_of(kernels.back()));
  }
  return std::make_unique<Batch>(device_, family_.source(device().backend), keys, kernels, binaries_);
}

std::unique_ptr<Runner> DeviceEvaluator::prepare(const Configuration& configuration, const Problem& problem,
                                                 std::int64_t samples) {
  return std::make_unique<DeviceRunner>(
      device_, family_.trial(configuration, problem, device(), samples, Purpose::timing, seed_),
      binary(configuration, problem));
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

Verdict DeviceEvaluator::verify(const Configuration& configuration, const Problem& problem) {
  Verdict own = heddle::verify(device_, family_, configuration, problem, binary(configuration, problem), seed_);
  if (own.status != Status::correct) return own;
  const auto awkward = awkward_problem(family_, device(), configuration, problem);
  if (!awkward) return own;
  const std::string key = configuration.text() + " on " + awkward->text();
  auto found = awkward_verdicts_.find(key);
  if (found == awkward_verdicts_.end()) {
    Verdict verdict = heddle::verify(device_, family_, configuration, *awkward, binary(configuration, *awkward), seed_);
    if (verdict.status != Status::correct) verdict.message = fmt::format("{}: {}", awkward->text(), verdict.message);
    found = awkward_verdicts_.emplace(key, std::move(verdict)).first;
  }
  Verdict worst = found->second;
  worst.worst_error = std::max(worst.worst_error, own.worst_error);
  return worst;
}

std::shared_ptr<const Binary> DeviceEvaluator::binary(const Configuration& configuration, const Problem& problem) {
  const std::vector<std::string> kernels = family_.plan(configuration, problem, device(), 1).kernels;
  const auto [place, missing] = binaries_->try_emplace(key_of(kernels));
  if (missing) {  // kernels that depend on the sizes were not compiled for an awkward problem before
    place->second = compile_one(device_, {.source = &family_.source(device().backend), .kernels = kernels});
  }
  if (!place->second.binary) throw DeviceFailure(Status::compilation, first_complaint(place->second.log));
  return place->second.binary;
}

}  // namespace heddle
