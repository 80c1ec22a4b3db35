// Whole training runs: wall time per epoch, from the first sample with no rule, on the GPU, tuned for the sizes that
// the network passes through or with the profiles there are, on the CPU, tuned for the largest of these sizes, and on
// the GPU with the published ways to map the work: ATM, its space searched for the same sizes, and GPU-FNN with the
// decision about every sample on the host; beside them the best that heddle launches for every sample, captured in a
// graph, searched likewise.
// Writes JSON for whole_runs.py after every run. A call that finds a file of the same commit, device and options goes
// on with the runs that it lacks. Exit code: 124 if the limit cut it short.
//
//   whole_runs --data DIR --profiles h200.sqlite --sets letter,pendigits --epochs 2 --output whole_runs.json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/restricted_family.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/common/vintage.hpp"
#include "heddle/bench/runs/host_decided.hpp"
#include "heddle/bench/runs/rung_search.hpp"
#include "heddle/bench/runs/runs_file.hpp"
#include "heddle/bench/runs/training_sets.hpp"
#include "heddle/bench/step/variants.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using namespace heddle::bench;
using Json = nlohmann::ordered_json;

namespace {

const std::vector<std::string> kWays{"heddle", "cpu", "atm", "captured", "gpu-fnn"};

struct Options {
  std::string device, data, profiles = ProfileStore::default_file().string(), output = "whole_runs.json", commit;
  std::vector<std::string> sets = training_set_names(), ways{kWays};
  std::int64_t epochs = 2, rows = 0, cpu_runs = 1;
  double budget = 0.0, part_budget = 1.0, cpu_budget = 0.0, limit = 1e9;
  std::uint64_t seed = 1;
};

struct Learnt {
  double loss = 0.0;              ///< the sum of E
  std::optional<double> seconds;  ///< without the way of the parameters, where that is known
};

/// One epoch on some device: learns every row from `network`, leaves the network in its place.
using Epoch = std::function<Learnt(sonfin::Network& network, const sonfin::Control&, std::vector<std::int32_t> order)>;

/// Runs the epochs, the clock around each, with all parameters on the host after every one, as in training. Those of
/// the epoch before may be on the device still.
Json run_epochs(const TrainingSet& set, const Options& options, const Epoch& epoch) {
  constexpr double kThresholdDecay = 1.0;  // the default of training
  sonfin::Network network{
      .dim = set.rows.dim, .outputs = set.rows.outputs, .centres = {}, .widths = {}, .consequents = {}};
  sonfin::Control control = sonfin::control(set.options, set.rows.count());
  // No epoch waits for pages that the process has never touched.
  for (std::vector<float>* values : {&network.centres, &network.widths}) {
    values->resize(static_cast<std::size_t>(set.rules * set.rows.dim));
    values->clear();
  }
  Json epochs = Json::array();
  for (std::int64_t i = 1; i <= options.epochs; ++i) {
    auto order = permutation(set.rows.count(), options.seed, static_cast<std::uint64_t>(i));
    const Stopwatch watch;
    const Learnt learnt = epoch(network, control, std::move(order));
    epochs.push_back({{"seconds", watch.seconds()},
                      {"learning_seconds", learnt.seconds ? Json(*learnt.seconds) : Json()},
                      {"rules", network.rules()},
                      {"train_error", learnt.loss / static_cast<double>(set.rows.count())}});
    control.log_threshold -= static_cast<float>(kThresholdDecay);
  }
  return epochs;
}

Epoch with_learner(SonfinLearner& learner) {
  return [&learner, first = true](sonfin::Network& network, const sonfin::Control& control,
                                  std::vector<std::int32_t> order) mutable {
    if (std::exchange(first, false)) {
      learner.begin(network, control, std::move(order), 0, 0.0);
    } else {
      learner.begin_again(control, std::move(order));
    }
    while (learner.advance()) {
    }
    learner.fetch(network);
    return Learnt{.loss = learner.loss(), .seconds = learner.seconds()};
  };
}

/// The mapping that learnt most samples of the last epoch.
const Configuration& main_mapping(const SonfinLearner& learner) {
  const auto most = std::ranges::max_element(learner.uses(), {}, &SonfinLearner::Use::samples);
  return learner.ladder()[most->rung].configuration();
}

/// How far the network has grown after the first tenth of the first epoch's rows, in a run of its own.
std::int64_t rules_after_a_tenth(SonfinLearner& learner, const TrainingSet& set, const Options& options) {
  const std::int64_t tenth = std::max<std::int64_t>(set.rows.count() / 10, 1);
  const sonfin::Network none{
      .dim = set.rows.dim, .outputs = set.rows.outputs, .centres = {}, .widths = {}, .consequents = {}};
  learner.begin(none, sonfin::control(set.options, tenth), permutation(set.rows.count(), options.seed, 1), 0, 0.0);
  while (learner.advance()) {
  }
  return learner.rules();
}

Json run_learner(Device& device, const Knowledge& known, const TrainingSet& set, const Options& options) {
  const auto notice = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const Stopwatch watch;
  SonfinLearner learner(device, known, set.rows, set.rules, notice);
  const double setup = watch.seconds();
  Json epochs = run_epochs(set, options, with_learner(learner));
  const Configuration& mapping = main_mapping(learner);
  Json result{{"setup_seconds", setup}, {"configuration", mapping.text()}};
  if (device.identity().backend == "cpu") {
    result["threads"] = sonfin::train_family().host_threads(mapping, device.identity());
  }
  result["epochs"] = std::move(epochs);
  result["rules_after_a_tenth"] = rules_after_a_tenth(learner, set, options);
  return result;
}

/// Every capacity that the network passes through.
std::vector<Problem> rungs_of(const TrainingSet& set) {
  std::vector<Problem> problems;
  for (const std::int64_t rules : sonfin::rung_capacities(set.rules)) {
    problems.push_back(sonfin::problem(rules, set.rows.dim, set.rows.outputs));
  }
  return problems;
}

/// Searches for a mapping of each of some capacities; what is found is in `store`. `seconds`: for one capacity.
SearchDepth search(Device& device, const KernelFamily& family, ProfileStore& store, const std::vector<Problem>& rungs,
                   double seconds, std::uint64_t seed) {
  DeviceEvaluator evaluator(device, family, seed);
  return search_rungs(evaluator, store, rungs, {.seconds = seconds, .evaluations = {}}, seed);
}

void note(Json& result, const SearchDepth& depth) {
  result["fewest_configurations_tried"] = depth.tried;
  result["configurations_allowed"] = depth.allowed;
}

/// In place of a run, since it would not show what a way can do.
Json too_short(const SearchDepth& depth) {
  Json result{{"failure", fmt::format("left out: of {} configurations only {} were tried for {}", depth.allowed,
                                      depth.tried, depth.problem.text())}};
  note(result, depth);
  return result;
}

/// With what the profiles choose, and how deep the search was that made them.
Json run_tuned(Device& device, const ProfileStore& store, const TrainingSet& set, const Options& options,
               const std::optional<SearchDepth>& depth) {
  Json result = run_learner(device, store.knowledge(), set, options);
  if (depth) note(result, *depth);
  return result;
}

Json run_heddle(Device& device, ProfileStore& store, const TrainingSet& set, const Options& options) {
  std::optional<SearchDepth> depth;
  if (options.budget > 0.0) {
    const std::vector<Problem> rungs = rungs_of(set);
    const double for_each = options.budget / static_cast<double>(rungs.size());
    depth = search(device, sonfin::train_family(), store, rungs, for_each, options.seed);
  }
  return run_tuned(device, store, set, options, depth);
}

double seconds(const Json& run) {
  double sum = 0.0;
  for (const Json& epoch : run.at("epochs")) sum += epoch.at("seconds").get<double>();
  return sum;
}

/// Tuned for the most rules, with which nearly all samples are learnt: a processor takes so long to compile and to
/// measure that all capacities would have too short a search. Baselines are searched well or left out; of heddle's own
/// runs the file says how well. The fastest of several runs, since every sample waits for the thread whose core does
/// something else for a while; what all of them took is kept.
Json run_cpu(Device& cpu, ProfileStore& store, const TrainingSet& set, const Options& options) {
  std::optional<SearchDepth> depth;
  if (options.cpu_budget > 0.0) {
    depth = search(cpu, sonfin::train_family(), store, {rungs_of(set).back()}, options.cpu_budget, options.seed);
  }
  if (depth && !depth->is_enough()) return too_short(*depth);
  std::vector<Json> runs;
  Json taken = Json::array();
  for (std::int64_t i = 0; i < options.cpu_runs; ++i) {
    runs.push_back(run_tuned(cpu, store, set, options, depth));
    taken.push_back(seconds(runs.back()));
  }
  Json fastest = std::move(*std::ranges::min_element(runs, {}, seconds));
  fastest["seconds_of_runs"] = std::move(taken);
  return fastest;
}

/// What was found in a part of the space, as if the whole space had been searched. As it is, the dispatcher would take
/// it for stale, since a part has other values, and might prefer a mapping that is not of this part.
Knowledge of_whole_space(const Device& device, Knowledge known, const TrainingSet& set) {
  const KernelFamily& whole = sonfin::train_family();
  const KernelVersion version = kernel_version(whole, device.identity());
  for (Profile& profile : known.profiles) profile.kernels = version;
  known.models.clear();
  const Dispatcher dispatcher(device.identity(), whole, known);
  for (const Problem& problem : rungs_of(set)) {
    if (dispatcher.choose(problem).tier != Tier::exact) {
      throw DeviceFailure(Status::launch, fmt::format("no mapping was found for {}", problem.text()));
    }
  }
  return known;
}

/// With the best mapping of a part of the space.
Json run_part(Device& device, const KernelFamily& part, const TrainingSet& set, const Options& options) {
  ProfileStore store(":memory:", ProfileStore::Access::read_write);
  const SearchDepth depth = search(device, part, store, rungs_of(set), options.part_budget, options.seed);
  if (!depth.is_enough()) return too_short(depth);
  Json result = run_learner(device, of_whole_space(device, store.knowledge(), set), set, options);
  note(result, depth);
  return result;
}

/// GPU-FNN with the block that combines as large as is fastest there: the publication does not say how large it is, and
/// leaves nothing else open.
Configuration fastest_gpu_fnn(Evaluator& evaluator, const Problem& problem, SearchDepth& depth) {
  constexpr int kRounds = 5;
  const DeviceIdentity& device = evaluator.device();
  const std::vector<Configuration> variants =
      with_each(evaluator.family().space(device), gpu_fnn(device, problem), "combine_size", problem);
  compile(evaluator, variants, problem);
  const auto times =
      interleave(evaluator, variants, problem, choose_samples(evaluator, variants.front(), problem), kRounds);
  const auto count = static_cast<std::int64_t>(variants.size());
  if (depth.tried == 0 || count < depth.tried) depth = {.problem = problem, .tried = count, .allowed = count};
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (times[i].empty()) continue;
    if (!fastest || median(times[i]) < median(times[*fastest])) fastest = i;
  }
  if (!fastest) throw DeviceFailure(Status::launch, fmt::format("GPU-FNN failed at {}", problem.text()));
  return variants[*fastest];
}

Json run_host_decided(Device& device, const TrainingSet& set, const Options& options) {
  DeviceEvaluator evaluator(device, sonfin::train_family(), options.seed);
  const Stopwatch watch;
  Configuration last;
  SearchDepth depth;
  HostDecidedLearner learner(device, set.rows, set.rules,
                             [&](const Problem& problem) { return last = fastest_gpu_fnn(evaluator, problem, depth); });
  const double setup = watch.seconds();
  Json epochs =
      run_epochs(set, options, [&](auto& network, const auto& control, const std::vector<std::int32_t>& order) {
        learner.learn(network, control, order);
        network = learner.network();
        return Learnt{.loss = learner.loss(), .seconds = {}};
      });
  Json result{{"setup_seconds", setup}, {"configuration", last.text()}, {"epochs", std::move(epochs)}};
  note(result, depth);
  return result;
}

/// What trains: the device and the CPU, and what both were tuned to.
struct Bench {
  std::unique_ptr<Device> device, cpu;
  ProfileStore store;

  explicit Bench(const Options& options)
      : device(open_device(options.device)),
        cpu(open_device("cpu")),
        store(options.profiles, options.budget > 0.0 || options.cpu_budget > 0.0 ? ProfileStore::Access::read_write
                                                                                 : ProfileStore::Access::read) {}

  /// Whether the set can be trained in this way.
  [[nodiscard]] bool allows(const std::string& way, const TrainingSet& set) const {
    constexpr std::int64_t kMostInputsOfGpuFnn = 1024;
    if (way == "gpu-fnn" && set.rows.dim > kMostInputsOfGpuFnn) return false;
    return way == "cpu" || device->identity().backend != "cpu";
  }

  Json run(const std::string& way, const TrainingSet& set, const Options& options) {
    if (way == "heddle") return run_heddle(*device, store, set, options);
    if (way == "cpu") return run_cpu(*cpu, store, set, options);
    if (way == "atm") return run_part(*device, atm_family(), set, options);
    if (way == "captured") return run_part(*device, captured_family(), set, options);
    return run_host_decided(*device, set, options);
  }
};

/// All that decides what a run shows.
Json conditions(const Bench& bench, const Options& options) {
  const DeviceIdentity &device = bench.device->identity(), &cpu = bench.cpu->identity();
  const Provenance provenance = bench.device->provenance();
  return {{"commit", options.commit},
          {"templates", template_digests({&sonfin::train_family()}, device.backend)},
          {"choices", choice_digests({&sonfin::train_family()}, device.backend)},
          {"device", device.text()},
          {"name", device.name},
          {"cpu", cpu.name},
          {"cores", cpu.units},
          {"driver", provenance.driver},
          {"clocks", provenance.clocks},
          {"unit", "seconds per epoch"},
          {"options",
           {{"epochs", options.epochs},
            {"rows", options.rows},
            {"seed", options.seed},
            {"budget", options.budget},
            {"part_budget", options.part_budget},
            {"cpu_budget", options.cpu_budget},
            {"cpu_runs", options.cpu_runs}}}};
}

/// Nothing if the set's file is missing, which is told on stderr.
std::optional<TrainingSet> load(const std::string& name, const Options& options) {
  try {
    return load_training_set(name, options.data, options.rows);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fmt::print(stderr, "left out: {}\n", error.what());
    return std::nullopt;
  }
}

struct Attempt {
  Json result;                        ///< or the reason why there is none
  std::optional<DeviceFailure> lost;  ///< after this the device cannot be used
};

Attempt attempt(Bench& bench, const std::string& way, const TrainingSet& set, const Options& options) {
  const Stopwatch watch;
  Attempt made;
  try {
    made.result = bench.run(way, set, options);
  } catch (const DeviceFailure& failure) {
    made.result = {{"failure", failure.what()}};
    if (takes_device_down(failure.status()) && failure.status() != Status::out_of_memory) made.lost = failure;
  }
  made.result["wall_seconds"] = watch.seconds();
  return made;
}

/// Runs what the file lacks. Each call begins one run at least, so that with any limit enough calls do all. A run that
/// takes the device down is kept as a failure, so that the next call does not meet it again. Returns the exit code.
int run(const Options& options, const std::string& command) {
  constexpr int kCutShort = 124;  // as the program `timeout` has it
  const Stopwatch watch;
  Bench bench(options);
  RunsFile file(options.output, {{"command", command}, {"date", bench.device->provenance().date}},
                conditions(bench, options));
  bool complete = true, begun = false;
  for (const std::string& name : options.sets) {
    const auto is_there = [&](const std::string& way) { return file.has(name, way); };
    if (std::ranges::all_of(options.ways, is_there)) continue;
    const std::optional<TrainingSet> set = load(name, options);
    complete = complete && set;
    if (!set) continue;
    const Json about{
        {"rows", set->rows.count()}, {"dim", set->rows.dim}, {"outputs", set->rows.outputs}, {"max_rules", set->rules}};
    for (const std::string& way : options.ways) {
      if (is_there(way) || !bench.allows(way, *set)) continue;
      if (std::exchange(begun, true) && watch.seconds() > options.limit) {
        fmt::print(stderr, "whole_runs: cut short before {} {}; the same call goes on there\n", name, way);
        return kCutShort;
      }
      Attempt made = attempt(bench, way, *set, options);
      fmt::print(stderr, "{} {}: {}\n", name, way, made.result.dump());
      file.add(name, about, way, std::move(made.result));
      if (made.lost) throw *made.lost;
    }
  }
  file.end(complete);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times whole training runs on the GPU, the CPU, and with the published mappings");
  app.add_option("--device", options.device, "cuda:N; the best one if left out");
  app.add_option("--data", options.data, "folder with the sets, at any depth")->required();
  app.add_option("--profiles", options.profiles, "profile database");
  app.add_option("--sets", options.sets, "which; all if left out")->delimiter(',');
  app.add_option("--ways", options.ways, fmt::format("{}; all if left out", fmt::join(kWays, ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(kWays));
  app.add_option("--rows", options.rows, "at most so many of each set; 0: all");
  app.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber);
  app.add_option("--budget", options.budget, "seconds to tune the GPU for one set before; 0: the profiles as they are");
  app.add_option("--part-budget", options.part_budget,
                 "seconds to search ATM's space, or that of captured launches, for one capacity of a set; where that "
                 "tries fewer than 8 configurations it is searched up to three times more");
  app.add_option("--cpu-budget", options.cpu_budget,
                 "seconds to tune the CPU for the most rules of a set before, up to four times that where fewer than 8 "
                 "configurations were tried; 0: the profiles as they are");
  app.add_option("--cpu-runs", options.cpu_runs, "runs on the CPU, of which the fastest is kept")
      ->check(CLI::PositiveNumber);
  app.add_option("--limit", options.limit, "seconds after which nothing new is begun; a later call goes on");
  app.add_option("--seed", options.seed);
  app.add_option("--commit", options.commit, "recorded beside the results; only runs of the same one are gone on with");
  app.add_option("--output", options.output, "JSON file");
  CLI11_PARSE(app, argc, argv);
  return exit_code("whole_runs", [&] { return run(options, command_line(argc, argv)); });
}
