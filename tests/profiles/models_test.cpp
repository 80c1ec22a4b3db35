// Fitted models in the database and in exported documents.
#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/exchange.hpp"
#include "heddle/profiles/migrations.hpp"
#include "heddle/profiles/shipped_models.hpp"
#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;
using nlohmann::json;
using Action = ImportDecision::Action;

/// With the terms of today's family.
FittedModel model_of(const DeviceIdentity& device = card("NVIDIA Test")) {
  FittedModel model = shipped_models().front();
  const KernelFamily& family = builtin_families().at(model.family);
  model.device = device;
  model.kernels = kernel_version(family, device);
  model.weights.front().microseconds = 0.1;
  model.left_out_error = 1.0 / 30.0;
  model.measurements = 600;
  model.remark = "a remark";
  model.provenance = provenance();
  return model;
}

ProfileStore in_memory() { return {":memory:", kWrite}; }

TEST_CASE("a model is kept as it is, one for a device and family") {
  const Folder folder;
  const FittedModel first = model_of();
  FittedModel second = model_of(card("NVIDIA Other"));
  {
    ProfileStore store(folder / "p", kWrite);
    CHECK(store.models().empty());
    store.keep(first);
    store.keep(second);
    second.measurements = 700;
    store.keep(second);
  }
  const ProfileStore store(folder / "p", kRead);
  CHECK(store.models() == std::vector{second, first});  // in the order of their devices
  CHECK(store.models("sonfin-predict").empty());
  CHECK(store.find_model(first.family, first.device) == first);
  CHECK(!store.find_model(first.family, card("NVIDIA Third")));
  CHECK(store.knowledge().models.size() == 2);
}

TEST_CASE("a run goes on with the models that there were when it began") {
  ProfileStore store = in_memory();
  const FittedModel before = model_of();
  store.keep(before);
  const TuningRun run = store.begin_run("task");
  FittedModel after = before;
  after.measurements = 900;
  store.keep(after);
  CHECK(store.models_before(run) == std::vector{before});
  store.end_run(run, false);
  CHECK(store.models_before(store.begin_run("task")) == std::vector{before});
  store.end_run(run, true);
  CHECK(store.models_before(store.begin_run("task")) == std::vector{after});
}

TEST_CASE("a database of the fifth schema has no models, and takes them") {
  const Folder folder;
  std::filesystem::copy_file(std::filesystem::path(HEDDLE_GOLDEN) / "profiles-schema-5.sqlite", folder / "p");
  CHECK(ProfileStore(folder / "p", kRead).models().empty());
  {
    ProfileStore store(folder / "p", kWrite);
    CHECK(store.profiles().size() == 4);
    store.keep(model_of());
  }
  CHECK(ProfileStore(folder / "p", kRead).models() == std::vector{model_of()});
  SQLite::Database database(folder / "p");
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == present_schema());
}

TEST_CASE("weights that no heddle writes make a database damaged, in one line that names the model") {
  for (const auto& damage : {std::pair("weights = '{\"block: warps\": -1}'", "a weight is -1, expected a number"),
                             std::pair("weights = '{\"block: warps\": \"x\"}'", "the weight of"),
                             std::pair("weights = '{}'", "expected an object of 1 to 1024 numbers"),
                             std::pair("weights = '[1]'", "expected an object of 1 to 1024 numbers"),
                             std::pair("weights = 'wool'", "weights is 'wool', expected a JSON object"),
                             std::pair("left_out_error = -0.5", "left_out_error is -0.5"),
                             std::pair("measurements = 0", "measurements is 0"),
                             std::pair("problems = 601", "problems is 601, expected 1 to 600")}) {
    const std::string set = damage.first, part = damage.second;
    CAPTURE(set);
    const Folder folder;
    ProfileStore(folder / "p", kWrite).keep(model_of());
    SQLite::Database(folder / "p", SQLite::OPEN_READWRITE).exec(std::string("UPDATE models SET ") + set);
    const std::string line = complaint([&] { (void)ProfileStore(folder / "p", kRead).models(); });
    CAPTURE(line);
    CHECK(contains(line, "damaged: the model of sonfin-train on NVIDIA Test: "));
    CHECK(contains(line, part));
  }
}

TEST_CASE("an export carries models, and an import keeps them, marked") {
  const Folder folder;
  ProfileStore from = in_memory(), to = in_memory();
  from.keep(model_of());
  from.keep(profile());
  CHECK(export_profiles(from, folder / "p.json").models == 1);
  CHECK(export_profiles(from, folder / "none.json", "sonfin-predict").models == 0);
  const Imported imported = import_profiles(to, folder / "p.json");
  CHECK(imported.profiles.size() == 1);
  REQUIRE(imported.models.size() == 1);
  CHECK(imported.models[0].action == Action::added);
  FittedModel expected = model_of();
  expected.imported = true;
  CHECK(to.models() == std::vector{expected});
  CHECK(import_profiles(to, folder / "p.json").models[0].action == Action::same);
}

TEST_CASE("the shipped files can be imported") {
  ProfileStore store = in_memory();
  const Imported imported = import_profiles(store, HEDDLE_SHIPPED "/nvidia-h200.json");
  CHECK(!imported.models.empty());
  for (const ModelDecision& decision : imported.models) CHECK(decision.action == Action::added);
}

TEST_CASE("of two models the one that rests on more stays; one of the present kernels is better than any other") {
  const Folder folder;
  const auto decision = [&](const std::function<void(FittedModel&)>& change) {
    ProfileStore from = in_memory(), to = in_memory();
    FittedModel arriving = model_of();
    change(arriving);
    from.keep(arriving);
    to.keep(model_of());
    export_profiles(from, folder / "p.json");
    const ModelDecision taken = import_profiles(to, folder / "p.json").models.at(0);
    const bool replaced = to.models().at(0).imported;
    CHECK(replaced == (taken.action == Action::replaced));
    CHECK(!taken.reason.empty());
    return taken.action;
  };
  CHECK(decision([](FittedModel&) {}) == Action::same);
  CHECK(decision([](FittedModel& m) { ++m.measurements; }) == Action::replaced);
  CHECK(decision([](FittedModel& m) { m.measurements -= 1; }) == Action::kept_local);
  CHECK(decision([](FittedModel& m) { m.left_out_error = 0.01; }) == Action::kept_local);
  CHECK(decision([](FittedModel& m) {
          ++m.measurements;
          m.kernels.source_hash = std::string(32, 'f');
        }) == Action::kept_local);
  CHECK(decision([](FittedModel& m) { m.weights.push_back({.term = "knots", .microseconds = 1.0}); }) ==
        Action::refused);
}

TEST_CASE("a damaged record of a model is refused in one line, and nothing of its file is taken") {
  const Folder folder;
  ProfileStore from = in_memory();
  from.keep(model_of());
  from.keep(profile());
  export_profiles(from, folder / "p.json");
  const json good = json::parse(contents(folder / "p.json"));
  const auto refusal = [&](bool sign, const std::function<void(json&)>& change) {
    json document = good;
    json& record = document["models"][0];
    change(record);
    if (sign) {
      record.erase("checksum");
      record["checksum"] = digest(record.dump());
    }
    write(folder / "bad.json", document.dump());
    ProfileStore store = in_memory();
    std::string line = complaint([&] { (void)import_profiles(store, folder / "bad.json"); }, ErrorKind::input);
    CHECK(contains(line, "bad.json: model 1: "));
    CHECK(store.profiles().empty());
    CHECK(store.models().empty());
    return line;
  };
  CHECK(contains(refusal(false, [](json& r) { r["weights"]["block: warps"] = 7; }), "checksum is"));
  CHECK(contains(refusal(true, [](json& r) { r["weights"]["block: warps"] = -7; }), "a weight is -7"));
  CHECK(contains(refusal(true, [](json& r) { r["weights"]["block: warps"] = "wool"; }), "expected a number"));
  CHECK(contains(refusal(true, [](json& r) { r["weights"] = json::array({1}); }), "expected an object"));
  CHECK(contains(refusal(true, [](json& r) { r["weights"]["a\nb"] = 1; }), "that can be printed"));
  CHECK(contains(refusal(true, [](json& r) { r.erase("measurements"); }), "measurements is missing"));
  CHECK(contains(refusal(true, [](json& r) { r["device"] = "wool"; }), "wool"));
  CHECK(contains(refusal(true, [](json& r) { r["left_out_error"] = -1; }), "left_out_error is -1"));
  CHECK(contains(refusal(true, [](json& r) { r["source_hash"] = "1"; }), "32 hexadecimal digits"));

  json twice = good;
  twice["models"].push_back(twice["models"][0]);
  write(folder / "twice.json", twice.dump());
  ProfileStore store = in_memory();
  CHECK(contains(complaint([&] { (void)import_profiles(store, folder / "twice.json"); }, ErrorKind::input),
                 "model 2: the same device and family as model 1"));
}

TEST_CASE("models of older kernels are pruned with what was measured of them") {
  ProfileStore store = in_memory();
  store.keep(model_of());
  FittedModel old = model_of(card("NVIDIA Old"));
  old.kernels.source_hash = std::string(32, 'f');
  store.keep(old);
  const auto outdated = [&](const std::string&, const DeviceIdentity&, const KernelVersion& version) {
    return version.source_hash == old.kernels.source_hash;
  };
  CHECK(store.prune(outdated).models == 1);
  CHECK(store.models() == std::vector{model_of()});
}

}  // namespace
}  // namespace heddle
