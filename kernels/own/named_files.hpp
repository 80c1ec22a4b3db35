// The files that a source in C++ names in its directives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct NamedFile {
  enum class How { quotes, brackets, computed };
  How how = How::quotes;
  std::string name;  ///< empty where it is computed: what the preprocessor makes of a macro
};

/// What its #include, #import, #embed and #line name (a complaint shows the line of a file that #line names), in their
/// order. Of texts that only look like a directive, in a comment or a raw string, some are among them.
[[nodiscard]] std::vector<NamedFile> named_files(std::string_view text);

/// Why a source may read a file that is not its own: which name is absolute, leads out of the folder, or is computed.
/// `file`: as the answer calls the source.
[[nodiscard]] std::optional<std::string> names_outside(const std::string& file, std::string_view text);

}  // namespace heddle
