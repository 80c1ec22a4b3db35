// A kernel family with some text of its templates replaced: what a line of a kernel costs on a device, and whether a
// fault in it would be found.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/forwarding_family.hpp"

namespace heddle {

/// Some text of a template, and what comes in its place.
struct Replacement {
  std::string file;  ///< the end of its name
  std::string find;  ///< is there exactly once
  std::string replace;
};

/// Everything but the templates of one backend is that of `whole`, which must outlive it.
class ReplacedTemplates final : public ForwardingFamily {
 public:
  /// Throws Error(usage) if a file or a text to be replaced is not there, or is there more than once.
  ReplacedTemplates(const KernelFamily& whole, std::string_view backend, const std::vector<Replacement>& replacements);
  ReplacedTemplates(const ReplacedTemplates&) = delete;
  ReplacedTemplates& operator=(const ReplacedTemplates&) = delete;

  [[nodiscard]] const TemplateSource& source(std::string_view backend) const override;

 private:
  std::string backend_;
  std::deque<std::string> texts_;  ///< what the source refers to
  TemplateSource source_;
};

}  // namespace heddle
