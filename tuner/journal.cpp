#include "heddle/tuner/journal.hpp"

#include <algorithm>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

bool timed(Status status) { return status == Status::correct || status == Status::unverified; }

Recollection recollection(const Measurement& measurement, bool own) {
  Recollection result{.observation = {.status = measurement.status, .cost = measurement.cost},
                      .message = measurement.message,
                      .own = own,
                      .resources = measurement.resources,
                      .energy = measurement.energy};
  if (!timed(measurement.status)) return result;
  result.observation.status = Status::unverified;
  if (!result.observation.cost) result.observation.cost = median(measurement.times);
  return result;
}

/// Whether a measurement tells the cost or the failure of a configuration.
bool is_usable(const Measurement& measurement) {
  if (measurement.status == Status::pruned) return measurement.cost.has_value();
  return timed(measurement.status) == !measurement.times.empty();
}

/// Whether the machine may be to blame and not the configuration, so that another run tries again: the compiler failed
/// at it, or other programs kept it from ending in time.
bool may_work_now(const Measurement& measurement) {
  return (measurement.status == Status::compilation && is_compilers_failure(measurement.message)) ||
         (measurement.status == Status::hang && is_starvation(measurement.message));
}

}  // namespace

Journal::Journal(ProfileStore& store, const Evaluator& evaluator, TuningRun run, const TunerOptions& options)
    : store_(store),
      evaluator_(evaluator),
      run_(run),
      cold_cache_(options.cold_cache),
      has_objective_(options.objective != nullptr) {
  current_.kernels = evaluator.kernels();
  current_.provenance = evaluator.provenance();
}

void Journal::Page::keep_own(const Measurement& screening) {
  own.insert_or_assign(screening.configuration, screening);
  places.try_emplace(screening.configuration, places.size() + 1);
}

Journal::Page& Journal::page(const Problem& problem) const {
  const auto [found, unread] = pages_.try_emplace(problem);
  if (!unread) return found->second;
  const ProfileKey key{
      .device = evaluator_.device(), .family = std::string(evaluator_.family().name()), .problem = problem};
  for (Measurement& known : store_.known(key, current_, run_)) {
    if (!is_usable(known) || may_work_now(known) || known.cold_cache != cold_cache_) continue;
    if (known.run == run_.id && known.visit > 0) {
      found->second.finals.push_back(std::move(known));
    } else if (known.run == run_.id) {
      found->second.keep_own(known);
    } else {
      found->second.earlier.insert_or_assign(known.configuration, known);
    }
  }
  return found->second;
}

std::optional<Recollection> Journal::recall(const Problem& problem, const std::string& configuration,
                                            std::int64_t visit_number) const {
  const Page& known = page(problem);
  for (const Measurement& final : known.finals) {
    if (final.configuration == configuration && final.visit < visit_number && !timed(final.status)) {
      return recollection(final, true);
    }
  }
  if (const auto own = known.own.find(configuration); own != known.own.end()) {
    Recollection recalled = recollection(own->second, true);
    recalled.place = known.places.at(configuration);
    return recalled;
  }
  const auto earlier = known.earlier.find(configuration);
  if (earlier == known.earlier.end()) return std::nullopt;
  return recollection(earlier->second, false);
}

std::optional<std::int64_t> Journal::samples(const Problem& problem) const {
  const Page& known = page(problem);
  for (const auto* measurements : {&known.own, &known.earlier}) {
    for (const auto& [configuration, measurement] : *measurements) {
      if (timed(measurement.status) && measurement.samples > 0) return measurement.samples;
    }
  }
  return std::nullopt;
}

std::vector<Measurement> Journal::finals(const Problem& problem, std::int64_t visit_number) const {
  std::vector<Measurement> found = page(problem).finals;
  std::erase_if(found, [&](const Measurement& final) { return final.visit != visit_number; });
  return found;
}

bool Journal::count_once(const Problem& problem, const std::string& configuration) {
  return page(problem).counted.insert(configuration).second;
}

std::map<std::string, double> Journal::earlier_costs(const Problem& problem) const {
  std::map<std::string, double> costs;
  if (has_objective_) return costs;
  for (const auto& [configuration, measurement] : page(problem).earlier) {
    if (const auto cost = recollection(measurement, false).observation.cost) costs.emplace(configuration, *cost);
  }
  return costs;
}

void Journal::add(Measurement measurement) {
  measurement.run = run_.id;
  store_.record(measurement);
  if (!is_usable(measurement)) return;
  Page& known = page(measurement.key.problem);
  if (measurement.visit > 0) {
    known.finals.push_back(std::move(measurement));
  } else {
    known.keep_own(measurement);
  }
}

}  // namespace heddle
