#include "heddle/kernels/replaced_templates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

std::string replaced(const SourceFile& file, const Replacement& replacement) {
  std::string text(file.text);
  const std::size_t at = text.find(replacement.find);
  if (at == std::string::npos) {
    throw Error(ErrorKind::usage, fmt::format("no \"{}\" in {}", replacement.find, file.name));
  }
  if (text.find(replacement.find, at + 1) != std::string::npos) {
    throw Error(ErrorKind::usage, fmt::format("\"{}\" is more than once in {}", replacement.find, file.name));
  }
  return text.replace(at, replacement.find.size(), replacement.replace);
}

TemplateSource with(const TemplateSource& source, const std::vector<Replacement>& replacements,
                    std::deque<std::string>& texts) {
  std::vector<SourceFile> files = source.files();
  for (const Replacement& replacement : replacements) {
    const auto named = [&](const SourceFile& file) { return file.name.ends_with(replacement.file); };
    const auto file = std::ranges::find_if(files, named);
    if (file == files.end()) throw Error(ErrorKind::usage, fmt::format("no template file {}", replacement.file));
    if (std::find_if(file + 1, files.end(), named) != files.end()) {
      throw Error(ErrorKind::usage, fmt::format("several template files end in {}", replacement.file));
    }
    file->text = texts.emplace_back(replaced(*file, replacement));
  }
  return TemplateSource(std::move(files), source.options());
}

}  // namespace

ReplacedTemplates::ReplacedTemplates(const KernelFamily& whole, std::string_view backend,
                                     const std::vector<Replacement>& replacements)
    : ForwardingFamily(whole), backend_(backend), source_(with(whole.source(backend), replacements, texts_)) {}

const TemplateSource& ReplacedTemplates::source(std::string_view backend) const {
  return backend == backend_ ? source_ : ForwardingFamily::source(backend);
}

}  // namespace heddle
