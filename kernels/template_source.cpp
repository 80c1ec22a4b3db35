#include "heddle/kernels/template_source.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace heddle {

namespace {

const SourceFile& embedded(std::string_view name) {
  for (const SourceFile& file : embedded_sources()) {
    if (file.name == name) return file;
  }
  throw std::out_of_range(fmt::format("no source file {} was embedded", name));
}

/// Names in the lines  #include "..."  of a file.
std::vector<std::string_view> includes(std::string_view text) {
  constexpr std::string_view directive = "#include \"";
  std::vector<std::string_view> names;
  for (std::size_t at = text.find(directive); at != std::string_view::npos; at = text.find(directive, at)) {
    at += directive.size();
    names.push_back(text.substr(at, text.find('"', at) - at));
  }
  return names;
}

/// The text without comments, and with blanks only where they separate two words.
std::string essence(std::string_view text) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string result;
  bool blank = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
      blank = true;
    } else if (rest.starts_with("/*")) {
      i = std::min(text.find("*/", i + 2), text.size() - 2) + 1;
      blank = true;
    } else if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      blank = true;
    } else {
      if (blank && !result.empty() && word(result.back()) && word(text[i])) result += ' ';
      blank = false;
      if (text[i] == '"') {  // kept to the letter
        std::size_t end = i + 1;
        while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
        result += text.substr(i, end + 1 - i);
        i = end;
      } else {
        result += text[i];
      }
    }
  }
  return result;
}

}  // namespace

TemplateSource::TemplateSource(std::string_view main) {
  files_.push_back(embedded(main));
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const std::string_view name : includes(files_[i].text)) {
      const auto known = [&](const SourceFile& file) { return file.name == name; };
      if (std::none_of(files_.begin(), files_.end(), known)) files_.push_back(embedded(name));
    }
  }
  std::string all;
  for (const SourceFile& file : files_) all += fmt::format("{}\n{}\n", file.name, essence(file.text));
  hash_ = digest(all);
}

std::string digest(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace heddle
