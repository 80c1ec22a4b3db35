#include "heddle/runtime/model/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

namespace heddle {
namespace {

[[noreturn]] void refuse(const std::string& source, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::input, fmt::format("{}: found {}, expected {}", source, found, expected));
}

std::string wrong_count(std::string_view what, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) == expected) return {};
  return fmt::format("{} {}, expected {}", found, what, expected);
}

/// The first value that is not finite or whose size is not from `least` to `most`.
template <class T>
std::string out_of_range(std::string_view what, std::span<const T> values, double least, double most) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](T value) {
    const auto size = std::abs(static_cast<double>(value));
    return !(size >= least && size <= most);
  });
  if (bad == values.end()) return {};
  const std::string expected = !std::isfinite(*bad) ? "a finite number"
                               : least > 0.0        ? fmt::format("a number whose size is from {} to {}", least, most)
                                                    : fmt::format("a number whose size is at most {}", most);
  return fmt::format("{} at {} {}, expected {}", *bad, what, bad - values.begin() + 1, expected);
}

std::string out_of_range(std::string_view what, const std::vector<float>& values, double least, double most) {
  return out_of_range(what, std::span(values), least, most);
}

/// Passes a complaint on.
void check(const std::string& source, const std::string& complaint) {
  if (!complaint.empty()) throw Error(ErrorKind::input, fmt::format("{}: found {}", source, complaint));
}

void check_antecedents(const std::vector<double>& antecedents, const sonfin::Network& of, const std::string& source) {
  if (antecedents.empty()) return;
  const std::size_t half = of.centres.size();
  check(source, wrong_count("antecedents", antecedents.size(), 2 * static_cast<std::int64_t>(half)));
  const std::span<const double> all(antecedents);
  check(source, out_of_range("antecedent centre", all.first(half), 0.0, kLargestAntecedent));
  check(source, out_of_range("antecedent width", all.subspan(half), 0.5 * kLeastWidth, kLargestAntecedent));
  if (std::any_of(antecedents.begin() + static_cast<std::ptrdiff_t>(half), antecedents.end(),
                  [](double width) { return width < 0.0; })) {
    refuse(source, "an antecedent width below 0", "widths above 0");
  }
}

void check_scaling(const Scaling& scaling, std::int64_t columns, std::string_view what, const std::string& source) {
  // Made from float32 values, whose differences are 0 or from 1e-45 to 7e38.
  constexpr double kLargestOffset = 1e39, kLeastFactor = 1e-50, kLargestFactor = 1e50;
  check(source, wrong_count(fmt::format("{} offsets", what), scaling.offset.size(), columns));
  check(source, wrong_count(fmt::format("{} factors", what), scaling.factor.size(), columns));
  check(source, out_of_range(fmt::format("{} offset", what), std::span(scaling.offset), 0.0, kLargestOffset));
  std::vector<double> factors = scaling.factor;
  std::replace(factors.begin(), factors.end(), 0.0, 1.0);  // of a constant column
  check(source,
        out_of_range(fmt::format("{} factor", what), std::span<const double>(factors), kLeastFactor, kLargestFactor));
}

void check_range(const std::string& source, std::string_view what, double value, double least, double most) {
  if (!(value >= least && value <= most)) {
    refuse(source, fmt::format("{} {}", what, value), fmt::format("a number from {} to {}", least, most));
  }
}

}  // namespace

double largest_input(double least_width, std::int64_t dim) {
  constexpr double kLargestSum = 1e37;
  const double largest = 0.5 * least_width * std::sqrt(kLargestSum / static_cast<double>(dim));
  return std::min(largest, 0.1 * kLargestAntecedent);
}

std::string fault(const sonfin::Network& network) {
  if (network.dim < 1 || network.outputs < 1) return "a network without inputs or outputs, expected at least one";
  const std::int64_t rules = network.rules();
  for (const std::string& complaint :
       {wrong_count("centres", network.centres.size(), rules * network.dim),
        wrong_count("widths", network.widths.size(), rules * network.dim),
        wrong_count("consequents", network.consequents.size(), rules * network.numbers()),
        out_of_range("width", network.widths, kLeastWidth, kLargestAntecedent),
        out_of_range("consequent", network.consequents, 0.0, kLargestConsequent)}) {
    if (!complaint.empty()) return complaint;
  }
  const double least = least_width(network);
  if (least < 0.0) return fmt::format("a width of {}, expected widths above 0", least);
  return out_of_range("centre", network.centres, 0.0, largest_input(least, network.dim));
}

double least_width(const sonfin::Network& network) {
  const auto least = std::min_element(network.widths.begin(), network.widths.end());
  return least == network.widths.end() ? kLargestAntecedent : static_cast<double>(*least);
}

void check_rows(const Model& model, const Dataset& data, double least) {
  model.inputs.check(data.inputs, data.source, largest_input(least, data.dim));
  if (model.task == Task::regress) model.targets.check(data.targets, data.source, std::numeric_limits<float>::max());
}

std::vector<float> network_inputs(const Model& model, const Dataset& data) {
  return model.inputs.apply(data.inputs, data.source, largest_input(least_width(model.network), data.dim));
}

Expectation Model::expectation() const {
  return {.dim = network.dim, .classes = classes, .targets_per_row = task == Task::regress ? network.outputs : 0};
}

std::vector<float> network_targets(const Model& model, const Dataset& data) {
  if (model.task == Task::regress) return model.targets.apply(data.targets, data.source);
  const auto outputs = static_cast<std::size_t>(model.network.outputs);
  std::vector<float> targets(data.labels.size() * outputs, 0.0F);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    targets[i * outputs + static_cast<std::size_t>(data.labels[i])] = 1.0F;
  }
  return targets;
}

std::vector<std::int32_t> predicted_classes(std::span<const float> outputs, std::int64_t classes) {
  std::vector<std::int32_t> winners;
  winners.reserve(outputs.size() / static_cast<std::size_t>(classes));
  for (auto row = outputs.begin(); row != outputs.end(); row += classes) {
    winners.push_back(static_cast<std::int32_t>(std::max_element(row, row + classes) - row));
  }
  return winners;
}

void check(const Model& model, const std::string& source) {
  check(source, fault(model.network));
  const std::int64_t dim = model.network.dim, outputs = model.network.outputs;
  if (model.training.last) {
    check(source, fault(*model.training.last));
    if (model.training.last->dim != dim || model.training.last->outputs != outputs) {
      refuse(source, "a network to go on from of other sizes than the model's", "the same inputs and outputs");
    }
    check_antecedents(model.training.antecedents, *model.training.last, source);
  }
  check_scaling(model.inputs, dim, "input", source);
  if (!model.input_names.empty()) check(source, wrong_count("input names", model.input_names.size(), dim));
  if (model.task == Task::classify) {
    check(source, wrong_count("classes", model.classes.size(), outputs));
    if (std::set<std::string_view>(model.classes.begin(), model.classes.end()).size() != model.classes.size()) {
      refuse(source, "a class twice", "each class once");
    }
  } else {
    check_scaling(model.targets, outputs, "target", source);
    if (!model.target_names.empty()) check(source, wrong_count("target names", model.target_names.size(), outputs));
  }

  constexpr double kLarge = 1e30;
  const sonfin::Hyperparameters& h = model.hyperparameters;
  check_range(source, "consequent rate", h.consequent_rate, 0.0, kLarge);
  check_range(source, "antecedent rate", h.antecedent_rate, 0.0, kLarge);
  check_range(source, "threshold", h.threshold, 0.0, 1.0);
  check_range(source, "overlap", h.overlap, 0.0, kLarge);
  check_range(source, "minimum width", h.minimum_width, 0.0, kLarge);
  check_range(source, "first width", h.first_width, 0.0, kLarge);
  if (h.max_rules < 1) refuse(source, fmt::format("a cap of {} rules", h.max_rules), "at least 1");
  const TrainingState& t = model.training;
  if (t.epochs < 0 || t.position < 0 || t.best_epoch < 0 || t.epochs_without_improvement < 0) {
    refuse(source, "a negative count of epochs or samples", "0 or more");
  }
  if (t.best_epoch > t.epochs) refuse(source, "a best epoch after the last", "one of those done");
  if (std::isnan(t.log_threshold) || t.log_threshold > 0.0) {
    refuse(source, fmt::format("a log threshold of {}", t.log_threshold), "at most 0");
  }
  if (!std::isfinite(t.partial_loss) || !std::isfinite(t.best_error)) {
    refuse(source, "an error that is not finite", "a finite number");
  }
}

}  // namespace heddle
