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
constexpr std::size_t kLongestGap = 1024, kLongestFileName = 4096;  // bytes; bounds that make the search linear
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
    // Nothing but blanks and comments may stand before a directive in its line.
    bool has_text = false, ends_comment = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const std::size_t sign = c == '#' ? 1 : ahead("%:") ? 2 : 0;
      if (sign > 0 && (!has_text || ends_comment)) {
        at_ += sign;
        has_text = true;
        // What follows may be a raw string, whose comment is none: the directives in it are read, too.
        const std::size_t behind = at_;
        if (!read()) {
          files_.push_back({.how = NamedFile::How::computed, .name = {}});
          break;
        }
        at_ = behind;
        continue;
      }
      if (c == '\n') {
        has_text = ends_comment = false;
      } else if (ahead("*/")) {
        ends_comment = true;
      } else if (kBlanks.find(c) == std::string_view::npos) {
        has_text = true;
      }
      ++at_;
    }
    return std::move(files_);
  }

 private:
  [[nodiscard]] bool ahead(std::string_view expected) const { return text_.substr(at_).starts_with(expected); }

  /// Blanks and comments. False where these go on for longer than any that a person writes there.
  [[nodiscard]] bool skip_blanks() {
    const std::string_view near = text_.substr(0, std::min(text_.size(), at_ + kLongestGap));
    while (at_ < near.size()) {
      if (kBlanks.find(near[at_]) != std::string_view::npos) {
        ++at_;
      } else if (ahead("/*")) {
        const std::size_t end = near.find("*/", at_ + 2);
        if (end == std::string_view::npos) return false;
        at_ = end + 2;
      } else {
        return true;
      }
    }
    return at_ == text_.size();
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// The directive behind its sign. False where what it names cannot be told.
  [[nodiscard]] bool read() {
    if (!skip_blanks()) return false;
    const std::string_view directive = word();
    const auto is_number = [](std::string_view text) {
      return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    };
    if (directive == "line" || is_number(directive)) {
      if (!skip_blanks()) return false;
      if (directive == "line" && is_number(word()) && !skip_blanks()) return false;
      const bool names_none = at_ == text_.size() || text_[at_] == '\n' || ahead("//");
      return names_none || take_name(false);
    }
    if (std::ranges::find(kReading, directive) == kReading.end()) return true;
    return skip_blanks() && take_name(true);
  }

  [[nodiscard]] bool take_name(bool brackets) {
    const char open = at_ < text_.size() ? text_[at_] : '\n';
    if (open != '"' && !(open == '<' && brackets)) {
      files_.push_back({.how = NamedFile::How::computed, .name = {}});
      return true;
    }
    const std::string_view rest = text_.substr(at_ + 1, kLongestFileName);
    const std::size_t length = rest.find_first_of(open == '"' ? "\"\n" : ">\n");
    if (length == std::string_view::npos) return false;
    files_.push_back({.how = open == '"' ? NamedFile::How::quotes : NamedFile::How::brackets,
                      .name = std::string(rest.substr(0, length))});
    return true;
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
