#include "heddle/cli/tuning_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace heddle::cli {
namespace {

/// Runs of the untuned default that take as long as one problem at least, verification included.
constexpr double kRunsOfOne = 25.0;

/// Of every described kernel that has no metric of the same name.
constexpr std::array<std::string_view, 2> kRates{"GFLOP/s", "GB/s"};

std::string time_text(const std::optional<double>& time) { return time ? short_number(*time) : "-"; }

/// The most important part comes first: a terminal may cut the end off.
std::string progress_text(const TuningProgress& progress) {
  std::string text = fmt::format("{}/{}", progress.problem_index + 1, progress.problems);
  if (progress.seconds_left) text += fmt::format("  {} left", duration(*progress.seconds_left));
  if (progress.best) text += fmt::format("  {}{}", short_number(*progress.best), progress.best_is_time ? " us" : "");
  if (progress.problem != nullptr) text += "  " + progress.problem->text();
  return text + fmt::format("  {}, {} tried", heddle::text(progress.stage), progress.all_evaluations);
}

}  // namespace

ResultPrinter::ResultPrinter(const std::vector<Problem>& problems, const std::vector<std::string>& devices,
                             const KernelFamily* described)
    : described_(described) {
  for (const Problem& problem : problems) width_ = std::max(width_, problem.text().size());
  if (devices.size() < 2) return;
  for (const std::string& device : devices) device_width_ = std::max(device_width_, device.size() + 2);
}

bool ResultPrinter::has_metric(std::string_view name) const {
  return std::ranges::find(described_->metrics(), name, &Metric::name) != described_->metrics().end();
}

std::string ResultPrinter::head(const std::vector<NamedTime>& named) const {
  std::string line = fmt::format("{:<{}}{:<{}}  {:>8}  {:>8}  {:>6}", device_width_ > 0 ? "device" : "", device_width_,
                                 "problem", width_, "us", "default", "gain");
  if (described_ != nullptr) {
    for (const std::string_view name : kRates) {
      if (!has_metric(name)) line += fmt::format("  {:>8}", name);
    }
    for (const Metric& metric : described_->metrics()) line += fmt::format("  {:>8}", metric.name);
  }
  for (const NamedTime& other : named) line += fmt::format("  {:>8}", other.name);
  return line + "  configuration\n";
}

void ResultPrinter::row(const std::string& device, const TuningResult& result) {
  if (!result.profile && result.interrupted) return;
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(headed_, true)) print(head(result.named));
  print(fmt::format("{:<{}}", device_width_ > 0 ? device : "", device_width_) + text(result));
}

std::string ResultPrinter::text(const TuningResult& result) const {
  std::string line = fmt::format("{:<{}}", result.problem.text(), width_);
  if (result.out_of_time) {
    return line + fmt::format(
                      "  not tuned: one run of the untuned default takes more than {}; it may fit a --budget "
                      "of {} or more\n",
                      duration(*result.out_of_time), duration(kRunsOfOne * *result.out_of_time));
  }
  if (result.compiler_out_of_time) {
    return line +
           fmt::format("  not tuned: the compiler did not end within {}\n", duration(*result.compiler_out_of_time));
  }
  if (!result.profile) {
    return line + "  not tuned: every configuration failed; 'heddle profiles show' tells how\n";
  }
  const auto gain = result.untuned.time ? short_number(*result.untuned.time / result.profile->time) + "x" : "-";
  line +=
      fmt::format("  {:>8}  {:>8}  {:>6}", short_number(result.profile->time), time_text(result.untuned.time), gain);
  if (described_ != nullptr) {
    constexpr double kBillionsPerSecond = 1e-3;  // of what takes microseconds
    const Work work = described_->work(result.problem);
    for (const auto& [name, amount] : {std::pair(kRates[0], work.operations), std::pair(kRates[1], work.bytes)}) {
      if (has_metric(name)) continue;
      line += fmt::format("  {:>8}", short_number(kBillionsPerSecond * amount / result.profile->time));
    }
    for (const auto& [name, value] : result.metrics) {
      line += fmt::format("  {:>{}}", time_text(value), std::max<std::size_t>(name.size(), 8));
    }
  }
  for (const NamedTime& other : result.named) line += fmt::format("  {:>8}", time_text(other.time));
  line += "  " + result.profile->configuration;
  if (const auto& resources = result.resources) {
    line += fmt::format("  ({} registers, {} bytes shared, {}occupancy {:.0f} %)", resources->registers,
                        resources->shared_bytes,
                        resources->local_bytes > 0 ? fmt::format("{} bytes local, ", resources->local_bytes) : "",
                        100.0 * resources->occupancy);
  }
  if (result.objective) line += fmt::format("  (objective {})", short_number(*result.objective));
  if (result.energy)
    line += fmt::format("  ({} J per {})", short_number(*result.energy),
                        described_ != nullptr ? described_->unit() : "sample");
  if (result.untuned.yields_to_fewer_threads) {
    line += "  (fewer threads than the default: better where another program takes a core)";
  }
  if (!result.profile->ties.empty()) line += fmt::format("  (as fast: {} more)", result.profile->ties.size());
  if (!result.change.empty()) {
    line += fmt::format("  ({}: {})", result.searched ? "searched again" : "measured again", result.change);
  }
  if (!result.was_stored) line += "  (not stored: the stored profile is faster)";
  return line + "\n";
}

TuneProgress::TuneProgress(bool quiet, std::vector<std::string> devices)
    : bar_(quiet), devices_(std::move(devices)), fractions_(devices_.size()) {}

void TuneProgress::show(std::size_t device, const TuningProgress& progress) {
  const std::scoped_lock lock(mutex_);
  fractions_[device] = progress.fraction;
  const double mean =
      std::accumulate(fractions_.begin(), fractions_.end(), 0.0) / static_cast<double>(fractions_.size());
  bar_.show(mean, (devices_.size() > 1 ? devices_[device] + ": " : "") + progress_text(progress));
}

}  // namespace heddle::cli
