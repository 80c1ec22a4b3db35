// Multilayer perceptrons from the command line: training, metrics, prediction, and what is refused.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

/// Rows of two classes: within a circle or not.
std::string rings() {
  std::string rows;
  for (int i = 0; i < 15; ++i) {
    for (int j = 0; j < 15; ++j) {
      const double x = i / 7.0 - 1.0, y = j / 7.0 - 1.0;
      rows += std::to_string(x) + "," + std::to_string(y) + "," + (x * x + y * y < 0.5 ? "inside" : "outside") + "\n";
    }
  }
  return rows;
}

TEST_CASE("a perceptron learns, is measured, inspected, and predicts what training said") {
  Workplace place;
  place.write("rings.csv", rings());
  const Outcome trained = place.run({"train", "rings.csv", "--network", "mlp", "--layers", "12,6", "--rate", "0.01",
                                     "--device", "cpu", "--metrics", "--json", "--quiet"});
  CAPTURE(trained.err);
  REQUIRE(trained.code == 0);
  const json document = json::parse(trained.out);
  CHECK(document["network"] == "mlp");
  CHECK(document["size"] == "2-12-6-2");
  const json& metrics = document["metrics"];
  CHECK(metrics["accuracy"].get<double>() > 0.95);
  REQUIRE(metrics["confusion"].size() == 2);
  const Outcome predicted = place.run({"predict", "model.heddle", "rings.csv", "--device", "cpu", "--metrics",
                                       "--output", "out.csv", "--json", "--quiet"});
  REQUIRE(predicted.code == 0);
  CHECK(json::parse(predicted.out)["metrics"] == metrics);
  const Outcome inspected = place.run({"inspect", "model.heddle", "--json"});
  REQUIRE(inspected.code == 0);
  CHECK(json::parse(inspected.out)["layers"] == json({2, 12, 6, 2}));
  const Outcome resumed =
      place.run({"train", "rings.csv", "--resume", "model.heddle", "--epochs", "110", "--device", "cpu", "--metrics"});
  CHECK(resumed.code == 0);
  CHECK(resumed.out.find("precision") != std::string::npos);
}

TEST_CASE("the neurons of a layer, and those that give 0 or 1, are told as the printed weights have them") {
  Workplace place;
  place.write("xor.csv", "0,0,even\n0,1,odd\n1,0,odd\n1,1,even\n");
  // Two layers: x or y, x and y; then the first without the second.
  place.write("weights", "-10 20 20\n-30 20 20\n10 -20 20\n-10 20 -20\n");
  REQUIRE(place
              .run({"train",    "xor.csv", "--network", "mlp",  "--layers",  "2",       "--hidden", "sigmoid",
                    "--output", "sigmoid", "--scale",   "none", "--weights", "weights", "--rule",   "plain",
                    "--rate",   "1e-6",    "--epochs",  "1",    "--device",  "cpu"})
              .code == 0);
  const auto told = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"predict", "model.heddle", "xor.csv", "--device", "cpu", "--json", "--quiet"});
    const Outcome outcome = place.run(options);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return json::parse(outcome.out);
  };
  const json hidden = told({"--layer", "1"});
  CHECK(hidden["layer"] == 1);
  CHECK(hidden["task"] == "classify");
  CHECK(hidden["accuracy"].is_null());
  REQUIRE(hidden["predictions"].size() == 4);
  CHECK(hidden["predictions"][1][0].get<double>() == doctest::Approx(0.9999546).epsilon(1e-5));  // 1 / (1 + e^-10)
  CHECK(hidden["predictions"][1][1].get<double>() == doctest::Approx(4.5398e-5).epsilon(1e-3));  // 1 / (1 + e^10)
  CHECK(told({"--layer", "1", "--threshold"})["predictions"] == json({{0, 0}, {1, 0}, {1, 0}, {1, 1}}));
  CHECK(told({"--layer", "2", "--threshold"})["predictions"] == json({{1, 0}, {0, 1}, {0, 1}, {1, 0}}));
  const json classes = told({"--threshold"});
  CHECK(classes["predictions"] == json({"even", "odd", "odd", "even"}));
  CHECK(classes["accuracy"] == 1.0);
  const Outcome beyond = place.run({"predict", "model.heddle", "xor.csv", "--device", "cpu", "--layer", "3"});
  CHECK(beyond.code == 2);
  CHECK(beyond.err == "heddle: option --layer: found 3, expected 1 to 2 for the layers 2-2-2 of model.heddle\n");
  REQUIRE(place.run({"train", "xor.csv", "--epochs", "1", "--device", "cpu", "--model", "rules.heddle"}).code == 0);
  const Outcome rules = place.run({"predict", "rules.heddle", "xor.csv", "--device", "cpu", "--threshold"});
  CHECK(rules.code == 2);
  CHECK(rules.err.find("expected one of mlp\n") != std::string::npos);
}

TEST_CASE("what a perceptron cannot do is one line and an exit code") {
  Workplace place;
  place.write("rings.csv", rings());
  struct Case {
    std::vector<std::string> options;
    int code;
    std::string says;
  };
  for (const Case& each :
       {Case{{"--layers", "0"}, 2, "--layers"}, Case{{"--layers", "10000000"}, 2, "--layers"},
        Case{{"--layers", "1,1,1,1,1,1,1,1,1"}, 2, "--layers"},
        Case{{"--rule", "adaptive", "--batch", "8"}, 2, "--batch"},
        Case{{"--rule", "plain", "--rate", "1e6", "--hidden", "linear", "--output", "linear"}, 3, "--rate"},
        Case{{"--step-size", "0.5"}, 2, "--step-size"}}) {
    std::vector<std::string> arguments{"train", "rings.csv", "--network", "mlp", "--device", "cpu"};
    arguments.insert(arguments.end(), each.options.begin(), each.options.end());
    const Outcome outcome = place.run(arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.code == each.code);
    CHECK(outcome.err.find(each.says) != std::string::npos);
  }
}

TEST_CASE("a perceptron learns with the kernels for GPUs as it does on the CPU") {
  Workplace place;
  place.write("rings.csv", rings());
  for (const char* device : {"cpu", "emulator"}) {
    const Outcome trained = place.run({"train", "rings.csv", "--network", "mlp", "--device", device, "--layers", "5,3",
                                       "--rule", "rprop", "--epochs", "2", "--model", std::string(device) + ".heddle"});
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    const Outcome predicted = place.run({"predict", std::string(device) + ".heddle", "rings.csv", "--device", "cpu",
                                         "--output", std::string(device) + ".csv"});
    CAPTURE(predicted.err);
    REQUIRE(predicted.code == 0);
  }
  CHECK(place.read("emulator.csv") == place.read("cpu.csv"));
}

}  // namespace
}  // namespace heddle::test
