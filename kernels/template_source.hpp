// Kernel source with open parameters, as it was embedded at build time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/compile_options.hpp"

namespace heddle {

struct SourceFile {
  std::string_view name;  ///< as an #include names it: "kernels/common/exchange.cuh"
  std::string_view text;
};

/// Every file under kernels/ that is compiled at run time, sorted by name. Made by cmake/embed.cmake.
[[nodiscard]] const std::vector<SourceFile>& embedded_sources();

/// A template and every header it includes, directly or not, and how its kernels are compiled.
class TemplateSource {
 public:
  /// Collects `main` and its includes from embedded_sources(); throws std::out_of_range if one is missing.
  explicit TemplateSource(std::string_view main, CompileOptions options = {});
  /// From `files`, the template first and then all that it includes; their texts must outlive this.
  explicit TemplateSource(std::vector<SourceFile> files, CompileOptions options = {});
  /// Files of a program's own, the template first, and the embedded files that they include. Their texts must outlive
  /// this. Throws std::out_of_range if an include in quotes is none of all these.
  [[nodiscard]] static TemplateSource own(std::vector<SourceFile> files, CompileOptions options = {});

  [[nodiscard]] const SourceFile& main() const noexcept { return files_.front(); }
  [[nodiscard]] const std::vector<SourceFile>& files() const noexcept { return files_; }  ///< main first
  /// Whether it is one that this program was built with: kernels may be there already.
  [[nodiscard]] bool embedded() const noexcept { return embedded_; }
  [[nodiscard]] const CompileOptions& options() const noexcept { return options_; }
  /// 32 hex digits over all files with comments and spacing removed: a profile whose hash differs is stale.
  /// The options are not part of it.
  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }

 private:
  std::vector<SourceFile> files_;
  CompileOptions options_;
  std::string hash_;
  bool embedded_ = false;
};

/// C++ text without comments and without the spacing that a formatter may change: what TemplateSource::hash() covers.
[[nodiscard]] std::string without_format(std::string_view text);

/// 128-bit XXH3 of `bytes` as 32 hex digits. For identity and damage, not against an attacker.
[[nodiscard]] std::string digest(std::string_view bytes);

}  // namespace heddle
