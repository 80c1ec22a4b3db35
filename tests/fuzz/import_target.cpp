#include "fuzz/import_target.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/exchange.hpp"

namespace heddle::test {
namespace {

void require(bool holds, const char* what, const std::string& bytes) {
  if (holds) return;
  std::fputs(fmt::format("{}:\n{}\n", what, bytes).c_str(), stderr);
  std::abort();
}

DeviceIdentity device(const std::string& backend) {
  const bool cuda = backend == "cuda";
  return {.backend = backend,
          .name = cuda ? "NVIDIA Test 1000" : "Processor",
          .architecture = cuda ? "9.0" : "x86-64-v3",
          .units = cuda ? 132 : 4,
          .memory_gib = cuda ? 80 : 0,
          .cache_bytes = 1 << 25,
          .local_bytes = cuda ? 232448 : 1 << 20};
}

std::vector<Profile> make_profiles(const std::string& backend) {
  std::vector<Profile> all;
  for (const auto& family : builtin_families().all()) {
    if (!family->supports(backend)) continue;
    const Problem problem = family->awkward_problem();
    const std::string configuration = family->default_configuration(device(backend), problem).text();
    all.push_back({.key = {.device = device(backend), .family = std::string(family->name()), .problem = problem},
                   .kernels = kernel_version(*family, device(backend)),
                   .configuration = configuration,
                   .time = 1.0,
                   .spread = 0.25,
                   .worst_error = 1e-5,
                   .samples = 512,
                   .ties = {configuration},
                   .imported = false,
                   .run = 0,
                   .provenance = {.driver = "580.159.04",
                                  .compiler = "g++ 12.2.0",
                                  .tool = "heddle",
                                  .host = "host",
                                  .clocks = "SM 1980 MHz",
                                  .date = "2026-01-31T12:00:00Z",
                                  .seed = 1,
                                  .strategy = "random"}});
  }
  return all;
}

/// Made once: the version of a family's kernels takes longer than a document's import.
std::vector<Profile> profiles(const std::string& backend, double time) {
  static const std::vector<Profile> of_cpu = make_profiles("cpu"), of_cuda = make_profiles("cuda");
  std::vector<Profile> all = backend == "cuda" ? of_cuda : of_cpu;
  for (Profile& profile : all) profile.time = time;
  return all;
}

/// Of a family that is unknown here, so that its terms may be any.
FittedModel model() {
  return {.device = device("cuda"),
          .family = "unknown-weaving",
          .kernels = {.source_hash = std::string(32, 'a'), .contract_digest = std::string(32, 'b')},
          .weights = {{.term = "knots", .microseconds = 0.25}, {.term = "threads", .microseconds = 1.5}},
          .left_out_error = 0.04,
          .measurements = 120,
          .problems = 12,
          .remark = "woven",
          .imported = false,
          .provenance = {}};
}

/// Some profiles are faster than those of the good documents, some slower.
std::unique_ptr<ProfileStore> stocked() {
  auto store = std::make_unique<ProfileStore>(":memory:", ProfileStore::Access::read_write);
  for (const Profile& profile : profiles("cpu", 1.0)) store->keep(profile);
  store->keep(profiles("cuda", 9.0).front());
  return store;
}

std::string fingerprint(const ProfileStore& store) {
  std::string text;
  for (const Profile& p : store.profiles()) {
    text += fmt::format("{}|{}|{}|{}|{}|{}|{}|{}\n", p.key.device.text(), p.key.family, p.key.problem.text(),
                        p.configuration, p.time, p.imported, p.kernels.source_hash, p.kernels.contract_digest);
  }
  for (const FittedModel& m : store.models()) {
    text += fmt::format("{}|{}|{}|{}|{}\n", m.device.text(), m.family, m.measurements, m.left_out_error, m.remark);
  }
  return text;
}

}  // namespace

bool import_once(const std::string& bytes) {
  static std::unique_ptr<ProfileStore> store = stocked();
  static const std::string untouched = fingerprint(*store);
  try {
    const auto [decisions, models] = import_document(*store, bytes, "the document");
    for (const ModelDecision& decision : models) {
      using enum ImportDecision::Action;
      if (decision.action != added && decision.action != replaced) continue;
      const auto kept = store->find_model(decision.model.family, decision.model.device);
      require(kept.has_value() && kept->imported, "a model that was not kept, or not marked as imported", bytes);
      for (const TermWeight& weight : kept->weights) {
        require(std::isfinite(weight.microseconds) && weight.microseconds >= 0.0, "a weight that is none", bytes);
      }
    }
    for (const ImportDecision& decision : decisions) {
      using enum ImportDecision::Action;
      if (decision.action == refused) continue;
      const auto kept = store->find(decision.profile.key);
      require(kept.has_value(), "a key without a profile", bytes);
      if (decision.action != added && decision.action != replaced) continue;
      require(kept->imported, "not marked as imported", bytes);
      require(std::isfinite(kept->time) && kept->time > 0.0, "a time that is none", bytes);
      const KernelFamily* const family = store->families().find(kept->key.family);
      require((family == nullptr) == !kept->record.empty(), "not the record of an unknown family", bytes);
      if (family == nullptr) continue;
      const SearchSpace space = family->space(kept->key.device);
      require(!space.violated(space.parse(kept->configuration), kept->key.problem), "outside the space", bytes);
      require(!misfit(kept->key.problem, family->axes()), "sizes that the family does not have", bytes);
    }
    if (fingerprint(*store) != untouched) store = stocked();
    return true;
  } catch (const Error& error) {
    const std::string line = error.what();
    require(error.kind() == ErrorKind::input, "not a bad input", bytes);
    require(line.starts_with("the document: ") && line.find('\n') == std::string::npos, "not one line", bytes);
    require(fingerprint(*store) == untouched, "refused, and yet something was taken", bytes);
    return false;
  }
}

const std::vector<std::string>& good_documents() {
  static const std::vector<std::string> documents = [] {
    std::vector<std::string> all;
    for (const char* backend : {"cpu", "cuda"}) {
      ProfileStore store(":memory:", ProfileStore::Access::read_write);
      for (Profile& profile : profiles(backend, 2.5)) {
        store.keep(profile);
        profile.key.family = "unknown-" + profile.key.family;
        store.keep(profile);
      }
      const auto file = std::filesystem::temp_directory_path() / fmt::format("heddle-fuzz-{}.json", ::getpid());
      if (std::string_view(backend) == "cuda") store.keep(model());
      export_profiles(store, file);
      std::ifstream stream(file, std::ios::binary);
      all.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
      std::filesystem::remove(file);
    }
    return all;
  }();
  return documents;
}

}  // namespace heddle::test
