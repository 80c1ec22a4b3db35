// One field of a text: a number, a word, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace heddle {

/// The double that all of `field` spells, nan and infinity included. Nothing for words.
[[nodiscard]] std::optional<double> parse_double(std::string_view field);
/// The number that all of `field` spells, rounded to float32 (a value too small for it becomes 0). Nothing for
/// anything else: words, nan, infinities, values too large for float32.
[[nodiscard]] std::optional<float> parse_number(std::string_view field);
/// The shortest text that reads back as `value`. Equal numbers have one text: 0 and -0, too.
[[nodiscard]] std::string canonical_number(double value);
/// Whether `field` could name a column or class: neither a number of any kind nor a mark of a missing value ("", "?").
[[nodiscard]] bool is_word(std::string_view field);
/// Without the blanks around it and one pair of double quotes.
[[nodiscard]] std::string_view bare(std::string_view field);
/// The texts that fields stand for: bare, and of two double quotes between the outer ones one. A text is a view of its
/// field where it stands there as it is, and otherwise of what is kept here.
class FieldTexts {
 public:
  [[nodiscard]] std::string_view of(std::string_view field);

 private:
  std::unordered_set<std::string> kept_;  ///< its elements stay where they are when it grows or is moved
};
/// A field of a CSV line as RFC 4180 wants it.
[[nodiscard]] std::string csv_field(const std::string& field);
/// Throws Error(input): "WHERE: found FOUND, expected EXPECTED".
[[noreturn]] void refuse(std::string_view where, std::string_view found, std::string_view expected);

}  // namespace heddle
