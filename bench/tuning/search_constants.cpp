// How the constants of the search stand: what was chosen without a recorded space reaches on it, and what each value
// reaches on spaces made from seeds. Needs no device.
//
//   search_constants SPACE... --baseline kernel_tuner_baseline.json [--seeds 100] [--made 6]
//
// "Leave one out": of the settings that were tried in the past (`kSettings`), the one that is best on the other spaces,
// by the mean fraction over their marks, searches the space that was left out. Prints Markdown.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/usable_cores.hpp"
#include "heddle/tuner/replay/search_baseline.hpp"
#include "heddle/tuner/replay/search_benchmark.hpp"
#include "heddle/tuner/replay/synthetic_space.hpp"

namespace {

using namespace heddle;

struct Options {
  std::vector<std::string> files;
  std::string baseline;
  std::size_t seeds = 100, choosing_seeds = 40, made = 6;
};

struct Setting {
  std::string_view name;
  SearchConstants constants;
};

/// Today's and, one at a time, the values that the history has beside them.
const std::array<Setting, 7> kSettings{{
    {"today", {}},
    {"design 3", {.design = 3}},
    {"design 5", {.design = 5}},
    {"nearby 0", {.nearby = 0.0}},
    {"nearby 0.15", {.nearby = 0.15}},
    {"gain per tie 0", {.gain_per_tie = 0.0}},
    {"model share 0.85", {.model_share = 0.85}},
}};

const std::vector<std::int64_t> kMarks{50, 100, 200};

std::vector<SearchScore> search(const RecordedSpace& space, std::string_view name, const SearchConstants& constants,
                                std::size_t seeds) {
  SearchBenchmark options;
  options.marks = kMarks;
  options.seeds = seeds;
  options.constants = constants;
  options.threads = usable_cores();
  return benchmark(space, strategy(name), options);
}

double mean_fraction(const std::vector<SearchScore>& scores) {
  double sum = 0.0;
  for (const SearchScore& score : scores) sum += score.mean_fraction / static_cast<double>(scores.size());
  return sum;
}

/// "0.987 (0.823 to 1.000)": the median and the middle half of the seeds.
std::string cell(const SearchScore& score) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", score.median_fraction, score.lower_quartile.value_or(0.0),
                     score.upper_quartile.value_or(0.0));
}

void leave_one_out(const Options& options) {
  const SearchBaseline baseline(options.baseline);
  std::vector<RecordedSpace> spaces;
  std::vector<std::string> names;
  for (const std::string& file : options.files) {
    spaces.push_back(read_recorded_space(file));
    names.push_back(std::filesystem::path(file).filename().string());
  }
  std::vector<std::array<double, kSettings.size()>> reached(spaces.size());
  fmt::print("Mean fraction at {} evaluations over {} seeds, by setting:\n\n| space |", fmt::join(kMarks, ", "),
             options.choosing_seeds);
  for (const Setting& setting : kSettings) fmt::print(" {} |", setting.name);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < kSettings.size(); ++i) fmt::print("--:|");
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    fmt::print("\n| {} |", names[i]);
    for (std::size_t s = 0; s < kSettings.size(); ++s) {
      reached[i][s] = mean_fraction(search(spaces[i], "portfolio", kSettings[s].constants, options.choosing_seeds));
      fmt::print(" {:.4f} |", reached[i][s]);
    }
  }
  fmt::print(
      "\n\nLeave one out ({} seeds): median and middle half, and the median less the best of {}:\n\n"
      "| space | chosen by the others |",
      options.seeds, baseline.tool().empty() ? "the baseline" : baseline.tool());
  for (const std::int64_t mark : kMarks) fmt::print(" at {} | less best |", mark);
  fmt::print("\n|---|---|");
  for (std::size_t i = 0; i < kMarks.size(); ++i) fmt::print("--:|--:|");
  double worst = 1.0;
  for (std::size_t left = 0; left < spaces.size(); ++left) {
    std::array<double, kSettings.size()> sums{};
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += i == left ? 0.0 : reached[i][s];
    }
    const auto chosen = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
    const auto scores = search(spaces[left], "portfolio", kSettings[chosen].constants, options.seeds);
    const auto theirs = baseline.best(names[left], kMarks);
    fmt::print("\n| {} | {} |", names[left], kSettings[chosen].name);
    for (std::size_t i = 0; i < kMarks.size(); ++i) {
      const double less = theirs ? scores[i].median_fraction - (*theirs)[i].median_fraction : 0.0;
      worst = theirs ? std::min(worst, less) : worst;
      fmt::print(" {} | {} |", cell(scores[i]), theirs ? fmt::format("{:+.3f}", less) : "–");
    }
  }
  if (!baseline.tool().empty()) {
    fmt::print("\n\nFarthest below the best of {}: {:+.3f} (-0.03 is allowed).\n", baseline.tool(), worst);
  }
}

void made(const Options& options) {
  const std::array<std::pair<std::string_view, SearchConstants>, 4> rows{{
      {"portfolio", {}},
      {"portfolio", {.gain_per_tie = 0.0}},
      {"annealing", {}},
      {"random", {}},
  }};
  fmt::print(
      "\nSpaces made from seeds 1 to {}, {} seeds of the search each: means over the spaces of median and middle "
      "half\n\n| landscape | strategy |",
      options.made, options.choosing_seeds);
  for (const std::int64_t mark : kMarks) fmt::print(" at {} |", mark);
  fmt::print("\n|---|---|");
  for (std::size_t i = 0; i < kMarks.size(); ++i) fmt::print("--:|");
  for (const LandscapeEntry& landscape : landscapes()) {
    for (const auto& [name, constants] : rows) {
      std::vector<SearchScore> mean(kMarks.size());
      for (std::size_t seed = 1; seed <= options.made; ++seed) {
        const auto scores = search(synthetic_space(landscape.landscape, seed), name, constants, options.choosing_seeds);
        for (std::size_t i = 0; i < scores.size(); ++i) {
          const auto count = static_cast<double>(options.made);
          mean[i].median_fraction += scores[i].median_fraction / count;
          mean[i].lower_quartile =
              mean[i].lower_quartile.value_or(0.0) + scores[i].lower_quartile.value_or(0.0) / count;
          mean[i].upper_quartile =
              mean[i].upper_quartile.value_or(0.0) + scores[i].upper_quartile.value_or(0.0) / count;
        }
      }
      fmt::print("\n| {} | {}{} |", landscape.name, name, constants.gain_per_tie == 0.0 ? ", gain per tie 0" : "");
      for (const SearchScore& score : mean) fmt::print(" {} |", cell(score));
    }
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares the constants of the search on recorded spaces and on spaces made from seeds");
  app.add_option("spaces", options.files, "recorded spaces: T4 or T1, gzip or not");
  app.add_option("--baseline", options.baseline, "what another tuner reached");
  app.add_option("--seeds", options.seeds, "searches of a space that was left out")->check(CLI::PositiveNumber);
  app.add_option("--choosing-seeds", options.choosing_seeds, "searches of all others")->check(CLI::PositiveNumber);
  app.add_option("--made", options.made, "spaces of each landscape; 0: none");
  CLI11_PARSE(app, argc, argv);
  return heddle::bench::exit_code("search_constants", [&] {
    if (options.files.size() > 1) leave_one_out(options);
    if (options.made > 0) made(options);
    return 0;
  });
}
