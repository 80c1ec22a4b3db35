#include "heddle/cli/tune_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle::cli {
namespace {

/// Runs of the untuned default that take as long as one problem at least, verification included.
constexpr double kRunsOfOne = 25.0;

std::string time_text(const std::optional<double>& time) { return time ? short_number(*time) : "-"; }

/// The most important part comes first: a terminal may cut the end off.
std::string progress_text(const TuningProgress& progress) {
  std::string text = fmt::format("{}/{}", progress.problem_index + 1, progress.problems);
  if (progress.seconds_left) text += fmt::format("  {} left", duration(*progress.seconds_left));
  if (progress.best) text += fmt::format("  {} us", short_number(*progress.best));
  if (progress.problem != nullptr) text += "  " + progress.problem->text();
  return text + fmt::format("  {}, {} tried", heddle::text(progress.stage), progress.all_evaluations);
}

Json record_of(const NamedTime& time) {
  return {{"name", time.name},
          {"configuration", time.configuration},
          {"microseconds_per_sample", number_or_null(time.time)},
          {"status", text(time.status)}};
}

Json record_of(std::string_view device, std::string_view family, std::string_view unit, const TuningResult& result) {
  Json named = Json::array(), statuses = Json::object();
  for (const NamedTime& time : result.named) named.push_back(record_of(time));
  for (const auto& [status, count] : result.statuses) statuses[std::string(text(status))] = count;
  return {{"device", device},
          {"family", family},
          {"unit", unit},
          {"problem", cli::to_json(result.problem)},
          {"searched", result.searched},
          {"between", result.is_between},
          {"change", result.change},
          {"interrupted", result.interrupted},
          {"out_of_time", number_or_null(result.out_of_time)},
          {"compiler_out_of_time", number_or_null(result.compiler_out_of_time)},
          {"kept", result.was_stored},
          {"profile", result.profile ? cli::to_json(*result.profile) : Json()},
          {"baseline", record_of(result.untuned)},
          {"named", named},
          {"samples", result.samples},
          {"valid", result.valid},
          {"evaluations", result.evaluations()},
          {"recalled", result.recalled},
          {"statuses", statuses},
          {"seconds", effort_record(result.effort)}};
}

}  // namespace

Json effort_record(const Effort& effort) {
  return {{"waiting", effort.waiting},
          {"measuring", effort.measuring},
          {"verifying", effort.verifying},
          {"compiling", effort.compiling},
          {"total", effort.total}};
}

ResultPrinter::ResultPrinter(const std::vector<Problem>& problems, const std::vector<std::string>& devices) {
  for (const Problem& problem : problems) width_ = std::max(width_, problem.text().size());
  if (devices.size() < 2) return;
  for (const std::string& device : devices) device_width_ = std::max(device_width_, device.size() + 2);
}

std::string ResultPrinter::head(const std::vector<NamedTime>& named) const {
  std::string line = fmt::format("{:<{}}{:<{}}  {:>8}  {:>8}  {:>6}", device_width_ > 0 ? "device" : "", device_width_,
                                 "problem", width_, "us", "default", "gain");
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
  for (const NamedTime& other : result.named) line += fmt::format("  {:>8}", time_text(other.time));
  line += "  " + result.profile->configuration;
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

void Summary::add(const TuningResult& result) {
  tried_more = tried_more || result.evaluations() + result.recalled > 1;
  if (result.profile) compiler = result.profile->provenance.compiler;
  if (result.profile) ++(result.is_between ? between : reached);
  evaluations += result.evaluations();
  recalled += result.recalled;
  for (const auto& [status, count] : result.statuses) statuses[status] += count;
  effort += result.effort;
  if (result.profile && result.untuned.time) {
    log_gain += std::log(*result.untuned.time / result.profile->time);
    ++gains;
  }
}

std::string Summary::text(bool kept) const {
  const std::string others = between > 0 ? fmt::format(" and {} sizes between them", between) : "";
  std::string text = fmt::format("\n{} of {} problems{} tuned in {}{}\n", reached, problems, others, duration(seconds),
                                 kept && reached > 0 ? "; 'heddle train' and 'heddle predict' use these profiles" : "");
  const std::string before = recalled > 0 ? fmt::format(", {} of them by earlier runs", recalled) : "";
  text += fmt::format("{} configurations tried{}{}\n{}", evaluations, before, statuses.empty() ? "" : ":",
                      explained(statuses));
  const double other = std::max(0.0, effort.total - effort.waiting - effort.measuring - effort.verifying);
  text += fmt::format(
      "time spent: {:.1f} s waiting for the compiler, {:.1f} s measuring, {:.1f} s verifying, {:.1f} s on everything "
      "else; {:.1f} s of compiler time\n",
      effort.waiting, effort.measuring, effort.verifying, other, effort.compiling);
  if (gains > 0) {
    text += fmt::format("speed against the untuned default: {}x on average (geometric mean)\n",
                        short_number(std::exp(log_gain / static_cast<double>(gains))));
  }
  return text;
}

std::string Summary::advice() const {
  std::string text;
  if (reached < problems) {
    text += fmt::format("{} of {} problems were not tuned in this run; a longer --budget may reach them\n",
                        problems - reached, problems);
  }
  if (!tried_more && effort.waiting > effort.total / 2) {
    text += fmt::format(
        "only untuned defaults were tried: the compiler ({}) finished nothing else in time; a longer --budget or "
        "another compiler (CXX) may help\n",
        compiler.empty() ? "unknown" : compiler);
  }
  return text;
}

Json Summary::expected_losses() const {
  Json mean = Json::object();
  for (const auto& [family, of_devices] : losses) {
    const double sum = std::accumulate(of_devices.begin(), of_devices.end(), 0.0);
    mean[family] = of_devices.empty() ? Json() : Json(sum / static_cast<double>(of_devices.size()));
  }
  return mean;
}

void Findings::begin(const KernelFamily& family) {
  const std::scoped_lock lock(mutex_);
  families_.push_back({.family = std::string(family.name()), .unit = std::string(family.unit())});
}

void Findings::add(const TuningResult& result) {
  const std::scoped_lock lock(mutex_);
  std::vector<TuningResult>& present = families_.back().results;
  const auto known = std::ranges::find(present, result.problem, &TuningResult::problem);
  if (known == present.end()) {
    present.push_back(result);
  } else {
    *known = result;
  }
}

void Findings::end(std::vector<TuningResult> found, std::optional<double> expected_loss, std::int64_t compiler_calls) {
  const std::scoped_lock lock(mutex_);
  if (!found.empty()) families_.back().results = std::move(found);
  families_.back().expected_loss = expected_loss;
  compiler_calls_ = compiler_calls;
}

void Findings::took(double seconds) {
  const std::scoped_lock lock(mutex_);
  seconds_ = seconds;
}

void Findings::add_to(Summary& summary, Json& results) const {
  const std::scoped_lock lock(mutex_);
  const double before = summary.effort.total;
  for (const Found& found : families_) {
    auto& losses = summary.losses[found.family];
    if (found.expected_loss) losses.push_back(*found.expected_loss);
    for (const TuningResult& result : found.results) {
      summary.add(result);
      results.push_back(record_of(device_, found.family, found.unit, result));
    }
  }
  summary.effort.total = before + seconds_;
  summary.seconds = std::max(summary.seconds, seconds_);
}

std::set<Problem> Findings::finished() const {
  const std::scoped_lock lock(mutex_);
  std::set<Problem> problems;
  if (families_.empty()) return problems;
  for (const TuningResult& result : families_.back().results) {
    if (result.profile) problems.insert(result.problem);
  }
  return problems;
}

std::int64_t Findings::compiler_calls() const {
  const std::scoped_lock lock(mutex_);
  return compiler_calls_;
}

}  // namespace heddle::cli
