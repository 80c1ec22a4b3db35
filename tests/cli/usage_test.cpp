#include <doctest/doctest.h>

#include <cstdlib>

#include "cli/program.hpp"
#include "runtime/device/environment_variable.hpp"

namespace heddle::test {
namespace {

TEST_CASE("version and help") {
  const Workplace place;
  const Outcome version = place.run({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("heddle "));
  CHECK(version.err.empty());
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"help"},
                                                    {"--help"},
                                                    {"help", "tune"},
                                                    {"train", "--help"},
                                                    {"help", "profiles"},
                                                    {"help", "profiles", "explain"}}) {
    const Outcome help = place.run(arguments);
    CHECK(help.code == 0);
    CHECK(help.out.find("--help") != std::string::npos);
    if (arguments == std::vector<std::string>{"--help"})
      CHECK(help.out.find("fuzzy and small neural networks") != std::string::npos);
    CHECK(help.err.empty());
  }
}

TEST_CASE("a line of an error is short, whatever the name of a file") {
  const Workplace place;
  check_refused(place.run({"train", std::string(100'000, 'x')}), 3, {"xxx"});
}

TEST_CASE("help names every option of the trainer") {
  const Workplace place;
  const std::string help = place.run({"help", "train"}).out;
  for (const char* const option : {"--test",
                                   "--label",
                                   "--task",
                                   "--epochs",
                                   "--max-rules",
                                   "--threshold",
                                   "--threshold-decay",
                                   "--overlap",
                                   "--learning-rate",
                                   "--antecedent-rate",
                                   "--step",
                                   "--width",
                                   "--initial-width",
                                   "--scale",
                                   "--shuffle",
                                   "--no-shuffle",
                                   "--seed",
                                   "--validation",
                                   "--patience",
                                   "--target-error",
                                   "--resume",
                                   "--device",
                                   "--profiles",
                                   "--model",
                                   "--json",
                                   "--quiet"}) {
    CAPTURE(option);
    CHECK(help.find(option) != std::string::npos);
  }
}

TEST_CASE("wrong usage is one line that names the option") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(40, 3, 2, 1));
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> words;
  };
  for (const Case& wrong : {
           Case{{"weave"}, {"weave"}},
           Case{{"tune", "--fast"}, {"--fast"}},
           Case{{"train"}, {"data"}},
           Case{{"tune", "--rules", "0"}, {"--rules", "'0'"}},
           Case{{"tune", "--rules", "-5"}, {"--rules", "-5"}},
           Case{{"tune", "--rules=-5"}, {"--rules", "'-5'"}},
           Case{{"tune", "--rules", "1e3"}, {"--rules", "'1e3'"}},
           Case{{"tune", "--rules", "abc"}, {"--rules", "'abc'"}},
           Case{{"tune", "--rules", "32,"}, {"--rules", "'32,'"}},
           Case{{"tune", "--rules", "64..32"}, {"--rules", "'64..32'"}},
           Case{{"tune", "--dim", "99999999999999999999"}, {"--dim", "99999999999999999999"}},
           Case{{"tune", "--size", "rules"}, {"--size", "'rules'", "NAME=LIST"}},
           Case{{"tune", "--size", "knots=3"}, {"--size", "'knots=3'", "rules, dim"}},
           Case{{"tune", "--size", "=3"}, {"--size", "'=3'"}},
           Case{{"tune", "--size", "rules=0"}, {"--size rules", "'0'"}},
           Case{{"tune", "--size", "rules=4,,5"}, {"--size rules", "'4,,5'"}},
           Case{{"tune", "--size", "rules=absent"}, {"--size rules", "'absent'"}},
           Case{{"tune", "--size", "rules=4", "--size", "rules=5"}, {"--size rules", "twice"}},
           Case{{"tune", "--size", "rules=4", "--rules", "5"}, {"rules", "twice"}},
           Case{{"tune", "--device", "cpu", "--family", "sonfin-train", "--rows", "64"},
                {"--rows", "sonfin-train", "rules, dim, outputs"}},
           Case{{"tune", "--device", "cpu", "--family", "tsk-constant", "--size", "rules=100000"},
                {"--size rules", "16384", "tsk-constant"}},
           Case{{"profiles", "list", "--family", "sonfin-predict", "--size", "rows=3"},
                {"--size rows", "sonfin-predict"}},
           Case{{"profiles", "explain", "--size", "rules=4,5"}, {"--size rules", "'4,5'"}},
           Case{{"tune", "--budget", "30"}, {"--budget", "'30'", "30s"}},
           Case{{"tune", "--budget", "-3s"}, {"--budget"}},
           Case{{"tune", "--evaluations", "0"}, {"--evaluations", "'0'"}},
           Case{{"tune", "--seed", "x"}, {"--seed", "'x'"}},
           Case{{"tune", "--strategy", "magic"}, {"magic", "random"}},
           Case{{"tune", "--patience", "0"}, {"--patience", "'0'"}},
           Case{{"tune", "--compile-limit", "10m"}, {"--compile-limit", "'10m'"}},
           Case{{"compiler"}, {"compiler: its descriptor 3 is no socket"}},
           Case{{"tune", "--target", "2", "--peak-rate", "1"}, {"--target", "'2'"}},
           Case{{"tune", "--target", "0.5"}, {"--target", "--peak-bandwidth"}},
           Case{{"tune", "--replay", data, "--device", "cpu"}, {"--replay", "--device"}},
           Case{{"tune", "--device", "cpu", "--record", "r.json"}, {"--record", "problems"}},
           Case{{"search-benchmark"}, {"FILE"}},
           Case{{"search-benchmark", data, "--seeds", "0"}, {"--seeds", "'0'"}},
           Case{{"tune", "--family", "weaving"}, {"weaving", "sonfin-train"}},
           Case{{"train", data, "--epochs", "0"}, {"epochs", "0"}},
           Case{{"train", data, "--max-rules", "many"}, {"max-rules", "many"}},
           Case{{"train", data, "--threshold", "nan"}, {"threshold", "nan"}},
           Case{{"train", data, "--step", "big"}, {"step", "big", "plain"}},
           Case{{"train", data, "--task", "guess"}, {"--task", "guess", "regress"}},
           Case{{"train", data, "--label", "9"}, {"label", "9"}},
           Case{{"profiles"}, {"heddle help"}},
           Case{{"profiles", "explain", "--rules", "0"}, {"--rules", "'0'"}},
       }) {
    CAPTURE(wrong.arguments.back());
    check_refused(place.run(wrong.arguments), 2, wrong.words);
  }
}

TEST_CASE("a wrong word about the shipped weights is refused at the start of every command that chooses") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(40, 3, 2, 1));
  const std::string none = place.path("none").string();  // no such file: the refusal comes before it is opened
  const std::vector<std::vector<std::string>> commands{{"tune", "--replay", none},
                                                       {"train", none, "--device", "cpu"},
                                                       {"train", none, "--device", "cpu", "--folds", "2"},
                                                       {"predict", none, none, "--device", "cpu"},
                                                       {"fuzzy", "x", "--input", "x=" + none},
                                                       {"profiles", "list", "--profiles", none},
                                                       {"profiles", "show", "--profiles", none},
                                                       {"profiles", "explain", "--profiles", none},
                                                       {"profiles", "export", none, "--profiles", none},
                                                       {"profiles", "import", none, "--profiles", none},
                                                       {"profiles", "verify", "--profiles", none},
                                                       {"profiles", "regret", "--profiles", none},
                                                       {"profiles", "regret", "--untuned", "--device", "none"},
                                                       {"profiles", "prune", "--profiles", none}};
  {
    const Variable wrong("HEDDLE_SHIPPED_WEIGHTS", "foo\x1b");
    for (const std::vector<std::string>& command : commands) {
      CAPTURE(command[0] + " " + command[1]);
      check_refused(place.run(command), 2, {R"(HEDDLE_SHIPPED_WEIGHTS: found 'foo\x1b', expected 'none' or nothing)"});
    }
    CHECK(place.run({"help", "tune"}).code == 0);
    CHECK(place.run({"convert", data, "--to", "table", "--output", place.path("converted.csv").string()}).code == 0);
  }
  for (const char* const word : {"", "none"}) {
    const Variable right("HEDDLE_SHIPPED_WEIGHTS", word);
    CHECK(place.run({"profiles", "list"}).code == 0);
  }
}

TEST_CASE("a message about one row says row") {
  const Workplace place;
  const std::string data = place.write("data.csv", "1,2\n"), model = place.path("m.heddle").string();
  for (const char* const network : {"mlp", "tsk"}) {
    CAPTURE(network);
    const Outcome trained = place.run({"train", data, "--network", network, "--task", "regress", "--device", "cpu",
                                       "--epochs", "1", "--metrics", "--model", model});
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(trained.out.starts_with(data + ": 1 row, 1 input, 1 output; on cpu"));
    CHECK(trained.out.find("metrics of " + data + ", 1 row\n") != std::string::npos);
    CHECK(place.run({"inspect", model}).out.find(", 1 input, 1 output; 1 epoch of " + std::string(network)) !=
          std::string::npos);
    const Outcome predicted = place.run({"predict", model, data, "--device", "cpu"});
    CHECK((predicted.out + predicted.err).find("1 row, RMSE") != std::string::npos);
  }
}

TEST_CASE("what is no recorded search space") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(40, 3, 2, 1));
  check_refused(place.run({"tune", "--replay", data}), 3, {"data.csv", "recorded search space"});
  check_refused(place.run({"search-benchmark", data}), 3, {"data.csv", "recorded search space"});
  check_refused(place.run({"search-benchmark", place.path("none").string()}), 3, {"none"});
}

TEST_CASE("a baseline of other spaces is said to say nothing") {
  const Workplace place;
  const std::string space =
      place.write("space.json", R"({"kernel_name": "k", "problem_size": [1], "tune_params_keys": ["a"],
        "tune_params": {"a": [1, 2, 3]}, "cache": {"1": {"a": 1, "time": 1.0}, "2": {"a": 2, "time": 2.0},
        "3": {"a": 3, "time": 3.0}}})");
  const std::string baseline = place.write("baseline.json", R"({"spaces": {"other.json": {"strategies": {}}}})");
  const Outcome outcome =
      place.run({"search-benchmark", space, "--baseline", baseline, "--seeds", "1", "--strategy", "random"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("random, exactly") != std::string::npos);
  CHECK(outcome.err.find("nothing about space.json at 25, 50, 100, 200 evaluations") != std::string::npos);
}

TEST_CASE("an unknown device") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(40, 3, 2, 1));
  check_refused(place.run({"train", data, "--device", "abacus"}), 4, {"abacus", "cpu"});
  check_refused(place.run({"tune", "--device", "cuda:99"}), 4, {});
}

TEST_CASE("tuning without a compiler says what can be tried, and tries that") {
  const Workplace place;
  const auto value = [](const char* name) {
    const char* const found = std::getenv(name);
    return found == nullptr ? std::string() : std::string(found);
  };
  const std::string path = value("PATH"), compiler = value("CXX");
  setenv("PATH", place.folder().c_str(), 1);
  unsetenv("CXX");
  const Outcome outcome =
      place.run({"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "8", "--dim", "5", "--outputs", "1",
                 "--evaluations", "3", "--profiles", place.path("p").string()});
  setenv("PATH", path.c_str(), 1);
  if (!compiler.empty()) setenv("CXX", compiler.c_str(), 1);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("built-in default configurations") != std::string::npos);
  CHECK(outcome.out.find("1 of 1 problem tuned") != std::string::npos);
}

TEST_CASE("a reader that goes away does not stop training") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(200, 3, 2, 1));
  const std::string command = "'" HEDDLE_PROGRAM "' train '" + data + "' --model '" + place.path("m").string() +
                              "' --device cpu --profiles '" + place.path("p").string() + "' 2>/dev/null | true";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(std::filesystem::exists(place.path("m")));
}

}  // namespace
}  // namespace heddle::test
