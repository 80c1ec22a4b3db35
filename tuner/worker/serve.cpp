#include "heddle/tuner/worker/serve.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/documents.hpp"
#include "heddle/runtime/process/channel.hpp"
#include "heddle/runtime/process/child_process.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"

namespace heddle {

namespace {

using nlohmann::json;

/// Makes this process end with its parent, ignore Ctrl-C (the parent handles it), be the first that the system ends
/// when memory runs out, and write no core files.
void become_worker() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Contents of buffers come and go, megabytes each: memory that was given back would have to be cleared every time.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

json to_json(const Provenance& p) {
  return {{"driver", p.driver}, {"compiler", p.compiler}, {"tool", p.tool},
          {"host", p.host},     {"clocks", p.clocks},     {"date", p.date}};
}

json to_json(const std::optional<KernelResources>& resources) {
  if (!resources) return {};
  return {{"registers", resources->registers},
          {"shared_bytes", resources->shared_bytes},
          {"local_bytes", resources->local_bytes},
          {"occupancy", resources->occupancy}};
}

json to_json(const Verdict& verdict) {
  return {{"status", text(verdict.status)}, {"worst_error", verdict.worst_error}, {"message", verdict.message}};
}

class Server {
 public:
  Server(Channel channel, const WorkerWorld& world)
      : channel_(std::move(channel)), world_(world), families_(world.families) {}

  /// Until the other side has closed the connection.
  void run() {
    try {
      while (true) {
        const json question = channel_.receive({});
        const json said = answer(question);
        if (!question.contains("forget")) channel_.send(said);  // nobody waits for that answer
      }
    } catch (const ChannelError& error) {
      const bool closed = error.reason() == ChannelError::Reason::closed;
      if (closed && !channel_.inside_message()) return;
      throw Error(ErrorKind::input, fmt::format("worker: {}{}", error.what(), closed ? " inside a message" : ""));
    }
  }

 private:
  /// The evaluator of one family, and what reading its texts needs.
  struct Measured {
    Measured(Device& device, const KernelFamily& of, std::uint64_t seed, bool cold_cache)
        : family(of), space(of.space(device.identity())), evaluator(device, of, seed, cold_cache) {}
    const KernelFamily& family;
    SearchSpace space;
    DeviceEvaluator evaluator;
  };

  json answer(const json& question) {
    try {
      if (question.contains("forget")) return forget(integer(question, "forget"));
      return work(question.at("ask").get<std::string>(), question);
    } catch (const DeviceFailure& failure) {
      return {{"failure", text(failure.status())}, {"message", failure.what()}};
    } catch (const Error& error) {
      return {{"error", static_cast<int>(error.kind())}, {"message", error.what()}};
    } catch (const json::exception&) {
      return {{"error", static_cast<int>(ErrorKind::input)},
              {"message", fmt::format("the worker was asked something that makes no sense: {}", excerpt(question))}};
    } catch (const std::bad_alloc&) {
      return {{"failure", text(Status::out_of_memory)}, {"message", "out of memory"}};
    } catch (const std::exception& error) {
      return {{"failure", text(Status::crash)}, {"message", error.what()}};
    }
  }

  json forget(std::int64_t number) {
    runners_.erase(number);
    compilations_.erase(number);
    return json::object();
  }

  json work(const std::string& ask, const json& q) {
    if (ask == "open") return open(q);
    if (device_ == nullptr) throw Error(ErrorKind::input, fmt::format("the worker was asked to {} before open", ask));
    if (ask == "compile") {
      Measured& family = measured(q);
      const Problem problem = problem_of(q, family);
      std::vector<Configuration> configurations;
      for (const json& text : q.at("configurations")) {
        configurations.push_back(configuration_of(text, problem, family));
      }
      const std::int64_t number = integer(q, "number");
      compilations_[number] = family.evaluator.compile(configurations, problem);
      return json::object();
    }
    if (ask == "next") return next(q);
    if (ask == "done") return {{"done", known(compilations_, q).done()}};
    if (ask == "wind_up") {
      known(compilations_, q).wind_up();
      return json::object();
    }
    if (ask == "drop") return forget(integer(q, "number"));
    if (ask == "prepare") {
      Measured& family = measured(q);
      const Problem problem = problem_of(q, family);
      const Configuration configuration = configuration_of(q.at("configuration"), problem, family);
      auto& runner = runners_[integer(q, "number")];
      runner = family.evaluator.prepare(configuration, problem, samples_of(q, family, problem));
      return {{"resources", to_json(runner->resources())}};
    }
    if (ask == "time") return {{"time", known(runners_, q).time()}};
    if (ask == "busy core time") {
      const auto time = known(runners_, q).busy_core_time();
      return {{"time", time ? json(*time) : json()}};
    }
    if (ask == "energy") {
      const auto energy = known(runners_, q).energy();
      return {{"energy", energy ? json(*energy) : json()}};
    }
    if (ask == "guards") {
      known(runners_, q).check_guards();
      return json::object();
    }
    if (ask == "verify") {
      Measured& family = measured(q);
      const Problem problem = problem_of(q, family);
      const auto extent = q.at("all").get<bool>() ? VerificationExtent::all : VerificationExtent::one_run;
      return to_json(
          family.evaluator.verify(configuration_of(q.at("configuration"), problem, family), problem, extent));
    }
    if (ask == "verify timed run") {
      Measured& family = measured(q);
      const Problem problem = problem_of(q, family);
      return to_json(family.evaluator.verify_timed_run(configuration_of(q.at("configuration"), problem, family),
                                                       problem, samples_of(q, family, problem),
                                                       configuration_of(q.at("untuned"), problem, family)));
    }
    if (ask == "outcome") return outcome(q);
    if (ask == "difference") return difference(q);
    if (ask == "check") {
      measured(q).evaluator.check_device();
      return json::object();
    }
    if (ask == "provenance") return to_json(measured(q).evaluator.provenance());
    throw Error(ErrorKind::input, fmt::format("the worker was asked for {}", excerpt(ask)));
  }

  json difference(const json& q) {
    Measured& family = measured(q);
    const Problem problem = problem_of(q, family);
    const double found = family.evaluator.difference(configuration_of(q.at("configuration"), problem, family),
                                                     configuration_of(q.at("reference"), problem, family), problem);
    // JSON has no infinite numbers.
    return {{"difference", std::isfinite(found) ? json(found) : json()}};
  }

  /// Leaves the buffers in a file, in the order of their names, and says how large they are.
  json outcome(const json& q) {
    Measured& family = measured(q);
    const Problem problem = problem_of(q, family);
    const HostImage image = family.evaluator.outcome(configuration_of(q.at("configuration"), problem, family), problem,
                                                     q.at("names").get<BufferNames>());
    const auto path = q.at("file").get<std::string>();
    std::ofstream file(path, std::ios::binary);
    json buffers = json::object();
    for (const auto& [name, bytes] : image) {
      buffers[name] = bytes.size();
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    file.close();
    if (!file) throw Error(ErrorKind::device, fmt::format("{}: cannot be written", path));
    return {{"buffers", buffers}};
  }

  /// The next compiled configuration, or `waiting` after the seconds that the question gives. The caller then asks
  /// again, unless its user wants to stop.
  json next(const json& q) {
    using Clock = std::chrono::steady_clock;
    constexpr double kMostSeconds = 60.0;
    const std::chrono::duration<double> patience(std::clamp(q.at("seconds").get<double>(), 0.0, kMostSeconds));
    try {
      const auto until = Clock::now() + patience;
      const auto done = known(compilations_, q).next([&] { return Clock::now() >= until; });
      if (!done) return json::object();
      return {{"index", done->index},
              {"compiled", done->compiled},
              {"seconds", done->seconds},
              {"log", done->log},
              {"compiler_calls", device_->compiler_calls()}};
    } catch (const Interrupted&) {
      return {{"waiting", true}};
    }
  }

  /// Not get<std::int64_t>(), which would also accept 1.5.
  static std::int64_t integer(const json& q, const char* name) {
    const json& value = q.at(name);
    const bool large = value.is_number_unsigned() && value.get<std::uint64_t>() >> 63U != 0;
    if (!value.is_number_integer() || large) {
      throw Error(ErrorKind::input, fmt::format("{} is {}, expected an integer", name, excerpt(value)));
    }
    return value.get<std::int64_t>();
  }

  static std::int64_t samples_of(const json& q, const Measured& family, const Problem& problem) {
    constexpr std::int64_t kAnyFamily = 1 << 20;  // few enough for any, and benchmarks may want more than a search
    const std::int64_t samples = integer(q, "samples");
    const std::int64_t most = std::max(kAnyFamily, timed_work(family.evaluator, problem).most);
    if (samples < 1 || samples > most) {
      throw Error(ErrorKind::input, fmt::format("samples is {}, expected 1 to {}", samples, most));
    }
    return samples;
  }

  template <class Thing>
  static Thing& known(const std::map<std::int64_t, std::unique_ptr<Thing>>& things, const json& q) {
    const std::int64_t number = integer(q, "number");
    const auto found = things.find(number);
    if (found == things.end()) throw Error(ErrorKind::input, fmt::format("the worker knows nothing of {}", number));
    return *found->second;
  }

  json open(const json& q) {
    if (device_ != nullptr) throw Error(ErrorKind::input, "the worker has a device open");
    FamilyRegistry families = world_.families;
    for (const json& told : q.value("families", json::array())) {
      families.add({.maker = told.at("maker").get<std::string>(), .text = told.at("text").get<std::string>()});
    }
    const double seconds = q.value("compile_seconds", Compiling::kMostSeconds);
    if (!(seconds > 0.0)) throw Error(ErrorKind::input, fmt::format("compile_seconds is {}", seconds));
    device_ = world_.open(q.at("device").get<std::string>(), {.seconds = seconds, .command = world_.compiler});
    families_ = std::move(families);
    cold_cache_ = q.value("cold_cache", false);
    return {{"label", device_->label()},
            {"identity", device_->identity().text()},
            {"unit", device_->unit()},
            {"remark", device_->remark()},
            {"shares_processor", device_->identity().backend != "cuda"}};
  }

  Measured& measured(const json& q) {
    const auto key = std::pair(q.at("family").get<std::string>(), q.at("seed").get<std::uint64_t>());
    auto found = measured_.find(key);
    if (found == measured_.end()) {
      found = measured_.try_emplace(key, *device_, families_.at(key.first), key.second, cold_cache_).first;
    }
    return found->second;
  }

  static Configuration configuration_of(const json& text, const Problem& problem, const Measured& family) {
    Configuration configuration = family.space.parse(text.get<std::string>());
    if (const auto constraint = family.space.violated(configuration, problem)) {
      throw Error(ErrorKind::input, fmt::format("configuration '{}' violates '{}' for {}", configuration.text(),
                                                *constraint, problem.text()));
    }
    return configuration;
  }
  static Problem problem_of(const json& q, const Measured& family) {
    return Problem::parse(q.at("problem").get<std::string>(), family.family.axes());
  }

  Channel channel_;
  const WorkerWorld& world_;
  FamilyRegistry families_;
  std::unique_ptr<Device> device_;
  bool cold_cache_ = false;
  std::map<std::pair<std::string, std::uint64_t>, Measured> measured_;  ///< by family and seed
  std::map<std::int64_t, std::unique_ptr<Compilation>> compilations_;
  std::map<std::int64_t, std::unique_ptr<Runner>> runners_;
};

}  // namespace

namespace {

/// Whether main() of this program lets a process that was started as a worker be one.
std::atomic<bool> may_be_worker = false;

}  // namespace

std::optional<int> run_worker(int argc, char** argv, const WorkerWorld& world) {
  may_be_worker = true;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> compiler = own_compiler();
  const bool compiles = std::equal(words.begin(), words.end(), compiler.begin() + 1, compiler.end());
  if (!compiles && words != std::vector<std::string>{"worker"}) return std::nullopt;
  try {
    if (compiles) {
      run_compiler(ChildProcess::kDescriptor);
    } else {
      WorkerWorld with_compiler = world;
      with_compiler.compiler = compiler;
      serve(ChildProcess::kDescriptor, with_compiler);
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}

std::vector<std::string> own_compiler() { return {"/proc/self/exe", "compiler"}; }

bool can_run_worker() { return may_be_worker; }

void serve(int descriptor, const WorkerWorld& world) {
  int type = 0;
  socklen_t bytes = sizeof type;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM) {
    throw Error(ErrorKind::usage,
                fmt::format("worker: descriptor {} is no socket; 'heddle tune' and 'heddle profiles verify' start this "
                            "command, nobody else needs it",
                            descriptor));
  }
  become_worker();
  Server(Channel(descriptor), world).run();
}

}  // namespace heddle
