#include "heddle/bench/common/template_variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"

namespace heddle::bench {

std::vector<TemplateVariant> read_template_variants(const std::string& file) {
  const auto lines = [](const nlohmann::json& list) {
    return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), "\n"));
  };
  const std::optional<std::string> bytes = file_bytes(file);
  if (!bytes) throw Error(ErrorKind::input, fmt::format("{}: cannot be read", file));
  std::vector<TemplateVariant> variants;
  try {
    const nlohmann::json document = nlohmann::json::parse(*bytes);
    for (const nlohmann::json& variant : document.at("variants")) {
      TemplateVariant& read = variants.emplace_back(TemplateVariant{.name = variant.at("name"), .replacements = {}});
      for (const nlohmann::json& one : variant.at("replacements")) {
        read.replacements.push_back(
            {.file = one.at("file"), .find = lines(one.at("find")), .replace = lines(one.at("replace"))});
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("{}: {}", file, error.what()));
  }
  return variants;
}

}  // namespace heddle::bench
