#include "heddle/runtime/dispatch/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

// How a measured time at another problem corrects the model's estimate at this one: by a part of what the model was
// wrong there (as a logarithm), by less with the distance. Found on what two tuned grids say about each other
// (docs/performance.md).
constexpr double kTrust = 0.7, kReach = 4.0;
// Expected loss of a winner at a squared distance of kFar or more; in proportion at smaller ones.
constexpr double kLoss = 0.06, kFar = 0.6;
// A profile at no more than this squared distance, a quarter more or less of one size, says what to expect here too, in
// proportion to the operations.
constexpr double kSameSize = 0.1;

double unit_ratio(const DeviceIdentity& a, const DeviceIdentity& b) {
  return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(a.units, 1)) /
                            static_cast<double>(std::max<std::int64_t>(b.units, 1))));
}

}  // namespace

Dispatcher::Dispatcher(DeviceIdentity device, const KernelFamily& family, Knowledge known)
    : device_(std::move(device)),
      family_(family),
      space_(family.space(device_)),
      model_(choose_model(family, device_, known.models, &rejected_models_)),
      profiles_(std::move(known.profiles)) {
  std::erase_if(profiles_, [&](const Profile& profile) {
    return profile.key.family != family_.name() || profile.key.device.backend != device_.backend;
  });
  std::ranges::sort(profiles_, {}, &Profile::key);
  PresentKernels present(family_);
  for (const Profile& profile : profiles_) {
    if (auto why = misfit(profile.key.problem, family_.axes())) {
      left_out_.push_back({.profile = &profile, .reason = std::move(*why)});
      continue;
    }
    Entry entry{.profile = &profile};
    try {
      entry.model = model_of(profile.configuration);
    } catch (const Error& error) {
      unusable_.push_back({.profile = &profile, .reason = error.what()});
      continue;
    }
    const DeviceIdentity& origin = profile.key.device;
    if (origin != device_) entry.remoteness = origin.architecture == device_.architecture ? 1 : 2;
    entry.unit_ratio = unit_ratio(origin, device_);
    entry.currency = present.currency(profile);
    entry.tier = entry.currency != Currency::current ? Tier::stale
                 : entry.remoteness == 0             ? Tier::nearest
                 : entry.remoteness == 1             ? Tier::architecture
                                                     : Tier::backend;
    const auto add = [&] {
      const CostModel::Estimate& estimate = models_[entry.model].estimate;
      const double there = estimate ? estimate(profile.key.problem) : 0.0;
      entry.log_correction = there > 0.0 && std::isfinite(there) ? std::log(profile.time / there) : 0.0;
      entries_.push_back(entry);
    };
    add();
    entry.tie = true;
    for (const std::string& tie : profile.ties) {
      try {
        entry.model = model_of(tie);
      } catch (const Error&) {
        continue;  // the space has changed; the winner has not left it
      }
      if (models_[entry.model].estimate) add();
    }
  }
}

std::size_t Dispatcher::model_of(const std::string& configuration) {
  Configuration parsed = space_.parse(configuration);
  const auto known = std::ranges::find(models_, parsed, &Model::configuration);
  const auto place = static_cast<std::size_t>(known - models_.begin());
  if (known == models_.end()) {
    CostModel::Estimate estimate = model_ ? model_->estimate(parsed) : CostModel::Estimate();
    models_.push_back({.configuration = std::move(parsed), .estimate = std::move(estimate)});
  }
  return place;
}

std::vector<Dispatcher::Ranked> Dispatcher::ranked(const Problem& problem) const {
  std::vector<double> estimates;  // log of microseconds per sample
  estimates.reserve(models_.size());
  for (const Model& model : models_) {
    estimates.push_back(model.estimate ? std::log(model.estimate(problem)) : std::numeric_limits<double>::infinity());
  }
  std::vector<Ranked> all;
  all.reserve(entries_.size());
  double squared = 0.0, trust = 0.0;
  for (const Entry& entry : entries_) {
    if (!entry.tie) {  // ties follow their winner
      squared = squared_distance(entry.profile->key.problem, problem, family_.axes());
      trust = kTrust * std::exp(-squared / kReach);
    }
    const bool exact = entry.tier == Tier::nearest && entry.profile->key.problem == problem;
    const double expected =
        estimates[entry.model] + trust * entry.log_correction + kLoss * std::min(1.0, squared / kFar);
    all.push_back({.entry = &entry,
                   .tier = exact ? Tier::exact : entry.tier,
                   .squared_distance = squared,
                   .expected = exact ? 0.0 : expected});
  }
  const auto order = [](const Ranked& r) {
    // The entry's address, in key order and a winner before its ties, makes the choice the same wherever the profiles
    // come from.
    return std::tuple(r.tier, r.entry->remoteness, r.expected, r.squared_distance, r.entry->unit_ratio, r.entry);
  };
  std::ranges::sort(all, {}, order);
  return all;
}

Candidate Dispatcher::candidate(const Ranked& r, const Problem& problem) const {
  const Profile& profile = *r.entry->profile;
  const DeviceIdentity& origin = profile.key.device;
  std::string where = "this device";
  if (r.entry->remoteness == 1) where = fmt::format("{}, also {},", origin.name, origin.architecture);
  if (r.entry->remoteness == 2) where = fmt::format("{}, also {},", origin.name, origin.backend);
  const bool modelled = r.tier != Tier::exact && std::isfinite(r.expected);
  std::optional<double> promised;
  if (r.tier == Tier::nearest && modelled) {
    promised = std::exp(r.expected);
  } else if (r.tier == Tier::exact || (r.tier == Tier::nearest && r.squared_distance <= kSameSize)) {
    promised = profile.time * family_.work(problem).operations / family_.work(profile.key.problem).operations;
  }
  std::string sizes = "this problem";
  if (r.squared_distance > 0.0)
    sizes = fmt::format("{} (distance {:.2f})", profile.key.problem.text(), std::sqrt(r.squared_distance));
  return {.configuration = configuration(*r.entry),
          .tier = r.tier,
          .profile = &profile,
          .currency = r.entry->currency,
          .squared_distance = r.squared_distance,
          .expected = modelled ? std::optional(std::exp(r.expected)) : std::nullopt,
          .promised = promised,
          .reason = fmt::format("{}{} on {} for {}: {:.3g} us per {}{}{}{}{}", profile.imported ? "imported, " : "",
                                r.entry->tie ? "as fast as the best" : "measured", where, sizes, profile.time,
                                family_.unit(), r.squared_distance > 0.0 ? " there" : "",
                                profile.imported && r.entry->remoteness == 0 ? ", not measured here yet" : "",
                                r.tier == Tier::stale ? fmt::format("; since then {}", change(r.entry->currency)) : "",
                                modelled ? fmt::format("; {:.3g} expected here", std::exp(r.expected)) : "")};
}

Candidate Dispatcher::fallback(const Problem& problem, const std::optional<ExpectedTime>& untuned) const {
  return {.configuration = untuned ? untuned->configuration : family_.default_configuration(device_, problem),
          .tier = Tier::fallback,
          .reason = why_no_profile()};
}

std::optional<ExpectedTime> Dispatcher::expected_default(const Problem& problem) const {
  if (!model_ || model_->fitted().device.architecture != device_.architecture) return std::nullopt;
  Configuration untuned = family_.default_configuration(device_, problem);
  const std::optional<double> microseconds = model_->expected(untuned, problem);
  if (!microseconds) return std::nullopt;
  return ExpectedTime{.configuration = std::move(untuned), .microseconds = *microseconds};
}

std::optional<Candidate> Dispatcher::expected(const Problem& problem,
                                              const std::optional<ExpectedTime>& untuned) const {
  if (!untuned) return std::nullopt;  // nobody can say how much is gained over what has no estimate
  auto fastest = expected_fastest(space_, *model_, problem);
  const double enough = untuned->microseconds * (1.0 - model_->fitted().left_out_error);
  if (!fastest || !(fastest->microseconds < enough)) return std::nullopt;
  return Candidate{
      .configuration = std::move(fastest->configuration),
      .tier = Tier::expected,
      .expected = fastest->microseconds,
      .reason = fmt::format("{}; the model of times expects {:.3g} us per {}, {:.3g} with the untuned default",
                            why_no_profile(), fastest->microseconds, family_.unit(), untuned->microseconds)};
}

const char* Dispatcher::why_no_profile() const {
  return entries_.empty() ? "there is no profile for this kind of device"
                          : "no profile's configuration can run at these sizes";
}

std::optional<Candidate> Dispatcher::preferred_default(const Ranked& r,
                                                       const std::optional<ExpectedTime>& untuned) const {
  if (!untuned || r.tier == Tier::exact || !models_[r.entry->model].estimate) return std::nullopt;
  if (!r.entry->profile->key.goal.is_usual()) return std::nullopt;  // a model of times says nothing of energy
  const double expected = untuned->microseconds * std::exp(kLoss);
  if (!(expected < std::exp(r.expected)) || untuned->configuration == configuration(*r.entry)) return std::nullopt;
  const std::string other = std::isfinite(r.expected)
                                ? fmt::format("{:.3g} with what was measured for {}", std::exp(r.expected),
                                              r.entry->profile->key.problem.text())
                                : std::string("which nobody can say of what was measured for other sizes");
  return Candidate{.configuration = untuned->configuration,
                   .tier = Tier::fallback,
                   .expected = expected,
                   .reason = fmt::format("the model of times expects {:.3g} us per {} with the untuned default, {}",
                                         expected, family_.unit(), other)};
}

Candidate Dispatcher::choose(const Problem& problem) const {
  const std::optional<ExpectedTime> untuned = expected_default(problem);
  for (const Ranked& r : ranked(problem)) {
    if (std::isinf(r.squared_distance)) continue;
    if (space_.violated(configuration(*r.entry), problem)) continue;
    if (auto preferred = preferred_default(r, untuned)) return *std::move(preferred);
    return candidate(r, problem);
  }
  if (auto fastest = expected(problem, untuned)) return *std::move(fastest);
  return fallback(problem, untuned);
}

std::vector<Candidate> Dispatcher::candidates(const Problem& problem) const { return explain(problem).candidates; }

Dispatcher::Explanation Dispatcher::explain(const Problem& problem) const {
  Explanation result;
  result.family = family_.name();
  result.device = device_;
  result.problem = problem;
  result.model = model();
  result.rejected_models = rejected_models_;
  const std::optional<ExpectedTime> untuned = expected_default(problem);
  const auto chosen = [&](const Configuration& configuration) {
    return std::ranges::find(result.candidates, configuration, &Candidate::configuration) != result.candidates.end();
  };
  for (const Ranked& r : ranked(problem)) {
    const Problem& tuned = r.entry->profile->key.problem;
    if (const Axis* const axis = separating_axis(tuned, problem, family_.axes())) {
      if (r.entry->tie) continue;
      result.rejections.push_back({.profile = r.entry->profile,
                                   .reason = fmt::format("nothing carries over from another value of {}", axis->name)});
    } else if (const auto constraint = space_.violated(configuration(*r.entry), problem)) {
      result.rejections.push_back(
          {.profile = r.entry->profile, .reason = fmt::format("violates '{}' at these sizes", *constraint)});
    } else if (!chosen(configuration(*r.entry))) {
      if (auto preferred = preferred_default(r, untuned); preferred && !chosen(preferred->configuration)) {
        result.candidates.push_back(*std::move(preferred));
        if (chosen(configuration(*r.entry))) continue;
      }
      result.candidates.push_back(candidate(r, problem));
    }
  }
  const auto add_unmeasured = [&](Candidate candidate) {
    if (chosen(candidate.configuration)) return;
    if (!result.candidates.empty()) candidate.reason = "runs when nothing above it can";
    result.candidates.push_back(std::move(candidate));
  };
  if (auto fastest = expected(problem, untuned)) add_unmeasured(*std::move(fastest));
  add_unmeasured(fallback(problem, untuned));
  // Different in kind, so that one may run where the default cannot: for want of room for its clusters, for example.
  for (Configuration& likely : family_.likely_configurations(device_, problem)) {
    add_unmeasured({.configuration = std::move(likely), .tier = Tier::likely, .reason = ""});
  }
  for (const auto* const rejections : {&unusable_, &left_out_}) {
    result.rejections.insert(result.rejections.end(), rejections->begin(), rejections->end());
  }
  return result;
}

std::string Dispatcher::Explanation::text() const {
  constexpr std::size_t shown = 5;
  const Candidate& first = candidates.front();
  std::string lines = fmt::format("{} at {} on {} ({} {})\nchosen   {}\nbecause  {}: {}", family, problem.text(),
                                  device.name, device.backend, device.architecture, first.configuration.text(),
                                  heddle::text(first.tier), first.reason);
  for (std::size_t i = 1; i < std::min(candidates.size(), shown); ++i) {
    lines += fmt::format("\nthen     {}\n         {}: {}", candidates[i].configuration.text(),
                         heddle::text(candidates[i].tier), candidates[i].reason);
  }
  if (candidates.size() > shown) lines += fmt::format("\n         and {} more", candidates.size() - shown);
  if (model != nullptr) lines += fmt::format("\nexpected with weights {}", model->text());
  for (const RejectedModel& each : rejected_models) {
    lines += fmt::format("\nnot with weights of {}\n         {}", each.fitted.device.name, each.reason);
  }
  for (std::size_t i = 0; i < std::min(rejections.size(), shown); ++i) {
    lines += fmt::format("\nleft out {} of {}\n         {}", rejections[i].profile->configuration,
                         rejections[i].profile->key.problem.text(), rejections[i].reason);
  }
  if (rejections.size() > shown) lines += fmt::format("\n         and {} more", rejections.size() - shown);
  return lines;
}

}  // namespace heddle
