#include "heddle/profiles/exchange_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/checks.hpp"

namespace heddle {

namespace {

using nlohmann::json;

// Far above anything real, far below what could hurt.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostTies = 4096;
constexpr std::int64_t kMostUnits = 1 << 20;
constexpr std::int64_t kMostGib = 1 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

/// Compact, in one order; bytes that are no UTF-8 (a driver may say anything) become U+FFFD.
std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Short enough for an error line, and without control characters.
std::string excerpt(const json& value) {
  const std::string all = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return all.size() <= 60 ? all : all.substr(0, 57) + "...";
}

bool control_character(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string checksum(json record) {
  record.erase("checksum");
  return digest(dump(record));
}

const json& member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Error(ErrorKind::input, fmt::format("{} is missing", name));
  return *found;
}

std::string text_of(const json& value, const char* name) {
  const auto* const text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->size() > kLongestText || std::ranges::any_of(*text, control_character)) {
    refuse(name, excerpt(value), fmt::format("one line of at most {} bytes", kLongestText));
  }
  return *text;
}

std::string text_at(const json& object, const char* name) { return text_of(member(object, name), name); }

std::int64_t integer_at(const json& object, const char* name) {
  const json& value = member(object, name);
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) refuse(name, excerpt(value), "an integer");
  return value.get<std::int64_t>();
}

double number_at(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_number()) refuse(name, excerpt(value), "a number");
  return value.get<double>();
}

std::vector<std::string> texts_at(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_array() || value.size() > kMostTies) {
    refuse(name, excerpt(value), fmt::format("an array of at most {} texts", kMostTies));
  }
  std::vector<std::string> texts;
  for (const json& each : value) texts.push_back(text_of(each, name));
  return texts;
}

json to_json(const Provenance& p) {
  return {{"driver", p.driver}, {"compiler", p.compiler}, {"tool", p.tool}, {"host", p.host},
          {"clocks", p.clocks}, {"date", p.date},         {"seed", p.seed}, {"strategy", p.strategy}};
}

Provenance provenance_of(const json& value) {
  if (!value.is_object()) refuse("provenance", excerpt(value), "an object");
  return {.driver = text_at(value, "driver"),
          .compiler = text_at(value, "compiler"),
          .tool = text_at(value, "tool"),
          .host = text_at(value, "host"),
          .clocks = text_at(value, "clocks"),
          .date = text_at(value, "date"),
          .seed = integer_at(value, "seed"),
          .strategy = text_at(value, "strategy")};
}

void check_device(const DeviceIdentity& device) {
  for (const std::string& text : {device.backend, device.name, device.architecture}) {
    if (text.empty() || std::ranges::any_of(text, control_character)) {
      refuse("device", excerpt(device.text()), "backend, name and architecture that can be printed");
    }
  }
  check_range("units", device.units, 1, kMostUnits);
  check_range("memory_gib", device.memory_gib, 0, kMostGib);
  check_range("cache_bytes", device.cache_bytes, 0, kMostBytes);
  check_range("local_bytes", device.local_bytes, 0, kMostBytes);
  if (device.backend == "cuda" && device.compute_capability() == 0) {
    refuse("architecture", fmt::format("'{}'", device.architecture), "a compute capability such as 9.0");
  }
}

void check_hash(const std::string& hash) {
  const bool good = hash.size() == 32 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!good) refuse("source_hash", fmt::format("'{}'", hash.substr(0, 40)), "32 hexadecimal digits");
}

/// Returns the family called `name` if it has kernels for the backend.
const KernelFamily& known_family(const std::string& name, const std::string& backend) {
  const auto found = std::ranges::find(families(), name, &KernelFamily::name);
  if (found == families().end()) {
    std::string names;
    for (const KernelFamily* each : families()) names += fmt::format("{}{}", names.empty() ? "" : ", ", each->name());
    refuse("family", excerpt(name), "one of " + names);
  }
  if (!(*found)->supports(backend) || !can_be_timed(backend))
    refuse("backend", excerpt(backend), fmt::format("one that {} supports", name));
  return **found;
}

/// Checks the contents of a record whose form is right. Brings its configurations into their canonical order.
void check(Profile& profile) {
  const DeviceIdentity& device = profile.key.device;
  const KernelFamily& kernels = known_family(profile.key.family, device.backend);
  check_device(device);
  check_hash(profile.source_hash);
  check_numbers(profile);

  const SearchSpace space = kernels.space(device);
  const auto check_configuration = [&](std::string& text) {
    const Configuration configuration = space.parse(text);
    if (const auto constraint = space.violated(configuration, profile.key.problem)) {
      throw Error(ErrorKind::input, fmt::format("configuration '{}' violates '{}' for {}", text, *constraint,
                                                profile.key.problem.text()));
    }
    text = configuration.text();
  };
  check_configuration(profile.configuration);
  std::ranges::for_each(profile.ties, check_configuration);
}

}  // namespace

nlohmann::json to_record(const Profile& profile) {
  json record = {{"device", profile.key.device.text()},
                 {"family", profile.key.family},
                 {"problem", profile.key.problem.text()},
                 {"source_hash", profile.source_hash},
                 {"configuration", profile.configuration},
                 {"time", profile.time},
                 {"spread", profile.spread},
                 {"worst_error", profile.worst_error},
                 {"samples", profile.samples},
                 {"ties", profile.ties},
                 {"provenance", to_json(profile.provenance)}};
  record["checksum"] = checksum(record);
  return record;
}

Profile from_record(const json& record) {
  if (!record.is_object()) refuse("the record", excerpt(record), "an object");
  const std::string found = text_at(record, "checksum");
  if (found != checksum(record)) refuse("checksum", excerpt(found), checksum(record) + " for what the record holds");
  const DeviceIdentity device = DeviceIdentity::parse(text_at(record, "device"));
  const std::string family = text_at(record, "family");
  Profile profile{
      .key = {.device = device,
              .family = family,
              .problem = Problem::parse(text_at(record, "problem"), known_family(family, device.backend).axes())},
      .source_hash = text_at(record, "source_hash"),
      .configuration = text_at(record, "configuration"),
      .time = number_at(record, "time"),
      .spread = number_at(record, "spread"),
      .worst_error = number_at(record, "worst_error"),
      .samples = integer_at(record, "samples"),
      .ties = texts_at(record, "ties"),
      .imported = true,
      .provenance = provenance_of(member(record, "provenance"))};
  check(profile);
  return profile;
}

bool current(const Profile& profile) {
  return family(profile.key.family).source(profile.key.device.backend).hash() == profile.source_hash;
}

}  // namespace heddle
