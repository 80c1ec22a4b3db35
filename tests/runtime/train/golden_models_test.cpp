// Models that earlier versions of heddle have saved: they predict what they predicted then, and training goes on.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "heddle/runtime/data/data_file.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/model/cbor_map.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/rule_predictor.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu;

std::filesystem::path golden_file(const std::string& name) { return std::filesystem::path(HEDDLE_GOLDEN) / name; }

Dataset rows_for(const Model& model, const std::string& file) {
  return load_dataset(golden_file(file),
                      {.task = model.task, .header = Header::present, .expected = model.expectation()});
}

std::vector<float> outputs_of(const Model& model, const Dataset& data) {
  return predict(*trainer(model.kind()).predictor(cpu(), {}, model.network, {}), model, data);
}

std::vector<std::string> lines_after_header(const std::string& file) {
  std::ifstream stream(golden_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  REQUIRE(!lines.empty());
  lines.erase(lines.begin());
  return lines;
}

struct Golden {
  std::string model, rows, predictions;
};
const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all{{"sonfin-trained.1.heddle", "classes.csv", "sonfin-trained.1.csv"},
                                       {"tsk-constant.1.heddle", "classes.csv", "tsk-constant.1.csv"},
                                       {"tsk-linear.1.heddle", "curve.csv", "tsk-linear.1.csv"}};
  return all;
}

TEST_CASE("models of format 1 predict what they predicted when they were saved") {
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.model);
    const Model model = load_model(golden_file(golden.model));
    const Dataset data = rows_for(model, golden.rows);
    const std::vector<float> outputs = outputs_of(model, data);
    const std::vector<std::string> expected = lines_after_header(golden.predictions);
    const std::vector<float> values = model.task == Task::regress ? model.targets.invert(outputs) : outputs;
    const std::vector<std::int32_t> classes = predicted_classes(outputs, model.outputs());
    REQUIRE(expected.size() == classes.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (model.task == Task::classify) {
        CHECK(model.classes[static_cast<std::size_t>(classes[i])] == expected[i]);
      } else {  // another instruction set rounds in another order
        CHECK(static_cast<double>(values[i]) == doctest::Approx(std::stod(expected[i])).epsilon(1e-4));
      }
    }
  }
}

/// Outputs of a network of format 1 as heddle computed them then: with the numbers of the file as they are. Linear
/// consequents: the averages of their numbers, combined with the row.
std::vector<float> outputs_of_format_1(const nlohmann::json& network, const std::vector<float>& rows) {
  const auto whole = [&](const char* name) { return network.value(name, std::int64_t{0}); };
  const std::int64_t dim = whole("dim"), outputs = whole("outputs");
  const bool linear = whole("order") == 1;
  const sonfin::Network same{.dim = dim,
                             .outputs = outputs * (linear ? 1 + dim : 1),
                             .centres = *unpacked<float>(network["centres"]),
                             .widths = *unpacked<float>(network["widths"]),
                             .consequents = *unpacked<float>(network["consequents"])};
  std::vector<float> averages = RulePredictor(cpu(), {}, dim, same.outputs, same.rules()).predict(same, rows);
  if (!linear) return averages;
  std::vector<float> result;
  result.reserve(averages.size());
  for (std::size_t row = 0; row < rows.size() / static_cast<std::size_t>(dim); ++row) {
    const float* z = averages.data() + row * static_cast<std::size_t>(same.outputs);
    for (std::int64_t l = 0; l < outputs; ++l) {
      double sum = static_cast<double>(z[l]);
      for (std::int64_t j = 0; j < dim; ++j) {
        sum += static_cast<double>(z[(j + 1) * outputs + l]) *
               static_cast<double>(rows[row * static_cast<std::size_t>(dim) + static_cast<std::size_t>(j)]);
      }
      result.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

TEST_CASE("predictions with a model of format 1 are those of its own numbers, bit for bit") {
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.model);
    const Model model = load_model(golden_file(golden.model));
    const Dataset data = rows_for(model, golden.rows);
    const nlohmann::json file = nlohmann::json::from_cbor(read_file(golden_file(golden.model)));
    const nlohmann::json body = nlohmann::json::from_cbor(file["body"].get_binary());
    CHECK(outputs_of(model, data) == outputs_of_format_1(body["network"], network_inputs(model, data)));
  }
}

TEST_CASE("training goes on from a model of format 1, and the same from that model in today's format") {
  for (const Golden& golden : goldens()) {
    CAPTURE(golden.model);
    const Model model = load_model(golden_file(golden.model));
    const Model saved = decode_model(encode_model(model), "saved");
    const Dataset data = rows_for(model, golden.rows);
    const Trainer& of = trainer(model.kind());
    TrainingJob job = test::job(of, data, {{"epochs", std::to_string(model.training.epochs + 4)}});
    const auto go_on = [&](const Model& from) {
      job.resume = &from;
      return of.train(cpu(), {}, job).model;
    };
    const Model a = go_on(model), b = go_on(saved);
    REQUIRE(a.training.history.size() == static_cast<std::size_t>(model.training.epochs) + 4);
    CHECK(a.training.history.back().train_error < model.training.history.front().train_error);
    CHECK(a.training.history.back().train_error == b.training.history.back().train_error);
    CHECK(outputs_of(a, data) == outputs_of(b, data));
  }
}

TEST_CASE("every kind of network has a trainer of its name") {
  CHECK(trainers().size() == std::variant_size_v<AnyNetwork>);
  const auto check_kind = [](const auto& network) { CHECK(trainer(network.kName).name() == network.kName); };
  check_kind(SonfinModel());
  check_kind(TskModel());
}

}  // namespace
}  // namespace heddle
