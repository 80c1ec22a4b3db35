// What a kernel author asks first: of the configurations that match some words, which are right, and how fast are they?
//
//   explore --problems 640x16x1,1024x1024x10 --match scheme=grid --sample 40 --samples 512 --best 5
//
// Or: how far is what heddle chooses from the best of all?
//
//   explore --problems 640x16x1 --except scheme=graph,scheme=stepwise --profiles h200.sqlite
//
// Or: these configurations, the first --keep of them and the --best fastest by turns at the end, in one process.
//
//   explore --problems 640x16x1 --only "scheme=grid ..." --only "scheme=graph ..." --keep 1 --best 3
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;

namespace {

struct Options {
  std::string device, family = "sonfin-train", profiles;
  std::vector<std::string> problems, match, except, only;
  std::size_t sample = 0, best = 8, keep = 0;
  std::int64_t samples = 512;
  int rounds = 7;
  double limit = 1e9;
  bool refine = false, verify = false;
  unsigned seed = 1;
};

bool matches(const Configuration& configuration, const Options& options) {
  const std::string text = " " + configuration.text() + " ";
  const auto has = [&](const std::string& word) { return text.find(" " + word + " ") != std::string::npos; };
  return std::ranges::all_of(options.match, has) && std::ranges::none_of(options.except, has);
}

struct Outcome {
  Configuration configuration;
  std::optional<double> time;
  std::string failure;
};

/// One run only of what is far behind `best`.
Outcome measure(Evaluator& evaluator, const Configuration& configuration, const Problem& problem, double best,
                const Options& options) {
  constexpr double kFarBehind = 1.5;
  Outcome outcome{.configuration = configuration, .time = {}, .failure = {}};
  try {
    const auto runner = evaluator.prepare(configuration, problem, options.samples);
    (void)runner->time();
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(options.rounds));
    for (int round = 0; round < options.rounds; ++round) {
      times.push_back(runner->time());
      if (times.front() > kFarBehind * best) break;
    }
    runner->check_guards();
    outcome.time = median(times);
  } catch (const DeviceFailure& failure) {
    outcome.failure = failure.what();
    if (failure.status() == Status::illegal_access) throw;
  }
  return outcome;
}

/// The fastest of `outcomes`, fastest first, once more, in turn with what the dispatcher chooses.
void compare_with_chosen(Evaluator& evaluator, const Problem& problem, const std::vector<Outcome>& outcomes,
                         const Options& options) {
  constexpr int kRounds = 15;
  const ProfileStore store(options.profiles, ProfileStore::Access::read);
  const Dispatcher dispatcher(evaluator.device(), evaluator.family(), store.knowledge(options.family));
  std::vector<Configuration> finalists{dispatcher.choose(problem).configuration};
  for (std::size_t i = 0; i < outcomes.size() && i < options.best && outcomes[i].time; ++i) {
    finalists.push_back(outcomes[i].configuration);
  }
  bench::compile(evaluator, finalists, problem);
  const auto times = bench::interleave(evaluator, finalists, problem, options.samples, kRounds);
  if (times.front().empty()) return;
  const double chosen = median(times.front());
  double best = chosen;
  for (const auto& some : times) {
    if (!some.empty()) best = std::min(best, median(some));
  }
  fmt::print("  chosen   {:#.4g}, best {:#.4g}: {:.1f} % slower  {}\n", chosen, best, 100.0 * (chosen / best - 1.0),
             finalists.front().text());
}

/// Those of `texts` that the problem can have, in their order. Texts of another device's space are not of this one.
std::vector<Configuration> named(const SearchSpace& space, const Problem& problem,
                                 const std::vector<std::string>& texts) {
  std::vector<Configuration> found;
  for (const std::string& text : texts) {
    Configuration configuration = space.parse(text);
    const bool twice = std::ranges::find(found, configuration) != found.end();
    if (!twice && !space.violated(configuration, problem)) found.push_back(std::move(configuration));
  }
  return found;
}

/// The first --keep of --only, and the --best fastest, by turns: a line for each.
void time_by_turns(Evaluator& evaluator, const Problem& problem, const SearchSpace& space,
                   const std::vector<Outcome>& outcomes, const Options& options) {
  constexpr int kRounds = 15;
  std::vector<std::string> kept = options.only;
  kept.resize(std::min(kept.size(), options.keep));
  std::vector<Configuration> finalists = named(space, problem, kept);
  for (std::size_t i = 0; i < outcomes.size() && i < options.best && outcomes[i].time; ++i) {
    const Configuration& fast = outcomes[i].configuration;
    if (std::ranges::find(finalists, fast) == finalists.end()) finalists.push_back(fast);
  }
  const auto times = bench::interleave(evaluator, finalists, problem, options.samples, kRounds);
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (!times[i].empty())
      fmt::print("  by turns {:>8}  {}\n", fmt::format("{:#.4g}", median(times[i])), finalists[i].text());
  }
}

void explore(Evaluator& evaluator, const Problem& problem, const Options& options, const bench::Stopwatch& watch) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::vector<Configuration> configurations =
      options.only.empty() ? space.enumerate(problem) : named(space, problem, options.only);
  std::erase_if(configurations, [&](const Configuration& c) { return !matches(c, options); });
  const std::size_t valid = configurations.size();
  if (options.only.empty()) std::shuffle(configurations.begin(), configurations.end(), std::mt19937(options.seed));
  if (options.sample > 0) configurations.resize(std::min(configurations.size(), options.sample));
  std::vector<bool> compiled(configurations.size(), false);
  const auto compilation = evaluator.compile(configurations, problem);
  while (const auto done = compilation->next()) {
    compiled[done->index] = done->compiled;
    if (!done->compiled) fmt::print("  {}: {}\n", configurations[done->index].text(), first_complaint(done->log));
  }
  std::vector<Outcome> outcomes;
  double best = 1e30;
  const auto late = [&] { return watch.seconds() > options.limit; };
  for (std::size_t i = 0; i < configurations.size() && !late(); ++i) {
    if (!compiled[i]) continue;
    outcomes.push_back(measure(evaluator, configurations[i], problem, best, options));
    best = std::min(best, outcomes.back().time.value_or(best));
  }
  const auto faster = [](const Outcome& a, const Outcome& b) { return a.time.value_or(1e30) < b.time.value_or(1e30); };
  std::stable_sort(outcomes.begin(), outcomes.end(), faster);
  if (options.refine && !late() && !outcomes.empty() && outcomes.front().time) {
    const std::vector<Configuration> refined = space.refinements(outcomes.front().configuration, problem);
    bench::compile(evaluator, refined, problem);
    for (std::size_t i = 0; i < refined.size() && !late(); ++i) {
      outcomes.push_back(measure(evaluator, refined[i], problem, best, options));
    }
    std::stable_sort(outcomes.begin(), outcomes.end(), faster);
  }
  fmt::print("{}: {} of {} configurations{}\n", problem.text(), configurations.size(), valid,
             late() ? fmt::format(", stopped at the limit with {} timed", outcomes.size()) : "");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.time && i >= options.best) continue;
    std::string verdict;
    if (options.verify && outcome.time) {
      const Verdict judged = evaluator.verify(outcome.configuration, problem, VerificationExtent::all);
      verdict = judged.status == Status::correct ? fmt::format("  error {:.1e}", judged.worst_error)
                                                 : fmt::format("  WRONG: {}", judged.message);
    }
    fmt::print("  {:>8}  {}{}{}\n", outcome.time ? fmt::format("{:#.4g}", *outcome.time) : "failed",
               outcome.configuration.text(), verdict, outcome.failure.empty() ? "" : "  " + outcome.failure);
  }
  if (!options.profiles.empty()) compare_with_chosen(evaluator, problem, outcomes, options);
  if (options.keep > 0) time_by_turns(evaluator, problem, space, outcomes, options);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times, and on request verifies, configurations that match some words, or do not");
  app.add_option("--device", options.device, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", options.family, "kernel family");
  app.add_option("--problems", options.problems, "sizes in the order of the family's axes: 640x16x1,...")
      ->delimiter(',')
      ->required();
  app.add_option("--match", options.match, "name=value that a configuration must have; several")->delimiter(',');
  app.add_option("--except", options.except, "name=value that it must not have; several")->delimiter(',');
  app.add_option("--only", options.only, "a configuration's text; several: only these, in this order")
      ->expected(1)
      ->take_all();
  app.add_option("--keep", options.keep, "time so many of the first of --only by turns with the --best fastest");
  app.add_option("--profiles", options.profiles, "compare with what is chosen by this profile database");
  app.add_option("--sample", options.sample, "how many to draw; 0: all that match");
  app.add_option("--best", options.best, "how many of the fastest to print, and to verify");
  app.add_option("--samples", options.samples, "samples in one run")->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "runs of which the median is told")->check(CLI::PositiveNumber);
  app.add_option("--limit", options.limit, "seconds after which nothing more is timed; what was timed is printed");
  app.add_flag("--refine", options.refine, "try what is chosen last for the fastest");
  app.add_flag("--verify", options.verify, "compare with the reference");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("explore", [&] {
    const bench::Stopwatch watch;
    const auto device = open_device(options.device);
    DeviceEvaluator evaluator(*device, builtin_families().at(options.family), options.seed);
    for (const Problem& problem : bench::problems_of(evaluator.family(), options.problems)) {
      explore(evaluator, problem, options, watch);
    }
    return 0;
  });
}
