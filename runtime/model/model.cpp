#include "heddle/runtime/model/model.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

namespace heddle {
namespace {

[[noreturn]] void refuse(const std::string& source, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::input, source + ": found " + found + ", expected " + expected);
}

void check_count(const std::string& source, std::string_view what, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) != expected) {
    refuse(source, std::to_string(found) + " " + std::string(what), std::to_string(expected));
  }
}

template <class T>
void check_finite(const std::string& source, std::string_view what, const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      refuse(source, std::to_string(values[i]) + " at " + std::string(what) + " " + std::to_string(i + 1),
             "a finite number");
    }
  }
}

void check_network(const sonfin::Network& network, const std::string& source) {
  if (network.dim < 1 || network.outputs < 1) refuse(source, "a network without inputs or outputs", "at least one");
  const std::int64_t rules = network.rules();
  check_count(source, "centres", network.centres.size(), rules * network.dim);
  check_count(source, "widths", network.widths.size(), rules * network.dim);
  check_count(source, "consequents", network.consequents.size(), rules * network.numbers());
  check_finite(source, "centre", network.centres);
  check_finite(source, "width", network.widths);
  check_finite(source, "consequent", network.consequents);
  const auto bad =
      std::find_if(network.widths.begin(), network.widths.end(), [](float width) { return width <= 0.0F; });
  if (bad != network.widths.end()) refuse(source, "a width of " + std::to_string(*bad), "widths above 0");
}

void check_antecedents(const std::vector<double>& antecedents, const sonfin::Network& of, const std::string& source) {
  if (antecedents.empty()) return;
  const std::size_t half = of.centres.size();
  check_count(source, "antecedents", antecedents.size(), 2 * static_cast<std::int64_t>(half));
  for (std::size_t i = 0; i < antecedents.size(); ++i) {
    const auto value = static_cast<float>(antecedents[i]);
    if (!std::isfinite(value) || (i >= half && value <= 0.0F)) {
      refuse(source, "an antecedent of " + std::to_string(antecedents[i]), "finite centres, and widths above 0");
    }
  }
}

void check_scaling(const Scaling& scaling, std::int64_t columns, std::string_view what, const std::string& source) {
  check_count(source, std::string(what) + " offsets", scaling.offset.size(), columns);
  check_count(source, std::string(what) + " factors", scaling.factor.size(), columns);
  check_finite(source, std::string(what) + " offset", scaling.offset);
  check_finite(source, std::string(what) + " factor", scaling.factor);
}

void check_range(const std::string& source, std::string_view what, double value, double least, double most) {
  if (!(value >= least && value <= most)) {
    refuse(source, std::string(what) + " " + std::to_string(value),
           "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
}

}  // namespace

Expectation Model::expectation() const {
  return {.dim = network.dim, .classes = classes, .targets_per_row = task == Task::regress ? network.outputs : 0};
}

std::vector<float> network_targets(const Model& model, const Dataset& data) {
  if (model.task == Task::regress) return model.targets.apply(data.targets);
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
  check_network(model.network, source);
  const std::int64_t dim = model.network.dim, outputs = model.network.outputs;
  if (model.training.last) {
    check_network(*model.training.last, source);
    if (model.training.last->dim != dim || model.training.last->outputs != outputs) {
      refuse(source, "a network to go on from of other sizes than the model's", "the same inputs and outputs");
    }
    check_antecedents(model.training.antecedents, *model.training.last, source);
  }
  check_scaling(model.inputs, dim, "input", source);
  if (!model.input_names.empty()) check_count(source, "input names", model.input_names.size(), dim);
  if (model.task == Task::classify) {
    check_count(source, "classes", model.classes.size(), outputs);
    if (std::set<std::string_view>(model.classes.begin(), model.classes.end()).size() != model.classes.size()) {
      refuse(source, "a class twice", "each class once");
    }
  } else {
    check_scaling(model.targets, outputs, "target", source);
    if (!model.target_names.empty()) check_count(source, "target names", model.target_names.size(), outputs);
  }

  constexpr double kLarge = 1e30;
  const sonfin::Hyperparameters& h = model.hyperparameters;
  check_range(source, "consequent rate", h.consequent_rate, 0.0, kLarge);
  check_range(source, "antecedent rate", h.antecedent_rate, 0.0, kLarge);
  check_range(source, "threshold", h.threshold, 0.0, 1.0);
  check_range(source, "overlap", h.overlap, 0.0, kLarge);
  check_range(source, "minimum width", h.minimum_width, 0.0, kLarge);
  check_range(source, "first width", h.first_width, 0.0, kLarge);
  if (h.max_rules < 1) refuse(source, "a cap of " + std::to_string(h.max_rules) + " rules", "at least 1");
  const TrainingState& t = model.training;
  if (t.epochs < 0 || t.position < 0 || t.best_epoch < 0 || t.epochs_without_improvement < 0) {
    refuse(source, "a negative count of epochs or samples", "0 or more");
  }
  if (std::isnan(t.log_threshold) || t.log_threshold > 0.0) {
    refuse(source, "a log threshold of " + std::to_string(t.log_threshold), "at most 0");
  }
}

}  // namespace heddle
