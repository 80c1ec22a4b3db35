#include "heddle/profiles/shipped_models.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/profiles/model_record.hpp"

namespace heddle {

/// The files of profiles/shipped/. Made by cmake/embed.cmake.
const std::vector<SourceFile>& shipped_model_files();

bool shipped_models_wanted() {
  constexpr const char* kVariable = "HEDDLE_SHIPPED_WEIGHTS";
  const char* const word = std::getenv(kVariable);
  if (word == nullptr || *word == '\0') return true;
  if (std::string_view(word) != "none") {
    throw Error(ErrorKind::usage, fmt::format("{}: found {}, expected 'none' or nothing", kVariable, in_quotes(word)));
  }
  return false;
}

const std::vector<FittedModel>& shipped_models() {
  static const std::vector<FittedModel> none;
  if (!shipped_models_wanted()) return none;
  static const std::vector<FittedModel> models = [] {
    std::vector<FittedModel> all;
    for (const SourceFile& file : shipped_model_files()) {
      try {
        const nlohmann::json document = parse_json(file.text);
        for (const nlohmann::json& record : document.at("models")) {
          all.push_back(model_from_record(record, FamilyRegistry()).model);
          all.back().imported = false;
        }
      } catch (const std::exception& error) {
        throw Error(ErrorKind::bug, fmt::format("{}: {}", file.name, error.what()));
      }
    }
    return all;
  }();
  return models;
}

}  // namespace heddle
