// The files beside a description: the sources that it names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/own/description_node.hpp"

namespace heddle {

/// A file's bytes, at most `most` of them. `named`: as messages call it. Throws Error(input).
[[nodiscard]] std::string bytes_of_file(const std::filesystem::path& path, const std::string& named, std::size_t most);

/// Whether `path`, after all links, is in `folder` or below. It need not be there.
[[nodiscard]] bool leads_below(const std::filesystem::path& path, const std::filesystem::path& folder);

/// Whether a word for a compiler may name a file: what is no option is a file, or belongs to the word before it.
[[nodiscard]] bool names_a_file(std::string_view word);

/// Where the files are that a description names.
class SourceFolder {
 public:
  /// `folders`: a file is taken from the first that has it. `allow_outside`: whether it may be in none of them, nor in
  /// a folder below.
  SourceFolder(std::vector<std::filesystem::path> folders, bool allow_outside);

  /// The text of the file called `named`, at most 4 MiB. Throws Error(input) at `node`: it cannot be read, is too long,
  /// or is outside (links are followed).
  [[nodiscard]] std::string text(const DescriptionNode& node, const std::string& named) const;
  /// Throws as text() does if the folder of `named` is outside. The file need not be there.
  void require_inside(const DescriptionNode& node, const std::string& named) const;
  /// Throws at `node` if `word`, for a compiler, may name a file and files outside are not allowed.
  void require_no_path(const DescriptionNode& node, const std::string& word) const;
  /// Throws at `node` if a source may read a file of its own choice (names_outside) and that is not allowed.
  void require_names_inside(const DescriptionNode& node, const std::string& file, const std::string& text) const;
  /// The names, as `text` gives them, of those files that it includes in quotes, that are there and that may be read,
  /// and of those that these include.
  [[nodiscard]] std::vector<std::string> included(const std::string& text) const;

 private:
  [[nodiscard]] std::filesystem::path find(const std::string& named) const;
  [[nodiscard]] bool is_allowed(const std::filesystem::path& path) const;
  void collect(const std::string& text, std::vector<std::string>& names) const;

  std::vector<std::filesystem::path> folders_;
  bool allow_outside_;
};

}  // namespace heddle
