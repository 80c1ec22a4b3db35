// Text that comes from outside (data, file names, option values, class words, provenance), made fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

/// `text` without anything that could do more to a terminal than show letters, or less: control characters (C0, DEL,
/// C1), line and paragraph separators, marks that turn the direction of writing and code points that show nothing
/// appear as \x1b or \u{202e}, a byte that is not UTF-8 as \xff. Everything else stays as it is.
[[nodiscard]] std::string printable(std::string_view text);

/// Columns that a printable text takes on a terminal: two for wide East Asian letters and most pictures, none for marks
/// on the letter before.
[[nodiscard]] std::size_t columns(std::string_view text);
/// As much of the beginning of a printable text as `most` columns hold.
[[nodiscard]] std::string_view first_columns(std::string_view text, std::size_t most);

/// Printable and at most `most` columns wide: of a longer text the beginning and the end, " ... " between them.
/// `most`: at least 16.
[[nodiscard]] std::string brief(std::string_view text, std::size_t most);

/// For what an error line quotes: brief, at most 40 columns, in single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace heddle
