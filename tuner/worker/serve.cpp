#include "heddle/tuner/worker/serve.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/worker/channel.hpp"

namespace heddle {

namespace {

using nlohmann::json;

/// Dies with the one who asks, leaves Ctrl-C to it, is the first to go when memory runs out, and makes no core files.
void become_worker() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

json to_json(const Provenance& p) {
  return {{"driver", p.driver}, {"compiler", p.compiler}, {"tool", p.tool},
          {"host", p.host},     {"clocks", p.clocks},     {"date", p.date}};
}

json to_json(const Verdict& verdict) {
  return {{"status", text(verdict.status)}, {"worst_error", verdict.worst_error}, {"message", verdict.message}};
}

class Server {
 public:
  Server(Channel channel, const WorkerWorld& world) : channel_(std::move(channel)), world_(world) {}

  void run() {
    while (true) {
      const json question = channel_.receive({});
      if (question.contains("forget")) {
        const std::int64_t number = question.at("forget");
        runners_.erase(number);
        compilations_.erase(number);
        continue;  // nobody waits for an answer
      }
      channel_.send(answer(question));
    }
  }

 private:
  /// The evaluator of one family, and what reading its texts needs.
  struct Family {
    Family(Device& device, const KernelFamily& of, std::uint64_t seed)
        : family(of), space(of.space(device.identity())), evaluator(device, of, seed) {}
    const KernelFamily& family;
    SearchSpace space;
    DeviceEvaluator evaluator;
  };

  json answer(const json& question) {
    try {
      return work(question.at("ask").get<std::string>(), question);
    } catch (const DeviceFailure& failure) {
      return {{"failure", text(failure.status())}, {"message", failure.what()}};
    } catch (const Error& error) {
      return {{"error", static_cast<int>(error.kind())}, {"message", error.what()}};
    } catch (const std::bad_alloc&) {
      return {{"failure", text(Status::out_of_memory)}, {"message", "out of memory"}};
    } catch (const std::exception& error) {
      return {{"failure", text(Status::crash)}, {"message", error.what()}};
    }
  }

  json work(const std::string& ask, const json& q) {
    if (ask == "open") return open(q.at("device"));
    if (ask == "compile") {
      Family& family = family_of(q);
      std::vector<Configuration> configurations;
      for (const json& text : q.at("configurations")) {
        configurations.push_back(family.space.parse(text.get<std::string>()));
      }
      compilations_[q.at("number")] = family.evaluator.compile(configurations, problem_of(q, family));
      return json::object();
    }
    if (ask == "next") {
      const auto done = compilations_.at(q.at("number"))->next();
      if (!done) return json::object();
      return {{"index", done->index},
              {"compiled", done->compiled},
              {"seconds", done->seconds},
              {"log", done->log},
              {"compiler_calls", device_->compiler_calls()}};
    }
    if (ask == "drop") {
      compilations_.erase(q.at("number").get<std::int64_t>());
      return json::object();
    }
    if (ask == "prepare") {
      Family& family = family_of(q);
      runners_[q.at("number")] = family.evaluator.prepare(configuration_of(q, family), problem_of(q, family),
                                                          q.at("samples").get<std::int64_t>());
      return json::object();
    }
    if (ask == "time") return {{"time", runners_.at(q.at("number"))->time()}};
    if (ask == "guards") {
      runners_.at(q.at("number"))->check_guards();
      return json::object();
    }
    if (ask == "verify") {
      Family& family = family_of(q);
      const auto extent = q.at("all").get<bool>() ? VerificationExtent::all : VerificationExtent::first_runs;
      return to_json(family.evaluator.verify(configuration_of(q, family), problem_of(q, family), extent));
    }
    if (ask == "verify timed run") {
      Family& family = family_of(q);
      return to_json(family.evaluator.verify_timed_run(configuration_of(q, family), problem_of(q, family),
                                                       q.at("samples").get<std::int64_t>(),
                                                       family.space.parse(q.at("untuned").get<std::string>())));
    }
    if (ask == "check") {
      family_of(q).evaluator.check_device();
      return json::object();
    }
    if (ask == "provenance") return to_json(family_of(q).evaluator.provenance());
    throw Error(ErrorKind::bug, fmt::format("the worker was asked for '{}'", ask));
  }

  json open(const std::string& label) {
    device_ = world_.open(label);
    return {{"label", device_->label()},
            {"identity", device_->identity().text()},
            {"remark", device_->remark()},
            {"shares_processor", device_->identity().backend != "cuda"}};
  }

  Family& family_of(const json& q) {
    const auto key = std::pair(q.at("family").get<std::string>(), q.at("seed").get<std::uint64_t>());
    auto found = families_.find(key);
    if (found == families_.end()) {
      found = families_.try_emplace(key, *device_, world_.find(key.first), key.second).first;
    }
    return found->second;
  }

  static Configuration configuration_of(const json& q, const Family& family) {
    return family.space.parse(q.at("configuration").get<std::string>());
  }
  static Problem problem_of(const json& q, const Family& family) {
    return Problem::parse(q.at("problem").get<std::string>(), family.family.axes());
  }

  Channel channel_;
  const WorkerWorld& world_;
  std::unique_ptr<Device> device_;
  std::map<std::pair<std::string, std::uint64_t>, Family> families_;
  std::map<std::int64_t, std::unique_ptr<Compilation>> compilations_;
  std::map<std::int64_t, std::unique_ptr<Runner>> runners_;
};

}  // namespace

int serve(int descriptor, const WorkerWorld& world) {
  become_worker();
  try {
    Server(Channel(descriptor), world).run();
  } catch (const ChannelError& error) {
    if (error.reason() == ChannelError::Reason::closed) return 0;
    std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
  }
  return static_cast<int>(ErrorKind::bug);
}

}  // namespace heddle
