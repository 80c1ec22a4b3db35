#include "heddle/cli/tuning_findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/profiles/cost_model.hpp"

namespace heddle::cli {
namespace {

Json record_of(const NamedTime& time) {
  return {{"name", time.name},
          {"configuration", time.configuration},
          {"microseconds_per_sample", number_or_null(time.time)},
          {"status", text(time.status)}};
}

Json record_of(const std::optional<KernelResources>& resources) {
  if (!resources) return {};
  return {{"registers", resources->registers},
          {"shared_bytes", resources->shared_bytes},
          {"local_bytes", resources->local_bytes},
          {"occupancy", resources->occupancy}};
}

/// Of what the family says that any implementation has to do; a rate is null without a winner.
Json rates_of(const Work& work, const TuningResult& result) {
  const auto rate = [&](double amount) {  // a microsecond has 1e3 times as much as a second has in billions
    return result.profile ? Json(amount / (1e3 * result.profile->time)) : Json();
  };
  return {{"bytes", work.bytes},
          {"operations", work.operations},
          {"gbytes_per_second", rate(work.bytes)},
          {"gflops", rate(work.operations)}};
}

Json record_of(std::string_view device, std::string_view family, std::string_view unit,
               std::string_view verified_against, const Work& work, const TuningResult& result) {
  Json named = Json::array(), statuses = Json::object();
  for (const NamedTime& time : result.named) named.push_back(record_of(time));
  Json metrics = Json::object();
  for (const auto& [name, value] : result.metrics) metrics[name] = number_or_null(value);
  for (const auto& [status, count] : result.statuses) statuses[std::string(text(status))] = count;
  return {{"device", device},
          {"family", family},
          {"unit", unit},
          {"verified_against", verified_against},
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
          {"work", rates_of(work, result)},
          {"resources", record_of(result.resources)},
          {"joules_per_sample", number_or_null(result.energy)},
          {"objective", number_or_null(result.objective)},
          {"metrics", metrics},
          {"seconds", cli::to_json(result.effort)}};
}

double over_default(const TuningSummary::Gain& gain) {
  return std::exp(gain.log_sum / static_cast<double>(gain.problems));
}

/// "at least 1.06 times as fast as the best single mapping, ...".
std::string gain_over(const SingleMapping& single) {
  std::string known = fmt::format("known at {} of {}: measured at {}", single.tried, single.problems, single.measured);
  if (single.expected > 0) known += fmt::format(", expected by the model of times at {}", single.expected);
  if (const std::size_t others = single.tried - single.measured - single.expected; others > 0) {
    known += fmt::format(", at {} that do not allow it the untuned default stands in", others);
  }
  return fmt::format("{} {} times as fast as the best single mapping, {} ({})",
                     single.expected > 0 ? "about" : "at least", short_number(std::exp(single.mean_log_ratio)),
                     single.configuration, known);
}

/// "sonfin-train: 1.12 times as fast as the untuned default, ...".
std::string gain_line(const std::string& family, const TuningSummary::Gain& gain) {
  std::string line;
  if (gain.problems > 0) {
    line = fmt::format("{}: {} times as fast as the untuned default (geometric mean of {})", family,
                       short_number(over_default(gain)), counted(gain.problems, "problem"));
    if (gain.single) {
      line += "; " + gain_over(*gain.single);
    } else if (gain.problems > 1) {
      line += "; no single mapping was tried at half of them, which could be compared with";
    }
    line += "\n";
  }
  for (const FittedModel& model : gain.models) {
    line += fmt::format(
        "{}: model of times fitted to {} at {} of {}, {:.1f} % off where they were "
        "left out{}\n",
        family, counted(model.measurements, "measurement"), counted(model.problems, "problem"), model.device.name,
        100.0 * model.left_out_error, model.left_out_error > kMostLeftOutError ? ": too far off to be used" : "");
  }
  return line;
}

}  // namespace

Json to_json(const Effort& effort) {
  return {{"waiting", effort.waiting},
          {"measuring", effort.measuring},
          {"verifying", effort.verifying},
          {"compiling", effort.compiling},
          {"total", effort.total}};
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0.0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void TuningSummary::add(const std::string& family, const TuningResult& result) {
  tried_more = tried_more || result.evaluations() + result.recalled > 1;
  if (result.profile) compiler = result.profile->provenance.compiler;
  if (result.profile) ++(result.is_between ? between : reached);
  evaluations += result.evaluations();
  recalled += result.recalled;
  for (const auto& [status, count] : result.statuses) statuses[status] += count;
  effort += result.effort;
  if (result.profile && result.untuned.time) {
    Gain& gain = gains[family];
    gain.log_sum += std::log(*result.untuned.time / result.profile->time);
    ++gain.problems;
  }
}

std::string TuningSummary::text(bool kept, const Goal& goal) const {
  const std::string use = !kept || reached == 0 ? ""
                          : goal.is_usual()
                              ? "; from now on these profiles are used on this device"
                              : fmt::format("; their profiles are kept for programs that ask for: {}", goal.text());
  const std::string others = between > 0 ? fmt::format(" and {} between them", counted(between, "size")) : "";
  std::string text = fmt::format("\n{} of {}{} tuned in {}{}\n", reached, counted(problems, "problem"), others,
                                 duration(seconds), use);
  const std::string before = recalled > 0 ? fmt::format(", {} of them by earlier runs", recalled) : "";
  text += fmt::format("{} tried{}{}\n{}", counted(evaluations, "configuration"), before, statuses.empty() ? "" : ":",
                      explained(statuses, fmt::format("{}", fmt::join(verified_against, ", or "))));
  const double other = std::max(0.0, effort.total - effort.waiting - effort.measuring - effort.verifying);
  text += fmt::format(
      "time spent: {:.1f} s waiting for the compiler, {:.1f} s measuring, {:.1f} s verifying, {:.1f} s on everything "
      "else; {:.1f} s of compiler time\n",
      effort.waiting, effort.measuring, effort.verifying, other, effort.compiling);
  for (const auto& [family, gain] : gains) text += gain_line(family, gain);
  return text;
}

std::string TuningSummary::advice() const {
  std::string text;
  if (reached == 0 && evaluations > 0) {
    text += "every configuration that was tried failed; the lines above say how\n";
  } else if (reached < problems) {
    text += fmt::format("{} of {} not tuned in this run; a longer --budget may reach {}\n", problems - reached,
                        counted(problems, "problem was", "problems were"), problems - reached == 1 ? "it" : "them");
  }
  if (!tried_more && effort.waiting > effort.total / 2) {
    text += fmt::format(
        "only untuned defaults were tried: the compiler ({}) finished nothing else in time; a longer --budget or "
        "another compiler (CXX) may help\n",
        compiler.empty() ? "unknown" : compiler);
  }
  return text;
}

Json TuningSummary::gains_document() const {
  Json document = Json::object();
  for (const auto& [family, gain] : gains) {
    if (gain.problems == 0) continue;
    Json single;
    if (gain.single) {
      single = {{"configuration", gain.single->configuration},
                {"factor", std::exp(gain.single->mean_log_ratio)},
                {"tried", gain.single->tried},
                {"measured", gain.single->measured},
                {"expected", gain.single->expected},
                {"problems", gain.single->problems}};
    }
    document[family] = {{"over_default", over_default(gain)}, {"problems", gain.problems}, {"over_single", single}};
  }
  return document;
}

Json TuningSummary::models() const {
  Json all = Json::array();
  for (const auto& [family, gain] : gains) {
    for (const FittedModel& model : gain.models) all.push_back(cli::to_json(model));
  }
  return all;
}

Json TuningSummary::expected_losses() const {
  Json mean = Json::object();
  for (const auto& [family, of_devices] : losses) {
    mean[family] = of_devices.empty() ? Json() : Json(mean_of(of_devices));
  }
  return mean;
}

void TuningFindings::begin(const KernelFamily& family) {
  const std::scoped_lock lock(mutex_);
  families_.push_back({.kernels = &family,
                       .family = std::string(family.name()),
                       .unit = std::string(family.unit()),
                       .verified_against = std::string(family.verified_against())});
}

void TuningFindings::add(const TuningResult& result) {
  const std::scoped_lock lock(mutex_);
  std::vector<TuningResult>& present = families_.back().results;
  const auto known = std::ranges::find(present, result.problem, &TuningResult::problem);
  if (known == present.end()) {
    present.push_back(result);
  } else {
    *known = result;
  }
}

void TuningFindings::end(std::vector<TuningResult> found, std::optional<double> expected_loss,
                         std::int64_t compiler_calls) {
  const std::scoped_lock lock(mutex_);
  if (!found.empty()) families_.back().results = std::move(found);
  families_.back().expected_loss = expected_loss;
  compiler_calls_ = compiler_calls;
}

void TuningFindings::add(const SingleMapping& mapping) {
  const std::scoped_lock lock(mutex_);
  families_.back().single = mapping;
}

void TuningFindings::add(const FittedModel& model) {
  const std::scoped_lock lock(mutex_);
  families_.back().model = model;
}

void TuningFindings::took(double seconds) {
  const std::scoped_lock lock(mutex_);
  seconds_ = seconds;
}

void TuningFindings::add_to(TuningSummary& summary, Json& results) const {
  const std::scoped_lock lock(mutex_);
  const double before = summary.effort.total;
  for (const Found& found : families_) {
    auto& losses = summary.losses[found.family];
    if (found.expected_loss) losses.push_back(*found.expected_loss);
    summary.verified_against.insert(found.verified_against);
    TuningSummary::Gain& gain = summary.gains[found.family];
    if (found.single && (!gain.single || gain.single->problems < found.single->problems)) gain.single = found.single;
    // Cards of one model share their measurements: the last fit rests on all of them.
    if (found.model) {
      std::erase_if(gain.models, [&](const FittedModel& known) { return known.device == found.model->device; });
      gain.models.push_back(*found.model);
    }
    for (const TuningResult& result : found.results) {
      summary.add(found.family, result);
      results.push_back(record_of(device_, found.family, found.unit, found.verified_against,
                                  found.kernels->work(result.problem), result));
    }
  }
  summary.effort.total = before + seconds_;
  summary.seconds = std::max(summary.seconds, seconds_);
}

std::set<Problem> TuningFindings::finished() const {
  const std::scoped_lock lock(mutex_);
  std::set<Problem> problems;
  if (families_.empty()) return problems;
  for (const TuningResult& result : families_.back().results) {
    if (result.profile) problems.insert(result.problem);
  }
  return problems;
}

std::int64_t TuningFindings::compiler_calls() const {
  const std::scoped_lock lock(mutex_);
  return compiler_calls_;
}

}  // namespace heddle::cli
