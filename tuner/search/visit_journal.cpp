#include "heddle/tuner/search/visit_journal.hpp"

#include <utility>

#include "heddle/runtime/device/provenance.hpp"

namespace heddle {

VisitJournal::VisitJournal(Evaluator& evaluator, Journal& journal, const SearchedProblem& problem,
                           const TunerOptions& options, std::int64_t visit_number)
    : evaluator_(evaluator),
      options_(options),
      journal_(journal),
      problem_(problem),
      number_(visit_number),
      provenance_(evaluator.provenance()) {
  provenance_.seed = static_cast<std::int64_t>(options.seed);
  provenance_.strategy = options.strategy;
}

std::optional<Recollection> VisitJournal::recall(std::size_t configuration) const {
  auto known = journal_.recall(problem_.problem(), problem_.at(configuration).text(), number_);
  if (!options_.objective || !known || !known->observation.cost) return known;
  // Of a configuration that was stopped early only a bound of its time is known, and another run may not have measured
  // its energy.
  if (known->observation.status == Status::pruned) return std::nullopt;
  if (!known->energy && options_.objective->needs_energy(evaluator_.family())) return std::nullopt;
  known->observation.cost = options_.objective->of(
      evaluator_.family(), problem_.problem(), problem_.at(configuration),
      {.time = *known->observation.cost, .energy = known->energy, .resources = known->resources});
  return known;
}

Measurement VisitJournal::blank(const Configuration& configuration, std::int64_t samples) const {
  Measurement measurement;
  measurement.key = {
      .device = evaluator_.device(), .family = std::string(evaluator_.family().name()), .problem = problem_.problem()};
  measurement.kernels = evaluator_.kernels();
  measurement.configuration = configuration.text();
  measurement.samples = samples;
  measurement.cold_cache = options_.cold_cache;
  measurement.run = journal_.run().id;
  measurement.provenance = provenance_;
  measurement.provenance.date = utc_now_exactly();  // a visit may take minutes, and a measurement milliseconds
  return measurement;
}

Measurement VisitJournal::blank_of_finals(const Configuration& configuration, std::int64_t samples) const {
  Measurement measurement = blank(configuration, samples);
  measurement.visit = number_;
  return measurement;
}

Profile VisitJournal::blank_profile(const Configuration& configuration, std::int64_t samples) const {
  const Measurement measurement = blank(configuration, samples);
  Profile profile;
  profile.key = measurement.key;
  profile.key.goal = options_.goal();
  profile.kernels = measurement.kernels;
  profile.configuration = measurement.configuration;
  profile.samples = samples;
  profile.run = measurement.run;
  profile.provenance = measurement.provenance;
  profile.provenance.date = utc_now();
  return profile;
}

void VisitJournal::add(Measurement measurement) {
  const Status status = measurement.status;
  journal_.add(std::move(measurement));
  if (takes_device_down(status)) evaluator_.check_device();
}

void VisitJournal::add_forbidden(const Configuration& configuration) {
  const auto constraint = evaluator_.family().space(evaluator_.device()).violated(configuration, problem_.problem());
  if (!constraint || journal_.recall(problem_.problem(), configuration.text(), number_)) return;
  Measurement measurement = blank(configuration, 0);
  measurement.status = Status::constraint;
  measurement.message = *constraint;
  add(std::move(measurement));
}

bool VisitJournal::count_once(std::size_t configuration) {
  return journal_.count_once(problem_.problem(), problem_.at(configuration).text());
}

}  // namespace heddle
