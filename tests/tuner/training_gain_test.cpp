#include "heddle/tuner/training_gain.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/random.hpp"
#include "heddle/runtime/train/sonfin_options.hpp"
#include "tuner/fake_device.hpp"

using namespace heddle;

namespace {

/// A run whose epochs take the times it is given, which fails at a negative one, and which writes its name down with
/// each.
class ScriptedRun final : public TrainingRun {
 public:
  ScriptedRun(std::string name, std::vector<double> times, std::string& order, const TrainingObserver& observer)
      : name_(std::move(name)), times_(std::move(times)), order_(order), observer_(observer) {}
  std::optional<Ending> advance() override {
    order_ += name_;
    if (times_[next_] < 0.0) throw DeviceFailure(Status::launch, name_ + " came to grief");
    EpochReport report;
    report.epoch = static_cast<std::int64_t>(next_ + 1);
    report.microseconds_per_sample = times_[next_++];
    MappingUse smaller, larger;
    smaller.configuration = "smaller";
    smaller.samples = 1;
    larger.configuration = "of " + name_;
    larger.samples = 9;
    report.mappings = {smaller, larger};
    if (observer_.epoch) observer_.epoch(report);
    if (observer_.stop && observer_.stop()) return Ending::stopped;
    return next_ == times_.size() ? std::optional(Ending::completed) : std::nullopt;
  }
  TrainingResult finish(Ending ending) override {
    TrainingResult result;
    result.ending = ending;
    result.message = name_;
    return result;
  }

 private:
  std::string name_;
  std::vector<double> times_;
  std::size_t next_ = 0;
  std::string& order_;
  const TrainingObserver& observer_;
};

/// With profiles its runs are called T, without U.
class ScriptedTrainer final : public Trainer {
 public:
  ScriptedTrainer(std::vector<double> tuned, std::vector<double> untuned)
      : tuned_(std::move(tuned)), untuned_(std::move(untuned)) {}
  std::string_view name() const override { return "scripted"; }
  std::string_view meaning() const override { return ""; }
  const std::vector<Option>& options() const override { return sonfin_options(); }
  const std::vector<const KernelFamily*>& families() const override { return families_; }
  std::unique_ptr<TrainingRun> begin(Device&, const Knowledge& known, const TrainingJob&,
                                     const TrainingObserver& observer) const override {
    if ((known.profiles.empty() ? untuned_ : tuned_).empty())
      throw DeviceFailure(Status::compilation, "does not compile");
    return std::make_unique<ScriptedRun>(known.profiles.empty() ? "U" : "T", known.profiles.empty() ? untuned_ : tuned_,
                                         order, observer);
  }
  std::unique_ptr<Predictor> predictor(Device&, const Knowledge&, const AnyNetwork&, const Notice&) const override {
    return nullptr;
  }
  mutable std::string order;

 private:
  std::vector<double> tuned_, untuned_;
  std::vector<const KernelFamily*> families_;
};

ComparedTraining compare(const ScriptedTrainer& trainer, const TrainingObserver& observer = {}) {
  fake::FakeDevice device;
  const TrainingJob job{.options = OptionValues(sonfin_options())};
  return train_by_turns(trainer, device, {Profile()}, job, observer);
}

/// `count` times around `middle`, up to a tenth of it away.
std::vector<double> noisy(double middle, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> times(count);
  for (double& time : times) time = middle * (1.0 + 0.1 * random.symmetric());
  return times;
}

}  // namespace

TEST_CASE("runs with and without profiles take turns, and who begins alternates") {
  const ScriptedTrainer trainer({9, 2, 3, 4}, {1, 5, 6, 7});
  int told = 0;
  const ComparedTraining compared = compare(trainer, {.epoch = [&](const EpochReport&) { ++told; }});
  CHECK(trainer.order == "TUUTTUUT");
  CHECK(told == 4);  // of the run with profiles alone
  CHECK(compared.result.message == "T");
  CHECK(compared.result.ending == Ending::completed);
  CHECK(compared.gain.tuned_mapping.configuration == "of T");
  CHECK(compared.gain.untuned_mapping.configuration == "of U");
}

TEST_CASE("the first epoch decides nothing") {
  const ScriptedTrainer trainer({900, 2, 3, 4}, {1, 4, 6, 8});
  const TrainingGain gain = compare(trainer).gain;
  CHECK(gain.tuned == std::vector<double>{2, 3, 4});
  CHECK(gain.untuned == std::vector<double>{4, 6, 8});
  CHECK(gain.factor() == doctest::Approx(2.0));
  CHECK(gain.rounds_faster() == 3);
  CHECK(compare(ScriptedTrainer({900, 2, 3, 4}, {1, 1, 6, 4})).gain.rounds_faster() == 1);
  CHECK(compare(ScriptedTrainer({900}, {1})).gain.factor() == 1.0);
  CHECK(compare(ScriptedTrainer({900}, {1})).gain.verdict() == TrainingGain::Verdict::within_noise);
}

TEST_CASE("a gain within the noise is none") {
  const auto verdict = [](double tuned, double untuned) {
    return compare(ScriptedTrainer(noisy(tuned, 20, 1), noisy(untuned, 20, 2))).gain.verdict();
  };
  CHECK(verdict(2.0, 2.0) == TrainingGain::Verdict::within_noise);
  CHECK(verdict(2.0, 2.02) == TrainingGain::Verdict::within_noise);
  CHECK(verdict(2.0, 3.0) == TrainingGain::Verdict::faster);
  CHECK(verdict(3.0, 2.0) == TrainingGain::Verdict::slower);
}

TEST_CASE("the run with profiles decides when the comparison ends") {
  const ScriptedTrainer early({9, 2, 3}, {1, 5, 6, 7, 8});
  CHECK(compare(early).gain.untuned == std::vector<double>{5, 6});
  const ScriptedTrainer late({9, 2, 3, 4, 5}, {1, 5, 6});
  const ComparedTraining compared = compare(late);
  CHECK(compared.gain.tuned == std::vector<double>{2, 3});
  CHECK(compared.result.ending == Ending::completed);
  CHECK(late.order == "TUUTTUTT");
  const ScriptedTrainer stopped({9, 2, 3}, {1, 5, 6});
  CHECK(compare(stopped, {.stop = [] { return true; }}).result.ending == Ending::stopped);
  CHECK(stopped.order == "TU");
}

TEST_CASE("a failure of the run without profiles ends the comparison, not the training") {
  std::vector<std::string> notices;
  const TrainingObserver observer{.notice = [&](const std::string& line) { notices.push_back(line); }};
  const ScriptedTrainer midway({9, 2, 3, 4, 5}, {1, 5, -1, 7, 8});
  const ComparedTraining compared = compare(midway, observer);
  CHECK(midway.order == "TUUTTUTT");
  CHECK(compared.result.ending == Ending::completed);
  CHECK(compared.gain.tuned == std::vector<double>{2});
  CHECK(compared.gain.untuned == std::vector<double>{5});
  CHECK(compared.gain.failure == "U came to grief");
  REQUIRE(notices.size() == 1);
  CHECK(notices.front().find("U came to grief") != std::string::npos);

  const ScriptedTrainer from_the_start({9, 2, 3}, {});
  const ComparedTraining alone = compare(from_the_start, observer);
  CHECK(from_the_start.order == "TTT");
  CHECK(alone.result.ending == Ending::completed);
  CHECK(alone.gain.tuned.empty());
  CHECK(alone.gain.failure == "does not compile");
  CHECK(notices.size() == 2);

  CHECK_THROWS_AS((void)compare(ScriptedTrainer({9, -1}, {1, 2, 3})), DeviceFailure);
  CHECK_THROWS_AS((void)compare(ScriptedTrainer({}, {1, 2, 3})), DeviceFailure);
}
