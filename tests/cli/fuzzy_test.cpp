// heddle fuzzy: formulas over tables of fuzzy numbers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "runtime/device/environment_variable.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kX = "a,b,c\n0,1,2\n-4,-2,-1\n", kY = "a,b,c,d\n1,2,2,4\n-1,0,0.5,1\n";

struct Tables {
  Workplace place;
  std::string x = place.write("x.csv", kX), y = place.write("y.csv", kY);

  [[nodiscard]] Outcome run(const std::string& formula, Words more, const char* device = "cpu") const {
    more.insert(more.begin(), {"fuzzy", formula, "--device", device});
    return place.run(more);
  }
  /// With x and y.
  [[nodiscard]] Outcome run_both(const std::string& formula, Words more, const char* device = "cpu") const {
    more.insert(more.end(), {"--input", "x=" + x, "--input", "y=" + y});
    return run(formula, more, device);
  }
};

TEST_CASE("a formula over triangular and trapezoidal numbers gives the bounds of its cuts") {
  const Tables tables;
  const Outcome lu = tables.run_both("x*y + 0.5", {"--cuts", "2"});
  CAPTURE(lu.err);
  CHECK(lu.code == 0);
  CHECK(lu.out == "lower_0,upper_0,lower_1,upper_1\n0.5,8.5,2.5,2.5\n-3.5,4.5,-0.5,0.5\n");
  CHECK(lu.err == "heddle: 2 numbers of 2 cuts on cpu\n");

  const Outcome again = tables.run_both("x*y + 0.5", {"--cuts", "3", "--output", tables.place.path("r.csv").string()});
  CHECK(again.code == 0);
  CHECK(again.out.find("2 numbers of 3 cuts on cpu") != std::string::npos);
  CHECK(tables.place.read("r.csv").starts_with(
      "lower_0,upper_0,lower_1,upper_1,lower_2,upper_2\n0.5,8.5,1.25,5,2.5,2.5\n"));

  SUBCASE("what was written is read again") {
    const Outcome same = tables.run("r", {"--cuts", "3", "--input", "r=" + tables.place.path("r.csv").string()});
    CHECK(same.out == tables.place.read("r.csv"));
  }
  SUBCASE("on the emulated GPU, in the other type and encoding") {
    const Words midpoints{"--cuts", "2", "--encoding", "mr", "--enclose", "--type", "float"};
    const Outcome cpu = tables.run_both("x - y", midpoints), gpu = tables.run_both("x - y", midpoints, "emulator");
    CAPTURE(gpu.err);
    CHECK(gpu.code == 0);
    CHECK(cpu.out.starts_with("midpoint,radius_0,radius_1\n-1,3."));
    CHECK(cpu.out == gpu.out);
  }
  SUBCASE("a level that no double can hold is rounded downwards, so that the cut contains the true one") {
    const Outcome tenth = tables.run("x", {"--levels", "0.1", "--input", "x=" + tables.x});
    CAPTURE(tenth.err);
    CHECK(tenth.out.starts_with("lower_0,upper_0\n0.0999999"));
  }
  SUBCASE("as a document") {
    const json document = json::parse(tables.run_both("x*y", {"--levels", "0.5,1", "--json"}).out);
    CHECK(document["command"] == "fuzzy");
    CHECK(document["numbers"] == 2);
    CHECK(document["cuts"] == 2);
    CHECK(document["encoding"] == "lu");
    CHECK(document["type"] == "double");
    CHECK(document["tier"] == "default");
    CHECK(document["table"].get<std::string>().starts_with("lower_0,upper_0,lower_1,upper_1\n0.75,4.5,2,2\n"));
  }
}

TEST_CASE("without a compiler the formula is evaluated without a kernel, with the same bits") {
  const Tables tables;
  const Words more{"--cuts", "3"};
  const Outcome compiled = tables.run_both("exp(x)/7 - min(x, y)^2", more);
  const Tables others;  // nothing in the cache
  const Variable compiler("CXX", "/nowhere/c++");
  const Outcome evaluated = others.run_both("exp(x)/7 - min(x, y)^2", more);
  CHECK(evaluated.code == 0);
  CHECK(evaluated.out == compiled.out);
  CHECK(evaluated.err.find("no kernel could be compiled") != std::string::npos);
}

TEST_CASE("results are sorted by a measure of them, or by keys from a file") {
  const Tables tables;
  const std::string places = tables.place.path("p.csv").string();
  // Centroids of rows: 2, -1, 0.5, -1.
  const std::string x = "x=" + tables.place.write("r.csv", "1,2,3\n-2,-1,0\n0,0.5,1\n-1.5,-1,-0.5\n");
  const std::string header = "lower_0,upper_0\n", rising = "-2,0\n-1.5,-0.5\n0,1\n1,3\n";
  for (const char* const device : {"cpu", "emulator"}) {
    for (const char* const measure : {"centroid", "mean-of-maxima", "ranking-value"}) {
      CAPTURE(measure);
      const Outcome sorted =
          tables.run("x", {"--cuts", "1", "--sort", measure, "--positions", places, "--input", x}, device);
      CAPTURE(sorted.err);
      CHECK(sorted.code == 0);
      CHECK(sorted.out == header + rising);
      CHECK(tables.place.read("p.csv") == "1\n3\n2\n0\n");
    }
  }
  SUBCASE("the measure is that of the results, in any type and encoding") {
    const Outcome falling = tables.run("0-x", {"--cuts", "1", "--sort", "centroid", "--input", x});
    CAPTURE(falling.err);
    CHECK(falling.out == header + "-3,-1\n-1,0\n0,2\n0.5,1.5\n");
    const Outcome radii =
        tables.run("x", {"--cuts", "3", "--encoding", "mr", "--type", "float", "--sort", "centroid", "--input", x});
    CAPTURE(radii.err);
    CHECK(radii.out == "midpoint,radius_0,radius_1,radius_2\n-1,1,0.5,0\n-1,0.5,0.25,0\n0.5,0.5,0.25,0\n2,1,0.5,0\n");
  }
  SUBCASE("levels count: the centroid is that of the cuts at these levels") {
    // Left of the middle with a wide lower cut, right of it with a narrow one.
    const std::string skewed =
        "x=" + tables.place.write("s.csv", "lower_0,upper_0,lower_1,upper_1\n-9,1,0,1\n-1,0,-1,-0.5\n");
    const auto first = [&](const char* levels) {
      const Outcome sorted = tables.run("x", {"--levels", levels, "--sort", "ranking-value", "--input", skewed});
      CAPTURE(sorted.err);
      return sorted.out.substr(sorted.out.find('\n') + 1, 2);
    };
    CHECK(first("0,1") == "-9");
    CHECK(first("0,0") == "-1");
  }
  SUBCASE("keys of a file, with or without a header; equal ones keep their order") {
    for (const char* const name : {"", "key\n"}) {
      const std::string keys = tables.place.write("k.csv", name + std::string("2\n1e-3\n2\n-inf\n"));
      const Outcome sorted = tables.run("x", {"--cuts", "1", "--sort-keys", keys, "--input", x, "--json"});
      const json document = json::parse(sorted.out);
      CHECK(document["positions"] == json::array({3, 1, 0, 2}));
      CHECK(document["table"] == header + "-1.5,-0.5\n-2,0\n1,3\n0,1\n");
    }
  }
}

TEST_CASE("wrong options of fuzzy are refused in one line") {
  const Tables tables;
  const std::string x = "x=" + tables.x, both = "y=" + tables.y;
  check_refused(tables.run("x*q", {"--input", x}), 2, {"'q'", "--input q=FILE"});
  check_refused(tables.run("x", {"--input", x, "--input", both}), 2, {"--input", "'y'", "a name of the formula: x"});
  check_refused(tables.run("x", {"--input", x, "--input", x}), 2, {"'x' twice"});
  check_refused(tables.run("x", {"--input", tables.x}), 2, {"--input", "NAME=FILE"});
  check_refused(tables.run("x", {"--input", "x="}), 2, {"'x='", "NAME=FILE"});
  check_refused(tables.run("x +", {"--input", x}), 2, {"formula"});
  check_refused(tables.run("x y", {"--input", x}), 2, {"formula"});
  check_refused(tables.run("", {}), 2, {"formula"});
  check_refused(tables.run("x", {"--input", x, "--cuts", "0"}), 2, {"--cuts", "'0'", "1 to 64"});
  check_refused(tables.run("x", {"--input", x, "--cuts", "1000000"}), 2, {"--cuts", "'1000000'", "1 to 64"});
  check_refused(tables.run("x", {"--input", x, "--encoding", "xy"}), 2, {"--encoding", "'xy'", "lu or mr"});
  check_refused(tables.run("x", {"--input", x, "--type", "half"}), 2, {"--type", "'half'"});
  check_refused(tables.run("x", {"--input", x, "--levels", "0,1,2"}), 2, {"--levels", "'2'", "from 0 to 1"});
  check_refused(tables.run("x", {"--input", x, "--levels", "0.5,0.25"}), 2, {"--levels", "do not fall"});
  check_refused(tables.run("x", {"--input", x, "--levels", "0,1", "--cuts", "3"}), 2,
                {"--levels", "2 levels", "3 cuts"});
  std::string levels = "0";
  for (int i = 1; i < 65; ++i) levels += ",1";
  check_refused(tables.run("x", {"--input", x, "--levels", levels}), 2, {"--levels", "65 levels", "1 to 64"});
  check_refused(tables.run("x", {"--input", x, "--output", tables.x}), 2, {"--output", "would be lost"});
  check_refused(tables.run("x", {"--input", x, "--sort", "size"}), 2, {"--sort", "'size'", "centroid"});
  check_refused(tables.run("x", {"--input", x, "--sort", "centroid", "--sort-keys", tables.y}), 2,
                {"--sort-keys", "--sort as well"});
  check_refused(tables.run("x", {"--input", x, "--positions", "p.csv"}), 2, {"--positions", "not sorted"});
  check_refused(tables.run("x", {"--input", x, "--sort-keys", tables.y, "--output", tables.y}), 2, {"would be lost"});
  check_refused(tables.run("x", {"--input", x, "--sort", "centroid", "--output", "r.csv", "--positions", "r.csv"}), 2,
                {"--positions", "'r.csv'", "that of --output"});
  check_refused(tables.run("x", {"--input", x, "--sort", "centroid", "--output", "r.csv", "--positions", "./r.csv"}), 2,
                {"--positions", "'./r.csv'", "that of --output"});
  CHECK(tables.place.read("x.csv") == kX);
}

TEST_CASE("numbers that are none, and tables that do not fit, are refused in one line") {
  const Tables tables;
  const auto table = [&](const std::string& rows) { return "x=" + tables.place.write("t.csv", rows); };
  check_refused(tables.run("x", {"--input", "x=none.csv"}), 3, {"none.csv", "no such file"});
  SUBCASE("lower above upper") {
    check_refused(tables.run("x", {"--input", table("a,b,c\n3,2,4\n")}), 3, {"t.csv:2:2", "'2'", "at least '3'"});
    check_refused(tables.run("x", {"--input", table("1,2,3,2.5\n")}), 3, {"t.csv:1:4", "'2.5'", "at least '3'"});
    check_refused(tables.run("x", {"--cuts", "1", "--input", table("lower_0,upper_0\n2,1\n")}), 3, {"at least '2'"});
  }
  SUBCASE("cuts that are not nested") {
    const std::string bounds = "lower_0,upper_0,lower_1,upper_1\n0,9,0,9\n";
    check_refused(tables.run("x", {"--cuts", "2", "--input", table(bounds + "0,2,-1,1\n")}), 3, {"t.csv:3:3", "'-1'"});
    check_refused(tables.run("x", {"--cuts", "2", "--input", table(bounds + "0,2,1,3\n")}), 3, {"t.csv:3:4", "'3'"});
    check_refused(tables.run("x", {"--cuts", "2", "--encoding", "mr", "--input",
                                   table("midpoint,radius_0,radius_1\n1,0.5,0.75\n")}),
                  3, {"t.csv:2:3", "'0.75'"});
  }
  SUBCASE("nan") {
    check_refused(tables.run("x", {"--input", table("a,b,c\n1,nan,4\n")}), 3, {"t.csv:2:2", "'nan'", "a number"});
    check_refused(tables.run("x", {"--cuts", "1", "--encoding", "mr", "--input", table("midpoint,radius_0\n1,nan\n")}),
                  3, {"t.csv:2:2", "'nan'", "a number"});
  }
  SUBCASE("a negative radius") {
    check_refused(tables.run("x", {"--cuts", "1", "--encoding", "mr", "--input", table("midpoint,radius_0\n1,-0.5\n")}),
                  3, {"t.csv:2:2", "'-0.5'"});
  }
  SUBCASE("midpoint and radius for numbers that are not symmetric") {
    const Words radii{"--encoding", "mr", "--input", table("a,b,c\n1,2,3\n1,2,4\n")};
    check_refused(tables.run("x", radii), 3, {"t.csv:3", "not symmetric", "--enclose"});
    Words enclosed = radii;
    enclosed.emplace_back("--enclose");
    CHECK(tables.run("x", enclosed).code == 0);
  }
  SUBCASE("tables of different lengths") {
    check_refused(tables.run_both("x*y*z", {"--input", "z=" + tables.place.write("z.csv", "1\n2\n3\n")}), 3,
                  {"z.csv", "3 numbers", "2 as in", "x.csv"});
  }
  SUBCASE("key files") {
    const auto sort = [&](const std::string& keys) {
      return tables.run_both("x*y", {"--sort-keys", tables.place.write("k.csv", keys)});
    };
    check_refused(sort("1\n"), 3, {"k.csv", "found 1 key,", "each of 2 numbers"});
    check_refused(sort("1\n2\n3\n"), 3, {"k.csv", "3 keys", "each of 2 numbers"});
    check_refused(sort("key\n"), 3, {"k.csv", "no rows"});
    check_refused(sort("1\nnan\n"), 3, {"k.csv:2:1", "'nan'", "a number"});
    check_refused(sort("nan\n1\n"), 3, {"k.csv:1:1", "'nan'", "a number"});
    check_refused(sort("1\ntwo\n"), 3, {"k.csv:2:1", "'two'", "a number"});
    check_refused(sort("1,2\n3,4\n"), 3, {"k.csv:1", "2 columns", "one key"});
    check_refused(sort("1\n\n2\n"), 3, {"k.csv:2"});
    check_refused(tables.run_both("x*y", {"--sort-keys", "none.csv"}), 3, {"none.csv", "no such file"});
  }
}

TEST_CASE(
    "profiles of a formula's kernel are explained by the formula, and by their family's name as soon as that is "
    "there") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  const Words sizes{"--device", "cpu", "--size", "numbers=37", "--size", "cuts=2", "--size", "bits=64"};
  const auto run = [&](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--profiles", file});
    return place.run(words);
  };
  const auto explained = [&](Words more) {
    more.insert(more.end(), sizes.begin(), sizes.end());
    more.emplace_back("--json");
    const Outcome outcome = run({"profiles", "explain"}, more);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return json::parse(outcome.out)["explanations"];
  };
  Words tune{"--formula", "a*b + c", "--encoding", "lu", "--size", "layout=1", "--evaluations", "2", "--quiet"};
  tune.insert(tune.end(), sizes.begin(), sizes.end());
  REQUIRE(run({"tune"}, tune).code == 0);
  const json record = json::parse(run({"profiles", "list", "--json"}, {}).out)["records"][0];
  const auto family = record["family"].get<std::string>();

  const json one = explained({"--formula", "x*y + z", "--encoding", "lu", "--size", "layout=1"});
  REQUIRE(one.size() == 1);
  CHECK(one[0]["family"] == family);
  CHECK(one[0]["candidates"][0]["tier"] == "exact");
  CHECK(one[0]["candidates"][0]["configuration"] == record["configuration"]);
  CHECK(explained({"--formula", "x*y + z", "--size", "layout=1"}).size() == 2);  // encodings
  CHECK(explained({"--formula", "x*y + z", "--family", family, "--size", "layout=1"}) == one);

  check_refused(run({"profiles", "explain"}, {"--device", "cpu", "--family", family}), 2,
                {family, "is not built in", "--formula or --kernel", "'heddle profiles show' shows its profiles"});
  check_refused(run({"profiles", "explain"}, {"--device", "cpu", "--family", "fuzzy-map-lu@0"}), 2,
                {"'fuzzy-map-lu@0'", "one of sonfin-train", "--formula or --kernel"});
}

TEST_CASE("places that cannot be written, and devices that are not there, are refused in one line") {
  const Tables tables;
  check_refused(tables.run_both("x*y", {"--output", "/dev/full"}), 3, {"/dev/full", "No space left"});
  check_refused(tables.run_both("x*y", {"--output", "none/r.csv"}), 3, {"none/r.csv"});
  check_refused(tables.run_both("x*y", {"--sort", "centroid", "--positions", "none/p.csv"}), 3, {"none/p.csv"});
  check_refused(tables.run_both("x*y", {}, "cuda:99"), 4, {});
  check_refused(tables.run_both("x*y", {"--profiles", tables.x}), 5, {"x.csv"});
}

}  // namespace
}  // namespace heddle::test
