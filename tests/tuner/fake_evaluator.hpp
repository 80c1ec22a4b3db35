// Answers from a formula instead of a device: times with seeded noise, failures where a test wants them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fake_family.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle::fake {

class FakeEvaluator final : public Evaluator {
 public:
  explicit FakeEvaluator(const KernelFamily& family, std::uint64_t seed = 1) : family_(family), random_(seed) {}

  /// Microseconds per sample before noise; the best configuration depends on the problem.
  std::function<double(const Configuration&, const Problem&)> cost = [](const Configuration& c, const Problem& p) {
    const double width = static_cast<double>(c.number("width"));
    const double depth = static_cast<double>(c.number("depth"));
    const double target = std::min(20.0, 4.0 + std::log2(static_cast<double>(p.at("size"))));
    return 2.0 + std::abs(width - target) * 0.5 + std::abs(depth - 4.0) * 0.25;
  };
  std::function<Status(const Configuration&)> fate = [](const Configuration&) { return Status::correct; };
  /// Microseconds per sample while another program takes a unit; empty: programs do not share the units.
  std::function<double(const Configuration&)> busy_core_cost;
  int busy_core_measurements = 0;            ///< number of calls of busy_core_time()
  std::optional<KernelResources> resources;  ///< of every configuration, unless `resources_of` says it
  std::function<KernelResources(const Configuration&, const Problem&)> resources_of;
  std::optional<double> energy;  ///< joules per sample, unless `energy_of` says it
  std::function<double(const Configuration&)> energy_of;
  int energy_measurements = 0;
  double cold_start = 0.0;  ///< times of a repetition that a runner's first one takes on top
  double noise = 0.02;      ///< relative
  double outliers = 0.05;   ///< repetitions that take twice as long on top
  bool on_processor = false;
  std::size_t threads = 4;
  double now = 0.0;  ///< virtual seconds, which compiling and running take
  double compile_seconds = 0.0, run_seconds = 0.0;
  std::function<double(const Problem&)> more_compile_seconds = [](const Problem&) { return 0.0; };
  bool compiler_hangs = false;  ///< until the one who waits gives up
  std::function<double(const Problem&)> more_run_seconds = [](const Problem&) { return 0.0; };
  /// Asked at every call that may wait; may throw Interrupted, as an evaluator does when somebody asks to stop.
  std::function<void()> waits = [] {};
  std::string driver = "fake", clocks;
  DeviceIdentity identity = fake::identity();
  bool dead = false;
  bool dies_for_good = false;

  std::map<std::string, int> prepared;  ///< by configuration
  std::vector<std::string> compiled;    ///< in order, each once for a problem
  std::vector<std::string> looked_at;   ///< by their first run
  std::vector<std::string> verified;
  std::vector<std::string> timed_runs;  ///< verified
  /// Configurations that pass the first verification runs and fail later ones.
  std::function<bool(const Configuration&)> wrong_in_the_end = [](const Configuration&) { return false; };
  /// The answer of verify_timed_run().
  std::function<Verdict(const Configuration&)> judge_timed_run = [](const Configuration&) { return Verdict{}; };

  const KernelFamily& family() const override { return family_; }
  const DeviceIdentity& device() const override { return identity; }
  Provenance provenance() const override {
    waits();
    return {.driver = driver,
            .compiler = "",
            .tool = "",
            .host = "",
            .clocks = clocks,
            .date = "2026-01-01T00:00:00Z",
            .seed = 0,
            .strategy = ""};
  }
  bool shares_processor() const override { return on_processor; }
  std::size_t compiler_threads() const override { return threads; }

  std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                       const Problem& problem) override {
    waits();
    std::vector<Compilation::Done> done;
    std::vector<double> ends;
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const bool refused = fate(configurations[i]) == Status::compilation;
      done.push_back({.index = i, .compiled = !refused, .seconds = 0.5, .log = refused ? "error: refused" : ""});
      if (!cached_.emplace(problem, configurations[i].text()).second) {
        ends.push_back(now);
        continue;
      }
      compiled.push_back(configurations[i].text());
      free_at_.resize(threads);
      double& thread = *std::min_element(free_at_.begin(), free_at_.end());
      thread = std::max(thread, now) + compile_seconds + more_compile_seconds(problem);
      ends.push_back(thread);
    }
    return std::make_unique<List>(*this, std::move(done), std::move(ends));
  }
  std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem, std::int64_t) override {
    waits();
    ++prepared[configuration.text()];
    const Status status = fate(configuration);
    if (dead) throw DeviceFailure(Status::illegal_access, "dead");
    if (status == Status::launch) throw DeviceFailure(status, "cannot launch");
    return std::make_unique<FakeRunner>(*this, configuration, cost(configuration, problem), status,
                                        run_seconds + more_run_seconds(problem),
                                        resources_of ? resources_of(configuration, problem) : resources);
  }
  void check_device() override {
    if (dead && dies_for_good) throw Error(ErrorKind::device, "fake does not answer any more");
    dead = false;
  }
  Verdict verify(const Configuration& configuration, const Problem&, VerificationExtent extent) override {
    waits();
    (extent == VerificationExtent::all ? verified : looked_at).push_back(configuration.text());
    const Status status = fate(configuration);
    const bool late = extent == VerificationExtent::all && wrong_in_the_end(configuration);
    if (status == Status::wrong_result || late) {
      return {.status = Status::wrong_result, .worst_error = 7.0, .message = "wrong"};
    }
    return {.status = Status::correct, .worst_error = 1e-5, .message = ""};
  }
  Verdict verify_timed_run(const Configuration& configuration, const Problem&, std::int64_t,
                           const Configuration&) override {
    waits();
    timed_runs.push_back(configuration.text());
    return judge_timed_run(configuration);
  }

 private:
  class List final : public Compilation {
   public:
    List(FakeEvaluator& owner, std::vector<Done> done, std::vector<double> ends)
        : owner_(owner), done_(std::move(done)), ends_(std::move(ends)) {}
    using Compilation::next;
    std::optional<Done> next(const Stop& stop) override {
      owner_.waits();
      if (done_.empty()) return std::nullopt;
      for (; owner_.compiler_hangs; owner_.now += 0.25) {
        if (stop && stop()) throw Interrupted();
        if (owner_.now > 10'000.0) throw Error(ErrorKind::bug, "nobody gives up");
      }
      const double end = ends_[done_.size() - 1];
      for (constexpr double kTick = 0.05; owner_.now < end; owner_.now = std::min(end, owner_.now + kTick)) {
        if (stop && stop()) throw Interrupted();
      }
      Done last = done_.back();
      done_.pop_back();
      return last;
    }
    bool done() override {
      owner_.waits();
      return !owner_.compiler_hangs && std::ranges::all_of(ends_, [this](double end) { return end <= owner_.now; });
    }
    void wind_up() override { done_.clear(); }

   private:
    FakeEvaluator& owner_;
    std::vector<Done> done_;
    std::vector<double> ends_;  ///< of their compilation
  };

  class FakeRunner final : public Runner {
   public:
    FakeRunner(FakeEvaluator& owner, Configuration configuration, double cost, Status status, double seconds,
               const std::optional<KernelResources>& resources)
        : owner_(owner),
          configuration_(std::move(configuration)),
          cost_(cost),
          status_(status),
          seconds_(seconds),
          resources_(resources) {}
    using Runner::time;
    double time(const Stop& stop) override {
      owner_.waits();
      if (owner_.dead) throw DeviceFailure(Status::illegal_access, "dead");
      const double end = owner_.now + seconds_;
      for (constexpr double kTick = 0.02; owner_.now < end; owner_.now = std::min(end, owner_.now + kTick)) {
        if (stop && stop()) throw Interrupted();
      }
      if (status_ == Status::illegal_access) {
        owner_.dead = true;
        throw DeviceFailure(status_, "bad address");
      }
      std::uniform_real_distribution<double> uniform(0.0, 1.0);
      const double outlier = uniform(owner_.random_) < owner_.outliers ? 2.0 : 1.0;
      const double cold = std::exchange(ran_, true) ? 1.0 : 1.0 + owner_.cold_start;
      return cost_ * cold * outlier * (1.0 + owner_.noise * uniform(owner_.random_));
    }
    std::optional<double> busy_core_time() override {
      if (!owner_.busy_core_cost) return std::nullopt;
      ++owner_.busy_core_measurements;
      std::uniform_real_distribution<double> uniform(0.0, 1.0);
      return owner_.busy_core_cost(configuration_) * (1.0 + 5.0 * owner_.noise * uniform(owner_.random_));
    }
    std::optional<KernelResources> resources() override { return resources_; }
    std::optional<double> energy() override {
      ++owner_.energy_measurements;
      return owner_.energy_of ? owner_.energy_of(configuration_) : owner_.energy;
    }
    void check_guards() override {
      if (status_ == Status::overrun) throw DeviceFailure(status_, "wrote behind buffer 'values'");
    }

   private:
    FakeEvaluator& owner_;
    Configuration configuration_;
    double cost_;
    Status status_;
    double seconds_;
    std::optional<KernelResources> resources_;
    bool ran_ = false;
  };

  const KernelFamily& family_;
  std::mt19937_64 random_;
  std::vector<double> free_at_;                       ///< threads of the compiler
  std::set<std::pair<Problem, std::string>> cached_;  ///< whose kernels were compiled before: that takes no time again
};

}  // namespace heddle::fake
