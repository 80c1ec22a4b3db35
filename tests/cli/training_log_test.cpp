// heddle train --log: what is in it, and that nothing is lost when something goes wrong.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;

std::vector<Json> events(const Workplace& place, const std::string& file) {
  std::istringstream text(place.read(file));
  std::vector<Json> all;
  for (std::string line; std::getline(text, line);) all.push_back(Json::parse(line));
  return all;
}

std::vector<Json> of_kind(const std::vector<Json>& events, const std::string& kind) {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event.at("event") == kind) found.push_back(event);
  }
  return found;
}

std::vector<std::string> logged(const std::string& data, const std::string& network, const std::string& epochs) {
  return {"train", data, "--device", "cpu", "--network", network, "--epochs", epochs, "--log", "log", "--json"};
}

TEST_CASE("log and model are two files, also where neither is there yet") {
  const Workplace place;
  check_refused(place.run({"train", place.write("data.csv", table(40, 3, 2, 1)), "--device", "cpu", "--model", "m",
                           "--log", "./m"}),
                2, {"--log", "'./m'"});
}

TEST_CASE("the log of every network has each epoch, the networks and the metrics as the document says") {
  for (const std::string network : {"sonfin", "tsk", "mlp"}) {
    CAPTURE(network);
    const Workplace place;
    const std::string data = place.write("data.csv", table(300, 3, 2, 1));
    const Outcome outcome = place.run(logged(data, network, "20"));
    REQUIRE(outcome.code == 0);
    const Json document = Json::parse(outcome.out);
    const std::vector<Json> all = events(place, "log");
    CHECK(all.front().at("event") == "begin");
    CHECK(all.front().at("network") == network);
    CHECK(all.front().at("options").at("epochs") == 20);
    CHECK(all.front().at("data") == document.at("data"));
    CHECK(all.front().at("inputs").size() == 3);
    const std::vector<Json> epochs = of_kind(all, "epoch");
    REQUIRE(epochs.size() == 20);
    for (std::size_t i = 0; i < epochs.size(); ++i) CHECK(epochs[i].at("epoch") == i + 1);
    for (const Json& reported : document.at("epochs")) {
      const Json& line = epochs.at(reported.at("epoch").get<std::size_t>() - 1);
      CHECK(line.at("train_error") == reported.at("train_error"));
      CHECK(line.at("mappings") == reported.at("mappings"));
    }
    const std::vector<Json> networks = of_kind(all, "model");
    REQUIRE(!networks.empty());
    CHECK(networks.back().at("moment") == "after");
    const Json& end = all.back();
    CHECK(end.at("event") == "end");
    CHECK(end.at("ending") == "completed");
    CHECK(end.at("metrics").at("confusion").size() == 2);
    if (network != "mlp") {
      REQUIRE(networks.size() == 2);
      CHECK(networks.front().at("moment") == "before");
      CHECK(networks.front().at("epoch") == (network == "sonfin" ? 1 : 0));
      const Outcome inspected = place.run({"inspect", "model.heddle", "--json"});
      CHECK(Json::parse(inspected.out).at("rules") == networks.back().at("rules"));
    }
  }
}

TEST_CASE("a log is appended to, has one writer, and is nobody else's file") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(300, 3, 2, 1));
  REQUIRE(place.run(logged(data, "sonfin", "2")).code == 0);
  const Process first = place.start(logged(data, "sonfin", "1000000"));
  place.wait_for(place.path("log").string(), R"("epoch":3,)");
  check_refused(place.run(logged(data, "sonfin", "2")), 3, {"cannot write 'log'", "another process writes it"});
  kill(first.id, SIGINT);
  CHECK(place.wait(first).code == 130);
  const std::vector<Json> all = events(place, "log");
  CHECK(of_kind(all, "begin").size() == 2);
  CHECK(all.back().at("event") == "end");
  CHECK(all.back().at("ending") == "stopped");
  CHECK(of_kind(all, "model").back().at("moment") == "after");

  std::vector<std::string> mixed = logged(data, "sonfin", "2");
  mixed[9] = place.write("other.csv", "1,2\n");
  check_refused(place.run(mixed), 3, {"other.csv", "there is something else in it"});
  CHECK(place.read("other.csv") == "1,2\n");
  mixed[9] = data;
  check_refused(place.run(mixed), 2, {"option --log", "expected another file"});
}

TEST_CASE("a log that the disk does not take costs neither the model nor a line") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(300, 3, 2, 1));
  std::vector<std::string> full = logged(data, "sonfin", "3");
  full[9] = "/dev/full";
  full.pop_back();
  const Outcome outcome = place.run(full);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.starts_with(
      "heddle: cannot write '/dev/full': No space left on device; the rest of the log is in '"));
  CHECK(outcome.err.find("; the model is kept in model.heddle\n") != std::string::npos);
  const std::size_t start = outcome.err.find("is in '") + 7;
  const std::filesystem::path kept = outcome.err.substr(start, outcome.err.find('\'', start) - start);
  std::ifstream file(kept);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) CHECK(Json::parse(line).contains("event"));
  CHECK(lines >= 7);  // begin, three epochs, two networks, end
  std::filesystem::remove_all(kept.parent_path());
  CHECK(place.run({"predict", "model.heddle", data, "--device", "cpu", "--output", "o"}).code == 0);
}

}  // namespace
}  // namespace heddle::test
