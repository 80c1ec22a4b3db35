#include "heddle/runtime/data/text_lines.hpp"

#include <cstring>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"

namespace heddle {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Behind the double quote that closes the one at `c`; two together are one of the text. Null if none does.
const char* behind_quotes(const char* c, const char* end) {
  for (++c; c < end; ++c) {
    if (*c != '"') continue;
    if (c + 1 == end || c[1] != '"') return c + 1;
    ++c;
  }
  return nullptr;
}

/// The comma behind the field that begins at `c`, or the end of the line. A field in double quotes may have commas.
const char* comma_behind(const char* c, const char* end) {
  if (c != end && *c == '"') {
    const char* behind = behind_quotes(c, end);
    while (behind != nullptr && behind != end && is_blank(*behind)) ++behind;
    if (behind != nullptr && (behind == end || *behind == ',')) return behind;
  }
  const void* comma = std::memchr(c, ',', static_cast<std::size_t>(end - c));
  return comma != nullptr ? static_cast<const char*>(comma) : end;
}

}  // namespace

Lines::Lines(std::string_view text) : rest_(text) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  // Empty lines at the end are no rows.
  const std::size_t last = rest_.find_last_not_of(" \t\r\n");
  rest_ = rest_.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view Lines::next() {
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void split(std::string_view line, bool commas, Fields& fields) {
  fields.clear();
  const char* c = line.data();
  const char* const end = c + line.size();
  while (true) {
    while (c != end && is_blank(*c)) ++c;
    if (c == end && !commas) return;
    const char* const begin = c;
    if (commas) {
      c = comma_behind(c, end);
    } else {
      while (c != end && !is_blank(*c)) ++c;
    }
    const char* last = c;
    while (last != begin && is_blank(last[-1])) --last;
    fields.emplace_back(begin, static_cast<std::size_t>(last - begin));
    if (c == end) return;
    if (commas) ++c;
  }
}

std::string place(const std::string& source, std::int64_t line, std::int64_t column) {
  return source + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string field_text(std::string_view field) { return field.empty() ? "nothing" : in_quotes(field); }

std::vector<std::string> names_of(const Fields& fields) {
  std::vector<std::string> names;
  FieldTexts texts;
  for (const std::string_view field : fields) names.emplace_back(texts.of(field));
  return names;
}

void refuse_ragged(const std::string& source, std::int64_t columns, std::int64_t line, const Fields& fields) {
  const auto found = static_cast<std::int64_t>(fields.size());
  const std::string expected = std::to_string(columns) + (columns == 1 ? " field" : " fields");
  if (found == 0 || (found == 1 && fields.front().empty())) refuse(place(source, line, 1), "an empty line", expected);
  if (found < columns) {
    refuse(place(source, line, found + 1), "the end of the line after " + std::to_string(found), expected);
  }
  refuse(place(source, line, columns + 1), in_quotes(fields[at(columns)]), "the end of the line after " + expected);
}

}  // namespace heddle
