// Kernels from descriptions and captured calls, as a user tunes them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "cli/twice_kernel.hpp"
#include "heddle/kernels/own/capture_file.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

TEST_CASE("what would run of a described kernel is explained by its description") {
  const Workplace place;
  const std::string file = std::string(HEDDLE_SOURCE) + "/examples/kernel/scale.json";
  Outcome explained = place.run({"profiles", "explain", "--kernel", file, "--device", "emulator", "--size", "n=100"});
  CHECK(explained.code == 0);
  CHECK(explained.out.find("examples/scale@") == 0);
  CHECK(explained.out.find(" at n=100 on ") != std::string::npos);
  check_refused(place.run({"profiles", "explain", "--kernel", file, "--device", "cpu"}), 2, {"scale", "backend cpu"});
  check_refused(place.run({"profiles", "explain", "--with", file, "--device", "emulator"}), 2, {"--with", "found 0"});
}

TEST_CASE("metrics, an objective and a cold cache of a described kernel") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  json description = twice_description();
  description["metrics"] = {{"GFLOP/s", "n / time / 1e3"}, {"threads", "block_size"}};
  const std::string file = place.write("twice.json", description.dump(1));
  std::vector<std::string> command = tune_kernel(file, "n=1000", place.path("p.sqlite").string(), "3");
  command.insert(command.end(), {"--objective", "1 / threads"});
  const Outcome outcome = place.run(command);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = json::parse(outcome.out)["results"][0];
  CHECK(result["profile"]["configuration"] == "block_size=128");
  CHECK(result["objective"] == 1.0 / 128.0);
  CHECK(result["metrics"]["threads"] == 128.0);
  CHECK(result["metrics"]["GFLOP/s"].get<double>() ==
        doctest::Approx(1000.0 / result["profile"]["microseconds_per_sample"].get<double>() / 1e3));
  const Outcome lines =
      place.run({"tune", "--kernel", file, "--device", "emulator", "--size", "n=1000", "--evaluations", "1"});
  CHECK(lines.out.find("GB/s   GFLOP/s   threads") != std::string::npos);

  const auto refused = [&](const std::vector<std::string>& options, int code, const std::vector<std::string>& words) {
    std::vector<std::string> all = tune_kernel(file, "n=1000", place.path("q.sqlite").string());
    all.insert(all.end(), options.begin(), options.end());
    CAPTURE(options.back());
    check_refused(place.run(all), code, words);
  };
  refused({"--objective", "speed"}, 2, {"option --objective: 'speed' asks for 'speed', expected a size, a parameter"});
  refused({"--objective", "time *"}, 2, {"option --objective: expression 'time *'"});
  refused({"--objective", "0 * time"}, 2, {"option --objective: '0 * time' is 0 at n=1000 with block_size=32"});
  refused({"--objective", "energy"}, 4, {"no counter of energy"});
  refused({"--objective", "threads", "--target", "0.5", "--peak-rate", "1"}, 2, {"--target", "--objective"});
  refused({"--l2", "frozen"}, 2, {"option --l2: found 'frozen', expected cold or warm"});
  refused({"--l2", "cold", "--energy"}, 2, {"--l2", "--energy"});
  refused({"--l2", "cold"}, 2, {"emulator does not say how large its cache is"});
  check_refused(place.run({"tune", "--l2", "cold", "--device", "cpu"}), 2, {"--l2", "--kernel"});
}

TEST_CASE("what was measured of a described kernel is recorded and replayed") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  const std::string file = place.write("twice.json", twice_description().dump(1));
  std::vector<std::string> command = tune_kernel(file, "n=1000", place.path("p.sqlite").string(), "3");
  command.insert(command.end(), {"--record", place.path("t4.json").string()});
  const Outcome recorded = place.run(command);
  CAPTURE(recorded.err);
  REQUIRE(recorded.code == 0);
  const Outcome replayed = place.run({"tune", "--replay", place.path("t4.json").string(), "--json", "--quiet"});
  CAPTURE(replayed.err);
  REQUIRE(replayed.code == 0);
  const json result = json::parse(replayed.out)["results"][0];
  CHECK(result["evaluations"] == 3);
  CHECK_FALSE(result["profile"].is_null());
}

TEST_CASE("a configuration that compiles too long is given up alone") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  const std::string file = place.write("twice.json", twice_description().dump(1));
  std::vector<std::string> command = tune_kernel(file, "n=1000", ":memory:");
  command.insert(command.end(), {"--compile-limit", "0.001s"});
  check_refused(place.run(command), 3, {"every configuration failed", "compil"});
  command.back() = "0s";
  check_refused(place.run(command), 2, {"--compile-limit"});
}

TEST_CASE("a captured call is inspected and tuned") {
  const Workplace place;
  KernelDefinition kernel;
  kernel.name = "tests/twice";
  kernel.axes = {{.name = "n", .maximum = 1 << 20}};
  kernel.code["cuda"] = {
      .text = kDoubleSource, .kernel = "twice", .grid = {"ceil_div(n, block_size)"}, .block = {"block_size"}};
  kernel.parameters = {{.name = "block_size", .values = {Value(std::int64_t{32}), Value(std::int64_t{64})}}};
  kernel.arguments = {{.name = "x", .elements = "n"},
                      {.name = "y", .elements = "n", .role = Role::output},
                      {.name = "n", .type = ElementType::int32, .value = "n"}};
  kernel.name = family_name(kernel);
  const KernelCapture capture{.kernel = kernel,
                              .problem = Problem({{.name = "n", .value = 100}}),
                              .numbers = {{"n", {std::byte{100}, std::byte{0}, std::byte{0}, std::byte{0}}}},
                              .contents = {{"x", std::vector<std::byte>(400)}}};
  const std::string file = place.path("call.capture").string();
  write_capture(file, capture);
  const Outcome inspected = place.run({"inspect", file, "--device", "emulator"});
  CAPTURE(inspected.err);
  CHECK(inspected.code == 0);
  for (const std::string& word : {kernel.name, std::string("those of the call"), std::string("n=100")}) {
    CAPTURE(word);
    CHECK(inspected.out.find(word) != std::string::npos);
  }
  const std::vector<std::string> tune{"tune",          "--capture", file,      "--device", "emulator",
                                      "--evaluations", "2",         "--quiet", "--json"};
  const Outcome tuned = place.run(tune);
  CAPTURE(tuned.err);
  REQUIRE(tuned.code == 0);
  const json document = json::parse(tuned.out);
  REQUIRE(document["results"].size() == 1);
  CHECK(document["results"][0]["family"] == kernel.name);
  CHECK(document["results"][0]["problem"]["n"] == 100);
  CHECK_FALSE(document["results"][0]["profile"].is_null());

  std::vector<std::string> wrong = tune;
  wrong.insert(wrong.end(), {"--size", "n=50"});
  check_refused(place.run(wrong), 2, {"option --size: found 'n=50'"});
  wrong = tune;
  wrong.insert(wrong.end(), {"--capture", file});
  check_refused(place.run(wrong), 3, {"two calls of", "at n=100"});
  wrong = tune;
  wrong[2] = place.write("cut.capture", place.read("call.capture").substr(0, 100));
  check_refused(place.run(wrong), 3, {"cut.capture: is cut off"});
  wrong[2] = place.path("none.capture").string();
  check_refused(place.run(wrong), 3, {"none.capture"});
}

TEST_CASE("spaces of 10^7 and 10^11 configurations are inspected and tuned without being listed") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  for (const int digits : {8, 11}) {
    CAPTURE(digits);
    json description = twice_description();
    description["parameters"] = json::array();
    std::string sum;
    for (int i = 0; i < digits; ++i) {
      const std::string name = "d" + std::to_string(i);
      description["parameters"].push_back({{"name", name}, {"values", "range(10)"}});
      sum += (sum.empty() ? "" : " + ") + name;
    }
    // One in ten of 10^8, and all of 10^11.
    description["constraints"] = digits == 8 ? json::array({"(" + sum + ") % 10 == 0"}) : json::array();
    description["grid"] = "ceil_div(n, 32)";
    description["block"] = "32";
    const std::string file = place.write("large.json", description.dump(1));
    const Outcome inspected = place.run({"inspect", file, "--device", "emulator", "--size", "n=1000", "--json"});
    CAPTURE(inspected.err);
    REQUIRE(inspected.code == 0);
    const json counts = json::parse(inspected.out);
    CHECK(counts["before_constraints"]["points"] == std::pow(10.0, digits));
    const double allowed = digits == 8 ? 1e7 : 1e11;
    CHECK(counts["after_constraints"]["points"].get<double>() == doctest::Approx(allowed).epsilon(0.1));
    CHECK(counts["after_constraints"]["exact"] == false);

    const Outcome tuned = place.run(tune_kernel(file, "n=1000", ":memory:", "4"));
    CAPTURE(tuned.err);
    REQUIRE(tuned.code == 0);
    const json result = json::parse(tuned.out)["results"][0];
    CHECK(result["evaluations"] == 4);
    CHECK_FALSE(result["profile"].is_null());
  }
}

}  // namespace
}  // namespace heddle::test
