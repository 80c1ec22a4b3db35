// The table of mappings: on one device, for many problems, the published mappings, launched and captured in a graph,
// the best launched scheme of heddle's own captured, one fixed configuration, the family's default, and what heddle
// chooses before and after tuning, timed in turn within one run, beside the physical floor of the device. Writes JSON
// for mapping_table.py; what is finished stays if the run is cut short.
//
//   mapping_table --profiles h200.sqlite --budget 300 --atm-budget 60 --limit 540 --commit "$(git rev-parse HEAD)"
//                 --cells 640x16x10,500x617x26 --output table.json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/restricted_family.hpp"
#include "heddle/bench/common/vintage.hpp"
#include "heddle/bench/step/cross_trial.hpp"
#include "heddle/bench/step/fixed_mapping.hpp"
#include "heddle/bench/step/floor.hpp"
#include "heddle/bench/step/limits.hpp"
#include "heddle/bench/step/stored_knowledge.hpp"
#include "heddle/bench/step/variants.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/tuner.hpp"

using namespace heddle;
using namespace heddle::bench;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string device, profiles = ProfileStore::default_file().string(), family = "sonfin-train";
  std::string strategy{strategies().front().name}, output = "mapping_table.json", commit;
  std::vector<std::int64_t> rules{32, 64, 128, 256, 512, 1024}, dim{16, 32, 64, 128, 256, 512, 1024}, outputs{1};
  std::vector<std::string> cells;
  bool grid = true;
  double budget = 0.0, atm_budget = 0.0, captured_budget = 0.0, fixed_budget = 40.0, limit = 1e9;
  std::int64_t samples = 0;
  int rounds = 15;
  std::uint64_t seed = 1;
};

volatile std::sig_atomic_t interrupted = 0;

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::print(stderr, "{}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// The grid, then the cells named one by one that are not in it.
std::vector<Problem> cells(const KernelFamily& family, const Options& options) {
  std::vector<Problem> problems;
  for (const std::int64_t outputs : options.outputs) {
    for (const std::int64_t rules : options.rules) {
      for (const std::int64_t dim : options.dim) {
        if (options.grid) problems.push_back(Problem({{"rules", rules}, {"dim", dim}, {"outputs", outputs}}));
      }
    }
  }
  for (const std::string& text : options.cells) {
    const Problem problem = problem_of(family, text);
    if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
  }
  return problems;
}

std::vector<TuningResult> tune(const std::string& what, Evaluator& evaluator, ProfileStore& store,
                               const std::vector<Problem>& problems, const Options& options, double seconds) {
  StopCondition stop({.seconds = seconds, .evaluations = {}}, [] { return interrupted != 0; });
  TunerCallbacks callbacks;
  callbacks.result = [&](const TuningResult& result) {
    const auto microseconds = [](const std::optional<double>& time) {
      return time ? fmt::format("{:.2f}", *time) : "-";
    };
    say("{} {}: {} us, default {} us, {} of {} tried in {:.1f} s (waited {:.1f}, measured {:.1f}, verified {:.1f})",
        what, result.problem.text(), result.profile ? fmt::format("{:.2f}", result.profile->time) : "-",
        microseconds(result.untuned.time), result.evaluations(), result.valid, result.effort.total,
        result.effort.waiting, result.effort.measuring, result.effort.verifying);
  };
  return Tuner(evaluator, store, {.strategy = options.strategy, .seed = options.seed}, callbacks).tune(problems, stop);
}

/// What was found where a search deserves the name.
std::map<Problem, std::string> winners(const std::vector<TuningResult>& results) {
  constexpr std::int64_t kFewest = 8;  // configurations tried
  std::map<Problem, std::string> found;
  for (const TuningResult& result : results) {
    if (result.profile && result.evaluations() >= std::min<std::int64_t>(kFewest, result.valid))
      found.emplace(result.problem, result.profile->configuration);
  }
  return found;
}

/// One configuration for everything, and one for the problems of each number of outputs, by that number.
struct FixedMappings {
  FixedMapping all;
  std::map<std::int64_t, FixedMapping> of_outputs;
};

FixedMappings search_fixed(Evaluator& evaluator, const ProfileStore& store, const std::vector<Problem>& problems,
                           const Options& options, const StopCondition& stop) {
  const StoredKnowledge knowledge(evaluator, store);
  std::map<std::int64_t, std::vector<Problem>> groups;
  for (const Problem& problem : problems) groups[problem.at("outputs")].push_back(problem);
  const double seconds = options.fixed_budget / static_cast<double>(groups.size() > 1 ? groups.size() + 1 : 1);
  const auto search = [&](const std::vector<Problem>& among, const std::string& what) {
    const StopCondition searching({.seconds = seconds, .evaluations = {}}, [] { return interrupted != 0; });
    FixedMapping fixed = best_fixed(evaluator, among, knowledge.known(), options.seed, searching, stop);
    say("fixed, {}: {}, the best of {} tried of {} allowed, on {} cells", what,
        fixed.configuration ? fixed.configuration->text() : "none", fixed.candidates, fixed.allowed, fixed.problems);
    return fixed;
  };
  FixedMappings found{.all = search(problems, "all cells"), .of_outputs = {}};
  for (const auto& [outputs, among] : groups) {
    if (groups.size() > 1) found.of_outputs.emplace(outputs, search(among, fmt::format("{} outputs", outputs)));
  }
  return found;
}

/// One configuration in the part or parts it plays.
struct Entry {
  std::vector<std::string> roles;
  Configuration configuration;
};

/// What every cell is measured with.
struct Contest {
  Evaluator& evaluator;
  const Dispatcher& dispatcher;
  const Dispatcher& untuned;  ///< knows what heddle brings along, and nothing of this device
  const FixedMappings& fixed;
  const std::map<Problem, std::string>& atm;       ///< by problem, where its space was searched
  const std::map<Problem, std::string>& captured;  ///< likewise: heddle's launched schemes in a graph
  const std::optional<Limits>& limits;
};

std::vector<Entry> entries_of(const Contest& contest, const Problem& problem, const Candidate& chosen) {
  const DeviceIdentity& device = contest.evaluator.device();
  const KernelFamily& family = contest.evaluator.family();
  const SearchSpace space = family.space(device);
  std::vector<Entry> entries;
  const auto add = [&](const std::string& role, const Configuration& configuration) {
    const auto same = std::ranges::find(entries, configuration, &Entry::configuration);
    if (same == entries.end()) {
      entries.push_back({.roles = {role}, .configuration = configuration});
    } else {
      same->roles.push_back(role);
    }
  };
  const auto enter = [&](const std::string& role, const Configuration& configuration) {
    if (!space.violated(configuration, problem)) add(role, configuration);
  };
  const auto add_captured = [&](const std::string& role, const Configuration& launched) {
    for (const Configuration& graph : captured(space, launched, problem)) add(role, graph);
  };
  const Configuration usual = family.default_configuration(device, problem);
  enter("default", usual);
  enter("untuned", contest.untuned.choose(problem).configuration);
  for (const NamedConfiguration& named : family.named_configurations(device)) {
    const auto published = named.configuration(problem);
    if (!published) continue;
    enter(named.name, *published);
    // At its best: the publication does not say how large the block is that combines, so the table takes the fastest.
    for (const Configuration& variant : with_each(space, *published, "combine_size", problem)) {
      enter(named.name, variant);
      add_captured(named.name + " captured", variant);
    }
  }
  if (const auto atm = contest.atm.find(problem); atm != contest.atm.end()) {
    const Configuration found = space.parse(atm->second);
    enter("atm", found);
    add_captured("atm captured", found);
  }
  if (const auto found = contest.captured.find(problem); found != contest.captured.end()) {
    add_captured("launched captured", space.parse(found->second));
  }
  if (const auto& fixed = contest.fixed.all.configuration) enter("fixed", *fixed);
  const auto of_outputs = contest.fixed.of_outputs.find(problem.at("outputs"));
  if (of_outputs != contest.fixed.of_outputs.end() && of_outputs->second.configuration) {
    enter("fixed per outputs", *of_outputs->second.configuration);
  }
  enter("chosen", chosen.configuration);
  return entries;
}

Json to_json(const FixedMapping& fixed) {
  return {{"configuration", fixed.configuration->text()},
          {"allowed", fixed.allowed},
          {"candidates", fixed.candidates},
          {"compared_cells", fixed.problems}};
}

Json to_json(const Floor& floor) {
  return {{"median", floor.microseconds},
          {"link", floor.link},
          {"blocks", floor.blocks},
          {"arithmetic", floor.arithmetic},
          {"exchange", floor.exchange}};
}

Json to_json(const Limits& limits) {
  Json exchanges = Json::array();
  for (const Exchange& exchange : limits.exchanges) {
    exchanges.push_back(
        {{"link", exchange.link}, {"blocks", exchange.blocks}, {"microseconds", exchange.microseconds}});
    if (exchange.link == "grid") {
      exchanges.back()["replicas"] = exchange.polling.replicas;
      exchanges.back()["first_look"] = exchange.polling.first_look;
    }
  }
  return {{"operations_per_microsecond", limits.operations_per_microsecond},
          {"cache_bytes_per_microsecond", limits.cache_bytes_per_microsecond},
          {"memory_bytes_per_microsecond", limits.memory_bytes_per_microsecond},
          {"launch_microseconds", limits.launch_microseconds},
          {"node_microseconds", limits.node_microseconds},
          {"exchanges", exchanges}};
}

Json measure_cell(const Contest& contest, const Problem& problem, const Options& options) {
  Evaluator& evaluator = contest.evaluator;
  const Candidate& chosen = contest.dispatcher.choose(problem);
  const std::vector<Entry> entries = entries_of(contest, problem, chosen);
  std::vector<Configuration> configurations;
  configurations.reserve(entries.size());
  for (const Entry& entry : entries) configurations.push_back(entry.configuration);
  compile(evaluator, configurations, problem);
  const std::int64_t samples =
      options.samples > 0 ? options.samples : choose_samples(evaluator, configurations.front(), problem);
  const auto times = interleave(evaluator, configurations, problem, samples, options.rounds);

  Json sizes = Json::object();
  for (const Problem::Size& size : problem.sizes()) sizes[size.name] = size.value;
  Json cell{{"problem", sizes}, {"samples", samples}, {"tier", text(chosen.tier)}, {"entries", Json::array()}};
  std::string line = fmt::format("{}:", problem.text());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Verdict verdict = evaluator.verify(configurations[i], problem, VerificationExtent::all);
    Json row{{"roles", entries[i].roles},
             {"configuration", configurations[i].text()},
             {"status", text(verdict.status)},
             {"worst_error", verdict.worst_error}};
    if (!times[i].empty()) {
      row["median"] = median(times[i]);
      row["spread"] = half_interquartile_range(times[i]);
      row["times"] = times[i];
      line += fmt::format("  {} {:.2f}", fmt::join(entries[i].roles, "+"), median(times[i]));
    }
    cell["entries"].push_back(std::move(row));
  }
  if (contest.limits) {
    const KernelFamily& family = evaluator.family();
    const Floor floor = family.name() == sonfin::train_family().name()
                            ? training_floor(*contest.limits, family, evaluator.device(), problem)
                            : batch_floor(*contest.limits, family, problem);
    cell["floor"] = to_json(floor);
    line += fmt::format("  floor {:.2f}", floor.microseconds);
  }
  say("{}", line);
  return cell;
}

void run(const Options& options, const std::string& command) {
  StopCondition stop({.seconds = options.limit, .evaluations = {}}, [] { return interrupted != 0; });
  const auto device = open_device(options.device);
  const KernelFamily& family = builtin_families().at(options.family);
  DeviceEvaluator evaluator(*device, family, options.seed);
  ProfileStore store(options.profiles, ProfileStore::Access::read_write);
  const std::vector<Problem> problems = cells(family, options);
  say("{}: {} on {} problems", device->label(), device->identity().name, problems.size());
  const std::string& backend = device->identity().backend;
  std::optional<Limits> limits;
  if (backend == "cuda") {
    try {
      limits = measure_limits(*device);
    } catch (const DeviceFailure& failure) {
      say("no floor: {}", failure.what());
      evaluator.check_device();
    }
  }
  if (options.budget > 0.0) (void)tune("tuned", evaluator, store, problems, options, options.budget);
  std::map<Problem, std::string> atm;
  std::map<Problem, std::string> graphs;
  const auto search_part = [&](const std::string& what, const RestrictedFamily& part, double seconds) {
    DeviceEvaluator restricted(*device, part, options.seed);
    ProfileStore scratch(":memory:", ProfileStore::Access::read_write);
    return cross_tried(restricted, winners(tune(what, restricted, scratch, problems, options, seconds)), problems,
                       stop);
  };
  if (backend != "cpu" && options.atm_budget > 0.0) {
    atm = search_part("atm", atm_family(), options.atm_budget);
  }
  if (backend != "cpu" && options.captured_budget > 0.0) {
    graphs = search_part("captured", captured_family(), options.captured_budget);
  }

  const FixedMappings fixed = search_fixed(evaluator, store, problems, options, stop);
  const Provenance provenance = evaluator.provenance();
  Json document{{"command", command},
                {"commit", options.commit},
                {"device", device->identity().text()},
                {"name", device->identity().name},
                {"driver", provenance.driver},
                {"compiler", provenance.compiler},
                {"clocks", provenance.clocks},
                {"date", provenance.date},
                {"tool", provenance.tool},
                {"family", options.family},
                {"templates", template_digests({&family}, backend)},
                {"choices", choice_digests({&family}, backend)},
                {"unit", "microseconds per sample"},
                {"rounds", options.rounds},
                {"complete", false},
                {"cells", Json::array()}};
  if (limits) document["limits"] = to_json(*limits);
  if (fixed.all.configuration) document["fixed"] = to_json(fixed.all);
  for (const auto& [outputs, one] : fixed.of_outputs) {
    if (one.configuration) document["fixed_per_outputs"][std::to_string(outputs)] = to_json(one);
  }
  const Dispatcher dispatcher(device->identity(), family, store.knowledge(options.family));
  const Dispatcher untuned(device->identity(), family, {});
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    document["cells"].push_back(measure_cell({.evaluator = evaluator,
                                              .dispatcher = dispatcher,
                                              .untuned = untuned,
                                              .fixed = fixed,
                                              .atm = atm,
                                              .captured = graphs,
                                              .limits = limits},
                                             problem, options));
    write_file(options.output, document.dump(1) + "\n");
  }
  document["complete"] = document["cells"].size() == problems.size();
  write_file(options.output, document.dump(1) + "\n");
  say("{} of {} cells in {}", document["cells"].size(), problems.size(), options.output);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times mappings of a grid of problems in one run");
  app.add_option("--device", options.device, "cuda:N or cpu; the best one if left out");
  app.add_option("--profiles", options.profiles, "profile database");
  app.add_option("--family", options.family, "kernel family");
  app.add_option("--strategy", options.strategy, "search strategy of the tuning before");
  app.add_option("--rules", options.rules)->delimiter(',');
  app.add_option("--dim", options.dim)->delimiter(',');
  app.add_option("--outputs", options.outputs)->delimiter(',');
  app.add_option("--cells", options.cells, "further problems: 640x16x10,500x617x26")->delimiter(',');
  app.add_flag("--grid,!--no-grid", options.grid, "whether to measure the grid of --rules, --dim and --outputs");
  app.add_option("--budget", options.budget, "seconds of tuning before; 0: take the profiles as they are");
  app.add_option("--atm-budget", options.atm_budget,
                 "seconds to search the published mapping's own space; 0: leave out");
  app.add_option("--captured-budget", options.captured_budget,
                 "seconds to search what heddle launches for every sample, captured in a graph; 0: leave out");
  app.add_option("--samples", options.samples, "samples of one run; 0: so many that it takes long enough");
  app.add_option("--limit", options.limit, "seconds for everything; what is measured by then is kept");
  app.add_option("--rounds", options.rounds, "interleaved repetitions per cell");
  app.add_option("--fixed-budget", options.fixed_budget,
                 "seconds to search the one configuration that is best on average, and that of each number of outputs");
  app.add_option("--seed", options.seed);
  app.add_option("--commit", options.commit, "recorded beside the results");
  app.add_option("--output", options.output, "JSON file");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  return exit_code("mapping_table", [&] {
    run(options, command_line(argc, argv));
    return interrupted != 0 ? 130 : 0;
  });
}
