#include "heddle/tuner/worker/isolated_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr double kQuick = 20.0;  // seconds for questions that run no kernel
constexpr double kSlice = 0.02;  // seconds that the worker waits for the compiler before it answers "not yet"

// Speed of the slowest device that is worth tuning. It bounds the first run of a problem.
constexpr double kOperationsPerSecond = 1e8;
constexpr double kBytesPerSecond = 5e7;

}  // namespace

template <class Ask>
auto IsolatedEvaluator::attempt(Ask ask) const {
  for (bool again = false;; again = true) {
    worker_.ensure();
    const bool alone = compiling_ == 0 || compiling_in_ != worker_.generation();
    try {
      return ask();
    } catch (const WorkerLost& lost) {
      // The compiler runs in the same process. While it keeps all processors busy, a good answer may be late. A
      // configuration that fails again without the compiler at work has really failed.
      const bool doubtful = lost.from_outside() || !alone || lost.status() == Status::hang;
      if (again || !doubtful) throw DeviceFailure(lost.status(), lost.what());
    }
  }
}

/// Made anew in a new process whenever the old one was lost.
class IsolatedEvaluator::RemoteRunner final : public Runner {
 public:
  RemoteRunner(IsolatedEvaluator& owner, const Configuration& configuration, Problem problem, std::int64_t samples)
      : owner_(owner), configuration_(configuration.text()), problem_(std::move(problem)), samples_(samples) {
    if (!owner_.known_seconds_.contains({Job::time, problem_.text()})) {
      const KernelFamily& family = owner.family();
      const Plan plan = family.plan(configuration, problem_, owner.device(), samples);
      operations_ = family.work(problem_).operations * static_cast<double>(plan.samples);
      for (const Buffer& buffer : plan.buffers) bytes_ += static_cast<double>(buffer.bytes);
    }
    owner_.attempt([this] { make_ready(); });
  }
  ~RemoteRunner() override {
    if (generation_ == owner_.worker_.generation()) owner_.worker_.tell({{"forget", number_}});
  }

  using Runner::time;
  double time(const Stop& stop) override {
    return owner_.attempt([&] {
      if (make_ready()) (void)run(stop);  // as warm as the one that was lost
      return run(stop);
    });
  }

  std::optional<double> busy_core_time() override {
    return owner_.attempt([this]() -> std::optional<double> {
      if (make_ready()) (void)run({});
      const json answer = owner_.worker_.ask({{"ask", "busy core time"}, {"number", number_}}, kQuick);
      const json& time = answer.at("time");
      return time.is_null() ? std::nullopt : std::optional(time.get<double>());
    });
  }

  std::optional<KernelResources> resources() override { return resources_; }

  std::optional<double> energy() override {
    return owner_.attempt([this]() -> std::optional<double> {
      if (make_ready()) (void)run({});
      constexpr double kLooks = 12.0;  // a counter that is dead is looked at ten times, a launch or 10 ms each
      const double launch = owner_.deadline(Job::time, problem_, static_cast<double>(samples_), kQuick);
      const double seconds = kQuick + kLooks * launch;
      const json answer = owner_.worker_.ask({{"ask", "energy"}, {"number", number_}}, seconds);
      const json& energy = answer.at("energy");
      return energy.is_null() ? std::nullopt : std::optional(energy.get<double>());
    });
  }

  void check_guards() override {
    try {
      owner_.attempt([this] {
        if (generation_ == owner_.worker_.generation()) {  // a new one has not run yet
          (void)owner_.worker_.ask({{"ask", "guards"}, {"number", number_}}, kQuick);
        }
      });
    } catch (const DeviceFailure& failure) {
      if (failure.status() == Status::overrun) owner_.overran();
      throw;
    }
  }

 private:
  /// Makes the runner of the present process, unless there is one. Returns whether it had to be made.
  bool make_ready() {
    Worker& worker = owner_.worker_;
    worker.ensure();
    if (generation_ == worker.generation()) return false;
    number_ = worker.next_number();
    const double start = seconds_now();
    const json ready =
        worker.ask({{"ask", "prepare"},
                    {"family", owner_.family_.name()},
                    {"seed", owner_.seed_},
                    {"number", number_},
                    {"configuration", configuration_},
                    {"problem", problem_.text()},
                    {"samples", samples_}},
                   std::max(kQuick, owner_.deadline(Job::prepare, problem_, 1.0, bytes_ / kBytesPerSecond)));
    owner_.took(Job::prepare, problem_, seconds_now() - start);
    if (const json& told = ready.at("resources"); told.is_object()) {
      resources_ = KernelResources{.registers = told.at("registers"),
                                   .shared_bytes = told.at("shared_bytes"),
                                   .local_bytes = told.at("local_bytes"),
                                   .occupancy = told.at("occupancy")};
    }
    generation_ = worker.generation();
    return true;
  }

  double run(const Stop& stop) {
    const auto amount = static_cast<double>(samples_);
    const double first = std::max(owner_.deadlines_.first, operations_ / kOperationsPerSecond);
    const double start = seconds_now();
    const json answer = owner_.worker_.ask({{"ask", "time"}, {"number", number_}},
                                           owner_.deadline(Job::time, problem_, amount, first), stop);
    owner_.took(Job::time, problem_, (seconds_now() - start) / amount);
    return answer.at("time").get<double>();
  }

  IsolatedEvaluator& owner_;
  std::string configuration_;
  Problem problem_;
  std::int64_t samples_;
  double operations_ = 0.0, bytes_ = 0.0;  ///< of a run, where it is the first for its problem
  std::optional<KernelResources> resources_;
  std::int64_t number_ = 0;
  std::int64_t generation_ = 0;
};

/// If the worker dies, the remaining configurations are asked for again. If only the compiler can be the cause, half of
/// them are asked for at a time, until the one that kills the compiler is alone.
class IsolatedEvaluator::RemoteCompilation final : public Compilation {
 public:
  RemoteCompilation(IsolatedEvaluator& owner, const std::vector<Configuration>& configurations, Problem problem)
      : owner_(owner), problem_(std::move(problem)) {
    for (const Configuration& configuration : configurations) texts_.push_back(configuration.text());
    groups_.emplace_back(texts_.size());
    std::iota(groups_.back().begin(), groups_.back().end(), std::size_t{0});
    if (texts_.empty()) groups_.clear();
    try {
      if (!groups_.empty()) submit();
    } catch (const WorkerLost&) {  // next() sees to it
    }
  }
  ~RemoteCompilation() override {
    try {  // the compiler has to end before something is measured
      if (running()) (void)owner_.worker_.ask({{"ask", "drop"}, {"number", number_}}, kQuick);
    } catch (const std::exception&) {  // the next question starts a new process
    }
    finished();
  }

  using Compilation::next;
  std::optional<Done> next(const Stop& stop) override {
    while (!groups_.empty() && (running() || !winding_up_)) {
      try {
        owner_.worker_.ensure();
        if (!running()) submit();
        const json answer = one_more(stop);
        if (!answer.contains("index")) {  // all that was asked for is done
          if (winding_up_) break;
          groups_.pop_front();
          owner_.worker_.tell({{"forget", number_}});
          finished();
          continue;
        }
        const auto position = answer.at("index").get<std::size_t>();
        const std::size_t index = asked_.at(position);
        std::erase(groups_.front(), index);
        return Done{.index = index,
                    .compiled = answer.at("compiled"),
                    .seconds = answer.at("seconds"),
                    .log = answer.at("log")};
      } catch (const WorkerLost& lost) {
        const bool alone = owner_.compiling_ <= 1;
        finished();
        if (winding_up_) break;  // what was under way is gone
        if (lost.from_outside() || !alone || groups_.front().empty()) continue;
        if (groups_.front().size() == 1) {
          const std::size_t culprit = groups_.front().front();
          groups_.pop_front();
          return Done{.index = culprit,
                      .compiled = false,
                      .seconds = 0.0,
                      .log = fmt::format("{}: {}", kCompilerFailed, lost.what())};
        }
        divide();
      }
    }
    return std::nullopt;
  }

  bool done() override {
    try {
      if (groups_.empty() || winding_up_) return groups_.empty();
      if (!running()) {  // with the worker of before it is gone
        submit();
        return false;
      }
      return groups_.size() == 1 &&
             owner_.worker_.ask({{"ask", "done"}, {"number", number_}}, kQuick).at("done").get<bool>();
    } catch (const WorkerLost&) {  // next() sees to it
      return false;
    }
  }

  void wind_up() override {
    winding_up_ = true;
    try {
      if (running()) (void)owner_.worker_.ask({{"ask", "wind_up"}, {"number", number_}}, kQuick);
    } catch (const WorkerLost&) {  // so has the compiler
    }
  }

 private:
  /// Asks again and again, so that somebody who wants to stop is heard and the worker need not be killed for it.
  json one_more(const Stop& stop) {
    for (const double start = seconds_now();;) {
      json answer = owner_.worker_.ask({{"ask", "next"}, {"number", number_}, {"seconds", kSlice}}, kSlice + kQuick);
      if (!answer.contains("waiting")) return answer;
      if (stop && stop()) throw Interrupted();
      const double waited = seconds_now() - start;
      if (waited < owner_.deadlines_.compiler) continue;
      owner_.worker_.retire();
      throw WorkerLost(Status::hang, fmt::format("did not end within {:.3g} s", waited), false);
    }
  }

  [[nodiscard]] bool running() const { return submitted_ && generation_ == owner_.worker_.generation(); }

  void submit() {
    owner_.worker_.ensure();
    generation_ = owner_.worker_.generation();
    if (owner_.compiling_in_ != generation_) {
      owner_.compiling_in_ = generation_;
      owner_.compiling_ = 0;
    }
    asked_ = groups_.front();
    std::vector<std::string> configurations;
    for (const std::size_t index : asked_) configurations.push_back(texts_[index]);
    number_ = owner_.worker_.next_number();
    submitted_ = true;
    ++owner_.compiling_;
    (void)owner_.worker_.ask({{"ask", "compile"},
                              {"family", owner_.family_.name()},
                              {"seed", owner_.seed_},
                              {"number", number_},
                              {"configurations", configurations},
                              {"problem", problem_.text()}},
                             owner_.deadlines_.compiler);
  }

  /// The submitted kernels are no longer being compiled.
  void finished() {
    if (submitted_ && owner_.compiling_in_ == generation_) --owner_.compiling_;
    submitted_ = false;
  }

  void divide() {
    std::vector<std::size_t>& whole = groups_.front();
    const auto middle = whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2);
    std::vector<std::size_t> rest(middle, whole.end());
    whole.erase(middle, whole.end());
    groups_.insert(groups_.begin() + 1, std::move(rest));
  }

  IsolatedEvaluator& owner_;
  Problem problem_;
  std::vector<std::string> texts_;
  std::deque<std::vector<std::size_t>> groups_;  ///< what is not done; the first is under way
  std::vector<std::size_t> asked_;               ///< the first group as it was submitted
  bool submitted_ = false;
  bool winding_up_ = false;
  std::int64_t number_ = 0;
  std::int64_t generation_ = 0;
};

IsolatedEvaluator::IsolatedEvaluator(Worker& worker, const KernelFamily& family, std::uint64_t seed,
                                     Deadlines deadlines)
    : worker_(worker), family_(family), seed_(seed), deadlines_(deadlines) {
  if (!family.supports(worker.identity().backend)) {
    throw Error(ErrorKind::usage, fmt::format("kernel family '{}' has no kernels for device '{}' (backend {})",
                                              family.name(), worker.label(), worker.identity().backend));
  }
}

double IsolatedEvaluator::deadline(Job job, const Problem& problem, double amount, double first) const {
  const auto known = known_seconds_.find({job, problem.text()});
  if (known == known_seconds_.end()) return first;
  return std::max(deadlines_.least, deadlines_.factor * known->second * amount);
}

/// Remembers how long such a job takes: the shortest time for timed runs, the longest for other jobs.
void IsolatedEvaluator::took(Job job, const Problem& problem, double seconds_per_amount) {
  const auto [known, first] = known_seconds_.try_emplace({job, problem.text()}, seconds_per_amount);
  known->second =
      job == Job::time ? std::min(known->second, seconds_per_amount) : std::max(known->second, seconds_per_amount);
}

/// On a CPU, a write behind a buffer may have damaged the worker itself, so the worker is ended.
void IsolatedEvaluator::overran() {
  if (worker_.shares_processor()) worker_.retire();
}

Provenance IsolatedEvaluator::provenance() const {
  const json answer = attempt([this] {
    return worker_.ask({{"ask", "provenance"}, {"family", family_.name()}, {"seed", seed_}}, kQuick);
  });
  Provenance provenance;
  provenance.driver = answer.at("driver");
  provenance.compiler = answer.at("compiler");
  provenance.tool = answer.at("tool");
  provenance.host = answer.at("host");
  provenance.clocks = answer.at("clocks");
  provenance.date = answer.at("date");
  return provenance;
}

std::unique_ptr<Compilation> IsolatedEvaluator::compile(const std::vector<Configuration>& configurations,
                                                        const Problem& problem) {
  return std::make_unique<RemoteCompilation>(*this, configurations, problem);
}

std::unique_ptr<Runner> IsolatedEvaluator::prepare(const Configuration& configuration, const Problem& problem,
                                                   std::int64_t samples) {
  return std::make_unique<RemoteRunner>(*this, configuration, problem, samples);
}

void IsolatedEvaluator::check_device() {
  for (bool again = false;; again = true) {
    try {
      (void)worker_.ask({{"ask", "check"}, {"family", family_.name()}, {"seed", seed_}}, kQuick);
      return;
    } catch (const WorkerLost& lost) {
      if (again)
        throw Error(ErrorKind::device, fmt::format("{} does not answer any more: {}", worker_.label(), lost.what()));
    } catch (const Error&) {
      if (again) throw;
    }
    worker_.retire();
  }
}

Verdict IsolatedEvaluator::verify(const Configuration& configuration, const Problem& problem,
                                  VerificationExtent extent) {
  const bool all = extent == VerificationExtent::all;
  return verdict(all ? Job::verify : Job::verify_first_run, problem,
                 {{"ask", "verify"}, {"configuration", configuration.text()}, {"all", all}});
}

Verdict IsolatedEvaluator::verify_timed_run(const Configuration& configuration, const Problem& problem,
                                            std::int64_t samples, const Configuration& untuned) {
  return verdict(Job::verify_timed_run, problem,
                 {{"ask", "verify timed run"},
                  {"configuration", configuration.text()},
                  {"samples", samples},
                  {"untuned", untuned.text()}});
}

/// Buffers may be larger than a message: the worker writes them to a file, one after the other in the order of names.
HostImage IsolatedEvaluator::outcome(const Configuration& configuration, const Problem& problem,
                                     const BufferNames& names) {
  if (!outcomes_) outcomes_ = std::make_unique<const ScratchFolder>();
  const std::filesystem::path path = outcomes_->path() / "outcome";
  const json answer = attempt([&] {
    const double start = seconds_now();
    json result = worker_.ask({{"ask", "outcome"},
                               {"family", family_.name()},
                               {"seed", seed_},
                               {"configuration", configuration.text()},
                               {"problem", problem.text()},
                               {"names", names},
                               {"file", path.string()}},
                              deadline(Job::outcome, problem, 1.0, deadlines_.verify));
    took(Job::outcome, problem, seconds_now() - start);
    return result;
  });
  HostImage image;
  std::ifstream file(path, std::ios::binary);
  for (const auto& [name, bytes] : answer.at("buffers").items()) {
    std::vector<std::byte>& content = image[name];
    content.resize(bytes.get<std::size_t>());
    file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  if (!file) throw DeviceFailure(Status::crash, "the worker left no outcome");
  return image;
}

double IsolatedEvaluator::difference(const Configuration& configuration, const Configuration& reference,
                                     const Problem& problem) {
  const json answer = attempt([&] {
    const double start = seconds_now();
    json result = worker_.ask({{"ask", "difference"},
                               {"family", family_.name()},
                               {"seed", seed_},
                               {"configuration", configuration.text()},
                               {"reference", reference.text()},
                               {"problem", problem.text()}},
                              deadline(Job::outcome, problem, 1.0, deadlines_.verify));
    took(Job::outcome, problem, seconds_now() - start);
    return result;
  });
  const json& found = answer.at("difference");
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::infinity();
}

Verdict IsolatedEvaluator::verdict(Job job, const Problem& problem, nlohmann::json question) {
  question["family"] = family_.name();
  question["seed"] = seed_;
  question["problem"] = problem.text();
  try {
    const json answer = attempt([&] {
      const double start = seconds_now();
      json result = worker_.ask(question, deadline(job, problem, 1.0, deadlines_.verify));
      took(job, problem, seconds_now() - start);
      return result;
    });
    Verdict verdict{.status = parse_status(answer.at("status").get<std::string>()).value_or(Status::crash),
                    .worst_error = answer.at("worst_error").is_number() ? answer.at("worst_error").get<double>() : 0.0,
                    .message = answer.at("message")};
    if (verdict.status == Status::overrun) overran();
    return verdict;
  } catch (const DeviceFailure& failure) {
    return {.status = failure.status(), .worst_error = 0.0, .message = failure.what()};
  }
}

}  // namespace heddle
