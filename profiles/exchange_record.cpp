#include "heddle/profiles/exchange_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/checks.hpp"

namespace heddle {

namespace {

using nlohmann::json;

// Far above anything real, far below what could hurt.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kLongestUnknown = std::size_t{1} << 20U;  // bytes of a record of an unknown family
constexpr std::size_t kMostTies = 4096;
constexpr std::int64_t kMostUnits = 1 << 20;
constexpr std::int64_t kMostGib = 1 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

/// Compact, in one order; bytes that are no UTF-8 (a driver may say anything) become U+FFFD.
std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

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

void check_backend(const std::string& backend, bool supported, const std::string& family) {
  if (!supported || !can_be_timed(backend)) {
    refuse("backend", excerpt(backend), fmt::format("one that {} supports", family));
  }
}

std::string digest_at(const json& record, const char* name) {
  std::string hash = text_at(record, name);
  const bool good = hash.size() == 32 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!good) refuse(name, fmt::format("'{}'", hash.substr(0, 40)), "32 hexadecimal digits");
  return hash;
}

/// Records of earlier versions have the first digest alone.
KernelVersion version_of(const json& record) {
  return {.source_hash = digest_at(record, "source_hash"),
          .contract_digest = record.contains("contract_digest") ? digest_at(record, "contract_digest") : ""};
}

/// Whether a problem lacks a size that the axes ask for, or has one that they do not know.
bool has_other_names(const Problem& problem, const std::vector<Axis>& axes) {
  const auto missing = [&](const Axis& axis) { return !axis.optional && !problem.find(axis.name); };
  const auto unknown = [&](const Problem::Size& size) {
    return std::ranges::find(axes, size.name, &Axis::name) == axes.end();
  };
  return std::ranges::any_of(axes, missing) || std::ranges::any_of(problem.sizes(), unknown);
}

/// What only the family can say. Brings configurations into their canonical order.
void check_against(const KernelFamily& family, Profile& profile) {
  const SearchSpace space = family.space(profile.key.device);
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

/// Texts and names of members without control characters, wherever they are. Documents are limited in their levels.
void check_printable(const json& value) {
  if (const auto* const text = value.get_ptr<const std::string*>()) {
    if (std::ranges::any_of(*text, control_character)) refuse("a text", excerpt(value), "no control characters");
  } else if (value.is_object()) {
    for (const auto& each : value.items()) {
      check_printable(each.key());
      check_printable(each.value());
    }
  } else if (value.is_array()) {
    for (const json& each : value) check_printable(each);
  }
}

/// The text of a record of a family that is not known here.
std::string opaque(const json& record) {
  check_printable(record);
  std::string text = dump(record);
  if (text.size() > kLongestUnknown) {
    refuse("a record of an unknown family", fmt::format("{} bytes long", text.size()),
           fmt::format("at most {}", kLongestUnknown));
  }
  return text;
}

}  // namespace

nlohmann::json to_record(const Profile& profile) {
  if (!profile.record.empty()) {
    try {
      return parse_json(profile.record);
    } catch (const BadDocument&) {
      throw Error(ErrorKind::input, "its record is not JSON");
    }
  }
  json record = {{"device", profile.key.device.text()},
                 {"family", profile.key.family},
                 {"problem", profile.key.problem.text()},
                 {"source_hash", profile.kernels.source_hash},
                 {"configuration", profile.configuration},
                 {"time", profile.time},
                 {"spread", profile.spread},
                 {"worst_error", profile.worst_error},
                 {"samples", profile.samples},
                 {"ties", profile.ties},
                 {"provenance", to_json(profile.provenance)}};
  if (!profile.kernels.contract_digest.empty()) record["contract_digest"] = profile.kernels.contract_digest;
  record["checksum"] = checksum(record);
  return record;
}

Arrival from_record(const json& record, const FamilyRegistry& families) {
  if (!record.is_object()) refuse("the record", excerpt(record), "an object");
  const std::string found = text_at(record, "checksum");
  if (found != checksum(record)) refuse("checksum", excerpt(found), checksum(record) + " for what the record holds");
  const DeviceIdentity device = DeviceIdentity::parse(text_at(record, "device"));
  check_device(device);
  const std::string name = text_at(record, "family");
  if (name.empty() || name.size() > kLongestName) {
    refuse("family", excerpt(name), fmt::format("a name of at most {} bytes", kLongestName));
  }
  const KernelFamily* const family = families.find(name);
  check_backend(device.backend, family == nullptr || family->supports(device.backend), name);
  const std::string problem = text_at(record, "problem");
  Profile profile{.key = {.device = device, .family = name, .problem = parse_any_problem(problem)},
                  .kernels = version_of(record),
                  .configuration = text_at(record, "configuration"),
                  .time = number_at(record, "time"),
                  .spread = number_at(record, "spread"),
                  .worst_error = number_at(record, "worst_error"),
                  .samples = integer_at(record, "samples"),
                  .ties = texts_at(record, "ties"),
                  .imported = true,
                  .provenance = provenance_of(member(record, "provenance"))};
  check_numbers(profile);
  if (family == nullptr) {
    profile.record = opaque(record);
  } else if (has_other_names(profile.key.problem, family->axes())) {
    std::string refusal = misfit(profile.key.problem, family->axes()).value_or("");
    return {.profile = std::move(profile), .refusal = "its sizes are others in this heddle: " + refusal};
  } else {
    profile.key.problem = Problem::parse(problem, family->axes());
    check_against(*family, profile);
  }
  return {.profile = std::move(profile), .refusal = {}};
}

}  // namespace heddle
