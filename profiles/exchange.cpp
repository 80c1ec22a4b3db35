#include "heddle/profiles/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/profiles/exchange_record.hpp"
#include "heddle/profiles/model_record.hpp"
#include "heddle/profiles/present_kernels.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "heddle-profiles";
/// 2: holds profiles of other goals than the time with a warm cache, which a heddle that knows schema 1 alone would
/// take for usual ones. Without such profiles 1 is written.
constexpr std::int64_t kSchema = 2;
constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr std::size_t kMostRecords = 50'000;  // a hundred devices, each tuned for all sizes that are tuned unasked

Error error(const std::string& file, const std::string& what) {
  return {ErrorKind::input, fmt::format("{}: {}", file, what)};
}

/// Appends the record of `profile`, unless an import would not take it; then returns why. `schema`: raised to what the
/// record needs.
std::optional<std::string> append(const Profile& profile, const FamilyRegistry& families, json& list,
                                  std::int64_t& schema) {
  try {
    json record = to_record(profile);
    const Arrival arrival = from_record(record, families);
    if (!arrival.refusal.empty()) return arrival.refusal;
    if (arrival.profile.key != profile.key) return "its record is of another device, family or problem";
    list.push_back(std::move(record));
    if (!profile.key.goal.is_usual()) schema = kSchema;
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

std::string read(const std::filesystem::path& file) {
  const auto fail = [&] { return error(file.string(), "cannot be read: " + std::generic_category().message(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) throw fail();
  std::string bytes;
  char block[1 << 16];
  while (const std::size_t count = std::fread(block, 1, sizeof block, stream.get())) {
    bytes.append(block, count);
    if (bytes.size() > kLargestFile) throw error(file.string(), fmt::format("larger than {} MiB", kLargestFile >> 20));
  }
  if (std::ferror(stream.get()) != 0) throw fail();
  return bytes;
}

json parse(const std::string& file, const std::string& bytes) {
  constexpr std::size_t kMostValues = 50 * kMostRecords;  // a record has some twenty, and its ties
  try {
    return parse_json(bytes, {.levels = 8, .values = kMostValues});
  } catch (const BadDocument& failure) {
    using enum BadDocument::Reason;
    if (failure.reason() == nested) {
      throw error(file, "nested too deeply, expected a document from 'profiles export'");
    }
    if (failure.reason() == too_many_values) {
      throw error(file, fmt::format("holds more than {} values, expected a document from 'profiles export' with at "
                                    "most {} records",
                                    kMostValues, kMostRecords));
    }
    if (failure.reason() == number) throw error(file, failure.what());
    const auto before = std::string_view(bytes).substr(0, failure.position());
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    throw error(file,
                fmt::format("line {}, column {}: not JSON, expected a document from 'profiles export'", line, column));
  }
}

/// What stands in a document under a name: "missing", "-3", "of type string".
std::string described(const json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end()) return "missing";
  return found->is_number() ? found->dump() : fmt::format("of type {}", found->type_name());
}

/// Throws unless the document is of a schema that we know.
void check_schema(const std::string& file, const json& document) {
  if (!document.is_object() || document.value("format", json()) != kFormat) {
    throw error(file, fmt::format("expected an object with \"format\": \"{}\"", kFormat));
  }
  const json schema = document.value("schema", json());
  if (!schema.is_number_integer() || schema < 1) {
    throw error(file, fmt::format("schema is {}, expected a whole number from 1", described(document, "schema")));
  }
  if (schema > kSchema) {
    throw error(file,
                fmt::format("made by a newer heddle: schema {}, this one knows up to {}", schema.dump(), kSchema));
  }
}

/// An array of records of the document.
const json& records(const std::string& file, const json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end() || !found->is_array()) {
    throw error(file, fmt::format("{} is {}, expected an array", name, described(document, name)));
  }
  if (found->size() > kMostRecords) {
    throw error(file, fmt::format("holds {} records, expected at most {}", found->size(), kMostRecords));
  }
  return *found;
}

std::vector<Arrival> load(const std::string& file, const json& document, const FamilyRegistry& families) {
  std::vector<Arrival> arrivals;
  // With the objective as the record has it: an earlier heddle kept a profile for each text of one objective, and wrote
  // them all. They are decided upon one after the other.
  std::map<std::pair<ProfileKey, std::string>, std::size_t> seen;
  for (const json& record : records(file, document, "profiles")) {
    const std::size_t number = arrivals.size() + 1;
    try {
      arrivals.push_back(from_record(record, families));
    } catch (const Error& failure) {
      throw error(file, fmt::format("record {}: {}", number, failure.what()));
    }
    const auto [first, unseen] =
        seen.emplace(std::pair(arrivals.back().profile.key, record.value("objective", std::string("time"))), number);
    if (!unseen) {
      throw error(file, fmt::format("record {}: the same device, family, problem and objective as record {}", number,
                                    first->second));
    }
  }
  return arrivals;
}

/// Earlier versions wrote none.
std::vector<ArrivedModel> load_models(const std::string& file, const json& document, const FamilyRegistry& families) {
  std::vector<ArrivedModel> arrivals;
  if (!document.contains("models")) return arrivals;
  std::map<std::pair<std::string, DeviceIdentity>, std::size_t> seen;
  for (const json& record : records(file, document, "models")) {
    const std::size_t number = arrivals.size() + 1;
    try {
      arrivals.push_back(model_from_record(record, families));
    } catch (const Error& failure) {
      throw error(file, fmt::format("model {}: {}", number, failure.what()));
    }
    const FittedModel& model = arrivals.back().model;
    const auto [first, unseen] = seen.emplace(std::pair(model.family, model.device), number);
    if (!unseen) {
      throw error(file, fmt::format("model {}: the same device and family as model {}", number, first->second));
    }
  }
  return arrivals;
}

bool same(const Profile& a, const Profile& b) {
  return comparable(a.kernels, b.kernels) && a.configuration == b.configuration && a.time == b.time &&
         a.value == b.value && a.spread == b.spread && a.worst_error == b.worst_error && a.samples == b.samples &&
         a.ties == b.ties && a.provenance == b.provenance;
}

using Action = ImportDecision::Action;

/// Between profiles of a family that is unknown here, from two versions of its kernels.
std::pair<Action, std::string> decide_by_date(const Profile& local, const Profile& arriving) {
  if (!local.imported) return {Action::kept_local, "the local profile was measured here; its family is unknown"};
  const bool later = arriving.provenance.date > local.provenance.date;
  return {later ? Action::replaced : Action::kept_local,
          fmt::format("the local profile was measured {}, with other kernel sources; its family is unknown",
                      later ? "earlier" : "no earlier")};
}

/// `present`: the kernels of the profiles' family; null if it is unknown here.
std::pair<Action, std::string> decide(const std::optional<Profile>& local, const Profile& arriving,
                                      PresentKernels* present) {
  if (!local) return {Action::added, "no local profile"};
  if (same(*local, arriving)) return {Action::same, "already here"};
  const bool same_kernels = comparable(local->kernels, arriving.kernels);
  if (present == nullptr) {
    if (!same_kernels) return decide_by_date(*local, arriving);
  } else {
    const Currency of_local = present->currency(*local), of_arriving = present->currency(arriving);
    if (of_arriving != Currency::current && (of_local == Currency::current || !same_kernels)) {
      return {Action::kept_local, fmt::format("the imported profile is stale: {}", change(of_arriving))};
    }
    if (of_local != Currency::current && of_arriving == Currency::current) {
      return {Action::replaced, fmt::format("the local profile is stale: {}", change(of_local))};
    }
  }
  const bool better = is_better(arriving, *local);
  if (arriving.key.goal.is_time()) {
    const std::string times = fmt::format("{:.2f} against {:.2f} us", local->time, arriving.time);
    if (better) return {Action::replaced, "the local profile is slower: " + times};
    return {Action::kept_local, "the local profile is at least as fast: " + times};
  }
  const auto value = [](const Profile& of) { return of.value ? fmt::format("{:.4g}", *of.value) : "unknown"; };
  const std::string values =
      fmt::format("{} {} against {}", arriving.key.goal.objective, value(*local), value(arriving));
  if (better) return {Action::replaced, "the local profile is worse: " + values};
  return {Action::kept_local, "the local profile is no worse: " + values};
}

/// `present`: the kernels of the models' family; null if it is unknown here.
std::pair<Action, std::string> decide_model(const std::optional<FittedModel>& local, const FittedModel& arriving,
                                            PresentKernels* present) {
  if (!local) return {Action::added, "no local model"};
  FittedModel imported = *local;
  imported.imported = true;
  if (imported == arriving) return {Action::same, "already here"};
  if (present != nullptr) {
    const KernelVersion& now = present->version(arriving.device);
    const bool local_current = comparable(local->kernels, now), current = comparable(arriving.kernels, now);
    if (local_current && !current) return {Action::kept_local, "the imported model is of other kernels"};
    if (current && !local_current) return {Action::replaced, "the local model is of other kernels"};
  }
  const std::string counts = fmt::format("{} against {} measurements", local->measurements, arriving.measurements);
  if (arriving.measurements > local->measurements)
    return {Action::replaced, "the local model rests on less: " + counts};
  return {Action::kept_local, "the local model rests on as much: " + counts};
}

}  // namespace

Exported export_profiles(const ProfileStore& store, const std::filesystem::path& file, const std::string& family) {
  Exported exported;
  json list = json::array();
  std::int64_t schema = 1;
  for (Profile& profile : store.profiles(family)) {
    if (auto reason = append(profile, store.families(), list, schema)) {
      exported.left_out.push_back({.profile = std::move(profile), .reason = std::move(*reason)});
    }
  }
  exported.count = list.size();
  json models = json::array();
  for (const FittedModel& model : store.models(family)) models.push_back(to_record(model));
  exported.models = models.size();
  json document = {{"format", kFormat}, {"schema", schema}, {"profiles", std::move(list)}};
  if (!models.empty()) document["models"] = std::move(models);
  write_file(file, document.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  return exported;
}

Imported import_profiles(ProfileStore& store, const std::filesystem::path& file) {
  return import_document(store, read(file), file.string());
}

Imported import_document(ProfileStore& store, const std::string& bytes, const std::string& name) {
  const json document = parse(name, bytes);
  check_schema(name, document);
  const std::vector<Arrival> arrivals =
      load(name, document, store.families());  // all is good before anything is written
  const std::vector<ArrivedModel> models = load_models(name, document, store.families());
  std::map<std::string, PresentKernels> present;
  const auto kernels_of = [&](const std::string& of) -> PresentKernels* {
    const KernelFamily* const family = store.families().find(of);
    return family == nullptr ? nullptr : &present.try_emplace(of, *family).first->second;
  };
  Imported decisions;
  store.atomically([&] {
    decisions = {};
    for (const auto& [profile, refusal] : arrivals) {
      if (!refusal.empty()) {
        decisions.profiles.push_back({.profile = profile, .action = Action::refused, .reason = refusal});
        continue;
      }
      const auto [action, reason] = decide(store.find(profile.key), profile, kernels_of(profile.key.family));
      if (action == Action::added || action == Action::replaced) store.keep_for_now(profile);
      decisions.profiles.push_back({.profile = profile, .action = action, .reason = reason});
    }
    for (const auto& [model, refusal] : models) {
      if (!refusal.empty()) {
        decisions.models.push_back({.model = model, .action = Action::refused, .reason = refusal});
        continue;
      }
      const auto [action, reason] =
          decide_model(store.find_model(model.family, model.device), model, kernels_of(model.family));
      if (action == Action::added || action == Action::replaced) store.keep(model);
      decisions.models.push_back({.model = model, .action = action, .reason = reason});
    }
  });
  return decisions;
}

}  // namespace heddle
