// The choice that the option --label makes: which columns are to be learnt, or which file has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"

namespace heddle {

struct LabelChoice {
  /// "first", "last", a number from 1, or a name; empty with `file`, or if there are no labels.
  std::vector<std::string> columns;
  std::optional<std::filesystem::path> file;

  /// Reads DataOptions::label; Throws Error(usage) for an empty part, or several columns for classes.
  [[nodiscard]] static LabelChoice parse(const std::string& text, Task task);
  /// Whether some column is given by a name, so that there must be a header.
  [[nodiscard]] bool named() const;
  /// Indices from 0, in the order of `columns`. `names`: of the header, or empty. Throws Error(usage) with `source`
  /// for a column that is not there, a name that is there twice, or the same column twice.
  [[nodiscard]] std::vector<std::int64_t> resolve(std::int64_t count, const std::vector<std::string>& names,
                                                  const std::string& source) const;
};

}  // namespace heddle
