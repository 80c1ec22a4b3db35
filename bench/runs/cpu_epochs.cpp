// Whole training on this CPU from no rule on: what the first epoch takes, in which the network grows, and later ones.
// Tuned, untuned, on one thread and on all cores take turns, so that whatever else the machine does meets them alike.
//
//   cpu_epochs [--profiles FILE] [--also CONFIGURATION] [--busy] [--epochs N] [--turns N] [--label COLUMN] MAX_RULES
//   DATA
//
// Prints one JSON document. --also: with this configuration, too; may be given several times.
// --busy: beside a process that always has something to do. The compiled code comes from the cache: a first training
// that is not counted puts it there.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/thread_count.hpp"
#include "heddle/bench/sharing/busy_process.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/train/sonfin_trainer.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string profiles, label = "last", rules, data, epochs = "6";
  std::vector<std::string> also;
  int turns = 5;
  bool busy = false;
};

/// As on a machine with one core, where every launch has one thread.
std::unique_ptr<Device> open_with_one_core() {
  cpu_set_t all, one;
  ::sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  auto device = open_cpu_device();
  ::sched_setaffinity(0, sizeof all, &all);
  return device;
}

/// Makes training use a configuration. Throws Error(usage) for one that the space does not allow there.
Profile profile_of(const std::string& configuration, const DeviceIdentity& device, const Problem& problem) {
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(device);
  if (const auto constraint = space.violated(space.parse(configuration), problem)) {
    throw Error(ErrorKind::usage, fmt::format("'{}' violates '{}' at {}", configuration, *constraint, problem.text()));
  }
  Profile profile;
  profile.key = {.device = device, .family = std::string(family.name()), .problem = problem};
  profile.kernels = kernel_version(family, device);
  profile.configuration = configuration;
  profile.time = 1e6;  // promises nothing
  return profile;
}

/// The untuned default with as many threads as cores.
std::string on_all_cores(const DeviceIdentity& device, const Problem& problem) {
  const KernelFamily& family = sonfin::train_family();
  return bench::with_threads(family.default_configuration(device, problem), device.units).text();
}

struct Way {
  std::string name;
  Knowledge known = {};
  bool one_core = false;
  /// Microseconds per sample of the first epoch, and of the median later one; by turn.
  std::vector<double> first = {}, later = {};
  std::string configuration = {};         ///< at the end
  std::vector<std::string> notices = {};  ///< of the last turn
};

void train(Way& way, const Dataset& data, const Options& options) {
  const auto device = way.one_core ? open_with_one_core() : open_cpu_device();
  TrainingJob job{.train = &data, .options = OptionValues(sonfin_trainer().options())};
  job.options.set("max-rules", options.rules);
  job.options.set("epochs", options.epochs);
  way.notices.clear();
  const TrainingResult result = sonfin_trainer().train(
      *device, way.known, job, {.notice = [&](const std::string& line) { way.notices.push_back(line); }});
  std::vector<double> later;
  for (const EpochReport& report : result.epochs) {
    if (report.epoch > 1) later.push_back(report.microseconds_per_sample);
  }
  way.first.push_back(result.epochs.front().microseconds_per_sample);
  way.later.push_back(median(later));
  way.configuration = result.epochs.back().mappings.back().configuration;
}

Json run(const Options& options) {
  const Dataset data = load_dataset(options.data, {.label = options.label});
  const Problem problem = sonfin::problem(std::stoll(options.rules), data.dim, data.outputs());
  const DeviceIdentity device = open_cpu_device()->identity();
  std::vector<Way> ways{
      {.name = "untuned"},
      {.name = "one_thread", .one_core = true},
      {.name = "all_cores", .known = std::vector{profile_of(on_all_cores(device, problem), device, problem)}}};
  for (const std::string& text : options.also) {
    ways.push_back({.name = text, .known = std::vector{profile_of(text, device, problem)}});
  }
  if (!options.profiles.empty()) {
    const ProfileStore store(options.profiles, ProfileStore::Access::read);
    ways.push_back({.name = "tuned", .known = store.knowledge()});
  }
  for (Way& way : ways) {
    train(way, data, options);
    way.first.clear();
    way.later.clear();
  }
  std::optional<bench::BusyProcess> other;
  if (options.busy) other.emplace();
  for (int turn = 0; turn < options.turns; ++turn) {
    for (Way& way : ways) train(way, data, options);
  }
  Json document{{"data", options.data}, {"max_rules", options.rules}, {"busy", options.busy}, {"turns", options.turns}};
  const double alone = median(ways[1].later);
  for (const Way& way : ways) {
    document[way.name] = {{"first_us", median(way.first)},
                          {"later_us", median(way.later)},
                          {"first_over_later", median(way.first) / median(way.later)},
                          {"over_one_thread", median(way.later) / alone},
                          {"configuration", way.configuration},
                          {"notices", way.notices}};
  }
  return document;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  CLI::App app("Training epochs on this CPU", "cpu_epochs");
  app.add_option("--profiles", options.profiles);
  app.add_option("--also", options.also, "a configuration to train with, too")->expected(1)->take_all();
  app.add_option("--label", options.label);
  app.add_option("--epochs", options.epochs);
  app.add_option("--turns", options.turns)->check(CLI::PositiveNumber);
  app.add_flag("--busy", options.busy);
  app.add_option("max_rules", options.rules)->required();
  app.add_option("data", options.data)->required();
  CLI11_PARSE(app, count, arguments);
  return bench::exit_code("cpu_epochs", [&] {
    fmt::print("{}\n", run(options).dump(2));
    return 0;
  });
}
