// The table of mappings: on one device, for a grid of problems, the published mapping, one fixed configuration, the
// untuned default and what heddle chooses, timed in turn within one run. Writes JSON for mapping_table.py.
//
//   mapping_table --profiles h200.sqlite --budget 600 --limit 900 --commit "$(git rev-parse HEAD)" --output table.json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/tuner.hpp"

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string device, profiles = ProfileStore::default_file().string(), family = "sonfin-train", strategy = "random";
  std::string output = "mapping_table.json", commit;
  std::vector<std::int64_t> rules{32, 64, 128, 256, 512, 1024}, dim{16, 32, 64, 128, 256, 512, 1024}, outputs{1, 10};
  double budget = 0.0, limit = 1e9;
  int rounds = 15;
  std::size_t candidates = 24;
  std::uint64_t seed = 1;
};

volatile std::sig_atomic_t interrupted = 0;

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::print(stderr, "{}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
}

std::vector<Problem> cells(const Options& options) {
  std::vector<Problem> problems;
  for (const std::int64_t outputs : options.outputs) {
    for (const std::int64_t rules : options.rules) {
      for (const std::int64_t dim : options.dim) {
        problems.push_back(Problem({{"rules", rules}, {"dim", dim}, {"outputs", outputs}}));
      }
    }
  }
  return problems;
}

void tune(Evaluator& evaluator, ProfileStore& store, const std::vector<Problem>& problems, const Options& options) {
  StopCondition stop({.seconds = options.budget, .evaluations = {}}, [] { return interrupted != 0; });
  TunerCallbacks callbacks;
  callbacks.result = [&](const TuningResult& result) {
    const auto microseconds = [](const std::optional<double>& time) {
      return time ? fmt::format("{:.2f}", *time) : "-";
    };
    say("tuned {}: {} us, default {} us, {} of {} tried in {:.1f} s (waited {:.1f}, measured {:.1f}, verified {:.1f})",
        result.problem.text(), result.profile ? fmt::format("{:.2f}", result.profile->time) : "-",
        microseconds(result.baseline.time), result.evaluations(), result.valid, result.effort.total,
        result.effort.waiting, result.effort.measuring, result.effort.verifying);
  };
  (void)Tuner(evaluator, store, {.strategy = options.strategy, .seed = options.seed}, callbacks).tune(problems, stop);
}

/// Compiles all that is not compiled yet.
void compile(Evaluator& evaluator, const std::vector<Configuration>& configurations, const Problem& problem) {
  const auto compilation = evaluator.compile(configurations, problem);
  while (compilation->next()) {
  }
}

/// Times of each configuration for one problem, interleaved; empty where it failed.
std::vector<std::vector<double>> interleave(Evaluator& evaluator, const std::vector<Configuration>& configurations,
                                            const Problem& problem, std::int64_t samples, int rounds) {
  std::vector<std::unique_ptr<Runner>> runners(configurations.size());
  std::vector<std::vector<double>> times(configurations.size());
  const auto attempt = [&](std::size_t i, const auto& step) {
    try {
      step();
    } catch (const DeviceFailure& failure) {
      say("{}: {}: {}", problem.text(), configurations[i].text(), failure.what());
      runners[i].reset();
      times[i].clear();
    }
  };
  for (std::size_t i = 0; i < runners.size(); ++i) {
    attempt(i, [&] {
      runners[i] = evaluator.prepare(configurations[i], problem, samples);
      (void)runners[i]->time();
    });
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < runners.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % runners.size();
      if (runners[i]) attempt(i, [&] { times[i].push_back(runners[i]->time()); });
    }
  }
  return times;
}

/// Of the configurations allowed in the most cells (all, if there is one), that with the best geometric mean over all
/// cells; where it is not allowed the default stands in.
struct Fixed {
  std::optional<Configuration> configuration;
  std::size_t valid = 0;       ///< cells that allow it
  std::size_t candidates = 0;  ///< how many were compared
};

Fixed best_fixed(Evaluator& evaluator, const ProfileStore& store, const std::vector<Problem>& problems,
                 const Options& options, const StopCondition& stop) {
  const KernelFamily& family = evaluator.family();
  const SearchSpace space = family.space(evaluator.device());
  // Winners and those that tied with them, those that win most cells first, and the defaults.
  std::map<std::string, double> votes;
  for (const Problem& problem : problems) {
    votes[family.default_configuration(evaluator.device(), problem).text()] += 1.0;
    const auto profile = store.find({.device = evaluator.device(), .family = options.family, .problem = problem});
    if (!profile) continue;
    votes[profile->configuration] += 1.0;
    for (const std::string& tie : profile->ties) votes[tie] += 0.5;
  }
  const auto valid_cells = [&](const Configuration& configuration) {
    return static_cast<std::size_t>(std::count_if(problems.begin(), problems.end(), [&](const Problem& problem) {
      return !space.violated(configuration, problem);
    }));
  };
  struct Candidacy {
    std::size_t cells = 0;
    double votes = 0.0;
    Configuration configuration;
  };
  std::vector<Candidacy> ranked;
  for (const auto& [text, weight] : votes) {
    try {
      Configuration configuration = space.parse(text);
      const std::size_t allowed = valid_cells(configuration);
      ranked.push_back({.cells = allowed, .votes = weight, .configuration = std::move(configuration)});
    } catch (const Error&) {  // a stale profile's, which the space no longer has
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Candidacy& a, const Candidacy& b) {
    return std::pair(a.cells, a.votes) > std::pair(b.cells, b.votes);
  });
  // One configuration for everything is to run wherever any does.
  std::erase_if(ranked,
                [most = ranked.empty() ? 0 : ranked.front().cells](const Candidacy& c) { return c.cells < most; });
  std::vector<Configuration> candidates;
  for (const Candidacy& candidacy : ranked) {
    if (candidates.size() < options.candidates) candidates.push_back(candidacy.configuration);
  }

  std::vector<double> logs(candidates.size(), 0.0);
  for (const Problem& problem : problems) {
    if (stop.reached()) return {};
    std::vector<Configuration> entrants{family.default_configuration(evaluator.device(), problem)};
    std::vector<std::size_t> places(candidates.size(), 0);  // 0: the default stands in
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (space.violated(candidates[i], problem)) continue;
      places[i] = entrants.size();
      entrants.push_back(candidates[i]);
    }
    compile(evaluator, entrants, problem);
    const std::int64_t samples = choose_samples(evaluator, entrants.front(), problem);
    const auto times = interleave(evaluator, entrants, problem, samples, 3);
    const double failed = 10.0 * (times.front().empty() ? 1e3 : median(times.front()));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      logs[i] += std::log(times[places[i]].empty() ? failed : median(times[places[i]]));
    }
    say("fixed configuration: {}, {} candidates", problem.text(), candidates.size());
  }
  if (candidates.empty()) return {};
  const auto best = static_cast<std::size_t>(std::min_element(logs.begin(), logs.end()) - logs.begin());
  return {.configuration = candidates[best], .valid = valid_cells(candidates[best]), .candidates = candidates.size()};
}

/// One configuration in the part or parts it plays.
struct Entry {
  std::vector<std::string> roles;
  Configuration configuration;
};

void enter(std::vector<Entry>& entries, const std::string& role, const Configuration& configuration) {
  for (Entry& entry : entries) {
    if (entry.configuration == configuration) {
      entry.roles.push_back(role);
      return;
    }
  }
  entries.push_back({.roles = {role}, .configuration = configuration});
}

Json measure_cell(Evaluator& evaluator, const Dispatcher& dispatcher, const Fixed& fixed, const Problem& problem,
                  int rounds) {
  const KernelFamily& family = evaluator.family();
  const SearchSpace space = family.space(evaluator.device());
  const Candidate& chosen = dispatcher.choose(problem);
  std::vector<Entry> entries;
  enter(entries, "default", family.default_configuration(evaluator.device(), problem));
  for (const NamedConfiguration& named : family.named_configurations(evaluator.device())) {
    const auto configuration = named.configuration(problem);
    if (configuration && !space.violated(*configuration, problem)) enter(entries, named.name, *configuration);
  }
  if (fixed.configuration && !space.violated(*fixed.configuration, problem)) {
    enter(entries, "fixed", *fixed.configuration);
  }
  enter(entries, "chosen", chosen.configuration);

  std::vector<Configuration> configurations;
  for (const Entry& entry : entries) configurations.push_back(entry.configuration);
  compile(evaluator, configurations, problem);
  const std::int64_t samples = choose_samples(evaluator, configurations.front(), problem);
  const auto times = interleave(evaluator, configurations, problem, samples, rounds);

  Json sizes = Json::object();
  for (const Problem::Size& size : problem.sizes()) sizes[size.name] = size.value;
  Json cell{{"problem", sizes}, {"samples", samples}, {"tier", text(chosen.tier)}, {"entries", Json::array()}};
  std::string line = fmt::format("{}:", problem.text());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Verdict verdict = evaluator.verify(configurations[i], problem);
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
  say("{}", line);
  return cell;
}

/// Whole or not at all, so that a run that is cut short leaves what it had.
void write(const std::string& file, const Json& document) {
  const std::string unfinished = file + ".part";
  std::ofstream(unfinished) << document.dump(1) << '\n';
  std::filesystem::rename(unfinished, file);
}

void run(const Options& options, const std::string& command) {
  StopCondition stop({.seconds = options.limit, .evaluations = {}}, [] { return interrupted != 0; });
  const auto device = open_device(options.device);
  const KernelFamily& family = heddle::family(options.family);
  DeviceEvaluator evaluator(*device, family, options.seed);
  ProfileStore store(options.profiles, ProfileStore::Access::read_write);
  const std::vector<Problem> problems = cells(options);
  say("{}: {} on {} problems", device->label(), device->identity().name, problems.size());
  if (options.budget > 0.0) tune(evaluator, store, problems, options);

  const Fixed fixed = best_fixed(evaluator, store, problems, options, stop);
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
                {"source_hash", family.source(device->identity().backend).hash()},
                {"unit", "microseconds per sample"},
                {"rounds", options.rounds},
                {"complete", false},
                {"cells", Json::array()}};
  if (fixed.configuration) {
    document["fixed"] = {
        {"configuration", fixed.configuration->text()}, {"valid_cells", fixed.valid}, {"candidates", fixed.candidates}};
    say("fixed: {}, allowed in {} of {} cells", fixed.configuration->text(), fixed.valid, problems.size());
  }
  const Dispatcher dispatcher(device->identity(), family, store.profiles(options.family));
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    document["cells"].push_back(measure_cell(evaluator, dispatcher, fixed, problem, options.rounds));
    write(options.output, document);
  }
  document["complete"] = document["cells"].size() == problems.size();
  write(options.output, document);
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
  app.add_option("--budget", options.budget, "seconds of tuning before; 0: take the profiles as they are");
  app.add_option("--limit", options.limit, "seconds for everything; what is measured by then is kept");
  app.add_option("--rounds", options.rounds, "interleaved repetitions per cell");
  app.add_option("--candidates", options.candidates, "how many are compared for the one fixed configuration");
  app.add_option("--seed", options.seed);
  app.add_option("--commit", options.commit, "recorded beside the results");
  app.add_option("--output", options.output, "JSON file");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i > 0 ? " " : "") + std::string(argv[i]);
  try {
    run(options, command);
  } catch (const Error& error) {
    say("mapping_table: {}", error.what());
    return static_cast<int>(error.kind());
  }
  return interrupted != 0 ? 130 : 0;
}
