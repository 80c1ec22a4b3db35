// The device for finding faults: it runs what others run, says what it is for, and leaves nothing behind.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

constexpr const char* kRemark = "its times mean nothing";

TEST_CASE("emulator: listed last, with what it is for") {
  const Workplace place;
  const json devices = json::parse(place.run({"devices", "--json"}).out)["devices"];
  CHECK(devices.back()["label"] == "emulator");
  CHECK(devices.back()["remark"].get<std::string>().find(kRemark) != std::string::npos);
  check_refused(place.run({"train", place.write("d.csv", table(10, 3, 2, 1)), "--device", "emulator:42"}), 4,
                {"emulator:42", "emulator:90"});
}

TEST_CASE("emulator: tune keeps no profile and says so") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  const Outcome outcome = place.run({"tune", "--device", "emulator", "--family", "sonfin-train", "--rules", "5",
                                     "--dim", "3", "--outputs", "2", "--evaluations", "3", "--profiles", file});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find(kRemark) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("tune on several devices: two of one model share out the problems, another one has its own") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  const Outcome outcome =
      place.run({"tune", "--device", "emulator,cpu,emulator", "--family", "sonfin-train", "--rules", "5,6,7", "--dim",
                 "3", "--outputs", "2", "--evaluations", "9", "--profiles", file, "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json document = json::parse(outcome.out);
  CHECK(document["devices"].size() == 3);
  CHECK(document["problems"] == 6);
  std::map<std::string, std::multiset<int>> tuned;
  for (const json& result : document["results"]) {
    if (!result["profile"].is_null()) tuned[result["device"]].insert(result["problem"]["rules"].get<int>());
  }
  for (const char* device : {"emulator", "cpu"}) CHECK(tuned[device] == std::multiset<int>{5, 6, 7});
  CHECK(json::parse(place.run({"profiles", "list", "--profiles", file, "--json"}).out)["records"].size() == 3);
}

TEST_CASE("lists of devices that cannot be") {
  const Workplace place;
  check_refused(place.run({"tune", "--device", "cpu,"}), 2, {"--device"});
  check_refused(place.run({"tune", "--device", "cpu,cpu", "--budget", "1s"}), 2, {"--device", "twice"});
  check_refused(place.run({"tune", "--device", "cpu,emulator:42", "--budget", "1s"}), 4, {"emulator:42"});
  check_refused(place.run({"tune", "--device", "cpu,emulator", "--rules", "4", "--dim", "3", "--outputs", "1",
                           "--family", "sonfin-train", "--record", place.path("r.json").string()}),
                2, {"--record"});
}

TEST_CASE("emulator: train gives a model and says that times mean nothing") {
  const Workplace place;
  const std::string model = place.path("m.heddle").string();
  const Outcome outcome =
      place.run({"train", place.write("d.csv", table(40, 3, 2, 1)), "--device", "emulator", "--max-rules", "4",
                 "--epochs", "1", "--validation", "0", "--model", model, "--profiles", place.path("none").string()});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find(kRemark) != std::string::npos);
  CHECK(std::filesystem::exists(model));
}

}  // namespace
}  // namespace heddle::test
