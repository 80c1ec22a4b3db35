#include "heddle/cli/json.hpp"

#include "heddle/cli/output.hpp"
#include "heddle/runtime/device/identity_document.hpp"

namespace heddle::cli {
namespace {

Json provenance_json(const Provenance& provenance) {
  return {{"driver", provenance.driver}, {"compiler", provenance.compiler}, {"tool", provenance.tool},
          {"host", provenance.host},     {"clocks", provenance.clocks},     {"date", provenance.date},
          {"seed", provenance.seed},     {"strategy", provenance.strategy}};
}

}  // namespace

Json to_json(const DeviceIdentity& device) { return identity_document(device); }

Json to_json(const Problem& problem) {
  Json json = Json::object();
  for (const auto& [name, value] : problem.sizes()) json[name] = value;
  return json;
}

std::string_view unit_of(const FamilyRegistry& families, std::string_view family) {
  const KernelFamily* const known = families.find(family);
  return known == nullptr ? "unit" : known->unit();
}

Json to_json(const Profile& profile) {
  return {{"family", profile.key.family},
          {"device", to_json(profile.key.device)},
          {"problem", to_json(profile.key.problem)},
          {"objective", profile.key.goal.objective},
          {"cold_cache", profile.key.goal.cold_cache},
          {"objective_value", number_or_null(profile.value)},
          {"configuration", profile.configuration},
          {"microseconds_per_sample", profile.time},
          {"spread", profile.spread},
          {"worst_error", profile.worst_error},
          {"samples", profile.samples},
          {"ties", profile.ties},
          {"imported", profile.imported},
          {"source_hash", profile.kernels.source_hash},
          {"contract_digest", profile.kernels.contract_digest},
          {"provenance", provenance_json(profile.provenance)}};
}

Json to_json(const FittedModel& model) {
  return {{"family", model.family},
          {"device", to_json(model.device)},
          {"terms", model.weights.size()},
          {"left_out_error", model.left_out_error},
          {"measurements", model.measurements},
          {"problems", model.problems},
          {"remark", model.remark},
          {"imported", model.imported},
          {"source_hash", model.kernels.source_hash},
          {"contract_digest", model.kernels.contract_digest},
          {"provenance", provenance_json(model.provenance)}};
}

Json number_or_null(const std::optional<double>& number) {
  Json json;
  if (number) json = *number;
  return json;
}

void print_document(std::string_view command, const Json& content) {
  Json document = {{"heddle", HEDDLE_VERSION}, {"command", command}};
  document.update(content);
  // File names and classes may hold any bytes; a document may not, and on a terminal it shall only show: beyond ASCII
  // everything is escaped.
  print_bytes(document.dump(2, ' ', true, Json::error_handler_t::replace));
  print_bytes("\n");
}

}  // namespace heddle::cli
