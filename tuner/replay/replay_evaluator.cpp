#include "heddle/tuner/replay/replay_evaluator.hpp"

#include <utility>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

namespace {

class ReplayedCompilation final : public Compilation {
 public:
  ReplayedCompilation(std::vector<const RecordedOutcome*> outcomes, std::shared_ptr<double> now)
      : outcomes_(std::move(outcomes)), now_(std::move(now)) {}

  using Compilation::next;
  std::optional<Done> next(const Stop&) override {
    if (position_ == outcomes_.size()) return std::nullopt;
    const RecordedOutcome& outcome = *outcomes_[position_];
    *now_ += outcome.compile_seconds;
    const bool refused = outcome.status == Status::compilation;
    return Done{.index = position_++,
                .compiled = !refused,
                .seconds = outcome.compile_seconds,
                .log = refused ? "error: " + (outcome.message.empty() ? "recorded" : outcome.message) : ""};
  }
  bool done() override { return true; }
  void wind_up() override { position_ = outcomes_.size(); }

 private:
  std::vector<const RecordedOutcome*> outcomes_;
  std::size_t position_ = 0;
  std::shared_ptr<double> now_;
};

class ReplayedRunner final : public Runner {
 public:
  ReplayedRunner(double microseconds, std::shared_ptr<double> now)
      : microseconds_(microseconds), now_(std::move(now)) {}
  using Runner::time;
  double time(const Stop&) override {
    *now_ += microseconds_ * 1e-6;
    return microseconds_;
  }
  void check_guards() override {}

 private:
  double microseconds_;
  std::shared_ptr<double> now_;
};

}  // namespace

ReplayEvaluator::ReplayEvaluator(const RecordedFamily& recording, std::shared_ptr<double> now)
    : recording_(recording), device_(recording.device()), now_(std::move(now)) {}

Provenance ReplayEvaluator::provenance() const {
  Provenance provenance;
  provenance.driver = "recorded";
  return provenance;
}

std::unique_ptr<Compilation> ReplayEvaluator::compile(const std::vector<Configuration>& configurations,
                                                      const Problem&) {
  std::vector<const RecordedOutcome*> outcomes;
  outcomes.reserve(configurations.size());
  for (const Configuration& configuration : configurations) outcomes.push_back(&recording_.outcome(configuration));
  return std::make_unique<ReplayedCompilation>(std::move(outcomes), now_);
}

std::unique_ptr<Runner> ReplayEvaluator::prepare(const Configuration& configuration, const Problem&, std::int64_t) {
  const RecordedOutcome& outcome = recording_.outcome(configuration);
  if (!outcome.time) {
    throw DeviceFailure(outcome.status, outcome.message.empty() ? "recorded" : outcome.message);
  }
  return std::make_unique<ReplayedRunner>(*outcome.time, now_);
}

Verdict ReplayEvaluator::verify(const Configuration& configuration, const Problem&, VerificationExtent) {
  const RecordedOutcome& outcome = recording_.outcome(configuration);
  if (outcome.time) return {};
  return {.status = outcome.status, .worst_error = 0.0, .message = outcome.message};
}

}  // namespace heddle
