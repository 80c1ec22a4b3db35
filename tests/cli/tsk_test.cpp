// The second network from tuning to rules in words, and what inspect says of both networks.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

/// 64 rows x, y, x y + 0.3 x on a grid over [0, 1] x [0, 1].
std::string surface() {
  std::string rows;
  for (int i = 0; i < 64; ++i) {
    const int row = i / 8, column = i % 8;
    const double x = row / 7.0, y = column / 7.0;
    rows += std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(x * y + 0.3 * x) + "\n";
  }
  return rows;
}

Outcome done(const Workplace& place, const std::vector<std::string>& arguments) {
  Outcome outcome = place.run(arguments);
  CAPTURE(outcome.out);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const std::regex not_a_number(R"(\bnan\b)", std::regex::icase);
  CHECK_FALSE(std::regex_search(outcome.out, not_a_number));
  CHECK_FALSE(std::regex_search(outcome.err, not_a_number));
  return outcome;
}

json quiet_document(const Workplace& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "--quiet"});
  return json::parse(done(place, arguments).out);
}

/// A JSON document has null where a number is not finite.
double finite(const json& number) {
  CAPTURE(number.dump());
  REQUIRE(number.is_number());
  CHECK(std::isfinite(number.get<double>()));
  return number.get<double>();
}

/// What `inspect` says of a model with `rules` rules over `inputs` inputs, in words and as a document.
void check_inspected(const Workplace& place, const std::string& model, const std::string& network, std::size_t rules,
                     std::size_t inputs) {
  const Outcome text = done(place, {"inspect", model});
  CHECK(text.out.find("IF ") != std::string::npos);
  CHECK(text.out.find(" THEN ") != std::string::npos);
  const json inspected = quiet_document(place, {"inspect", model});
  CHECK(inspected["network"] == network);
  REQUIRE(inspected["rules"].size() == rules);
  for (const json& rule : inspected["rules"]) {
    CHECK(text.out.find(rule["words"].get<std::string>()) != std::string::npos);
    REQUIRE(rule["sets"].size() == inputs);
    for (const json& set : rule["sets"]) {
      finite(set["mean"]);
      CHECK(finite(set["standard_deviation"]) > 0.0);
    }
    REQUIRE(!rule["consequents"].empty());
    for (const json& consequent : rule["consequents"]) finite(consequent["constant"]);
  }
}

TEST_CASE("tsk: tune, carry, train, predict, inspect") {
  const Workplace place;
  const std::string data = place.write("data.csv", surface());
  const std::string tuned = place.path("tuned.sqlite").string(), carried = place.path("carried.json").string();
  const std::string other = place.path("other.sqlite").string(), model = place.path("m.heddle").string();

  const json tuning =
      quiet_document(place, {"tune", "--device", "cpu", "--family", "tsk-constant", "--rules", "4", "--dim", "2",
                             "--outputs", "1", "--rows", "64", "--evaluations", "6", "--profiles", tuned});
  REQUIRE(tuning["results"].size() == 1);
  const json& profile = tuning["results"][0]["profile"];
  CHECK(finite(profile["microseconds_per_sample"]) > 0.0);
  CHECK(quiet_document(place, {"profiles", "export", carried, "--profiles", tuned})["exported"] == 1);
  const json imported = quiet_document(place, {"profiles", "import", carried, "--profiles", other});
  REQUIRE(imported["records"].size() == 1);
  CHECK(imported["records"][0]["action"] == "added");

  const json trained =
      quiet_document(place, {"train", data, "--network", "tsk", "--task", "regress", "--sets", "2,2", "--epochs", "20",
                             "--device", "cpu", "--profiles", other, "--model", model});
  CHECK(trained["rules"] == 4);
  REQUIRE(trained["epochs"].size() == 10);
  for (const json& epoch : trained["epochs"]) {
    finite(epoch["train_error"]);
    CHECK(epoch["mappings"][0]["tier"] == "exact");
    CHECK(epoch["mappings"][0]["configuration"] == profile["configuration"]);
  }
  CHECK(finite(trained["epochs"].back()["train_error"]) < finite(trained["epochs"][0]["train_error"]));

  const json predicted = quiet_document(place, {"predict", model, data, "--device", "cpu", "--profiles", other});
  REQUIRE(predicted["predictions"].size() == 64);
  for (const json& row : predicted["predictions"]) finite(row[0]);
  CHECK(finite(predicted["rmse"]) < 0.1);  // the surface goes from 0 to 1.3
  check_inspected(place, model, "tsk", 4, 2);
}

TEST_CASE("tsk: a name of a network that there is not, and sets that the inputs do not fit") {
  const Workplace place;
  const std::string data = place.write("data.csv", surface());
  check_refused(place.run({"train", data, "--network", "tks", "--device", "cpu"}), 2, {"tks", "tsk"});
  check_refused(place.run({"train", data, "--network", "tsk", "--task", "regress", "--sets", "2,2,2", "--device", "cpu",
                           "--json"}),
                2, {"--sets", "3 numbers", "2 inputs"});
}

TEST_CASE("tsk: trains on the emulator") {
  const Workplace place;
  const std::string data = place.write("data.csv", surface()), model = place.path("m.heddle").string();
  const json trained =
      quiet_document(place, {"train", data, "--network", "tsk", "--task", "regress", "--sets", "2", "--epochs", "1",
                             "--device", "emulator", "--profiles", place.path("none").string(), "--model", model});
  CHECK(trained["rules"] == 4);
  finite(trained["epochs"][0]["train_error"]);
  check_inspected(place, model, "tsk", 4, 2);
}

TEST_CASE("sonfin: inspect") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(60, 3, 2, 5)), model = place.path("m.heddle").string();
  const json trained = quiet_document(place, {"train", data, "--max-rules", "5", "--epochs", "2", "--device", "cpu",
                                              "--profiles", place.path("none").string(), "--model", model});
  finite(trained["epochs"].back()["train_error"]);
  check_inspected(place, model, "sonfin", trained["rules"].get<std::size_t>(), 3);
}

}  // namespace
}  // namespace heddle::test
