#include "heddle/runtime/dispatch/notices.hpp"

#include <fmt/format.h>

namespace heddle {

std::string stale_line(std::string_view family, std::string_view which, Currency currency) {
  return fmt::format("{}: {} stale ({}); tune again", family, which, change(currency));
}

std::string left_out_line(std::string_view where, std::string_view first, std::size_t count) {
  return fmt::format("{}: profiles left out, because their sizes are others in this program: {}{}", where, first,
                     count > 1 ? fmt::format(", and {} more", count - 1) : "");
}

}  // namespace heddle
