#include "heddle/kernels/own/named_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";
constexpr std::array<std::string_view, 4> kReading{"include", "include_next", "import", "embed"};

/// `text` with every line as the preprocessor sees it: trigraphs replaced, and lines that end in a backslash joined.
std::string joined_lines(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (const std::string_view three = text.substr(at, 3); three == "\?\?=" || three == "\?\?/") {
      c = three.back() == '=' ? '#' : '\\';
      at += 2;
    }
    if (c == '\\') {
      const std::size_t end = std::min(text.find_first_not_of(kBlanks, at + 1), text.size());
      if (end < text.size() && text[end] == '\n') {
        at = end;
        continue;
      }
    }
    joined += c;
  }
  return joined;
}

class Directives {
 public:
  explicit Directives(std::string_view text) : text_(text) {}

  std::vector<NamedFile> files() {
    while ((at_ = text_.find_first_of("#%", at_)) != std::string_view::npos) {
      const std::size_t sign = at_;
      at_ += text_.substr(at_).starts_with("%:") ? 2 : 1;
      if ((text_[sign] == '#' || at_ == sign + 2) && begins_line(sign)) read();
    }
    return std::move(files_);
  }

 private:
  /// Whether nothing but blanks and comments may stand before it in its line.
  [[nodiscard]] bool begins_line(std::size_t sign) const {
    const std::size_t line = sign == 0 ? 0 : text_.rfind('\n', sign - 1) + 1;  // npos + 1 is 0
    const std::string_view before = text_.substr(line, sign - line);
    return before.find_first_not_of(kBlanks) == std::string_view::npos || before.find("*/") != std::string_view::npos;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      if (kBlanks.find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void read() {
    skip_blanks();
    std::string_view directive = word();
    const auto is_number = [](std::string_view text) {
      return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    };
    if (directive == "line" || is_number(directive)) {
      skip_blanks();
      if (directive == "line" && is_number(word())) skip_blanks();
      if (at_ < text_.size() && text_[at_] != '\n' && !text_.substr(at_).starts_with("//")) take_name(false);
    } else if (std::ranges::find(kReading, directive) != kReading.end()) {
      skip_blanks();
      take_name(true);
    }
  }

  void take_name(bool brackets) {
    const char open = at_ < text_.size() ? text_[at_] : '\n';
    if (open != '"' && !(open == '<' && brackets)) {
      files_.push_back({.how = NamedFile::How::computed, .name = {}});
      return;
    }
    const std::size_t begin = ++at_;
    at_ = std::min(text_.find_first_of(open == '"' ? "\"\n" : ">\n", begin), text_.size());
    files_.push_back({.how = open == '"' ? NamedFile::How::quotes : NamedFile::How::brackets,
                      .name = std::string(text_.substr(begin, at_ - begin))});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<NamedFile> files_;
};

}  // namespace

std::vector<NamedFile> named_files(std::string_view text) {
  const std::string joined = joined_lines(text);
  return Directives(joined).files();
}

std::optional<std::string> names_outside(const std::string& file, std::string_view text) {
  for (const NamedFile& named : named_files(text)) {
    if (named.how == NamedFile::How::computed) {
      return fmt::format("{} has an #include or #line whose file a macro names, expected its name", in_quotes(file));
    }
    const auto path = std::filesystem::path(named.name).lexically_normal();
    if (path.is_absolute() || (!path.empty() && *path.begin() == "..")) {
      return fmt::format("{} names the file {}, which is outside the folder", in_quotes(file), in_quotes(named.name));
    }
  }
  return std::nullopt;
}

}  // namespace heddle
