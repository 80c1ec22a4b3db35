#include "heddle/tuner/single_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "heddle/tuner/known_profiles.hpp"

namespace heddle {

namespace {

/// A problem with a winner whose screening is known.
struct Reference {
  const Problem* problem;
  const std::map<std::string, double>* costs;
  std::string winner, untuned;  ///< canonical texts; untuned: the default
  double winner_cost;
  std::optional<double> untuned_cost;
};

std::vector<Reference> references(const KernelFamily& family, const DeviceIdentity& device,
                                  const std::vector<Profile>& winners, const CostsOfProblems& costs) {
  std::vector<Reference> found;
  found.reserve(winners.size());
  for (const Profile& profile : winners) {
    const auto known = costs.find(profile.key.problem);
    if (known == costs.end()) continue;
    const auto winner = known->second.find(profile.configuration);
    if (winner == known->second.end()) continue;
    std::string text = family.default_configuration(device, profile.key.problem).text();
    const auto untuned = known->second.find(text);
    found.push_back({.problem = &profile.key.problem,
                     .costs = &known->second,
                     .winner = profile.configuration,
                     .untuned = std::move(text),
                     .winner_cost = winner->second,
                     .untuned_cost = untuned == known->second.end() ? std::nullopt : std::optional(untuned->second)});
  }
  return found;
}

std::set<std::string> winners_and_defaults(const std::vector<Reference>& references) {
  std::set<std::string> texts;
  for (const Reference& reference : references) texts.insert({reference.winner, reference.untuned});
  return texts;
}

/// The same, and what was measured at half of the problems or more.
std::set<std::string> widely_measured_too(const std::vector<Reference>& references) {
  std::map<std::string, std::size_t> measured;
  for (const Reference& reference : references) {
    for (const auto& [text, cost] : *reference.costs) ++measured[text];
  }
  std::set<std::string> texts = winners_and_defaults(references);
  for (const auto& [text, count] : measured) {
    if (2 * count >= references.size()) texts.insert(text);
  }
  return texts;
}

/// What a configuration loses at the problems at which that is known.
struct KnownLoss {
  double log_ratios = 0.0;                          ///< sum of log(its cost / cost of the winner)
  std::size_t tried = 0;                            ///< problems in that sum: it was measured, or the default stands in
  std::vector<const Reference*> measured, untried;  ///< of the problems that allow it
};

KnownLoss known_loss(const SearchSpace& space, const Configuration& configuration, const std::string& text,
                     const std::vector<Reference>& references) {
  KnownLoss loss;
  for (const Reference& reference : references) {
    const auto cost = reference.costs->find(text);
    if (cost != reference.costs->end()) {
      loss.log_ratios += std::log(cost->second / reference.winner_cost);
      loss.measured.push_back(&reference);
      ++loss.tried;
    } else if (!space.violated(configuration, *reference.problem)) {
      loss.untried.push_back(&reference);
    } else if (reference.untuned_cost) {
      loss.log_ratios += std::log(*reference.untuned_cost / reference.winner_cost);
      ++loss.tried;
    }
  }
  return loss;
}

/// log(cost / cost of the winner), as a model of times expects both.
class ModelledLoss {
 public:
  ModelledLoss(const SearchSpace& space, const std::vector<Reference>& references, const ExpectedCost& model)
      : model_(model) {
    if (!model_) return;
    for (const Reference& reference : references) {
      const auto winner = parse_if_present(space, reference.winner);
      if (winner) winners_[&reference] = model_(*winner, *reference.problem);
    }
  }

  /// Nothing if the model expects nothing of one of the two.
  [[nodiscard]] std::optional<double> at(const Reference& reference, const Configuration& configuration) const {
    const auto winner = winners_.find(&reference);
    if (winner == winners_.end() || !winner->second) return std::nullopt;
    const auto here = model_(configuration, *reference.problem);
    return here ? std::optional(std::log(*here / *winner->second)) : std::nullopt;
  }

 private:
  const ExpectedCost& model_;
  std::map<const Reference*, std::optional<double>> winners_;
};

/// What configurations lose where they were tried and did not win: that they won somewhere says little of elsewhere.
class UsualLoss {
 public:
  explicit UsualLoss(const std::vector<Reference>& references) : references_(references) {
    Sum all;
    for (const std::string& text : winners_and_defaults(references)) {
      const Sum one = losses_of(text);
      all.log_ratios += one.log_ratios;
      all.count += one.count;
    }
    mean_ = all.count > 0 ? all.log_ratios / static_cast<double>(all.count) : 0.0;
  }

  /// log(cost / cost of the winner) where nothing else is known: the mean, as if the configuration had been tried at
  /// one more problem and had lost there what all lose on average.
  [[nodiscard]] double of(const std::string& text) const {
    const Sum known = losses_of(text);
    return (known.log_ratios + mean_) / static_cast<double>(known.count + 1);
  }

 private:
  struct Sum {
    double log_ratios = 0.0;
    std::size_t count = 0;
  };

  [[nodiscard]] Sum losses_of(const std::string& text) const {
    Sum sum;
    for (const Reference& reference : references_) {
      const auto cost = reference.costs->find(text);
      if (cost == reference.costs->end() || reference.winner == text) continue;
      sum.log_ratios += std::log(cost->second / reference.winner_cost);
      ++sum.count;
    }
    return sum;
  }

  const std::vector<Reference>& references_;
  double mean_ = 0.0;
};

LikelyMapping likely_mapping(const KernelFamily& family, const DeviceIdentity& device, Configuration configuration,
                             const KnownLoss& loss) {
  std::set<Kernels> kernels;
  const auto is_new = [&](const Reference* reference) {
    return kernels.insert(family.kernels(configuration, *reference->problem, device)).second;
  };
  for (const Reference* reference : loss.measured) is_new(reference);
  const std::size_t known = kernels.size();
  std::vector<Problem> first, others;
  for (const Reference* reference : loss.untried) {
    (is_new(reference) ? first : others).push_back(*reference->problem);
  }
  first.insert(first.end(), others.begin(), others.end());
  return {.configuration = std::move(configuration), .untried = std::move(first), .kernels = kernels.size() - known};
}

}  // namespace

CostsOfProblems screened_costs(const std::vector<Measurement>& measurements) {
  CostsOfProblems costs;
  for (const Measurement& measurement : measurements) {
    if (measurement.visit != 0 || !measurement.cost || *measurement.cost <= 0.0) continue;
    costs[measurement.key.problem].insert_or_assign(measurement.configuration, *measurement.cost);
  }
  return costs;
}

std::optional<SingleMapping> best_single_mapping(const KernelFamily& family, const DeviceIdentity& device,
                                                 const std::vector<Profile>& winners, const CostsOfProblems& costs,
                                                 const ExpectedCost& model) {
  const std::vector<Reference> all = references(family, device, winners, costs);
  if (all.size() < 2) return std::nullopt;
  const SearchSpace space = family.space(device);
  const ModelledLoss modelled(space, all, model);
  std::optional<SingleMapping> best;
  for (const std::string& text : widely_measured_too(all)) {
    const auto configuration = parse_if_present(space, text);
    if (!configuration) continue;
    const KnownLoss loss = known_loss(space, *configuration, text, all);
    SingleMapping mapping{.configuration = text, .measured = loss.measured.size(), .problems = all.size()};
    double sum = loss.log_ratios;
    for (const Reference* reference : loss.untried) {
      const auto here = modelled.at(*reference, *configuration);
      if (!here) continue;
      sum += *here;
      ++mapping.expected;
    }
    if (2 * (mapping.measured + mapping.expected) < all.size()) continue;
    mapping.tried = loss.tried + mapping.expected;
    mapping.mean_log_ratio = sum / static_cast<double>(mapping.tried);
    if (!best || mapping.mean_log_ratio < best->mean_log_ratio) best = std::move(mapping);
  }
  return best;
}

std::optional<LikelyMapping> likely_single_mapping(const KernelFamily& family, const DeviceIdentity& device,
                                                   const std::vector<Profile>& winners, const CostsOfProblems& costs,
                                                   const ExpectedCost& model) {
  const std::vector<Reference> all = references(family, device, winners, costs);
  if (all.size() < 2) return std::nullopt;
  const SearchSpace space = family.space(device);
  const ModelledLoss modelled(space, all, model);
  const UsualLoss usual(all);
  struct {
    double mean = std::numeric_limits<double>::infinity();
    std::optional<Configuration> configuration;
    KnownLoss loss;
  } best;
  for (const std::string& text : winners_and_defaults(all)) {
    const auto configuration = parse_if_present(space, text);
    if (!configuration) continue;
    KnownLoss loss = known_loss(space, *configuration, text, all);
    if (2 * (loss.measured.size() + loss.untried.size()) < all.size()) continue;
    const double otherwise = usual.of(text);
    double sum = loss.log_ratios;
    for (const Reference* reference : loss.untried) sum += modelled.at(*reference, *configuration).value_or(otherwise);
    const double mean = sum / static_cast<double>(loss.tried + loss.untried.size());
    if (mean < best.mean) best = {mean, *configuration, std::move(loss)};
  }
  if (!best.configuration) return std::nullopt;
  return likely_mapping(family, device, *std::move(best.configuration), best.loss);
}

}  // namespace heddle
