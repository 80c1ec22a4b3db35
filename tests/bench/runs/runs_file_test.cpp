#include "heddle/bench/runs/runs_file.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "heddle/kernels/files.hpp"
#include "temporary_folder.hpp"

namespace heddle::bench {
namespace {

using Json = RunsFile::Json;

class Place {
 public:
  RunsFile open(const Json& conditions) const {
    return RunsFile(file_, {{"command", "whole_runs"}, {"date", "today"}}, conditions);
  }
  Json document() const { return Json::parse(file_bytes(file_).value()); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "runs.json";
};

const Json kConditions{{"commit", "a"}, {"device", "a card"}, {"options", {{"epochs", 2}}}};
const Json kAbout{{"rows", 20}, {"dim", 3}};

TEST_CASE("a later call finds the runs of the one before, and adds to them") {
  const Place place;
  {
    RunsFile first = place.open(kConditions);
    CHECK_FALSE(first.has("letter", "cpu"));
    first.add("letter", kAbout, "cpu", {{"seconds", 1.5}});
    CHECK(first.has("letter", "cpu"));
  }
  CHECK(place.document()["complete"] == false);
  RunsFile second = place.open(kConditions);
  CHECK(second.has("letter", "cpu"));
  CHECK_FALSE(second.has("letter", "heddle"));
  CHECK_FALSE(second.has("usps", "cpu"));
  second.add("letter", kAbout, "heddle", {{"seconds", 0.5}});
  second.add("usps", {{"rows", 7}}, "cpu", {{"failure", "no device"}});
  second.end(true);
  CHECK(place.document() == Json::parse(R"({"command": "whole_runs", "date": "today", "commit": "a", "device": "a card",
      "options": {"epochs": 2}, "complete": true, "sets": [
        {"name": "letter", "rows": 20, "dim": 3, "runs": {"cpu": {"seconds": 1.5}, "heddle": {"seconds": 0.5}}},
        {"name": "usps", "rows": 7, "runs": {"cpu": {"failure": "no device"}}}]})"));
}

TEST_CASE("runs of another commit, device or option are not mixed with those of now") {
  for (const char* const name : {"commit", "device", "options"}) {
    CAPTURE(name);
    const Place place;
    place.open(kConditions).add("letter", kAbout, "cpu", {{"seconds", 1.5}});
    Json other = kConditions;
    other[name] = "b";
    RunsFile later = place.open(other);
    CHECK_FALSE(later.has("letter", "cpu"));
    later.add("usps", kAbout, "cpu", {{"seconds", 2.5}});
    CHECK(place.document()["sets"].size() == 1);
    CHECK(place.document()["sets"][0]["name"] == "usps");
  }
}

TEST_CASE("without the name of a commit every call begins anew") {
  const Place place;
  Json conditions = kConditions;
  conditions["commit"] = "";
  place.open(conditions).add("letter", kAbout, "cpu", {{"seconds", 1.5}});
  CHECK_FALSE(place.open(conditions).has("letter", "cpu"));
}

TEST_CASE("a file that is none of whole_runs counts as none") {
  const Place place;
  for (const char* const text : {"", "{", "[1]", R"({"commit": "a"})"}) {
    CAPTURE(text);
    place.write(text);
    RunsFile file = place.open(kConditions);
    CHECK_FALSE(file.has("letter", "cpu"));
    file.add("letter", kAbout, "cpu", {{"seconds", 1.5}});
    CHECK(place.document()["sets"].size() == 1);
  }
}

}  // namespace
}  // namespace heddle::bench
