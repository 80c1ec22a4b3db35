// The device for finding faults: it runs what others run, says what it is for, and leaves nothing behind.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

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
