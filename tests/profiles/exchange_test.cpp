#include "heddle/profiles/exchange.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/present_kernels.hpp"
#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;
using nlohmann::json;
using Action = ImportDecision::Action;
namespace fs = std::filesystem;

/// What a program that knows a family called carpet has tuned.
Profile unknown_profile() {
  Profile other = profile();
  other.key.family = "carpet";
  other.key.problem = Problem({{.name = "knots", .value = 1'000'000'000'000}, {.name = "colours", .value = 0}});
  other.configuration = "loom=upright";
  other.ties = {"loom=flat"};
  return other;
}

ProfileStore empty_store() { return {":memory:", ProfileStore::Access::read_write}; }

/// A document of one profile as an export writes it.
json document(const Profile& kept) {
  const Folder folder;
  ProfileStore store = empty_store();
  store.keep(kept);
  REQUIRE(export_profiles(store, folder / "p.json").count == 1);
  return json::parse(contents(folder / "p.json"));
}

void sign(json& record) {
  record.erase("checksum");
  record["checksum"] = digest(record.dump());
}

/// The same as a newer heddle may write it.
json unknown_record() {
  json record = document(unknown_profile())["profiles"][0];
  record["contract_digest"] = std::string(32, 'c');
  record["thread"] = {{"material", "w\xc3\xb6ol"}, {"lengths", {1, 0.5, -7, 18446744073709551615ULL, nullptr}}};
  record["time"] = 2.5;
  sign(record);
  return record;
}

std::vector<ImportDecision> import(ProfileStore& store, const json& document) {
  const Folder folder;
  write(folder / "p.json", document.dump());
  return import_profiles(store, folder / "p.json").profiles;
}

/// The line an import of `bytes` is refused with, which names the file; nothing may have been changed.
std::string refusal(const std::string& bytes) {
  const Folder folder;
  write(folder / "bad.json", bytes);
  ProfileStore store = empty_store();
  std::string line = complaint([&] { import_profiles(store, folder / "bad.json"); }, ErrorKind::input);
  CHECK(contains(line, (folder / "bad.json").string()));
  CHECK(store.profiles().empty());
  return line;
}

/// The line for a signed document whose second record was changed; the first one is good and must not be kept either.
std::string refusal_of(const std::function<void(json&)>& change) {
  json all = document(profile(key(33)));
  json bad = document(profile())["profiles"][0];
  change(bad);
  sign(bad);
  all["profiles"].push_back(bad);
  std::string line = refusal(all.dump());
  CHECK(contains(line, "record 2"));
  return line;
}

TEST_CASE("what was exported comes back, marked as imported") {
  const Folder folder;
  ProfileStore from = empty_store(), to = empty_store();
  std::mt19937_64 random(std::random_device{}());
  for (const std::int64_t rules : {1, 33, 640}) {
    Profile each = profile(key(rules), std::ldexp(static_cast<double>(random() | 1), -60));
    each.spread = each.time / 3;
    each.ties = {each.configuration};
    each.provenance.host =
        "w\xc3\xa9"
        "ft \"a\" \\ b";
    each.provenance.seed = rules == 1 ? std::numeric_limits<std::int64_t>::min() : 7;
    from.keep(each);
  }
  CHECK(export_profiles(from, folder / "p.json").count == 3);
  CHECK(export_profiles(from, folder / "none.json", "sonfin-predict").count == 0);
  const auto decisions = import_profiles(to, folder / "p.json").profiles;
  REQUIRE(decisions.size() == 3);
  for (const ImportDecision& decision : decisions) {
    CHECK(decision.action == Action::added);
    Profile expected = *from.find(decision.profile.key);
    expected.imported = true;
    CHECK(same(decision.profile, expected));
    CHECK(same(*to.find(expected.key), expected));
  }
  for (const ImportDecision& decision : import_profiles(to, folder / "p.json").profiles)
    CHECK(decision.action == Action::same);
}

TEST_CASE("text that is no UTF-8 does not stop an export") {
  const Folder folder;
  ProfileStore from = empty_store(), to = empty_store();
  Profile odd = profile();
  odd.provenance.driver = "580\xff\xfe";
  odd.key.device.name = "card \xff | \\x41 \"\t";
  from.keep(odd);
  odd.key.device.name = "card \xff | \\x41 \"";
  from.keep(odd);
  CHECK(export_profiles(from, folder / "p.json").count == 1);  // not the one with a control character in its name
  REQUIRE(import_profiles(to, folder / "p.json").profiles.size() == 1);
  CHECK(to.find(odd.key));
}

TEST_CASE("an export leaves out what no import would take") {
  ProfileStore store = empty_store();
  store.keep(profile());
  Profile gone = profile(key(33));
  gone.configuration = "scheme=forgotten";
  store.keep(gone);
  gone = unknown_profile();
  gone.record = "{}";
  store.keep(gone);
  gone.key.problem = key(34).problem;
  gone.record = unknown_record().dump();
  store.keep(gone);
  gone.key.problem = key(35).problem;
  gone.record = "carpet";
  store.keep(gone);
  const Folder folder;
  const Exported exported = export_profiles(store, folder / "p.json");
  CHECK(exported.count == 1);
  REQUIRE(exported.left_out.size() == 4);
  CHECK(exported.left_out[0].profile.key.family == "carpet");
  CHECK(contains(exported.left_out[0].reason, "checksum is missing"));
  CHECK(contains(exported.left_out[1].reason, "of another device, family or problem"));
  CHECK(contains(exported.left_out[2].reason, "not JSON"));
  CHECK(contains(exported.left_out[3].reason, "scheme"));
}

TEST_CASE("a record of an unknown family is kept beside known ones, and exported again as it came") {
  json all = document(profile());
  const json record = unknown_record();
  all["profiles"].push_back(record);
  ProfileStore store = empty_store();
  const auto decisions = import(store, all);
  REQUIRE(decisions.size() == 2);
  for (const ImportDecision& each : decisions) CHECK(each.action == Action::added);
  REQUIRE(store.find(unknown_profile().key));
  const Profile kept = *store.find(unknown_profile().key);
  CHECK(kept.imported);
  CHECK(kept.configuration == "loom=upright");
  CHECK(kept.time == 2.5);
  CHECK(json::parse(kept.record) == record);

  const Folder folder;
  const Exported exported = export_profiles(store, folder / "p.json");
  CHECK(exported.count == 2);
  CHECK(exported.left_out.empty());
  const json again = json::parse(contents(folder / "p.json"))["profiles"];
  CHECK(std::ranges::count(again, record) == 1);
  for (const ImportDecision& each : import(store, all)) CHECK(each.action == Action::same);

  CHECK(store
            .prune([](const std::string& family, const DeviceIdentity&, const KernelVersion&) {
              return family != unknown_profile().key.family && family != "sonfin-train";
            })
            .profiles == 0);
  CHECK(store.find(unknown_profile().key));
}

TEST_CASE("a profile that another program tuned is carried on by one that does not know the family") {
  ProfileStore store = empty_store();
  store.keep(unknown_profile());
  const Folder folder;
  CHECK(export_profiles(store, folder / "p.json").left_out.empty());
  ProfileStore other = empty_store();
  REQUIRE(import_profiles(other, folder / "p.json").profiles.size() == 1);
  Profile expected = unknown_profile();
  expected.imported = true;
  CHECK(same(*other.find(expected.key), expected));
}

TEST_CASE("what was unknown when it was imported is a profile like others for a program that knows the family") {
  const Folder folder;
  json record = document(profile())["profiles"][0];
  record["thread"] = "silk";
  sign(record);
  {
    ProfileStore store(folder / "p", kWrite, FamilyRegistry());
    import(store, {{"format", "heddle-profiles"}, {"schema", 1}, { "profiles", json::array({record}) }});
    CHECK_FALSE(store.find(key())->record.empty());
  }
  ProfileStore store(folder / "p", kWrite);
  Profile expected = profile();
  expected.imported = true;
  REQUIRE(store.find(key()));
  CHECK(same(*store.find(key()), expected));
  CHECK(store.find(key())->record.empty());
  expected.time = 1.0;
  CHECK(store.keep_if_better(expected));
  CHECK(ProfileStore(folder / "p", kRead, FamilyRegistry()).find(key())->record.empty());
}

TEST_CASE("which of two profiles of an unknown family is kept") {
  const auto decide = [](const Profile& local, const Profile& arriving) {
    ProfileStore store = empty_store();
    store.keep(local);
    return import(store, document(arriving)).front().action;
  };
  const Profile local = unknown_profile();
  Profile arriving = local;
  CHECK(decide(local, arriving) == Action::same);
  arriving.time = 2.0;
  CHECK(decide(local, arriving) == Action::replaced);
  arriving.time = 3.0;
  CHECK(decide(local, arriving) == Action::kept_local);
  // From other kernels: only the family knows which are present. What was measured here stays, else the later one wins.
  arriving.time = 2.0;
  arriving.kernels.source_hash = std::string(32, 'f');
  arriving.provenance.date = "2027-01-31T12:00:00Z";
  CHECK(decide(local, arriving) == Action::kept_local);
  Profile imported = local;
  imported.imported = true;
  CHECK(decide(imported, arriving) == Action::replaced);
  arriving.provenance.date = imported.provenance.date;
  CHECK(decide(imported, arriving) == Action::kept_local);
}

TEST_CASE("hostile records of unknown families are refused in one line") {
  const auto with = [](const std::string& name, const json& value) {
    return refusal_of([&](json& record) {
      record = unknown_record();
      record[name] = value;
    });
  };
  CHECK(contains(with("thread", std::string(2 << 20, 'x')), "a record of an unknown family is"));
  CHECK(contains(with("thread", json(std::vector<double>(400'000, 0.125))), "at most 1048576"));
  CHECK(contains(with("thread", "\033[31m"), "no control characters"));
  CHECK(contains(with("\033[31m", "thread"), "no control characters"));
  CHECK(contains(with("thread", json::array({json{{"a", "b\n"}}})), "no control characters"));
  CHECK(contains(with("family", std::string(5000, 'x')), "family is"));
  CHECK(contains(with("family", std::string(300, 'x')), "a name of at most 256 bytes"));
  CHECK(contains(with("family", ""), "family is"));
  CHECK(contains(with("family", "car\npet"), "family is"));
  CHECK(contains(with("device", "abacus"), "device"));
  CHECK(contains(with("device", "emulator|a|9.0|1 units|1 GiB|1 cache|1 local"), "backend is"));
  CHECK(contains(with("problem", "knots"), "problem 'knots'"));
  CHECK(contains(with("problem", "knots=-1"), "problem 'knots=-1'"));
  CHECK(contains(with("configuration", std::string(5000, 'x')), "configuration is"));
  CHECK(contains(with("time", 0), "time is"));
  CHECK(contains(with("source_hash", "carpet"), "source_hash is"));
  json deep = 1;
  for (int level = 0; level < 7; ++level) deep = json::array({deep});
  json all = document(profile());
  json record = unknown_record();
  record["thread"] = deep;
  sign(record);
  all["profiles"].push_back(record);
  CHECK(contains(refusal(all.dump()), "nested too deeply"));
}

TEST_CASE("a local profile that an import displaces is kept as a snapshot, once") {
  ProfileStore store = empty_store();
  store.keep(profile(key(), 4.0));
  for (const double time : {3.0, 2.0}) {  // the second displaces an imported one
    REQUIRE(import(store, document(profile(key(), time)))[0].action == Action::replaced);
    CHECK(store.find(key())->time == time);
    REQUIRE(store.displaced(key()));
    CHECK(store.displaced(key())->time == 4.0);
    CHECK(!store.displaced(key())->imported);
  }
  CHECK(store.displaced().size() == 1);
  CHECK(store.restore_displaced(key()));
  CHECK(store.find(key())->time == 4.0);
  CHECK(!store.restore_displaced(key()));
}

TEST_CASE("better local profiles are kept, and every decision has its reason") {
  const auto decide = [](const std::optional<Profile>& local, const Profile& arriving) {
    ProfileStore store = empty_store();
    if (local) store.keep(*local);
    const auto decisions = import(store, document(arriving));
    REQUIRE(decisions.size() == 1);
    CHECK(!decisions[0].reason.empty());
    const bool replaced = decisions[0].action == Action::added || decisions[0].action == Action::replaced;
    CHECK(store.find(arriving.key)->imported == replaced);
    CHECK(store.find(arriving.key)->time == (replaced ? arriving.time : local->time));
    return decisions[0].action;
  };
  Profile stale = profile(key(), 1.0);
  stale.kernels.source_hash = "0123456789abcdef0123456789abcdef";
  CHECK(decide({}, profile()) == Action::added);
  CHECK(decide({}, stale) == Action::added);
  CHECK(decide(profile(), profile()) == Action::same);
  CHECK(decide(profile(key(), 2.0), profile(key(), 3.0)) == Action::kept_local);
  CHECK(decide(profile(key(), 3.0), profile(key(), 2.0)) == Action::replaced);
  CHECK(decide(profile(key(), 3.0), stale) == Action::kept_local);
  CHECK(decide(stale, profile(key(), 3.0)) == Action::replaced);
}

/// Made with the kernels that there are.
Profile present_profile(double time = 2.5) {
  Profile each = profile(key(), time);
  each.kernels = kernel_version(builtin_families().at(each.key.family), each.key.device);
  return each;
}

TEST_CASE("the digest of the contract is carried; a document of an earlier heddle has none") {
  ProfileStore store = empty_store();
  const json with = document(present_profile());
  CHECK(with["schema"] == 1);
  CHECK(with["profiles"][0]["contract_digest"] == present_profile().kernels.contract_digest);
  REQUIRE(import(store, with).front().action == Action::added);
  CHECK(store.find(key())->kernels == present_profile().kernels);

  const json without = document(profile());
  CHECK(!without["profiles"][0].contains("contract_digest"));
  ProfileStore other = empty_store();
  REQUIRE(import(other, without).front().action == Action::added);
  CHECK(other.find(key())->kernels == profile().kernels);
  CHECK(import(store, without).front().action == Action::same);
  CHECK(import(other, with).front().action == Action::same);
  CHECK(contains(refusal_of([](json& record) { record["contract_digest"] = "loom"; }), "contract_digest is 'loom'"));
  CHECK(contains(refusal_of([](json& record) { record["contract_digest"] = 7; }), "contract_digest is 7"));
}

TEST_CASE("a profile under another contract is stale, however fast it is") {
  const auto decide = [](const Profile& local, const Profile& arriving) {
    ProfileStore store = empty_store();
    store.keep(local);
    const auto decisions = import(store, document(arriving));
    REQUIRE(decisions.size() == 1);
    return std::pair(decisions[0].action, decisions[0].reason);
  };
  Profile stale = present_profile(1.0), old = profile(key(), 1.5);
  stale.kernels.contract_digest = std::string(32, 'c');
  const std::string why = "the search space, the launches or the compile options have changed";
  CHECK(decide(present_profile(), stale) == std::pair(Action::kept_local, "the imported profile is stale: " + why));
  CHECK(decide(stale, present_profile()) == std::pair(Action::replaced, "the local profile is stale: " + why));
  CHECK(decide(old, stale).first == Action::kept_local);
  CHECK(decide(stale, profile()).first == Action::replaced);
  CHECK(decide(present_profile(), old).first == Action::replaced);
  CHECK(decide(old, present_profile()).first == Action::kept_local);
  // Both are stale, for the same kernels: the faster one; for others, what is here.
  Profile faster = stale;
  faster.time = 0.5;
  CHECK(decide(stale, faster).first == Action::replaced);
  faster.kernels.contract_digest = std::string(32, 'd');
  CHECK(decide(stale, faster).first == Action::kept_local);
}

TEST_CASE("documents that are none") {
  CHECK(contains(refusal(""), "line 1, column 1: not JSON"));
  CHECK(contains(refusal("{\n  \"format\": carpet"), "line 2, column 13: not JSON"));
  CHECK(contains(refusal("weave me a carpet"), "not JSON"));
  CHECK(contains(refusal(std::string(100'000, '[')), "nested too deeply"));
  CHECK(contains(refusal("\"\xff\""), "not JSON"));
  CHECK(contains(refusal("[1, 2]"), "\"format\": \"heddle-profiles\""));
  CHECK(contains(refusal("{}"), "\"format\": \"heddle-profiles\""));
  CHECK(contains(refusal(R"({"format": 3})"), "\"format\": \"heddle-profiles\""));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "profiles": []})"), "schema is missing"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": 3, "profiles": []})"), "newer heddle: schema 3"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": 0})"), "schema is 0, expected"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": "1"})"), "schema is of type string"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": 1})"), "profiles is missing"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": 1, "profiles": 3})"), "profiles is 3, expected"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": 1, "profiles": [1e999]})"), "number"));
  CHECK(contains(refusal(R"({"format": "heddle-profiles", "schema": 1, "profiles": [7]})"), "record 1"));
  std::string whole = document(profile()).dump();
  CHECK(contains(refusal(whole.substr(0, whole.size() / 2)), "not JSON"));

  ProfileStore store = empty_store();
  const Folder folder;
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string deep = "{\"format\":";
    for (int i = 0; i < 100000; ++i) deep += open;
    write(folder / "deep.json", deep);
    CHECK(contains(complaint([&] { import_profiles(store, folder / "deep.json"); }, ErrorKind::input), "too deeply"));
  }
  CHECK(contains(complaint([&] { import_profiles(store, folder / "none"); }, ErrorKind::input), "No such file"));
  CHECK(contains(complaint([&] { import_profiles(store, folder.path()); }, ErrorKind::input), "directory"));
}

TEST_CASE("a document of more records or values than anybody has is refused, before they are looked at") {
  const auto list = [](const std::string& value, int count) {
    std::string text = R"({"format": "heddle-profiles", "schema": 1, "profiles": [)" + value;
    text.reserve(static_cast<std::size_t>(count) * (value.size() + 1));
    for (int i = 1; i < count; ++i) text.append(",").append(value);
    return text + "]}";
  };
  // Time that grows with the square of this would be minutes.
  CHECK(contains(refusal(list("{}", 2'000'000)), "holds 2000000 records, expected at most 50000"));
  CHECK(contains(refusal(list("0", 3'000'000)), "holds more than 2500000 values"));
  CHECK(contains(refusal(list("{}", 50'001)), "holds 50001 records"));
  CHECK(contains(refusal(list("{}", 50'000)), "record 1: checksum is missing"));
}

TEST_CASE("a changed record has a wrong checksum") {
  json all = document(profile());
  all["profiles"][0]["time"] = 0.001;
  CHECK(contains(refusal(all.dump()), "record 1: checksum"));
  all["profiles"][0].erase("checksum");
  CHECK(contains(refusal(all.dump()), "record 1: checksum is missing"));
}

TEST_CASE("records that are signed and yet not to be trusted") {
  const auto with = [](const char* name, const json& value) {
    return refusal_of([&](json& record) { record[name] = value; });
  };
  for (const json& time : {json(0), json(-1.5), json(-0.0), json("2.5"), json(nullptr), json(json::array())}) {
    CHECK(contains(with("time", time), "time is"));
  }
  CHECK(contains(with("spread", -0.1), "spread is"));
  CHECK(contains(with("worst_error", -1), "worst_error is"));
  CHECK(contains(with("samples", 0), "samples is"));
  CHECK(contains(with("samples", 1.5), "samples is"));
  CHECK(contains(with("samples", std::numeric_limits<std::uint64_t>::max()), "samples is"));
  CHECK(contains(with("problem", "rules=1000000000 dim=16 outputs=10"), "rules"));
  CHECK(contains(with("problem", "rules=640 dim=16 outputs=0"), "outputs from 1"));
  CHECK(contains(with("problem", "rules=640 dim"), "problem"));
  CHECK(contains(with("device", "loom"), "device"));
  CHECK(contains(with("device", "abacus|a|9.0|1 units|1 GiB|1 cache|1 local"), "abacus"));
  CHECK(contains(with("device", "cuda|a|x86|1 units|1 GiB|1 cache|1 local"), "compute capability"));
  CHECK(contains(with("device", "cuda|a|9.0|9000000000000 units|1 GiB|1 cache|1 local"), "units"));
  CHECK(contains(with("device", "cuda|\\x1b[2J|9.0|1 units|1 GiB|1 cache|1 local"), "device"));
  CHECK(contains(with("configuration", "scheme=graph"), "missing"));
  CHECK(contains(with("configuration", "scheme=`reboot`"), "scheme"));
  CHECK(contains(with("ties", json::array({"scheme=graph"})), "missing"));
  CHECK(contains(with("ties", "none"), "ties"));
  CHECK(contains(with("ties", json(std::vector<int>(3))), "ties"));
  CHECK(contains(with("source_hash", "0123"), "source_hash"));
  CHECK(contains(with("source_hash", std::string(31, 'a') + "/"), "source_hash"));
  CHECK(contains(with("provenance", "me"), "provenance"));
  const auto with_provenance = [](const char* name, const json& value) {
    return refusal_of([&](json& record) { record["provenance"][name] = value; });
  };
  CHECK(contains(with_provenance("host", std::string(100'000, 'x')), "host is"));
  CHECK(contains(with_provenance("host", "\033[31m"), "host is"));
  CHECK(contains(with_provenance("seed", "seven"), "seed is"));
  for (const char* name : {"device", "family", "problem", "source_hash", "configuration", "time", "spread",
                           "worst_error", "samples", "ties", "provenance"}) {
    CHECK(contains(refusal_of([&](json& record) { record.erase(name); }), std::string(name) + " is missing"));
  }
}

TEST_CASE("a record with other sizes than its family has is refused alone") {
  for (const char* const problem :
       {"rules=640 dim=16", "rules=640 dim=16 outputs=10 rows=5", "knots=0 fringes=7", "outputs=3 rules=1"}) {
    CAPTURE(problem);
    json all = document(profile(key(33)));
    json other = document(profile())["profiles"][0];
    other["problem"] = problem;
    sign(other);
    all["profiles"].push_back(other);
    ProfileStore store = empty_store();
    const std::vector<ImportDecision> decisions = import(store, all);
    REQUIRE(decisions.size() == 2);
    CHECK(decisions[0].action == Action::added);
    CHECK(decisions[1].action == Action::refused);
    CHECK(decisions[1].profile.key.problem.text() == problem);
    CHECK(contains(decisions[1].reason, "sizes are others"));
    CHECK(contains(decisions[1].reason, "expected"));
    CHECK(store.profiles().size() == 1);
    // What else is wrong with such a record still refuses the whole file.
    all["profiles"][1]["time"] = "soon";
    sign(all["profiles"][1]);
    CHECK(contains(complaint([&] { (void)import(store, all); }, ErrorKind::input), "record 2: time"));
  }
}

TEST_CASE("a configuration that is in the space but not allowed for the problem") {
  const SearchSpace space = builtin_families().at("sonfin-train").space(card());
  const Problem tiny = key(1, 1, 1).problem;
  std::string configuration;
  for (const Configuration& each : space.enumerate(key().problem)) {
    if (space.violated(each, tiny)) configuration = each.text();
  }
  REQUIRE(!configuration.empty());
  CHECK(contains(refusal_of([&](json& record) {
                   record["problem"] = tiny.text();
                   record["configuration"] = configuration;
                 }),
                 "violates"));
}

TEST_CASE("two records of one key") {
  json all = document(profile());
  all["profiles"].push_back(all["profiles"][0]);
  CHECK(contains(refusal(all.dump()), "record 2: the same device, family, problem and objective as record 1"));
}

TEST_CASE("random damage never brings in what was not exported") {
  const json good = document(profile());
  const std::string bytes = good.dump();
  std::mt19937 random(std::random_device{}());
  const Folder folder;
  for (int i = 0; i < 300; ++i) {
    std::string bad = bytes;
    for (auto count = 1 + random() % 3; count > 0; --count) bad[random() % bad.size()] = static_cast<char>(random());
    write(folder / "p.json", bad);
    ProfileStore store = empty_store();
    CAPTURE(bad);
    complaint([&] { import_profiles(store, folder / "p.json"); }, ErrorKind::input);
    for (const Profile& each : store.profiles()) CHECK(each.time == profile().time);
  }
}

TEST_CASE("an export that fails leaves the old file") {
  const Folder folder;
  ProfileStore store = empty_store();
  store.keep(profile());
  CHECK(contains(complaint([&] { export_profiles(store, folder / "no/p.json"); }, ErrorKind::input), "p.json"));
  write(folder / "p.json", "old");
  export_profiles(store, folder / "p.json");
  CHECK(json::parse(contents(folder / "p.json"))["profiles"].size() == 1);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("the order of parameters in a configuration does not matter") {
  json all = document(profile());
  json& record = all["profiles"][0];
  const std::string text = record["configuration"];
  record["configuration"] = text.substr(text.find(' ') + 1) + ' ' + text.substr(0, text.find(' '));
  sign(record);
  ProfileStore store = empty_store();
  import(store, all);
  CHECK(store.find(key())->configuration == profile().configuration);
}

/// The order of the parameters may change; a file keeps the one of its time.
json without_configurations(const std::string& text) {
  json all = json::parse(text);
  for (const char* name : {"configuration", "ties", "checksum"}) CHECK(all["profiles"][0].erase(name) == 1);
  return all;
}

TEST_CASE("the export format, schema 1") {
  const fs::path golden = fs::path(HEDDLE_GOLDEN) / "profiles-schema-1.json";
  ProfileStore store = empty_store();
  REQUIRE(import_profiles(store, golden).profiles.size() == 1);
  Profile expected = profile();
  expected.kernels.source_hash = "0123456789abcdef0123456789abcdef";
  const std::string written = json::parse(contents(golden))["profiles"][0]["configuration"];
  expected.configuration = builtin_families().at(key().family).space(key().device).parse(written).text();
  expected.ties = {expected.configuration};
  expected.imported = true;
  REQUIRE(store.find(key()));
  CHECK(same(*store.find(key()), expected));

  const Folder folder;
  export_profiles(store, folder / "again.json");
  CHECK(without_configurations(contents(folder / "again.json")) == without_configurations(contents(golden)));
}

TEST_CASE("a document with the digest of a contract that an earlier heddle wrote, and what is written of it now") {
  const fs::path golden = fs::path(HEDDLE_GOLDEN) / "profiles-schema-1-contract.json";
  ProfileStore store = empty_store();
  REQUIRE(import_profiles(store, golden).profiles.size() == 1);
  const auto kept = store.find(key(33));
  REQUIRE(kept);
  CHECK(kept->time == 0.75);
  CHECK(kept->kernels == KernelVersion{.source_hash = "0123456789abcdef0123456789abcdef",
                                       .contract_digest = "fedcba9876543210fedcba9876543210"});
  CHECK(PresentKernels(builtin_families().at("sonfin-train")).currency(*kept) == Currency::other_templates);
  const Folder folder;
  export_profiles(store, folder / "again.json");
  CHECK(without_configurations(contents(folder / "again.json")) == without_configurations(contents(golden)));
}

}  // namespace
}  // namespace heddle
