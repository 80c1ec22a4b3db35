// Templates with other lines in them, as a file describes them.
#pragma once

#include <string>
#include <vector>

#include "heddle/kernels/replaced_templates.hpp"

namespace heddle::bench {

struct TemplateVariant {
  std::string name;
  std::vector<Replacement> replacements;
};

/// Those of a JSON file: {"variants": [{"name": "no decision", "replacements": [{"file": "cuda/launched.cuh",
/// "find": ["lines of text", "that is there once"], "replace": ["other lines"]}]}]}. Throws Error(input).
[[nodiscard]] std::vector<TemplateVariant> read_template_variants(const std::string& file);

}  // namespace heddle::bench
