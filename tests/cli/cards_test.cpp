// Several GPUs of one machine, and GPUs that fail, with a driver that makes them up: driver/fake_driver.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "heddle/kernels/template_source.hpp"
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

TEST_CASE("cards: a tuning run says what it gains over one mapping for all sizes, with times that are made up") {
  const Workplace place;
  const Cards machine(place, kAnother);
  if (cards_of(place).empty()) return;
  // The driver makes blocks of 128 threads the fastest (0.05 ms), and of others 0.01 ms slower for each factor of 2.
  // The first size allows 32 at most, which is the default, and the second one 64.
  const std::filesystem::path folder = std::string(HEDDLE_SOURCE) + "/examples/kernel";
  std::filesystem::copy_file(folder / "scale.cu", place.path("scale.cu"));
  json scale = json::parse(std::ifstream(folder / "scale.json"));
  scale["parameters"][0]["default"] = 32;
  scale["parameters"][1]["values"] = {1};
  scale["constraints"] = {"16 * block_size <= n"};
  std::vector<std::string> words{"tune",   "--kernel",      place.write("scale.json", scale.dump()),
                                 "--size", "n=" + kSizes,   "--device",
                                 "cuda:0", "--evaluations", "40"};
  const std::string text = place.run(words).out;
  CHECK(text.find("; at least 1.03 times as fast as the best single mapping, block_size=128 items=1 (known at 6 of 6: "
                  "measured at 4, at 2 that do not allow it the untuned default stands in)\n") != std::string::npos);
  words.emplace_back("--json");
  const json gains = json::parse(place.run(words).out)["gains"];
  REQUIRE(gains.size() == 1);
  const json& single = gains.begin().value()["over_single"];
  CHECK(single["configuration"] == "block_size=128 items=1");
  CHECK(single["problems"] == 6);
  CHECK(single["tried"] == 6);
  CHECK(single["measured"] == 4);
  CHECK(single["expected"] == 0);
  // Only at the second size another one wins: 64 threads, while the default, 32, stands in.
  CHECK(single["factor"].get<double>() == doctest::Approx(std::pow(0.07 / 0.06, 1.0 / 6.0)).epsilon(1e-3));
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

/// A file for `profiles import`: the model of times of sonfin-train that heddle brings along, as that of the card
/// `device` (DeviceIdentity::text()), `factor` times as slow.
std::string model_of(const Workplace& place, const std::string& device, double left_out_error, double factor) {
  std::ifstream file(std::string(HEDDLE_SOURCE) + "/profiles/shipped/nvidia-h200.json");
  json document = json::parse(file);
  json& models = document["models"];
  const auto found = std::ranges::find(models, "sonfin-train", [](const json& each) { return each["family"]; });
  REQUIRE(found != models.end());
  json model = *found;
  model["device"] = device;
  model["left_out_error"] = left_out_error;
  for (auto& [term, weight] : model["weights"].items()) weight = factor * weight.get<double>();
  model.erase("checksum");
  model["checksum"] = digest(model.dump());
  models = json::array({model});
  document["profiles"] = json::array();
  return place.write("model.json", document.dump());
}

/// What would run for a problem of sonfin-train on cuda:0, as people and programs read it.
struct Explained {
  std::string text;
  json document;
};

Explained explained(const Workplace& place) {
  std::vector<std::string> words{"profiles", "explain", "--device", "cuda:0", "--family",  "sonfin-train",
                                 "--rules",  "512",     "--dim",    "512",    "--outputs", "1"};
  Explained all{.text = place.run(words).out, .document = {}};
  words.emplace_back("--json");
  all.document = json::parse(place.run(words).out)["explanations"][0];
  return all;
}

TEST_CASE("cards: explain says whose model of times spoke: the shipped one, then an imported one of the architecture") {
  const Workplace place;
  const Cards machine(place, kAnother);
  if (cards_of(place).empty()) return;
  const Explained shipped = explained(place);
  CHECK(shipped.document["model"]["source"] == "shipped");
  CHECK(shipped.document["model"]["imported"] == false);
  CHECK(shipped.text.find("expected with weights of NVIDIA H200, that heddle brings along, fitted to ") !=
        std::string::npos);

  const std::string neighbour = "cuda|Neighbour|9.0|64 units|24 GiB|52428800 cache|232448 local";
  REQUIRE(place.run({"profiles", "import", model_of(place, neighbour, 0.03, 2.0)}).code == 0);
  const Explained imported = explained(place);
  const json& model = imported.document["model"];
  CHECK(model["source"] == "architecture");
  CHECK(model["imported"] == true);
  CHECK(model["device"]["name"] == "Neighbour");
  CHECK(imported.document["rejected_models"].empty());
  CHECK(imported.text.find("expected with weights of Neighbour, also 9.0 (imported), fitted to ") != std::string::npos);
  CHECK(imported.text.find("3.0 % off where they were left out") != std::string::npos);
  CHECK(imported.text.find("not with weights") == std::string::npos);
  // It is this model that expects: all its weights are twice the shipped ones.
  const json &now = imported.document["candidates"][0], &before = shipped.document["candidates"][0];
  REQUIRE(before["tier"] == "expected");
  CHECK(now["configuration"] == before["configuration"]);
  CHECK(now["expected_microseconds_per_sample"].get<double>() ==
        doctest::Approx(2.0 * before["expected_microseconds_per_sample"].get<double>()));

  const Variable nothing("HEDDLE_SHIPPED_WEIGHTS", "none");
  const Workplace empty;
  const Explained none = explained(empty);
  CHECK(none.document["model"].is_null());
  CHECK(none.text.find("with weights") == std::string::npos);
}

TEST_CASE("cards: explain says which model of times was passed over, and why") {
  const Workplace place;
  const Cards machine(place, kAnother);
  const auto cards = cards_of(place);
  if (cards.empty()) return;
  // That of this very card would come first, were it not so far off.
  const std::string own = "cuda|Made-up 24|9.0|60 units|24 GiB|52428800 cache|232448 local";
  REQUIRE(place.run({"profiles", "import", model_of(place, own, 0.2, 2.0)}).code == 0);
  const Explained both = explained(place);
  CHECK(both.document["model"]["source"] == "shipped");
  REQUIRE(both.document["rejected_models"].size() == 1);
  const json& rejected = both.document["rejected_models"][0];
  CHECK(rejected["model"]["device"] == cards.at("cuda:0")["identity"]);
  CHECK(rejected["model"]["imported"] == true);
  const std::string why = "it is 20.0 % off at problems that were left out, more than 15.0 %";
  CHECK(rejected["reason"] == why);
  CHECK(both.text.find("expected with weights of NVIDIA H200, that heddle brings along") != std::string::npos);
  CHECK(both.text.find("not with weights of Made-up 24\n         " + why) != std::string::npos);
}

TEST_CASE("cards: a driver without a usable card is one line") {
  const Workplace place;
  const Cards machine(place, "");
  check_refused(place.run({"tune", "--device", "cuda:0", "--budget", "1s"}), 4,
                {"no usable NVIDIA GPU", "CUDA_ERROR_NO_DEVICE"});
}

}  // namespace
}  // namespace heddle::test
