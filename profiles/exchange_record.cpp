#include "heddle/profiles/exchange_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/checks.hpp"
#include "heddle/profiles/record_fields.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr std::size_t kLongestUnknown = std::size_t{1} << 20U;  // bytes of a record of an unknown family

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
    if (std::ranges::any_of(*text, is_control_character)) refuse("a text", excerpt(value), "no control characters");
  } else if (value.is_object()) {
    for (const auto& each : value.items()) {
      check_printable(each.key());
      check_printable(each.value());
    }
  } else if (value.is_array()) {
    for (const json& each : value) check_printable(each);
  }
}

/// The members are missing of a profile of the usual goal.
void read_goal(const json& record, Profile& profile) {
  if (record.contains("objective_value")) profile.value = number_at(record, "objective_value");
  if (!record.contains("objective") && !record.contains("cold_cache")) return;
  const json& cold = member(record, "cold_cache");
  if (!cold.is_boolean()) refuse("cold_cache", excerpt(cold), "true or false");
  set_goal(profile, text_at(record, "objective"), cold.get<bool>());
}

/// The text of a record of a family that is not known here.
std::string opaque(const json& record) {
  check_printable(record);
  std::string text = compact_text(record);
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
  if (const Goal& goal = profile.key.goal; !goal.is_usual()) {
    record["objective"] = goal.objective;
    record["cold_cache"] = goal.cold_cache;
    if (profile.value) record["objective_value"] = *profile.value;
  }
  record["checksum"] = record_checksum(record);
  return record;
}

Arrival from_record(const json& record, const FamilyRegistry& families) {
  if (!record.is_object()) refuse("the record", excerpt(record), "an object");
  check_checksum(record);
  const DeviceIdentity device = device_at(record);
  const std::string name = family_at(record);
  const KernelFamily* const family = families.find(name);
  check_backend(device.backend, family == nullptr || family->supports(device.backend), name);
  const std::string problem = text_at(record, "problem");
  ProfileKey key{.device = device, .family = name, .problem = parse_any_problem(problem), .goal = {}};
  Profile profile{.key = std::move(key),
                  .kernels = version_at(record),
                  .configuration = text_at(record, "configuration"),
                  .time = number_at(record, "time"),
                  .spread = number_at(record, "spread"),
                  .worst_error = number_at(record, "worst_error"),
                  .samples = integer_at(record, "samples"),
                  .ties = texts_at(record, "ties"),
                  .imported = true,
                  .provenance = provenance_at(record)};
  read_goal(record, profile);
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
