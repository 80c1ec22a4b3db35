// Lines of a text and their fields: what all readers of tables share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

using Fields = std::vector<std::string_view>;

/// Lines of a text, without their ends (\n or \r\n), a byte order mark and empty lines at the end.
class Lines {
 public:
  explicit Lines(std::string_view text);
  [[nodiscard]] bool done() const { return rest_.empty(); }
  std::string_view next();
  [[nodiscard]] std::int64_t count() const {
    return rest_.empty() ? 0 : 1 + std::count(rest_.begin(), rest_.end(), '\n');
  }

 private:
  std::string_view rest_;
};

/// The fields of a line, without the blanks around them; separated by commas, or by blanks. Commas between double
/// quotes are part of a field.
void split(std::string_view line, bool commas, Fields& fields);
/// "FILE:LINE:COLUMN", both from 1.
[[nodiscard]] std::string place(const std::string& source, std::int64_t line, std::int64_t column);
/// A field as an error line quotes it.
[[nodiscard]] std::string field_text(std::string_view field);
/// The fields without blanks and quotes.
[[nodiscard]] std::vector<std::string> names_of(const Fields& fields);
/// Throws Error(input) about a line that has not as many fields as the table has columns.
[[noreturn]] void refuse_ragged(const std::string& source, std::int64_t columns, std::int64_t line,
                                const Fields& fields);

}  // namespace heddle
