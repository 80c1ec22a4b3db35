// With --json there is one document on standard output and nothing else; without, what people read.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

json document(const Workplace& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json"});
  const Outcome outcome = place.run(arguments);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  json document = json::parse(outcome.out);
  CHECK(document["heddle"].is_string());
  CHECK(document["command"].is_string());
  return document;
}

TEST_CASE("devices") {
  const Workplace place;
  const json devices = document(place, {"devices"})["devices"];
  const auto is_cpu = [](const json& device) { return device["label"] == "cpu"; };
  const auto cpu = std::find_if(devices.begin(), devices.end(), is_cpu);
  REQUIRE(cpu != devices.end());
  CHECK((*cpu)["usable"] == true);
  CHECK((*cpu)["identity"]["units"].get<int>() >= 1);
  CHECK(place.run({"devices"}).out.find("cpu") != std::string::npos);
}

TEST_CASE("tune, train, predict and carry") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  const std::string data = place.write("data.csv", table(1500, 6, 4, 11));
  const std::string test = place.write("test.csv", table(300, 6, 4, 12));
  const std::string model = place.path("m.heddle").string();

  const json tuned = document(place, {"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "32", "--dim",
                                      "6", "--outputs", "4", "--evaluations", "12", "--quiet", "--profiles", file});
  REQUIRE(tuned["results"].size() >= 1);
  CHECK(tuned["results"][0]["profile"]["microseconds_per_sample"].get<double>() > 0);

  const std::vector<std::string> train{"train", data,      "--test",     test, "--device",    "cpu", "--model",
                                       model,   "--quiet", "--profiles", file, "--max-rules", "32"};
  const json trained = document(place, train);
  CHECK(trained["rules"].get<int>() == 32);
  CHECK(trained["epochs"].size() == 10);
  CHECK(trained["epochs"].back()["test"]["accuracy"].get<double>() > 0.9);
  CHECK(trained["epochs"].back()["mappings"].back()["tier"] == "exact");

  SUBCASE("a second training calls no compiler and gives the same bits") {
    const json again = document(place, train);
    CHECK(again["compiler_calls"] == 0);
    CHECK(again["epochs"].back()["train_error"] == trained["epochs"].back()["train_error"]);
  }
  SUBCASE("compared with a training without profiles it comes out the same") {
    std::vector<std::string> compared_train = train;
    compared_train.emplace_back("--compare");
    const json compared = document(place, compared_train);
    CHECK(trained["comparison"].is_null());
    CHECK(compared["epochs"].back()["train_error"] == trained["epochs"].back()["train_error"]);
    const json& comparison = compared["comparison"];
    CHECK(comparison["with_profiles"]["tier"] == "exact");
    CHECK(comparison["without_profiles"]["tier"] == "default");
    CHECK(comparison["with_profiles"]["times"].size() == 9);  // of 10 epochs
    CHECK(comparison["without_profiles"]["times"].size() == 9);
    CHECK(comparison["without_profiles"]["microseconds_per_sample"].get<double>() > 0.0);
    compared_train.insert(compared_train.end(), {"--epochs", "1"});
    const Outcome short_run = place.run(compared_train);
    CHECK(short_run.out.find("the first epoch does not count") != std::string::npos);
    const Outcome untuned = place.run({"train", data, "--device", "cpu", "--model", model, "--compare", "--profiles",
                                       place.path("none.sqlite").string()});
    CHECK(untuned.out.find("there is no profile for this training yet") != std::string::npos);
  }
  SUBCASE("a search for something else keeps its winner beside the fastest, and training goes on with that") {
    const json other = document(place, {"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "32", "--dim",
                                        "6", "--outputs", "4", "--evaluations", "12", "--quiet", "--profiles", file,
                                        "--objective", "1000 / time"});  // the slowest one
    const json& slow = other["results"][0]["profile"];
    const json& fast = tuned["results"][0]["profile"];
    REQUIRE(slow["configuration"] != fast["configuration"]);
    CHECK(slow["objective"] == "1000 / time");
    CHECK(slow["objective_value"] == other["results"][0]["objective"]);
    CHECK(document(place, {"profiles", "list", "--profiles", file})["records"].size() == 2);
    const json again = document(place, train);
    CHECK(again["compiler_calls"] == 0);
    CHECK(again["epochs"].back()["mappings"].back()["configuration"] == fast["configuration"]);
    std::vector<std::string> explain{"profiles", "explain",      "--device",   "cpu",       "--rules",
                                     "32",       "--dim",        "6",          "--outputs", "4",
                                     "--family", "sonfin-train", "--profiles", file};
    const auto chosen = [&] { return document(place, explain)["explanations"][0]["candidates"][0]["configuration"]; };
    CHECK(chosen() == fast["configuration"]);
    CHECK(place.run(explain).out.find("left out: 1 profile found for another objective: 1000 / time") !=
          std::string::npos);
    explain.insert(explain.end(), {"--objective", "(1000)/time"});
    CHECK(chosen() == slow["configuration"]);
    std::vector<std::string> slow_train = train;
    slow_train.insert(slow_train.end(), {"--objective", "1000/time"});
    CHECK(document(place, slow_train)["epochs"].back()["mappings"].back()["configuration"] == slow["configuration"]);
    slow_train.back() = "energy * time";  // nothing has been tuned for that
    const json untuned = document(place, slow_train);
    CHECK(untuned["epochs"].back()["mappings"].back()["tier"] == "default");
    CHECK(untuned["notices"][0].get<std::string>().find("for the objective 'energy * time'") != std::string::npos);
    slow_train.back() = "enrgy";
    check_refused(place.run(slow_train), 2, {"--objective", "enrgy"});
    std::vector<std::string> predict{"predict",    model, test,          "--device", "cpu",
                                     "--profiles", file,  "--objective", "time *"};
    check_refused(place.run(predict), 2, {"--objective", "expected a value"});
    predict.back() = "( time )";
    CHECK(document(place, predict)["tier"] == document(place, {"predict", model, test, "--device", "cpu"})["tier"]);
    explain.back() = "enrgy";
    check_refused(place.run(explain), 2, {"enrgy"});
    const Outcome shown = place.run({"profiles", "show", "--profiles", file});
    CHECK(shown.out.find("objective      1000 / time: ") != std::string::npos);
    CHECK(place.run({"profiles", "list", "--profiles", file}).out.find("outputs=4 (1000 / time)") != std::string::npos);
  }
  SUBCASE("without profiles no compiler is needed") {
    const json plain = document(place, {"train", data, "--device", "cpu", "--model", model, "--epochs", "1"});
    CHECK(plain["compiler_calls"] == 0);
    CHECK(plain["epochs"][0]["mappings"][0]["tier"] == "default");
  }
  SUBCASE("predictions agree with the score of the last epoch") {
    const json predicted = document(place, {"predict", model, test, "--device", "cpu", "--profiles", file});
    CHECK(predicted["predictions"].size() == 300);
    CHECK(predicted["accuracy"].get<double>() ==
          doctest::Approx(trained["epochs"].back()["test"]["accuracy"].get<double>()));
    const Outcome csv = place.run({"predict", model, test, "--device", "cpu", "--quiet"});
    CHECK(csv.out.starts_with("class\nc"));
    CHECK(csv.err.empty());
  }
  SUBCASE("explain says which profile would run") {
    const json explained = document(place, {"profiles", "explain", "--device", "cpu", "--rules", "32", "--dim", "6",
                                            "--outputs", "4", "--family", "sonfin-train", "--profiles", file});
    CHECK(explained["explanations"][0]["candidates"][0]["tier"] == "exact");
    const json same = document(place, {"profiles", "explain", "--device", "cpu", "--size", "dim=6", "--size",
                                       "rules=32", "--outputs", "4", "--family", "sonfin-train", "--profiles", file});
    CHECK(same["explanations"] == explained["explanations"]);
    const auto listed = [&](const char* size) {
      return document(place, {"profiles", "list", "--size", size, "--profiles", file})["records"].size();
    };
    const auto kept = std::count_if(tuned["results"].begin(), tuned["results"].end(),
                                    [](const json& result) { return !result["profile"].is_null(); });
    CHECK(listed("rules=4..64") == static_cast<std::size_t>(kept));
    CHECK(listed("rules=31,33") == 0);
    CHECK(listed("rules=1000000") == 0);  // more than some families allow
    const Outcome text =
        place.run({"profiles", "explain", "--rules", "640", "--dim", "617", "--device", "cpu", "--profiles", file});
    CHECK(text.code == 0);
    CHECK(text.out.find("nearest") != std::string::npos);
  }
  SUBCASE("export, import into an empty database, verify") {
    const std::string carried = place.path("carried.json").string();
    const std::string other = place.path("other.sqlite").string();
    const auto exported = document(place, {"profiles", "export", carried, "--profiles", file});
    CHECK(exported["exported"].get<std::size_t>() >= 1);
    const json imported = document(place, {"profiles", "import", carried, "--profiles", other});
    CHECK(imported["records"].size() == exported["exported"].get<std::size_t>());
    CHECK(imported["records"][0]["action"] == "added");
    CHECK(document(place, {"profiles", "list", "--profiles", other})["records"][0]["state"] == "imported");
    const json verified = document(place, {"profiles", "verify", "--device", "cpu", "--profiles", other});
    CHECK(verified["records"].size() == imported["records"].size());
    CHECK(verified["records"][0]["status"] == "correct");
    CHECK(document(place, {"profiles", "list", "--profiles", other})["records"][0]["state"] == "current");
    CHECK(document(place, {"profiles", "prune", "--profiles", other})["records"] == 0);
  }
}

TEST_CASE("a run that is killed continues, and the loss at untuned sizes is measured") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  const std::vector<std::string> tune{
      "tune",      "--device", "cpu",        "--family", "sonfin-train",  "--rules", "8,32",       "--dim", "4,16",
      "--outputs", "1",        "--strategy", "random",   "--evaluations", "40",      "--profiles", file};
  const Process killed = place.start(tune);
  const auto measured = [&] {
    const Outcome shown = place.run({"profiles", "show", "--profiles", file});
    return shown.code == 0 && shown.out.find("verified") != std::string::npos;
  };
  for (int tries = 0; tries < 600 && !measured(); ++tries) usleep(50'000);
  kill(killed.id, SIGKILL);
  (void)place.wait(killed);
  const Outcome again = place.run(tune);
  CHECK(again.code == 0);
  const json listed = document(place, {"profiles", "list", "--profiles", file});
  CHECK(listed["records"].size() == 4);
  const json regret = document(place, {"profiles", "regret", "--device", "cpu", "--family", "sonfin-train", "--count",
                                       "2", "--budget", "1s", "--profiles", file});
  REQUIRE(regret["records"].size() == 2);
  CHECK(regret["worst"].get<double>() >= regret["mean"].get<double>());
  CHECK(regret["records"][0]["default_microseconds_per_sample"].get<double>() > 0.0);
  CHECK(regret["records"][0]["problem"]["rules"].get<int>() >= 8);
  CHECK(document(place, {"profiles", "list", "--profiles", file}) == listed);  // nothing of it is stored
  check_refused(place.run({"profiles", "regret", "--device", "cpu"}), 5, {"no size lies between"});
  const json untuned =
      document(place, {"profiles", "regret", "--untuned", "--device", "cpu", "--family", "sonfin-train", "--rules",
                       "8,16", "--dim", "3,6", "--outputs", "1", "--count", "1", "--budget", "1s", "--profiles", file});
  CHECK(untuned["profiles"].is_null());
}

TEST_CASE("the summary of a tuning run says what its figures mean") {
  const Workplace place;
  const std::string recording = HEDDLE_SOURCE "/tests/tuner/replay/data/cpu-sonfin-train.t4.json.gz";
  const std::string file = place.path("p.sqlite").string();
  const Outcome kept = place.run({"tune", "--replay", recording, "--evaluations", "60", "--profiles", file});
  REQUIRE(kept.code == 0);
  for (const char* words : {"1 of 1 problem tuned in", "from now on these profiles are used on this device",
                            "48 configurations tried", "verified: timed, and their results agree",
                            "timed: not verified, because another configuration won", "time spent: "}) {
    CAPTURE(words);
    CHECK(kept.out.find(words) != std::string::npos);
  }
  const Outcome forgotten = place.run({"tune", "--replay", recording, "--evaluations", "60"});
  CHECK(forgotten.out.find("these profiles are used") == std::string::npos);
  CHECK(forgotten.out.find("profiles: not kept") != std::string::npos);
  const Outcome shown = place.run({"profiles", "show", "--profiles", file});
  CHECK(shown.out.find(" verified, ") != std::string::npos);
}

TEST_CASE("regression") {
  const Workplace place;
  std::string rows;
  for (int i = 0; i < 400; ++i) {
    const double x = i * 0.01;
    rows += std::to_string(x) + " " + std::to_string(1000 + 50 * x * x) + "\n";
  }
  const std::string data = place.write("curve.txt", rows);
  const std::string model = place.path("m").string();
  const json trained = document(place, {"train", data, "--test", data, "--task", "regress", "--device", "cpu",
                                        "--model", model, "--epochs", "30"});
  CHECK(trained["epochs"].back()["test"]["rmse"].get<double>() < 40);
  const json predicted = document(place, {"predict", model, data, "--device", "cpu"});
  CHECK(predicted["predictions"][200][0].get<double>() == doctest::Approx(1200).epsilon(0.1));
}

}  // namespace
}  // namespace heddle::test
