#include "heddle/tuner/replay/recorded_space.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/data/data_file.hpp"
#include "runtime/data/data_folder.hpp"

using namespace heddle;

namespace {

const std::string t4 = R"({"metadata": {"timeunit": "miliseconds"}, "schema_version": "1.0.0", "results": [
{"configuration": {"x": 16, "kind": "fast"}, "times": {"compilation": 500.0, "runtimes": [9, 9]},
 "invalidity": "correct", "measurements": [{"name": "power", "value": 1}, {"name": "time", "value": 2.5, "unit": ""}]},
{"configuration": {"x": 32, "kind": "fast"}, "times": {"compilation": NaN}, "invalidity": "compile",
 "measurements": [{"name": "time", "value": "CompilationFailedConfig", "unit": ""}]},
{"configuration": {"x": 32, "kind": "NaN"}, "invalidity": "correct",
 "measurements": [{"name": "time", "value": 1000, "unit": "microseconds"}]}]})";

const std::string t1 = R"({"device_name": "card", "kernel_name": "k", "problem_size": [4, 5],
"tune_params_keys": ["x", "y"], "tune_params": {"x": [1, 2], "y": [0.5, 1.0]}, "cache": {
"1,0.5": {"x": 1, "y": 0.5, "time": 3.0, "compile_time": 250.0},
"2,0.5": {"x": 2, "y": 0.5, "time": "RuntimeFailedConfig"},
"2,1.0": {"x": 2, "y": 1.0, "time": 1e20},)";

std::string complaint(const std::filesystem::path& file) {
  try {
    (void)read_recorded_space(file);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("T4 is read, gzip or not") {
  const DataFolder folder;
  for (const auto& file : {folder.write("a.t4.json", t4), folder.write_gzip("a.t4.json.gz", t4)}) {
    const RecordedSpace space = read_recorded_space(file);
    CHECK(space.name == "a");
    REQUIRE(space.configurations.size() == 3);
    CHECK(space.configurations[0].number("x") == 16);
    CHECK(space.configurations[2].word("kind") == "NaN");
    CHECK(*space.outcomes[0].time == doctest::Approx(2500.0));
    CHECK(space.outcomes[0].compile_seconds == doctest::Approx(0.5));
    CHECK(space.outcomes[1].status == Status::compilation);
    CHECK(!space.outcomes[1].time);
    CHECK(space.best() == doctest::Approx(1000.0));
  }
}

TEST_CASE("T1 is read, also that of a run that was interrupted") {
  const DataFolder folder;
  std::string closed = t1;
  closed.back() = '}';
  for (const auto& file : {folder.write("open.json", t1), folder.write("closed.json", closed + "}")}) {
    const RecordedSpace space = read_recorded_space(file);
    CHECK(space.device == "card");
    CHECK(space.parameters == std::vector<std::string>{"x", "y"});
    REQUIRE(space.configurations.size() == 3);
    CHECK(space.configurations[0].text() == "x=1 y=0.5");
    CHECK(space.configurations[2].text() == "x=2 y=1");
    CHECK(space.best() == doctest::Approx(3000.0));
    CHECK(space.outcomes[0].compile_seconds == doctest::Approx(0.25));
    CHECK(space.outcomes[1].status == Status::launch);
    CHECK(space.outcomes[2].status == Status::launch);
  }
}

TEST_CASE("what is written is read back") {
  const DataFolder folder;
  RecordedSpace before = read_recorded_space(folder.write("a.json", t4));
  before.verified_against = "the default configuration: only agreement was checked";
  for (const std::string name : {"b.json", "b.json.gz"}) {
    write_recorded_space(folder.file(name), before);
    const RecordedSpace after = read_recorded_space(folder.file(name));
    CHECK(after.verified_against == before.verified_against);
    CHECK(after.parameters == before.parameters);
    CHECK(after.configurations == before.configurations);
    for (std::size_t i = 0; i < before.outcomes.size(); ++i) {
      CHECK(after.outcomes[i].status == before.outcomes[i].status);
      CHECK(after.outcomes[i].time.value_or(0.0) == doctest::Approx(before.outcomes[i].time.value_or(0.0)));
      CHECK(after.outcomes[i].compile_seconds == doctest::Approx(before.outcomes[i].compile_seconds));
    }
  }
}

TEST_CASE("an invalidity counts, whatever the status beside it says, which only tells it more exactly") {
  const DataFolder folder;
  const auto statuses = [&](const char* second, const char* status) {
    const std::string time = R"("measurements": [{"name": "time", "value": 1.5, "unit": "milliseconds"}])";
    const RecordedSpace space = read_recorded_space(folder.write(
        "a.json", R"({"results": [{"configuration": {"a": 1}, "invalidity": "correct", "status": "unverified", )" +
                      time + R"(}, {"configuration": {"a": 2}, "invalidity": ")" + second + R"(", "status": ")" +
                      status + R"(", )" + time + "}]}"));
    CHECK(space.outcomes[0].status == Status::unverified);
    return space.outcomes[1].status;
  };
  CHECK(statuses("compile", "correct") == Status::compilation);
  CHECK(statuses("runtime", "illegal_access") == Status::illegal_access);
  CHECK(statuses("correctness", "unverified") == Status::wrong_result);
}

TEST_CASE("what is no recording is refused in one line that names the file") {
  const DataFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& word) {
    CAPTURE(bytes.substr(0, 200));
    const std::string line = complaint(folder.write("bad.json", bytes));
    CHECK(line.find("bad.json") != std::string::npos);
    CHECK(line.find(word) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  };
  const auto with = [](std::string text, const std::string& old, const std::string& now) {
    const std::size_t place = text.find(old);
    REQUIRE(place != std::string::npos);
    return text.replace(place, old.size(), now);
  };
  refused("1 2 3", "no JSON");
  refused("{}", "neither");
  refused("[]", "neither");
  refused(t4.substr(0, t4.size() / 2), "no JSON");
  refused(std::string(100000, '['), "nested");
  refused(R"({"results": []})", "no configuration");
  refused(R"({"results": [3]})", "result 1");
  refused(with(t4, "2.5", "-2.5"), "result 1");
  refused(with(t4, "2.5", "0"), "above 0");
  refused(with(t4, "2.5", "\"soon\""), "soon");
  refused(with(t4, "\"compile\"", "\"lost\""), "lost");
  refused(with(t4, "microseconds", "parsecs"), "parsecs");
  refused(with(t4, "\"x\": 16", "\"x\": [16]"), "parameter x");
  refused(with(t1, "\"y\": 0.5, ", ""), "no value for y");
  refused(with(t1, "3.0", "1e20"), "worked");
  CHECK(complaint(folder.file("missing.json")).find("missing.json") != std::string::npos);
}

TEST_CASE("no cut or change of a byte does more than be refused") {
  const DataFolder folder;
  for (std::size_t i = 0; i < t4.size(); i += 3) {
    (void)complaint(folder.write("cut.json", t4.substr(0, i)));
    std::string changed = t4;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    (void)complaint(folder.write("changed.json", changed));
  }
}
