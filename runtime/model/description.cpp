#include "heddle/runtime/model/description.hpp"

#include <nlohmann/json.hpp>
#include <variant>

#include "heddle/runtime/model/model.hpp"

namespace heddle {

Description describe(const Model& model) {
  return std::visit([&](const auto& own) { return own.describe(model); }, model.network);
}

nlohmann::ordered_json document(const Model& model) {
  return std::visit([&](const auto& own) { return own.document(model); }, model.network);
}

}  // namespace heddle
