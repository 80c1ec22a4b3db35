// What another tuner reaches on recorded spaces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/tuner/replay/search_benchmark.hpp"

namespace heddle {

/// Of every number the best of the other tuner's strategies, each number by itself.
class SearchBaseline {
 public:
  /// An empty name: none. Throws Error(input) if the file is no JSON with `spaces` (docs/formats.md).
  explicit SearchBaseline(const std::filesystem::path& file);
  /// One score per mark, without quartiles. `space`: the name of its file. Nothing if the space or one of the marks is
  /// not there.
  [[nodiscard]] std::optional<std::vector<SearchScore>> best(const std::string& space,
                                                             const std::vector<std::int64_t>& marks) const;
  /// What it was, with its version; empty if there is none.
  [[nodiscard]] const std::string& tool() const noexcept { return tool_; }

 private:
  std::string tool_;
  std::map<std::string, std::map<std::int64_t, SearchScore>> spaces_;
};

}  // namespace heddle
