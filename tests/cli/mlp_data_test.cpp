// Data of perceptrons from the command line: words, formats, subsets, weights, folds; and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

/// Rows whose class is decided by a word and a number.
std::string people(int rows, const std::string& odd = "") {
  static const char* const kJobs[] = {"clerk", "smith", "nurse"};
  std::string text = "age,job,income\n";
  for (int i = 0; i < rows; ++i) {
    const int job = i % 3, age = 20 + (i * 7) % 40;
    text += std::to_string(age) + "," + (odd.empty() || i > 0 ? kJobs[job] : odd) + "," +
            (job == 1 || age > 50 ? "high" : "low") + "\n";
  }
  return text;
}

std::vector<std::string> train(const std::string& data, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"train", data, "--network", "mlp", "--device", "cpu", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// As check_refused(), where the data was already read and a line was printed about it.
void check_refused_later(const Outcome& outcome, int code, const std::vector<std::string>& words) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  for (const std::string& word : words) CHECK(outcome.err.find(word) != std::string::npos);
}

TEST_CASE("words among the inputs are learnt, kept in the model, and predicted with") {
  const Workplace place;
  const std::string data = place.write("people.csv", people(240)), model = place.path("m.heddle").string();
  check_refused(place.run(train(data, {"--model", model})), 3, {"people.csv:2:2", "'clerk'"});
  for (const char* how : {"index", "one-hot"}) {
    CAPTURE(how);
    const Outcome trained = place.run(train(data, {"--model", model, "--categories", how, "--rate", "0.02", "--json"}));
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(json::parse(trained.out)["data"]["dim"] == (std::string(how) == "index" ? 2 : 4));
    const Outcome predicted = place.run({"predict", model, data, "--device", "cpu", "--json"});
    REQUIRE(predicted.code == 0);
    CHECK(json::parse(predicted.out)["accuracy"].get<double>() > 0.9);
    const std::string odd = place.write("odd.csv", people(6, "pilot"));
    const Outcome unseen = place.run({"predict", model, odd, "--device", "cpu"});
    if (std::string(how) == "index") {
      check_refused(unseen, 3, {"odd.csv:2:2", "'pilot'", "clerk, nurse, smith"});
    } else {
      CHECK(unseen.code == 0);
      CHECK(unseen.err.find("'pilot'") != std::string::npos);
    }
    const Outcome missing = place.run({"predict", model, place.write("gap.csv", people(6, "?")), "--device", "cpu"});
    check_refused(missing, 3, {"gap.csv:2:2", "job (1)"});
  }
}

TEST_CASE("rows go from format to format, and every network learns from all of them") {
  const Workplace place;
  const std::string data = place.write("people.csv", people(60));
  for (const char* format : {"fann", "toman", "table"}) {
    CAPTURE(format);
    const std::string file = place.path(format).string();
    const Outcome converted = place.run(
        {"convert", data, "--categories", "one-hot", "--to", format, "--output", file, "--rows", "50", "--json"});
    CAPTURE(converted.err);
    REQUIRE(converted.code == 0);
    CHECK(json::parse(converted.out)["rows"] == 50);
    for (const char* network : {"sonfin", "tsk", "mlp"}) {
      const Outcome trained =
          place.run({"train", file, "--network", network, "--device", "cpu", "--epochs", "2", "--rows", "40", "--json",
                     "--quiet", "--model", place.path("m.heddle").string()});
      CAPTURE(trained.err);
      REQUIRE(trained.code == 0);
      CHECK(json::parse(trained.out)["data"]["train_rows"] == 40);
    }
  }
  check_refused(place.run({"convert", data, "--to", "fann", "--output", data}), 2, {"--output"});
  check_refused(place.run({"convert", data, "--to", "json", "--output", place.path("x").string()}), 2,
                {"--to", "json"});
  const std::string lying = place.write("lying.fann", "3 2 1\n0 0\n0\n0 1\n1\n");
  check_refused(place.run(train(lying, {})), 3, {"lying.fann:5:1", "row 3"});
  check_refused(place.run(train(data, {"--rows", "61", "--categories", "index"})), 2, {"--rows", "60"});
}

TEST_CASE("an index of a class is its place among the sorted ones, in whatever order a file has their outputs") {
  const Workplace place;
  const std::string data = place.write("classes.toman", "1\nx 0 9\n2\nq 0 1\np 0 1\n2\n5 | 1 0\n6 | 0 1\n"),
                    file = place.path("numbers.csv").string();
  REQUIRE(place.run({"convert", data, "--classes", "index", "--to", "table", "--output", file}).code == 0);
  CHECK(place.read("numbers.csv") == "x,y1\n5,1\n6,0\n");
}

TEST_CASE("two classes become one output of 0 or 1, which a sigmoid learns") {
  const Workplace place;
  const std::string data = place.write("people.csv", people(240)), model = place.path("m.heddle").string();
  for (const char* format : {"fann", "toman", "table"}) {
    CAPTURE(format);
    const std::string file = place.path(format).string();
    const Outcome converted = place.run(
        {"convert", data, "--categories", "one-hot", "--classes", "index", "--to", format, "--output", file, "--json"});
    CAPTURE(converted.err);
    REQUIRE(converted.code == 0);
    CHECK(json::parse(converted.out)["outputs"] == 1);
    const Outcome trained =
        place.run(train(file, {"--task", "regress", "--hidden", "sigmoid", "--output", "sigmoid", "--layers", "10",
                               "--rate", "0.05", "--metrics", "--json", "--model", model}));
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    const json document = json::parse(trained.out);
    CHECK(document["size"] == "4-10-1");
    CHECK(document["metrics"]["outputs"][0]["r2"].get<double>() > 0.8);
    // "high" comes before "low": 0 and 1, in the order of the rows.
    const Outcome predicted = place.run({"predict", model, file, "--device", "cpu", "--json"});
    REQUIRE(predicted.code == 0);
    const json numbers = json::parse(predicted.out)["predictions"];
    REQUIRE(numbers.size() == 240);
    CHECK(numbers[0][0].get<double>() > 0.5);  // 20 years and a clerk: low
    CHECK(numbers[1][0].get<double>() < 0.5);  // a smith: high
  }
  check_refused(
      place.run({"convert", data, "--classes", "words", "--to", "fann", "--output", place.path("x").string()}), 2,
      {"--classes", "words"});
  check_refused(place.run({"convert", data, "--classes", "index", "--task", "regress", "--to", "fann", "--output",
                           place.path("x").string()}),
                2, {"--classes", "--task regress"});
}

TEST_CASE("weights are printed as text and begun with; those of another network are refused") {
  const Workplace place;
  const std::string data = place.write("people.csv", people(60)), model = place.path("m.heddle").string();
  const std::vector<std::string> begin{"--categories", "index", "--layers", "3", "--model", model, "--epochs", "3"};
  REQUIRE(place.run(train(data, begin)).code == 0);
  const Outcome printed = place.run({"inspect", model, "--weights"});
  REQUIRE(printed.code == 0);
  check_refused(place.run({"inspect", model, "--weights", "--json"}), 2, {"--json", "--weights"});
  const std::string weights = place.write("w.txt", printed.out);
  std::vector<std::string> again = begin;
  again.insert(again.end(), {"--weights", weights});
  REQUIRE(place.run(train(data, again)).code == 0);
  again[3] = "4";
  check_refused_later(place.run(train(data, again)), 3, {"w.txt:", "2-4-2"});
  check_refused_later(place.run({"train", data, "--categories", "index", "--weights", weights, "--device", "cpu"}), 2,
                      {"--weights", "mlp"});
}

TEST_CASE("folds: a line each, mean and spread") {
  const Workplace place;
  const std::string data = place.write("people.csv", people(60));
  const std::vector<std::string> folds{"--categories", "one-hot", "--folds", "5", "--epochs", "4", "--metrics"};
  const Outcome text = place.run(train(data, folds));
  CAPTURE(text.err);
  REQUIRE(text.code == 0);
  CHECK(text.out.find("5 folds: mean accuracy") != std::string::npos);
  CHECK(text.out.find("precision") != std::string::npos);
  std::vector<std::string> arguments = train(data, folds);
  arguments.emplace_back("--json");
  const Outcome document = place.run(arguments);
  REQUIRE(document.code == 0);
  const json all = json::parse(document.out);
  CHECK(all["folds"].size() == 5);
  CHECK(all["metrics"]["rows"] == 60);
  CHECK(all["spread"].is_number());
  check_refused(place.run(train(data, {"--folds", "5", "--model", "m", "--categories", "index"})), 2,
                {"--model", "--folds"});
  check_refused(place.run(train(data, {"--folds", "1"})), 2, {"--folds"});
}

TEST_CASE("folds: what is finished is told where a later fold fails") {
  const Workplace place;
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += (i == 5 ? "1e38" : std::to_string(i % 7)) + "," + std::to_string(i % 5) + "," + std::to_string(i) + "\n";
  }
  const std::string data = place.write("outlier.csv", text);
  std::size_t finished = 0;
  for (const char* seed : {"1", "2", "3", "4"}) {  // which decides the fold that tests the outlier
    const std::vector<std::string> arguments{"train",    data,     "--network", "mlp",     "--device",
                                             "cpu",      "--task", "regress",   "--folds", "4",
                                             "--epochs", "2",      "--seed",    seed};
    const Outcome outcome = place.run(arguments);
    CHECK(outcome.code == 3);
    std::size_t before = 0;  // folds that were finished
    for (std::size_t at = 0; (at = outcome.out.find("completed\n", at)) != std::string::npos; ++at) ++before;
    CHECK(outcome.err.starts_with("heddle: fold " + std::to_string(before + 1) + " of 4: " + data +
                                  ": found 1e+38 in row 6"));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    const bool some = before > 0;
    CHECK(some == (outcome.out.find(before == 1 ? "1 fold: mean RMSE" : " folds: mean RMSE") != std::string::npos));
    if (!some) continue;
    ++finished;
    std::vector<std::string> as_document = arguments;
    as_document.emplace_back("--json");
    const Outcome document = place.run(as_document);
    CHECK(document.code == 3);
    const json kept = json::parse(document.out);
    CHECK(kept["folds"].size() == before);
    CHECK(kept["mean"].is_number());
  }
  CHECK(finished > 0);
}

TEST_CASE("data that perceptrons cannot learn") {
  const Workplace place;
  const std::string one = place.write("one.csv", "1,2,a\n2,3,a\n"),
                    numbers = place.write("numbers.csv", "1,2,5\n2,3,7\n3,4,9\n");
  check_refused(place.run(train(one, {})), 3, {"one.csv", "one class"});
  check_refused_later(place.run(train(numbers, {"--task", "regress", "--output", "sigmoid", "--target-scale", "none"})),
                      3, {"numbers.csv", "0 to 1"});
  std::string many = "1";
  for (int i = 0; i < 199; ++i) many += ",1";
  check_refused_later(place.run(train(numbers, {"--layers", many})), 2, {"--layers", "200 hidden layers"});
}

TEST_CASE("a rate that diverges later leaves the best weights and a line") {
  const Workplace place;
  const std::string model = place.path("m.heddle").string();
  std::string text;
  for (int i = 0; i < 64; ++i)
    text += std::to_string(i % 8) + "," + std::to_string(i / 8) + "," + std::to_string(i % 8 + i / 8) + "\n";
  const std::string data = place.write("sums.csv", text);
  const Outcome outcome =
      place.run(train(data, {"--task", "regress", "--rule", "plain", "--rate", "3", "--hidden", "linear", "--layers",
                             "4", "--epochs", "400", "--report", "1", "--model", model}));
  CAPTURE(outcome.err);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find("--rate") != std::string::npos);
  // With no better weights than the first, too, there is a model.
  for (const char* device : {"cpu", "emulator"}) {
    std::string weights, line;
    for (const char* report : {"0", "1"}) {
      CAPTURE(device);
      const std::string first = place.path("first.heddle").string();
      const Outcome at_once =
          place.run({"train",    data,    "--network", "mlp",  "--device", device,   "--task",   "regress",
                     "--rule",   "plain", "--rate",    "1e6",  "--hidden", "linear", "--layers", "4",
                     "--epochs", "400",   "--report",  report, "--model",  first,    "--quiet"});
      check_refused_later(at_once, 3, {"training diverged in epoch", "--rate", "before the first epoch"});
      const Outcome printed = place.run({"inspect", first, "--weights"});
      REQUIRE(printed.code == 0);
      if (weights.empty()) {
        weights = printed.out;
        line = at_once.err;
      }
      CHECK(printed.out == weights);
      CHECK(at_once.err == line);
    }
  }
  const Outcome folds =
      place.run(train(data, {"--task", "regress", "--rule", "plain", "--rate", "3", "--hidden", "linear", "--layers",
                             "4", "--epochs", "400", "--report", "1", "--folds", "3"}));
  CHECK(folds.code == 3);
  CHECK(folds.err.find("training diverged in 3 of 3 folds") != std::string::npos);
  // Rows that are kept back, too, leave a table of all folds and no numbers that are none.
  const Outcome held_back = place.run(
      train(data, {"--rule", "plain", "--rate", "1e4", "--validation", "0.2", "--folds", "5", "--metrics", "--json"}));
  check_refused_later(held_back, 3, {"training diverged in 5 of 5 folds"});
  const json table = json::parse(held_back.out);
  REQUIRE(table["folds"].size() == 5);
  for (const json& fold : table["folds"]) CHECK(fold["test"]["error"].is_number());
  CHECK(table["metrics"]["rows"] == 64);
  const Outcome predicted = place.run({"predict", model, data, "--device", "cpu", "--json"});
  REQUIRE(predicted.code == 0);
  CHECK(predicted.out.find("nan") == std::string::npos);
}

}  // namespace
}  // namespace heddle::test
