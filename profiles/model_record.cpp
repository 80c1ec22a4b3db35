#include "heddle/profiles/model_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/profiles/checks.hpp"
#include "heddle/profiles/cost_model.hpp"
#include "heddle/profiles/record_fields.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr std::size_t kMostTerms = 1024;  // far above anything that could be fitted
constexpr std::size_t kLongestTerm = 256;
constexpr std::int64_t kMostFitted = std::int64_t{1} << 40;

json to_json(const std::vector<TermWeight>& weights) {
  json object = json::object();
  for (const TermWeight& weight : weights) object[weight.term] = weight.microseconds;
  return object;
}

std::vector<TermWeight> weights_of(const json& object) {
  if (!object.is_object() || object.empty() || object.size() > kMostTerms) {
    refuse("weights", excerpt(object), fmt::format("an object of 1 to {} numbers, by term", kMostTerms));
  }
  std::vector<TermWeight> weights;
  weights.reserve(object.size());
  for (const auto& [term, value] : object.items()) {
    if (term.empty() || term.size() > kLongestTerm || std::ranges::any_of(term, is_control_character)) {
      refuse("a term", excerpt(term), fmt::format("a name of at most {} bytes that can be printed", kLongestTerm));
    }
    if (!value.is_number()) refuse(fmt::format("the weight of {}", excerpt(term)), excerpt(value), "a number");
    weights.push_back({.term = term, .microseconds = value.get<double>()});
  }
  return weights;
}

}  // namespace

std::string weights_text(const std::vector<TermWeight>& weights) { return compact_text(to_json(weights)); }

std::vector<TermWeight> parse_weights(std::string_view text) {
  try {
    return weights_of(parse_json(text));
  } catch (const BadDocument&) {
    refuse("weights", fmt::format("'{}'", text.substr(0, 60)), "a JSON object of numbers, by term");
  }
}

void check_numbers(const FittedModel& model) {
  for (const TermWeight& weight : model.weights) check_number("a weight", weight.microseconds, false);
  check_number("left_out_error", model.left_out_error, false);
  check_range("measurements", model.measurements, 1, kMostFitted);
  check_range("problems", model.problems, 1, model.measurements);
}

json to_record(const FittedModel& model) {
  json record = {{"device", model.device.text()},
                 {"family", model.family},
                 {"source_hash", model.kernels.source_hash},
                 {"weights", to_json(model.weights)},
                 {"left_out_error", model.left_out_error},
                 {"measurements", model.measurements},
                 {"problems", model.problems},
                 {"remark", model.remark},
                 {"provenance", to_json(model.provenance)}};
  if (!model.kernels.contract_digest.empty()) record["contract_digest"] = model.kernels.contract_digest;
  record["checksum"] = record_checksum(record);
  return record;
}

ArrivedModel model_from_record(const json& record, const FamilyRegistry& families) {
  if (!record.is_object()) refuse("the record", excerpt(record), "an object");
  check_checksum(record);
  FittedModel model{.device = device_at(record),
                    .family = family_at(record),
                    .kernels = version_at(record),
                    .weights = weights_of(member(record, "weights")),
                    .left_out_error = number_at(record, "left_out_error"),
                    .measurements = integer_at(record, "measurements"),
                    .problems = integer_at(record, "problems"),
                    .remark = text_at(record, "remark"),
                    .imported = true,
                    .provenance = provenance_at(record)};
  check_numbers(model);
  const KernelFamily* const family = families.find(model.family);
  check_backend(model.device.backend, family == nullptr || family->supports(model.device.backend), model.family);
  std::string refusal;
  if (family != nullptr) {
    if (const auto why = other_terms(*family, model)) refusal = "its terms are others in this heddle: " + *why;
  }
  return {.model = std::move(model), .refusal = std::move(refusal)};
}

}  // namespace heddle
