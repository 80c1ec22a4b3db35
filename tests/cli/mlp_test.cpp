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
        Case{{"--rule", "plain", "--rate", "1e6", "--hidden", "linear", "--output", "linear"}, 2, "--rate"},
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
