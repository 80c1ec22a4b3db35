#include "heddle/profiles/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/present_kernels.hpp"
#include "heddle/profiles/shipped_models.hpp"

namespace heddle {

namespace {

constexpr std::size_t kMostCounted = 64;  // terms of a configuration: their counts are kept on the stack

std::string percent(double error) { return fmt::format("{:.1f} %", 100.0 * error); }

/// What the weights of a model stand for, from the point of view of `device`.
struct Ranked {
  CostModel::Source source;
  bool stale;
  double unit_ratio;  // |log2| of the numbers of units
  const FittedModel* fitted;

  [[nodiscard]] auto order() const { return std::tuple(source, stale, unit_ratio, fitted->device.text()); }
};

double model_unit_ratio(const DeviceIdentity& a, const DeviceIdentity& b) {
  return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(a.units, 1)) /
                            static_cast<double>(std::max<std::int64_t>(b.units, 1))));
}

}  // namespace

std::string_view text(CostModel::Source source) {
  switch (source) {
    case CostModel::Source::device:
      return "device";
    case CostModel::Source::architecture:
      return "architecture";
    case CostModel::Source::shipped:
      break;
  }
  return "shipped";
}

CostModel::CostModel(const KernelFamily& family, DeviceIdentity device, FittedModel fitted, Source source)
    : family_(family), device_(std::move(device)), fitted_(std::move(fitted)), source_(source) {
  if (const auto why = other_terms(family, fitted_)) {
    throw Error(ErrorKind::bug, fmt::format("weights of {}: {}", fitted_.family, *why));
  }
  const std::span<const std::string_view> terms = family.cost_terms(device_.backend);
  weights_.reserve(terms.size());
  for (const std::string_view term : terms) {
    const auto known = std::ranges::find(fitted_.weights, term, &TermWeight::term);
    weights_.push_back(known == fitted_.weights.end() ? std::numeric_limits<double>::infinity() : known->microseconds);
  }
}

CostModel::Estimate CostModel::estimate(const Configuration& configuration) const {
  TermCounts counts = family_.term_counts(configuration, device_);
  if (!counts.count) return {};
  if (counts.size > kMostCounted || counts.first + counts.size > weights_.size()) {
    throw Error(ErrorKind::bug, fmt::format("{} counts {} terms from {} on, expected at most {} of its {}",
                                            family_.name(), counts.size, counts.first, kMostCounted, weights_.size()));
  }
  const auto from = weights_.begin() + static_cast<std::ptrdiff_t>(counts.first);
  std::vector<double> weights(from, from + static_cast<std::ptrdiff_t>(counts.size));
  return [count = std::move(counts.count), weights = std::move(weights)](const Problem& problem) {
    std::array<double, kMostCounted> counted;  // NOLINT(cppcoreguidelines-pro-type-member-init): written by count()
    count(problem, std::span(counted).first(weights.size()));
    double microseconds = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (counted[i] > 0.0) microseconds += weights[i] * counted[i];  // infinity times 0 is not a number
    }
    return microseconds;
  };
}

std::optional<double> CostModel::expected(const Configuration& configuration, const Problem& problem) const {
  const Estimate at = estimate(configuration);
  if (!at) return std::nullopt;
  const double microseconds = at(problem);
  return std::isfinite(microseconds) ? std::optional(microseconds) : std::nullopt;
}

std::string CostModel::text() const {
  const DeviceIdentity& origin = fitted_.device;
  std::string whose = "of this device";
  if (source_ == Source::architecture) whose = fmt::format("of {}, also {}", origin.name, origin.architecture);
  if (source_ == Source::shipped) whose = fmt::format("of {}, that heddle brings along", origin.name);
  return fmt::format("{}{}, fitted to {} measurements at {} problems, {} off where they were left out", whose,
                     fitted_.imported ? " (imported)" : "", fitted_.measurements, fitted_.problems,
                     percent(fitted_.left_out_error));
}

std::optional<std::string> other_terms(const KernelFamily& family, const FittedModel& fitted) {
  const std::span<const std::string_view> terms = family.cost_terms(fitted.device.backend);
  for (const TermWeight& weight : fitted.weights) {
    if (std::ranges::find(terms, weight.term) == terms.end()) {
      return fmt::format("'{}' is no term of {} in this heddle", weight.term, family.name());
    }
  }
  return std::nullopt;
}

std::optional<CostModel> choose_model(const KernelFamily& family, const DeviceIdentity& device,
                                      const std::vector<FittedModel>& known, std::vector<RejectedModel>* rejected,
                                      bool own) {
  if (family.cost_terms(device.backend).empty()) return std::nullopt;
  PresentKernels present(family);
  std::vector<Ranked> ranked;
  const auto add = [&](const FittedModel& fitted, CostModel::Source source) {
    if (fitted.family != family.name() || fitted.device.backend != device.backend) return;
    ranked.push_back({.source = source,
                      .stale = !comparable(fitted.kernels, present.version(fitted.device)),
                      .unit_ratio = model_unit_ratio(fitted.device, device),
                      .fitted = &fitted});
  };
  ranked.reserve(known.size() + shipped_models().size());
  for (const FittedModel& fitted : known) {
    if (fitted.device == device) {
      if (own) add(fitted, CostModel::Source::device);
    } else if (fitted.device.architecture == device.architecture) {
      add(fitted, CostModel::Source::architecture);
    }
  }
  for (const FittedModel& fitted : shipped_models()) add(fitted, CostModel::Source::shipped);
  std::ranges::sort(ranked, {}, &Ranked::order);
  for (const Ranked& each : ranked) {
    auto reason = other_terms(family, *each.fitted);
    if (!reason && each.fitted->left_out_error > kMostLeftOutError) {
      reason = fmt::format("it is {} off at problems that were left out, more than {}",
                           percent(each.fitted->left_out_error), percent(kMostLeftOutError));
    }
    if (!reason) return CostModel(family, device, *each.fitted, each.source);
    if (rejected != nullptr) rejected->push_back({.fitted = *each.fitted, .reason = std::move(*reason)});
  }
  return std::nullopt;
}

}  // namespace heddle
