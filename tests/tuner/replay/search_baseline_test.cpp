#include "heddle/tuner/replay/search_baseline.hpp"

#include <doctest/doctest.h>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "temporary_folder.hpp"

using namespace heddle;

TEST_CASE("of every number of a baseline the best of its strategies counts") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "baseline.json";
  write_file(file, R"({"tool": "T 1", "spaces": {
    "a.gz": {"strategies": {
      "x": {"50": {"median_fraction": 0.9, "mean_fraction": 0.7, "within_5_percent": 0.2}},
      "y": {"50": {"median_fraction": 0.8, "mean_fraction": 0.75, "within_5_percent": 0.1}}}},
    "b.gz": {"strategies": {"x": {"fifty": {}}}},
    "d.gz": {"strategies": {"x": {"50": {"median_fraction": 1e300, "mean_fraction": 0.7, "within_5_percent": 0.2}}}}}})");
  const SearchBaseline baseline(file);
  CHECK(baseline.tool() == "T 1");
  const auto best = baseline.best("a.gz", {50});
  REQUIRE(best);
  CHECK(best->front().evaluations == 50);
  CHECK(best->front().median_fraction == 0.9);
  CHECK(best->front().mean_fraction == 0.75);
  CHECK(best->front().within_5_percent == 0.2);
  CHECK_FALSE(baseline.best("a.gz", {50, 100}));
  CHECK_FALSE(baseline.best("b.gz", {50}));
  CHECK_FALSE(baseline.best("c.gz", {50}));
  CHECK_FALSE(baseline.best("d.gz", {50}));
  CHECK_FALSE(SearchBaseline("").best("a.gz", {50}));
  write_file(file, "[1]");
  CHECK_THROWS_AS(SearchBaseline{file}, Error);
}
