#include "heddle/tuner/verifier.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_device.hpp"
#include "heddle/tuner/device_evaluator.hpp"

using namespace heddle;

namespace {

const std::vector<std::string> kinds{"good",     "wrong",  "dirty",   "partial", "overrun",
                                     "trespass", "launch", "refused", "crash"};

Verdict verdict(const std::string& kind, std::int64_t size = 5) {
  fake::FakeDevice device;
  const fake::Family family(kinds);
  return Verifier(device, family, 11).verify(fake::Family::configuration(kind, 3, 2), fake::problem(size));
}

}  // namespace

TEST_CASE("a right result is accepted and every wrong one has its status") {
  CHECK(verdict("good").status == Status::correct);
  CHECK(verdict("good").message.empty());
  CHECK(verdict("good", 1).status == Status::correct);
  CHECK(verdict("wrong").status == Status::wrong_result);
  CHECK(verdict("wrong").worst_error == doctest::Approx(1.0));
  CHECK(verdict("overrun").status == Status::overrun);
  CHECK(verdict("trespass").status == Status::wrong_result);
  CHECK(verdict("trespass").message.find("wrote to the input 'table'") != std::string::npos);
  CHECK(verdict("launch").status == Status::launch);
  CHECK(verdict("refused").status == Status::compilation);
  CHECK(verdict("crash").status == Status::illegal_access);
}

TEST_CASE("poison shows what was read but never written, and what was never written") {
  CHECK(verdict("dirty").status == Status::wrong_result);
  CHECK(verdict("partial").status == Status::wrong_result);
}

TEST_CASE("a verification is as wide as it says: essential runs on the own shape, all on an awkward one, none twice") {
  /// Keeps the names of the runs whose contents were asked for.
  class Watched final : public fake::Family {
   public:
    explicit Watched(std::vector<std::string>& names) : names_(names) {}
    std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                               RunOnDevice) const override {
      class Watching final : public test::AddingVerification {
       public:
        Watching(const KernelFamily& family, const DeviceIdentity& device, std::uint64_t seed,
                 std::vector<std::string>& names)
            : AddingVerification(family, device, seed), names_(names) {}
        Runs runs(const Configuration& configuration, const Problem& problem) override {
          Runs all = AddingVerification::runs(configuration, problem);
          for (VerificationRun& run : all.runs) {
            auto contents = std::move(run.stages.front().contents);
            run.stages.front().contents = [contents, this, name = run.name](const HostImage& left) {
              names_.push_back(name);
              return contents(left);
            };
          }
          return all;
        }

       private:
        std::vector<std::string>& names_;
      };
      return std::make_unique<Watching>(*this, device, seed, names_);
    }

   private:
    std::vector<std::string>& names_;
  };
  using Names = std::vector<std::string>;
  Names names;
  const Watched family(names);
  fake::FakeDevice device;
  Verifier verifier(device, family, 3);
  const Configuration configuration = fake::Family::configuration("good", 1, 1);
  CHECK(verifier.verify(configuration, fake::problem(8), VerificationExtent::one_run).status == Status::correct);
  CHECK(names == Names{"size=8, run 0"});
  CHECK(verifier.verify(configuration, fake::problem(8)).status == Status::correct);
  CHECK(names == Names{"size=8, run 0", "size=8, run 1", "size=7, run 0", "size=7, run 1", "size=7, run 2"});
  // The awkward runs are known.
  names.clear();
  CHECK(verifier.verify(configuration, fake::problem(16)).status == Status::correct);
  CHECK(names == Names{"size=16, run 0", "size=16, run 1"});
  // Without an awkward problem, all of them on the own shape.
  names.clear();
  const Configuration deep = fake::Family::configuration("good", 1, 8);
  CHECK(verifier.verify(deep, fake::problem(9)).status == Status::correct);
  CHECK(names == Names{"size=9, run 0", "size=9, run 1", "size=9, run 2"});
}

/// Timed runs are as far from the reference, and from each other, as a test says.
class Timed final : public fake::Family {
 public:
  using Distance = std::function<std::optional<double>(const Configuration&, std::int64_t end)>;
  struct Behaviour {
    Distance distance;
    std::function<double(std::int64_t end)> rounding = {};   ///< how far rounding leads the reference itself
    std::int64_t compared = 1 << 20;                         ///< samples after which a run is compared at first
    std::function<std::optional<double>()> difference = {};  ///< of two configurations
    std::vector<std::int64_t>* ends = nullptr;               ///< gets the samples after which the reference was asked
  };
  explicit Timed(Behaviour behaviour) : fake::Family(kinds), behaviour_(std::move(behaviour)) {}
  explicit Timed(Distance distance) : Timed(Behaviour{.distance = std::move(distance)}) {}
  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice) const override {
    class Distances final : public test::AddingVerification {
     public:
      Distances(const Timed& family, const DeviceIdentity& device, std::uint64_t seed)
          : AddingVerification(family, device, seed), what_(family.behaviour_) {}
      std::optional<TimedRun> timed_run(const Configuration& configuration, const Problem&, std::int64_t,
                                        std::int64_t end) override {
        const auto distance = what_.distance(configuration, end);
        if (!distance) return std::nullopt;
        if (what_.ends != nullptr) what_.ends->push_back(end);
        TimedRun run{.overwrites = {}, .distance = [distance](const HostImage&) { return *distance; }, .rounding = {}};
        if (what_.rounding) run.rounding = [this, end] { return what_.rounding(end); };
        return run;
      }
      std::int64_t compared_samples(const Problem&, std::int64_t samples) override {
        return std::min(samples, what_.compared);
      }
      std::optional<double> difference(const Problem&, std::int64_t, const TimedEnd& found,
                                       const TimedEnd& expected) override {
        return what_.difference && found.configuration != expected.configuration ? what_.difference() : std::nullopt;
      }

     private:
      const Behaviour& what_;
    };
    return std::make_unique<Distances>(*this, device, seed);
  }

 private:
  Behaviour behaviour_;
};

/// Of timed runs of 1024 samples.
Verdict verdict_of_timed(const Configuration& configuration, const Configuration& untuned, Timed::Behaviour behaviour) {
  fake::FakeDevice device;
  const Timed family(std::move(behaviour));
  return Verifier(device, family, 1).verify_timed_run(configuration, fake::problem(8), 1024, untuned);
}

TEST_CASE("a timed run may end four times as far from the reference as that of the untuned configuration") {
  const Configuration untuned = fake::Family::configuration("good", 1, 1);
  const auto verdict_of = [&](const Configuration& configuration, const Timed::Distance& distance) {
    fake::FakeDevice device;
    const Timed family(distance);
    return Verifier(device, family, 1).verify_timed_run(configuration, fake::problem(8), 1024, untuned);
  };
  const Configuration tuned = fake::Family::configuration("good", 2, 1);
  const auto at = [&](double of_tuned, double of_untuned) {
    return [=](const Configuration& c, std::int64_t) { return std::optional(c == untuned ? of_untuned : of_tuned); };
  };
  CHECK(verdict_of(tuned, at(7.9, 2.0)).status == Status::correct);
  CHECK(verdict_of(tuned, at(8.1, 2.0)).status == Status::wrong_result);
  CHECK(verdict_of(tuned, at(8.1, 2.0)).message.find("8.1") != std::string::npos);
  CHECK(verdict_of(tuned, at(1e300 * 1e300, 2.0)).status == Status::wrong_result);
  CHECK(verdict_of(tuned, at(0.9, 0.01)).status == Status::correct);  // next to nothing

  SUBCASE("the untuned one itself is as far as rounding explains") {
    CHECK(verdict_of(untuned, at(0.0, 15.0)).status == Status::correct);
    CHECK(verdict_of(untuned, at(0.0, 17.0)).status == Status::wrong_result);
  }
  SUBCASE("where the untuned one fails, so is the other") {
    const Configuration failing = fake::Family::configuration("launch", 1, 1);
    fake::FakeDevice device;
    const auto of = [&](double distance) {
      const Timed family([=](const Configuration&, std::int64_t) { return std::optional(distance); });
      return Verifier(device, family, 1).verify_timed_run(tuned, fake::problem(8), 1024, failing).status;
    };
    CHECK(of(15.0) == Status::correct);
    CHECK(of(17.0) == Status::wrong_result);
  }
  SUBCASE("where the reference takes too long for all samples, the first ones are compared") {
    const auto short_of_breath = [&](double of_tuned) {
      return [=](const Configuration& c, std::int64_t end) {
        return end > 300 ? std::nullopt : std::optional(c == untuned ? 2.0 : of_tuned);
      };
    };
    CHECK(verdict_of(tuned, short_of_breath(7.9)).status == Status::correct);
    CHECK(verdict_of(tuned, short_of_breath(8.1)).message.find("after 256 of 1024 samples") != std::string::npos);
  }
  SUBCASE("where training is chaotic, float32 and float64 are compared before they part") {
    const auto chaotic = [&](double of_tuned) {
      return [=](const Configuration& c, std::int64_t end) {
        return std::optional(end > 64 ? 1e6 : c == untuned ? 2.0 : of_tuned);
      };
    };
    const auto chaotic_verdict = [&](double of_tuned) {
      return verdict_of_timed(tuned, untuned, {.distance = chaotic(of_tuned), .rounding = [](std::int64_t end) {
                                                 return end > 64 ? 1e6 : 1.0;
                                               }});
    };
    CHECK(chaotic_verdict(7.0).status == Status::correct);
    const Verdict wrong = chaotic_verdict(9.0);
    CHECK(wrong.status == Status::wrong_result);
    CHECK(wrong.message.find("after 64 of 1024 samples") != std::string::npos);
    // A configuration that never agrees with the reference is wrong, not chaotic.
    CHECK(verdict_of(tuned, at(1e6, 1e6)).status == Status::wrong_result);
    CHECK(verdict_of(untuned, at(0.0, 1e6)).status == Status::wrong_result);
    CHECK(verdict_of(tuned, at(3.0, 1e6)).status == Status::correct);  // the untuned one is wrong
  }
  SUBCASE("without a reference, bits that differ from one time to the next are wrong all the same") {
    const auto none = [](const Configuration&, std::int64_t) { return std::optional<double>(); };
    CHECK(verdict_of(tuned, none).status == Status::correct);
    CHECK(verdict_of(fake::Family::configuration("restless", 1, 1), none).status == Status::wrong_result);
    CHECK(verdict_of(fake::Family::configuration("overrun", 1, 1), none).status == Status::overrun);
    CHECK(verdict_of(fake::Family::configuration("crash", 1, 1), none).status == Status::illegal_access);
  }
}

TEST_CASE("the reference alone says whether training is chaotic, never the configuration to be judged") {
  const Configuration untuned = fake::Family::configuration("good", 1, 1);
  const Configuration tuned = fake::Family::configuration("good", 2, 1);
  const Configuration failing = fake::Family::configuration("launch", 1, 1);
  const auto wrong_from_sample_100_on = [](const Configuration&, std::int64_t end) {
    return std::optional(end >= 100 ? HUGE_VAL : 0.5);
  };
  const std::function<double(std::int64_t)> steady = [](std::int64_t) { return 1.0; };
  const std::function<double(std::int64_t)> chaotic = [](std::int64_t end) { return end > 256 ? 1e6 : 2.0; };
  for (const auto& rounding : {std::function<double(std::int64_t)>(), steady, chaotic}) {
    const Timed::Behaviour behaviour{.distance = wrong_from_sample_100_on, .rounding = rounding};
    CHECK(verdict_of_timed(untuned, untuned, behaviour).status == Status::wrong_result);
    CHECK(verdict_of_timed(tuned, untuned, behaviour).status == Status::wrong_result);
    CHECK(verdict_of_timed(tuned, failing, behaviour).status == Status::wrong_result);
  }
  // Where training amplifies rounding, and is not yet chaotic, so much more is explained.
  const auto at = [&](double distance, double amplification) {
    return verdict_of_timed(untuned, untuned,
                            {.distance = [=](const Configuration&, std::int64_t) { return std::optional(distance); },
                             .rounding = [=](std::int64_t) { return amplification; }})
        .status;
  };
  CHECK(at(79.0, 5.0) == Status::correct);
  CHECK(at(81.0, 5.0) == Status::wrong_result);
  CHECK(at(17.0, 0.1) == Status::wrong_result);
  CHECK(at(1e6, 1e6) == Status::wrong_result);  // after few samples too

  // A reference without a result for fewer samples does not make a kernel right.
  const auto none_below = [&](double distance) {
    return verdict_of_timed(
               untuned, untuned,
               {.distance = [=](const Configuration&,
                                std::int64_t end) { return end < 1024 ? std::nullopt : std::optional(distance); },
                .rounding = [](std::int64_t) { return 1e6; }})
        .status;
  };
  CHECK(none_below(255.0) == Status::correct);
  CHECK(none_below(257.0) == Status::wrong_result);
}

TEST_CASE("a timed run ends where that of the untuned configuration ends, or the reference says which is wrong") {
  const Configuration untuned = fake::Family::configuration("good", 1, 1);
  const Configuration tuned = fake::Family::configuration("good", 2, 1);
  std::vector<std::int64_t> ends;
  /// Right up to 512 samples, as far as the reference goes at first.
  const auto behaviour = [&](double difference, std::optional<double> in_the_end) {
    ends.clear();
    return Timed::Behaviour{
        .distance = [=](const Configuration& c,
                        std::int64_t end) { return end > 512 && c == tuned ? in_the_end : std::optional(0.5); },
        .compared = 512,
        .difference = [=] { return std::optional(difference); },
        .ends = &ends};
  };
  const auto verdict = [&](const Timed::Behaviour& what) { return verdict_of_timed(tuned, untuned, what); };
  CHECK(verdict(behaviour(15.0, 0.5)).status == Status::correct);
  CHECK(ends == std::vector<std::int64_t>{512});                   // the reference is not asked again
  CHECK(verdict(behaviour(17.0, 0.5)).status == Status::correct);  // the untuned one is wrong
  CHECK(ends == std::vector<std::int64_t>{512, 1024});
  const Verdict wrong = verdict(behaviour(HUGE_VAL, 100.0));
  CHECK(wrong.status == Status::wrong_result);
  CHECK(wrong.message.find("after 1024 of 1024 samples") != std::string::npos);
  // The reference takes too long for the whole run.
  CHECK(verdict(behaviour(255.0, std::nullopt)).status == Status::correct);
  CHECK(verdict(behaviour(257.0, std::nullopt)).status == Status::wrong_result);
  CHECK(verdict(behaviour(257.0, std::nullopt)).message.find("from the untuned configuration") != std::string::npos);
  // Two sound kernels part where training is chaotic.
  Timed::Behaviour chaotic = behaviour(1e6, 1e6);
  chaotic.rounding = [](std::int64_t end) { return end > 512 ? 1e6 : 1.0; };
  CHECK(verdict(chaotic).status == Status::correct);
  // Nothing to compare with.
  CHECK(verdict_of_timed(untuned, untuned, behaviour(HUGE_VAL, 0.5)).status == Status::correct);
  CHECK(verdict_of_timed(tuned, fake::Family::configuration("launch", 1, 1), behaviour(HUGE_VAL, 0.5)).status ==
        Status::correct);
}

TEST_CASE(
    "the awkward problem is one where the configuration is allowed, with awkward sizes where no others are needed") {
  const fake::Family family;
  const auto awkward = [&](std::int64_t depth, std::int64_t size) {
    return awkward_problem(family, fake::identity(), fake::Family::configuration("good", 1, depth),
                           fake::problem(size));
  };
  CHECK(*awkward(7, 8) == fake::problem(7));
  CHECK(!awkward(7, 7));  // the problem is the awkward one already
  CHECK(*awkward(8, 8) == fake::problem(9));
  CHECK(!awkward(8, 9));  // 7 is too small for it, and 9 is odd
  CHECK(*awkward(10, 1000) == fake::problem(1001));
}

TEST_CASE("a problem that has an odd size needs no awkward one with other kernels") {
  /// Kernels depend on `outputs`, a second size, and where `fixed` on the first one.
  class Templated final : public fake::Family {
   public:
    explicit Templated(bool fixed) : fixed_(fixed) {}
    static Problem problem(std::int64_t size, std::int64_t outputs) {
      return Problem({{.name = "size", .value = size}, {.name = "outputs", .value = outputs}});
    }
    const std::vector<Axis>& axes() const override {
      static const std::vector<Axis> all{{.name = "size"}, {.name = "outputs"}};
      return all;
    }
    Problem awkward_problem() const override { return problem(7, 3); }
    Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples) const override {
      Plan plan = Family::plan(configuration, problem, device, samples);
      plan.kernels.front().name += std::to_string(problem.at("outputs"));
      if (fixed_) plan.kernels.front().name += " " + std::to_string(problem.at("size"));
      return plan;
    }

   private:
    bool fixed_;
  };
  const auto awkward = [&](bool fixed, std::int64_t size, std::int64_t outputs) {
    return awkward_problem(Templated(fixed), fake::identity(), fake::Family::configuration("good", 1, 1),
                           Templated::problem(size, outputs));
  };
  CHECK(*awkward(false, 180, 3) == Templated::problem(7, 3));    // the same kernels
  CHECK(*awkward(false, 180, 16) == Templated::problem(7, 16));  // of the sizes that need no others
  CHECK(*awkward(false, 181, 16) == Templated::problem(7, 16));
  CHECK(!awkward(true, 181, 16));
  CHECK(!awkward(true, 180, 5));
  CHECK(*awkward(true, 180, 16) == Templated::problem(7, 3));
  CHECK(*awkward(true, 180, 1) == Templated::problem(7, 3));  // one divides everything
}

TEST_CASE("an awkward problem has no size that no problem of the family has") {
  class FewBits final : public fake::Family {
   public:
    static Problem problem(std::int64_t size, std::int64_t bits) {
      return Problem({{.name = "size", .value = size}, {.name = "bits", .value = bits}});
    }
    const std::vector<Axis>& axes() const override {
      static const std::vector<Axis> all{{.name = "size"},
                                         {.name = "bits", .spacing = Spacing::equal, .values = {8, 32}}};
      return all;
    }
    Problem awkward_problem() const override { return problem(7, 8); }
    Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples) const override {
      Plan plan = Family::plan(configuration, problem, device, samples);
      plan.kernels.front().name += std::to_string(problem.at("size"));
      return plan;
    }
  };
  const auto awkward = awkward_problem(FewBits(), fake::identity(), fake::Family::configuration("good", 1, 1),
                                       FewBits::problem(180, 32));
  CHECK(*awkward == FewBits::problem(7, 8));
}

TEST_CASE("the evaluator shares kernels between configurations and problems") {
  fake::FakeDevice device;
  const fake::Family family(kinds);
  DeviceEvaluator evaluator(device, family, 3);
  const std::vector<Configuration> list{
      fake::Family::configuration("good", 3, 1), fake::Family::configuration("good", 3, 2),
      fake::Family::configuration("good", 4, 1), fake::Family::configuration("refused", 1, 1)};
  for (const std::int64_t size : {8, 16}) {
    const auto compilation = evaluator.compile(list, fake::problem(size));
    std::vector<int> seen(list.size());
    double seconds = 0.0;
    while (const auto done = compilation->next()) {
      ++seen[done->index];
      seconds += done->seconds;
      CHECK(done->compiled == (done->index != 3));
      CHECK(done->log.empty() == done->compiled);
    }
    CHECK(seen == std::vector<int>(list.size(), 1));
    CHECK(device.compiler_calls() == 3);
    CHECK(seconds == doctest::Approx(size == 8 ? 0.75 : 0.0));
  }
  const auto runner = evaluator.prepare(list[0], fake::problem(8), 10);
  CHECK(runner->time() == doctest::Approx(2.0));
  runner->check_guards();
  CHECK(evaluator.verify(list[0], fake::problem(8), VerificationExtent::one_run).status == Status::correct);
  CHECK(evaluator.verify(list[0], fake::problem(8), VerificationExtent::all).status == Status::correct);
  CHECK(evaluator.verify_timed_run(list[0], fake::problem(8), 10, list[1]).status == Status::correct);
  try {
    (void)evaluator.prepare(list[3], fake::problem(8), 10);
    FAIL("prepared what did not compile");
  } catch (const DeviceFailure& failure) {
    CHECK(failure.status() == Status::compilation);
    CHECK(std::string(failure.what()) == "error: refused");
  }
}

TEST_CASE("overruns and dead devices are noticed") {
  fake::FakeDevice device;
  const fake::Family family(kinds);
  DeviceEvaluator evaluator(device, family, 3);
  const auto overrun = evaluator.prepare(fake::Family::configuration("overrun", 1, 1), fake::problem(8), 4);
  (void)overrun->time();
  CHECK_THROWS_AS(overrun->check_guards(), DeviceFailure);
  evaluator.check_device();
  const auto crash = evaluator.prepare(fake::Family::configuration("crash", 1, 1), fake::problem(8), 4);
  CHECK_THROWS_AS((void)crash->time(), DeviceFailure);
  CHECK_THROWS_AS(evaluator.check_device(), Error);
}

TEST_CASE("a family without kernels for the device is refused") {
  class Elsewhere final : public Device {
   public:
    std::string label() const override { return "elsewhere"; }
    const DeviceIdentity& identity() const override { return identity_; }
    const Provenance& provenance() const override { return provenance_; }
    std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest>) override { return nullptr; }
    std::int64_t compiler_calls() const override { return 0; }
    std::shared_ptr<Memory> allocate(std::int64_t) override { return nullptr; }
    std::unique_ptr<Execution> prepare(Plan, std::shared_ptr<const Binary>, Bindings) override { return nullptr; }

   private:
    DeviceIdentity identity_{.backend = "abacus",
                             .name = "",
                             .architecture = "",
                             .units = 0,
                             .memory_gib = 0,
                             .cache_bytes = 0,
                             .local_bytes = 0};
    Provenance provenance_;
  } device;
  const fake::Family family;
  CHECK_THROWS_AS(DeviceEvaluator(device, family, 1), Error);
}

TEST_CASE("a timed run is verified alike whether what its buffers hold before is kept on the device or made anew") {
  for (const char* const kind : {"good", "overrun", "trespass", "restless"}) {
    CAPTURE(kind);
    fake::FakeDevice device;
    const fake::Family family({"good", "overrun", "trespass", "restless"});
    const Configuration configuration = fake::Family::configuration(kind, 1, 1);
    const Problem problem = fake::problem(6);
    KeptContents contents(device, 1 << 20);
    contents.keep(problem, family.trial(configuration, problem, device.identity(), 8, 3).initial.views());
    Verifier verifier(device, family, 3);
    const Verdict made = verifier.verify_timed_run(configuration, problem, 8, configuration);
    const Verdict kept = verifier.verify_timed_run(configuration, problem, 8, configuration, contents.find(problem));
    CHECK((made.status == Status::correct) == (std::string(kind) == "good"));
    CHECK(kept.status == made.status);
    CHECK(kept.message == made.message);
  }
}
