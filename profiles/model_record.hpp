// A fitted model as a JSON object, and back with everything checked. For the files of this folder only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/fitted_model.hpp"

namespace heddle {

/// With its checksum, as records of profiles have it.
[[nodiscard]] nlohmann::json to_record(const FittedModel& model);

struct ArrivedModel {
  FittedModel model;    ///< marked as imported
  std::string refusal;  ///< why it is of no use here, though whole, in one line: its terms are others in this heddle
};
/// A model of a family that is not in `families` is kept for programs that know it. Throws Error(input) with what was
/// found and what was expected.
[[nodiscard]] ArrivedModel model_from_record(const nlohmann::json& record, const FamilyRegistry& families);

/// {"term":0.25,...} in the order of the names.
[[nodiscard]] std::string weights_text(const std::vector<TermWeight>& weights);
/// Throws Error(input): no JSON object, no term or more than 1024, a weight that is negative or no number.
[[nodiscard]] std::vector<TermWeight> parse_weights(std::string_view text);

/// Throws Error(input) for numbers that no fit leaves.
void check_numbers(const FittedModel& model);

}  // namespace heddle
