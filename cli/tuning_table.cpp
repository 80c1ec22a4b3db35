#include "heddle/cli/tuning_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::cli {

namespace {

/// Runs of the untuned default that take as long as one problem at least, verification included.
constexpr double kRunsOfOne = 25.0;

std::string time_text(const std::optional<double>& time) { return time ? short_number(*time) : "-"; }

}  // namespace

ResultPrinter::ResultPrinter(const FamilyTask& task) {
  for (const Problem& problem : task.problems) width_ = std::max(width_, problem.text().size());
}

void ResultPrinter::head(const std::vector<NamedTime>& named) const {
  std::string line = fmt::format("{:<{}}  {:>8}  {:>8}  {:>6}", "problem", width_, "us", "default", "gain");
  for (const NamedTime& other : named) line += fmt::format("  {:>8}", other.name);
  print(line + "  configuration\n");
}

void ResultPrinter::row(const TuningResult& result) {
  if (!result.profile && result.interrupted) return;
  if (!headed_) head(result.named);
  headed_ = true;
  std::string line = fmt::format("{:<{}}", result.problem.text(), width_);
  if (result.out_of_time) {
    print(line + fmt::format("  not tuned: one run of the untuned default takes more than {}; it may fit a --budget "
                             "of {} or more\n",
                             duration(*result.out_of_time), duration(kRunsOfOne * *result.out_of_time)));
    return;
  }
  if (result.compiler_out_of_time) {
    print(line +
          fmt::format("  not tuned: the compiler did not end within {}\n", duration(*result.compiler_out_of_time)));
    return;
  }
  if (!result.profile) {
    print(line + "  not tuned: every configuration failed; 'heddle profiles show' tells how\n");
    return;
  }
  const auto gain = result.untuned.time ? short_number(*result.untuned.time / result.profile->time) + "x" : "-";
  line +=
      fmt::format("  {:>8}  {:>8}  {:>6}", short_number(result.profile->time), time_text(result.untuned.time), gain);
  for (const NamedTime& other : result.named) line += fmt::format("  {:>8}", time_text(other.time));
  line += "  " + result.profile->configuration;
  if (!result.profile->ties.empty()) line += fmt::format("  (as fast: {} more)", result.profile->ties.size());
  if (!result.change.empty()) {
    line += fmt::format("  ({}: {})", result.searched ? "searched again" : "measured again", result.change);
  }
  if (!result.was_stored) line += "  (not stored: the stored profile is faster)";
  print(line + "\n");
}

std::string progress_text(const TuningProgress& progress) {
  std::string text = fmt::format("{}/{}", progress.problem_index + 1, progress.problems);
  if (progress.seconds_left) text += fmt::format("  {} left", duration(*progress.seconds_left));
  if (progress.best) text += fmt::format("  {} us", short_number(*progress.best));
  if (progress.problem != nullptr) text += "  " + progress.problem->text();
  return text + fmt::format("  {}, {} tried", heddle::text(progress.stage), progress.all_evaluations);
}

}  // namespace heddle::cli
