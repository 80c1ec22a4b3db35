#include "heddle/profiles/record_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/checks.hpp"

namespace heddle {

using nlohmann::json;

namespace {

// Far above anything real, far below what could hurt.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostTies = 4096;
constexpr std::int64_t kMostUnits = 1 << 20;
constexpr std::int64_t kMostGib = 1 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

void check_device(const DeviceIdentity& device) {
  for (const std::string& text : {device.backend, device.name, device.architecture}) {
    if (text.empty() || std::ranges::any_of(text, is_control_character)) {
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

std::string digest_at(const json& record, const char* name) {
  std::string hash = text_at(record, name);
  const bool good = hash.size() == 32 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!good) refuse(name, fmt::format("'{}'", hash.substr(0, 40)), "32 hexadecimal digits");
  return hash;
}

}  // namespace

std::string compact_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

bool is_control_character(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string record_checksum(json record) {
  record.erase("checksum");
  return digest(compact_text(record));
}

const json& member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Error(ErrorKind::input, fmt::format("{} is missing", name));
  return *found;
}

std::string text_of(const json& value, const char* name) {
  const auto* const text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->size() > kLongestText || std::ranges::any_of(*text, is_control_character)) {
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

Provenance provenance_at(const json& record) {
  const json& value = member(record, "provenance");
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

void check_checksum(const json& record) {
  const std::string found = text_at(record, "checksum"), expected = record_checksum(record);
  if (found != expected) refuse("checksum", excerpt(found), expected + " for what the record holds");
}

DeviceIdentity device_at(const json& record) {
  DeviceIdentity device = DeviceIdentity::parse(text_at(record, "device"));
  check_device(device);
  return device;
}

std::string family_at(const json& record) {
  std::string name = text_at(record, "family");
  if (name.empty() || name.size() > kLongestName) {
    refuse("family", excerpt(name), fmt::format("a name of at most {} bytes", kLongestName));
  }
  return name;
}

void check_backend(const std::string& backend, bool supported, const std::string& family) {
  if (!supported || !can_be_timed(backend)) {
    refuse("backend", excerpt(backend), fmt::format("one that {} supports", family));
  }
}

KernelVersion version_at(const json& record) {
  return {.source_hash = digest_at(record, "source_hash"),
          .contract_digest = record.contains("contract_digest") ? digest_at(record, "contract_digest") : ""};
}

}  // namespace heddle
