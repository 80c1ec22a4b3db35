#include "heddle/kernels/template_source.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace heddle {

namespace {

const SourceFile& embedded(std::string_view name) {
  const auto& all = embedded_sources();
  const auto file = std::ranges::find(all, name, &SourceFile::name);
  if (file == all.end()) throw std::out_of_range("no embedded source \"" + std::string(name) + "\"");
  return *file;
}

/// Names in lines of the form #include "name".
std::vector<std::string_view> includes(std::string_view text) {
  constexpr std::string_view kDirective = "#include \"";
  std::vector<std::string_view> names;
  for (std::size_t at = text.find(kDirective); at != std::string_view::npos; at = text.find(kDirective, at)) {
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    at += kDirective.size();
    if (starts_line) names.push_back(text.substr(at, text.find('"', at) - at));
  }
  return names;
}

/// `files`, then all embedded files that they include, directly or not.
std::vector<SourceFile> with_includes(std::vector<SourceFile> files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const std::string_view name : includes(files[i].text)) {
      if (std::ranges::find(files, name, &SourceFile::name) == files.end()) files.push_back(embedded(name));
    }
  }
  return files;
}

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// C++ text without what a formatter may change. A space stays where it separates two words, and inside a
/// preprocessor line, whose end stays as well. Raw string literals are not understood.
class Normaliser {
 public:
  explicit Normaliser(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    if (directive_) result_ += '\n';
    return std::move(result_);
  }

 private:
  bool ahead(std::string_view expected) const { return text_.substr(at_).starts_with(expected); }
  void skip_past(std::string_view end) { at_ = std::min(text_.find(end, at_), text_.size() - end.size()) + end.size(); }

  void step() {
    const char c = text_[at_];
    if (ahead("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (ahead("/*")) {
      at_ += 2;
      skip_past("*/");
      gap_ = true;
    } else if (ahead("\\\n")) {
      at_ += 2;
      gap_ = true;
    } else if (c == '\n' && directive_) {
      ++at_;
      result_ += '\n';
      directive_ = gap_ = false;
    } else if (blank(c)) {
      ++at_;
      gap_ = true;
    } else if (c == '"' || (c == '\'' && (gap_ || result_.empty() || !word_character(result_.back())))) {
      literal(c);
    } else {
      if (c == '#' && !directive_) start_directive();
      put(c);
      ++at_;
    }
  }

  void start_directive() {
    if (!result_.empty() && result_.back() != '\n') result_ += '\n';
    directive_ = true;
    gap_ = false;
  }

  void literal(char quote) {
    put(quote);
    for (++at_; at_ < text_.size(); ++at_) {
      result_ += text_[at_];
      if (text_[at_] == quote) break;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) result_ += text_[++at_];
    }
    ++at_;
  }

  void put(char c) {
    const bool after_line = result_.empty() || result_.back() == '\n';
    if (gap_ && !after_line && (directive_ || (word_character(result_.back()) && word_character(c)))) result_ += ' ';
    gap_ = false;
    result_ += c;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string result_;
  bool gap_ = false;        // blanks or a comment since the last character
  bool directive_ = false;  // inside a preprocessor line
};

}  // namespace

TemplateSource::TemplateSource(std::string_view main, CompileOptions options)
    : TemplateSource(with_includes({heddle::embedded(main)}), std::move(options)) {
  embedded_ = true;
}

TemplateSource::TemplateSource(std::vector<SourceFile> files, CompileOptions options)
    : files_(std::move(files)), options_(std::move(options)) {
  std::string all;
  for (const SourceFile& file : files_) all += fmt::format("{}\n{}\n", file.name, without_format(file.text));
  hash_ = digest(all);
}

TemplateSource TemplateSource::own(std::vector<SourceFile> files, CompileOptions options) {
  return TemplateSource(with_includes(std::move(files)), std::move(options));
}

std::string without_format(std::string_view text) { return Normaliser(text).run(); }

std::string digest(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace heddle
