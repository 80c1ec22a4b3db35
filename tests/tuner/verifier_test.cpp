#include "heddle/tuner/verifier.hpp"

#include <doctest/doctest.h>

#include "fake_device.hpp"
#include "heddle/tuner/device_evaluator.hpp"

using namespace heddle;

namespace {

const std::vector<std::string> kinds{"good", "wrong", "dirty", "partial", "overrun", "launch", "refused", "crash"};

Verdict verdict(const std::string& kind, std::int64_t size = 5) {
  fake::FakeDevice device;
  const fake::Family family(kinds);
  return verify(device, family, fake::Family::configuration(kind, 3, 2), fake::problem(size), 11);
}

}  // namespace

TEST_CASE("a right result is accepted and every wrong one has its status") {
  CHECK(verdict("good").status == Status::correct);
  CHECK(verdict("good").message.empty());
  CHECK(verdict("good", 1).status == Status::correct);
  CHECK(verdict("wrong").status == Status::wrong_result);
  CHECK(verdict("wrong").worst_error == doctest::Approx(1.0));
  CHECK(verdict("overrun").status == Status::overrun);
  CHECK(verdict("launch").status == Status::launch);
  CHECK(verdict("refused").status == Status::compilation);
  CHECK(verdict("crash").status == Status::illegal_access);
}

TEST_CASE("poison shows what was read but never written, and what was never written") {
  CHECK(verdict("dirty").status == Status::wrong_result);
  CHECK(verdict("partial").status == Status::wrong_result);
}

TEST_CASE("the awkward problem is one where the configuration is allowed") {
  const fake::Family family;
  const auto awkward = [&](std::int64_t depth, std::int64_t size) {
    return awkward_problem(family, fake::identity(), fake::Family::configuration("good", 1, depth),
                           fake::problem(size));
  };
  CHECK(*awkward(7, 8) == fake::problem(7));
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
    Problem awkward_problem() const override { return problem(7, 3); }
    Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples) const override {
      Plan plan = Family::plan(configuration, problem, device, samples);
      plan.kernels.front() += std::to_string(problem.at("outputs"));
      if (fixed_) plan.kernels.front() += " " + std::to_string(problem.at("size"));
      return plan;
    }

   private:
    bool fixed_;
  };
  const auto awkward = [&](bool fixed, std::int64_t size, std::int64_t outputs) {
    return awkward_problem(Templated(fixed), fake::identity(), fake::Family::configuration("good", 1, 1),
                           Templated::problem(size, outputs));
  };
  CHECK(*awkward(false, 180, 3) == Templated::problem(7, 3));  // the same kernels
  CHECK(*awkward(false, 180, 16) == Templated::problem(181, 16));
  CHECK(!awkward(false, 181, 16));
  CHECK(!awkward(true, 181, 16));
  CHECK(!awkward(true, 180, 5));
  CHECK(*awkward(true, 180, 16) == Templated::problem(7, 3));
  CHECK(*awkward(true, 180, 1) == Templated::problem(7, 3));  // one divides everything
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
  CHECK(evaluator.verify(list[0], fake::problem(8)).status == Status::correct);
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
