#include "heddle/runtime/model/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <variant>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/runtime/model/checks.hpp"

namespace heddle {
namespace {

void check_scaling(const Scaling& scaling, std::int64_t columns, std::string_view what, const std::string& source) {
  // Made from float32 values, whose differences are 0 or from 1e-45 to 7e38.
  constexpr double kLargestOffset = 1e39, kLeastFactor = 1e-50, kLargestFactor = 1e50;
  require(source, wrong_count(fmt::format("{} offsets", what), scaling.offset.size(), columns));
  require(source, wrong_count(fmt::format("{} factors", what), scaling.factor.size(), columns));
  require(source,
          out_of_range(fmt::format("{} offset", what), std::span<const double>(scaling.offset), 0.0, kLargestOffset));
  std::vector<double> factors = scaling.factor;
  std::replace(factors.begin(), factors.end(), 0.0, 1.0);  // of a constant column
  require(source,
          out_of_range(fmt::format("{} factor", what), std::span<const double>(factors), kLeastFactor, kLargestFactor));
}

void check_coding(const InputCoding& coding, std::int64_t dim, const std::string& source) {
  if (coding.columns.empty()) return;
  require(source, wrong_count("inputs of its columns", at(coding.inputs()), dim));
  if (coding.categories == Categories::refused) refuse_model(source, "categories without a coding", "index or one-hot");
  for (const std::vector<std::string>& words : coding.columns) {
    if (doubled(words) != nullptr) refuse_model(source, "a category twice", "each once");
  }
}

}  // namespace

std::string_view Model::kind() const {
  return std::visit([](const auto& own) -> std::string_view { return own.kName; }, network);
}
std::int64_t Model::dim() const {
  return std::visit([](const auto& own) { return own.dim(); }, network);
}
std::int64_t Model::outputs() const {
  return std::visit([](const auto& own) { return own.outputs(); }, network);
}
NetworkSize Model::size() const {
  return std::visit([](const auto& own) { return own.size(); }, network);
}
std::string Model::unready() const {
  return std::visit([](const auto& own) { return own.unready(); }, network);
}
double Model::largest_input() const {
  return std::visit([](const auto& own) { return own.largest_input(); }, network);
}

Expectation Model::expectation() const {
  return {.dim = dim(),
          .classes = classes,
          .targets_per_row = task == Task::regress ? outputs() : 0,
          .coding = coding,
          .input_names = input_names,
          .target_names = target_names};
}

void check_rows(const Model& model, const Dataset& data, double largest) {
  model.inputs.check(data.values(), data.source, largest, data.numbers);
  if (model.task == Task::regress) {
    model.targets.check(data.targets, data.source, std::numeric_limits<float>::max(), data.numbers);
  }
}

std::vector<float> network_inputs(const Model& model, const Dataset& data) {
  if (data.dim != model.dim()) {
    throw Error(ErrorKind::input, fmt::format("{}: found {} a row, expected {} as the model was taught with",
                                              data.source, counted(data.dim, "input"), model.dim()));
  }
  return model.inputs.apply(data.values(), data.source, model.largest_input(), data.numbers);
}

std::vector<float> network_targets(const Model& model, const Dataset& data) {
  if (model.task == Task::regress) {
    return model.targets.apply(data.targets, data.source, std::numeric_limits<float>::max(), data.numbers);
  }
  const auto outputs = static_cast<std::size_t>(model.outputs());
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
  std::visit([&](const auto& own) { own.check(source); }, model.network);
  const std::int64_t dim = model.dim(), outputs = model.outputs();
  check_scaling(model.inputs, dim, "input", source);
  check_coding(model.coding, dim, source);
  if (!model.input_names.empty()) require(source, wrong_count("input names", model.input_names.size(), dim));
  if (model.task == Task::classify) {
    require(source, wrong_count("classes", model.classes.size(), outputs));
    if (doubled(model.classes) != nullptr) refuse_model(source, "a class twice", "each class once");
  } else {
    check_scaling(model.targets, outputs, "target", source);
    if (!model.target_names.empty()) require(source, wrong_count("target names", model.target_names.size(), outputs));
  }
  const TrainingState& t = model.training;
  if (t.epochs < 0 || t.position < 0 || t.best_epoch < 0 || t.epochs_without_improvement < 0) {
    refuse_model(source, "a negative count of epochs or samples", "0 or more");
  }
  if (t.best_epoch > t.epochs) refuse_model(source, "a best epoch after the last", "one of those done");
  if (!std::isfinite(t.partial_loss) || !std::isfinite(t.best_error)) {
    refuse_model(source, "an error that is not finite", "a finite number");
  }
}

}  // namespace heddle
