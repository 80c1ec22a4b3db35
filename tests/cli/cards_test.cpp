// Several GPUs of one machine, and GPUs that fail, with a driver that makes them up: driver/fake_driver.cpp.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "runtime/device/environment_variable.hpp"
#include "skip.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

const std::string kTwoOfOneModel = "GPU-first 132 80 lasts 0 Made-up 80\nGPU-second 132 80 lasts 0 Made-up 80\n";
const std::string kAnother = "GPU-other 60 24 lasts 0 Made-up 24\n";
const std::string kSizes = "1000,2000,3000,5000,7000,9000";

/// Programs that are started while it lives see the cards of `lines`, as fake_driver.cpp reads them.
class Cards {
 public:
  Cards(const Workplace& place, const std::string& lines)
      : cards_("HEDDLE_FAKE_CARDS", place.write("cards", lines)),
        libraries_("LD_LIBRARY_PATH", std::string(HEDDLE_FAKE_DRIVER) + ":" + before()) {}

 private:
  static std::string before() {
    const char* const folders = std::getenv("LD_LIBRARY_PATH");
    return folders == nullptr ? "" : folders;
  }
  Variable cards_, libraries_;
};

/// The listings of cards by label; empty, and the test skipped, where nothing compiles for them.
std::map<std::string, json> cards_of(const Workplace& place) {
  std::map<std::string, json> cards;
  const json listed = json::parse(place.run({"devices", "--json"}).out);
  for (const json& device : listed["devices"]) {
    const std::string remark = device["remark"];
    if (remark.find("no run-time compiler") != std::string::npos) {
      skip(remark);
      return {};
    }
    if (device["label"].get<std::string>().starts_with("cuda")) cards[device["label"]] = device;
  }
  REQUIRE(!cards.empty());
  return cards;
}

std::vector<std::string> tuning(const std::string& devices, const std::string& evaluations) {
  return {"tune",   "--kernel",      std::string(HEDDLE_SOURCE) + "/examples/kernel/scale.json",
          "--size", "n=" + kSizes,   "--device",
          devices,  "--evaluations", evaluations};
}

/// Sizes of the problems with a winner, by device.
std::map<std::string, std::set<int>> tuned(const json& document) {
  std::map<std::string, std::set<int>> sizes;
  for (const json& result : document["results"]) {
    if (!result["profile"].is_null()) sizes[result["device"]].insert(result["problem"]["n"].get<int>());
  }
  return sizes;
}

const std::set<int> kAll{1000, 2000, 3000, 5000, 7000, 9000};

TEST_CASE("cards: those that the driver shows, under the numbers that it gives them") {
  const Workplace place;
  const Cards machine(place, kTwoOfOneModel + kAnother);
  const auto all = cards_of(place);
  if (all.empty()) return;
  REQUIRE(all.size() == 3);
  CHECK(all.at("cuda:0")["identity"] == all.at("cuda:1")["identity"]);
  CHECK(all.at("cuda:2")["identity"]["units"] == 60);
  for (const char* list : {"2", "GPU-oth", "2,7,0"}) {
    CAPTURE(list);
    const Variable visible("CUDA_VISIBLE_DEVICES", list);
    const auto some = cards_of(place);
    REQUIRE(some.size() == 1);
    CHECK(some.at("cuda:0")["identity"]["units"] == 60);
    check_refused(place.run(tuning("cuda:1", "10")), 4, {"cuda:1", "CUDA_VISIBLE_DEVICES=" + std::string(list), "1"});
    const json document =
        json::parse(place
                        .run({"tune", "--kernel", std::string(HEDDLE_SOURCE) + "/examples/kernel/scale.json", "--size",
                              "n=1000", "--device", "all", "--evaluations", "3", "--json"})
                        .out);
    CHECK(document["devices"].size() == 1);
    CHECK(document["identity"]["units"] == 60);
  }
  const Variable none("CUDA_VISIBLE_DEVICES", "");
  check_refused(place.run(tuning("all", "10")), 4, {"--device all", "no card"});
}

TEST_CASE("cards: profiles of a described kernel are shown by its sizes, and measured again") {
  const Workplace place;
  const Cards machine(place, kAnother);
  if (cards_of(place).empty()) return;
  const std::string kernel = std::string(HEDDLE_SOURCE) + "/examples/kernel/scale.json";
  const std::string file = place.path("p.sqlite").string();
  auto arguments = tuning("cuda:0", "12");
  arguments.insert(arguments.end(), {"--profiles", file});
  REQUIRE(place.run(arguments).code == 0);

  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "profiles");
    words.insert(words.end(), {"--profiles", file});
    return place.run(words);
  };
  const auto records_of = [](const Outcome& outcome) {
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return json::parse(outcome.out)["records"];
  };
  const json shown = records_of(run({"show", "--kernel", kernel, "--size", "n=3000", "--json"}));
  REQUIRE(shown.size() == 1);
  CHECK(shown[0]["problem"]["n"] == 3000);
  CHECK(shown[0]["state"] == "current");
  check_refused(run({"list", "--kernel", kernel, "--size", "rules=3"}), 2, {"--size rules", "no such size"});

  const Outcome unknown = run({"verify", "--all", "--device", "cuda:0", "--json"});
  CHECK(unknown.err.find("6 profiles of kernel families that are not built in") != std::string::npos);
  CHECK(records_of(unknown).empty());
  const json again =
      records_of(run({"verify", "--all", "--kernel", kernel, "--size", "n=1000", "--device", "cuda:0", "--json"}));
  REQUIRE(again.size() == 1);
  CHECK(again[0]["status"] == "correct");
}

TEST_CASE("cards: a slice of a card is a device of its own, and its profiles are not the card's") {
  const Workplace place;
  const Cards machine(place,
                      "MIG-a 16 10 lasts 0 Made-up 80 MIG 1g.10gb\nMIG-b 32 20 lasts 0 Made-up 80 MIG 2g.20gb\n");
  const auto seen = cards_of(place);
  if (seen.empty()) return;
  REQUIRE(seen.size() == 1);
  CHECK(seen.at("cuda:0")["identity"]["units"] == 16);
  const std::string file = place.path("p.sqlite").string();
  for (const char* slice : {"MIG-a", "MIG-b"}) {
    const Variable visible("CUDA_VISIBLE_DEVICES", slice);
    auto arguments = tuning("all", "20");
    arguments.insert(arguments.end(), {"--profiles", file});
    CHECK(place.run(arguments).code == 0);
  }
  std::map<std::string, int> profiles;
  const json kept = json::parse(place.run({"profiles", "list", "--profiles", file, "--json"}).out);
  for (const json& record : kept["records"]) {
    ++profiles[record["device"]["name"]];
  }
  CHECK(profiles == std::map<std::string, int>{{"Made-up 80 MIG 1g.10gb", 6}, {"Made-up 80 MIG 2g.20gb", 6}});
}

TEST_CASE("cards: those of one model share out the problems, another model tunes all, into one database") {
  const Workplace place;
  const Cards machine(place, kTwoOfOneModel + kAnother);
  if (cards_of(place).empty()) return;
  auto arguments = tuning("all", "90");
  arguments.insert(arguments.end(), {"--profiles", place.path("p.sqlite").string()});
  const Outcome outcome = place.run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  // One heading a model, with its cards; every row says which card it is from.
  CHECK(outcome.out.find("on cuda:0, cuda:1 (Made-up 80), 6 problems") != std::string::npos);
  CHECK(outcome.out.find("on cuda:2 (Made-up 24), 6 problems") != std::string::npos);
  const json kept =
      json::parse(place.run({"profiles", "list", "--profiles", place.path("p.sqlite").string(), "--json"}).out);
  CHECK(kept["records"].size() == 12);

  const Workplace again;
  const Cards same(again, kTwoOfOneModel + kAnother);
  arguments = tuning("cuda:0,cuda:1,cuda:2", "90");
  arguments.emplace_back("--json");
  auto sizes = tuned(json::parse(again.run(arguments).out));
  CHECK(sizes["cuda:2"] == kAll);
  CHECK(!sizes["cuda:0"].empty());
  CHECK(!sizes["cuda:1"].empty());
  // No size was tuned by both.
  CHECK(sizes["cuda:0"].size() + sizes["cuda:1"].size() == kAll.size());
  std::set<int> shared = sizes["cuda:0"];
  shared.merge(sizes["cuda:1"]);
  CHECK(shared == kAll);
}

TEST_CASE("cards: one that fails in the middle is left behind, and its problems go to the others of its model") {
  for (const char* fate : {"fails", "leaves"}) {
    CAPTURE(fate);
    const Workplace place;
    const Cards machine(place, "GPU-first 132 80 " + std::string(fate) + " 150 Made-up 80\n" +
                                   "GPU-second 132 80 lasts 0 Made-up 80\nGPU-third 132 80 lasts 0 Made-up 80\n");
    if (cards_of(place).empty()) return;
    const std::string file = place.path("p.sqlite").string();
    auto arguments = tuning("all", "400");
    arguments.insert(arguments.end(), {"--json", "--profiles", file});
    const Outcome outcome = place.run(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.err.find("cuda:0") != std::string::npos);
    CHECK(outcome.err.find("the other cards take over its problems") != std::string::npos);
    std::set<int> all;
    for (const auto& [device, sizes] : tuned(json::parse(outcome.out))) all.insert(sizes.begin(), sizes.end());
    CHECK(all == kAll);
    CHECK(json::parse(place.run({"profiles", "list", "--profiles", file, "--json"}).out)["records"].size() == 6);
  }
}

TEST_CASE("cards: the last one of a model that fails ends the command, and what was measured is kept") {
  const Workplace place;
  const Cards machine(place, "GPU-first 132 80 fails 150 Made-up 80\n" + kAnother);
  if (cards_of(place).empty()) return;
  const std::string file = place.path("p.sqlite").string();
  auto arguments = tuning("all", "100");
  arguments.insert(arguments.end(), {"--quiet", "--profiles", file});
  const Outcome outcome = place.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == 4);
  CHECK(outcome.err.find("cuda:0") != std::string::npos);
  std::map<int, int> profiles;
  const json kept = json::parse(place.run({"profiles", "list", "--profiles", file, "--json"}).out);
  for (const json& record : kept["records"]) {
    ++profiles[record["device"]["units"].get<int>()];
  }
  CHECK(profiles[60] == 6);
}

TEST_CASE("cards: a driver without a usable card is one line") {
  const Workplace place;
  const Cards machine(place, "");
  check_refused(place.run({"tune", "--device", "cuda:0", "--budget", "1s"}), 4,
                {"no usable NVIDIA GPU", "CUDA_ERROR_NO_DEVICE"});
}

}  // namespace
}  // namespace heddle::test
