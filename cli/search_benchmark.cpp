// heddle search-benchmark: how good the strategies are on recorded search spaces.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "heddle/cli/command.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/usable_cores.hpp"
#include "heddle/tuner/replay/search_baseline.hpp"
#include "heddle/tuner/replay/search_benchmark.hpp"

namespace heddle::cli {
namespace {

struct BenchmarkOptions {
  Common common;
  std::vector<std::string> files;
  std::vector<std::string> strategies;
  std::string baseline;
  SearchBenchmark benchmark;
};

/// One line of the table.
struct Line {
  std::string strategy;
  std::vector<SearchScore> scores;     // one per mark
  std::optional<double> milliseconds;  // per suggestion
};

struct SpaceReport {
  std::string name;
  std::size_t configurations = 0, failing = 0;
  double best = 0.0;  // microseconds
  std::vector<Line> lines;
};

/// The mean over the spaces, line by line; lines that not all spaces have are left out.
std::vector<Line> average(const std::vector<SpaceReport>& reports) {
  std::vector<Line> lines;
  for (const Line& first : reports.front().lines) {
    Line mean{.strategy = first.strategy, .scores = {}, .milliseconds = {}};
    for (const SearchScore& score : first.scores) mean.scores.emplace_back().evaluations = score.evaluations;
    std::size_t found = 0;
    for (const SpaceReport& report : reports) {
      for (const Line& line : report.lines) {
        if (line.strategy != first.strategy) continue;
        ++found;
        for (std::size_t i = 0; i < mean.scores.size(); ++i) {
          const auto count = static_cast<double>(reports.size());
          mean.scores[i].median_fraction += line.scores[i].median_fraction / count;
          mean.scores[i].mean_fraction += line.scores[i].mean_fraction / count;
          mean.scores[i].within_5_percent += line.scores[i].within_5_percent / count;
        }
      }
    }
    if (found == reports.size()) lines.push_back(std::move(mean));
  }
  return lines;
}

std::string table(const std::vector<Line>& lines, const std::vector<std::int64_t>& marks) {
  std::vector<Table::Column> columns{{.title = "strategy", .align = Table::Align::left}};
  for (const std::int64_t mark : marks) {
    columns.push_back({.title = fmt::format("at {}: median", mark), .align = Table::Align::right});
    columns.push_back({.title = "mean", .align = Table::Align::right});
    columns.push_back({.title = "in 5 %", .align = Table::Align::right});
  }
  columns.push_back({.title = "ms", .align = Table::Align::right});
  Table table(columns);
  for (const Line& line : lines) {
    std::vector<std::string> cells{line.strategy};
    for (const SearchScore& score : line.scores) {
      cells.push_back(fmt::format("{:.3f}", score.median_fraction));
      cells.push_back(fmt::format("{:.3f}", score.mean_fraction));
      cells.push_back(fmt::format("{:.0f} %", 100.0 * score.within_5_percent));
    }
    cells.push_back(line.milliseconds ? fmt::format("{:.2f}", *line.milliseconds) : "");
    table.row(std::move(cells));
  }
  return table.text();
}

Json records_of(const std::vector<Line>& lines) {
  Json list = Json::array();
  for (const Line& line : lines) {
    Json scores = Json::array();
    for (const SearchScore& score : line.scores) {
      scores.push_back({{"evaluations", score.evaluations},
                        {"median_fraction", score.median_fraction},
                        {"lower_quartile", number_or_null(score.lower_quartile)},
                        {"upper_quartile", number_or_null(score.upper_quartile)},
                        {"mean_fraction", score.mean_fraction},
                        {"within_5_percent", score.within_5_percent}});
    }
    list.push_back({{"strategy", line.strategy},
                    {"scores", scores},
                    {"milliseconds_per_suggestion", number_or_null(line.milliseconds)}});
  }
  return list;
}

int run(const BenchmarkOptions& options) {
  const SearchBaseline baseline(options.baseline);
  std::vector<std::string> names = options.strategies;
  if (names.empty()) {
    for (const StrategyEntry& entry : strategies()) {
      if (entry.name != "exhaustive") names.emplace_back(entry.name);
    }
  }
  catch_interrupts();
  const LeaveInTime leave([] { return exit_interrupted; });
  SearchBenchmark benchmark = options.benchmark;
  benchmark.threads = usable_cores();
  benchmark.interrupted = interrupted;
  ProgressBar bar(options.common.quiet);
  std::vector<SpaceReport> reports;
  const double steps = static_cast<double>(options.files.size() * names.size());
  for (const std::string& file : options.files) {
    const RecordedSpace space = read_recorded_space(file);
    SpaceReport report{.name = std::filesystem::path(file).filename().string(),
                       .configurations = space.configurations.size(),
                       .failing = 0,
                       .best = space.best(),
                       .lines = {}};
    for (const RecordedOutcome& outcome : space.outcomes) report.failing += outcome.time ? 0 : 1;
    if (auto scores = baseline.best(report.name, benchmark.marks)) {
      report.lines.push_back({.strategy = "baseline", .scores = std::move(*scores), .milliseconds = {}});
    } else if (!options.baseline.empty() && !options.common.quiet) {
      bar.clear();
      note(fmt::format("{}: nothing about {} at {} evaluations", options.baseline, report.name,
                       fmt::join(benchmark.marks, ", ")));
    }
    for (const std::string& name : names) {
      const double done = static_cast<double>(reports.size() * names.size() + report.lines.size());
      bar.show(std::min(1.0, done / steps), fmt::format("{}: {}", report.name, name));
      Line line{.strategy = name, .scores = {}, .milliseconds = 0.0};
      double seconds = 0.0;
      line.scores = heddle::benchmark(space, strategy(name), benchmark, &seconds);
      if (line.scores.empty()) return exit_interrupted;
      line.milliseconds = 1e3 * seconds;
      report.lines.push_back(std::move(line));
    }
    Line exact{.strategy = "random, exactly", .scores = {}, .milliseconds = {}};
    for (const std::int64_t mark : benchmark.marks) exact.scores.push_back(random_search(space, mark));
    report.lines.push_back(std::move(exact));
    bar.clear();
    if (!options.common.json) {
      print(fmt::format("{}{}: {}, {} of them fail, best {} us\n", reports.empty() ? "" : "\n", report.name,
                        counted(report.configurations, "configuration"), report.failing, short_number(report.best)));
      print(table(report.lines, benchmark.marks));
    }
    reports.push_back(std::move(report));
  }
  const std::vector<Line> mean = average(reports);
  if (!options.common.json) {
    if (reports.size() > 1) print(fmt::format("\nmean of {} spaces\n{}", reports.size(), table(mean, benchmark.marks)));
    print(
        fmt::format("\n{}; fraction: shortest time of the space by the shortest found; ms: the strategy's own "
                    "time per suggestion\n",
                    counted(benchmark.seeds, "seed")));
    if (!baseline.tool().empty()) {
      print(fmt::format("baseline: {}; of every number the best of its strategies\n", baseline.tool()));
    }
    return 0;
  }
  Json spaces = Json::array();
  for (const SpaceReport& report : reports) {
    spaces.push_back({{"file", report.name},
                      {"configurations", report.configurations},
                      {"failing", report.failing},
                      {"best_microseconds", report.best},
                      {"strategies", records_of(report.lines)}});
  }
  print_document("search-benchmark", {{"seeds", benchmark.seeds}, {"spaces", spaces}, {"mean", records_of(mean)}});
  return 0;
}

}  // namespace

void add_search_benchmark(Command& program) {
  Command command = program.add("search-benchmark", "Compare search strategies on recorded search spaces");
  const auto options = std::make_shared<BenchmarkOptions>();
  command.positionals("FILE", "FILE", "Recorded spaces: T4 or T1, gzip or not", options->files);
  command.list("--strategy", "S", "Strategies to compare [default: all but exhaustive]",
               [options](const std::string& name) { options->strategies.emplace_back(strategy(name).name); });
  command.option("--seeds", "N", fmt::format("Searches per strategy and space [default: {}]", options->benchmark.seeds),
                 [options](const std::string& text) {
                   options->benchmark.seeds = static_cast<std::size_t>(read_integer("--seeds", text, 1, 1000000));
                 });
  command.option("--baseline", "FILE", "What another tuner reached, to be shown beside", options->baseline);
  add_common(command, options->common);
  command.action([options] { return run(*options); });
}

}  // namespace heddle::cli
