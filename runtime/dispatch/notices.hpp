// Lines for the user about profiles that are not used as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "heddle/profiles/present_kernels.hpp"

namespace heddle {

/// "sonfin-train: the profiles for 3 of 5 sizes are stale (the kernel source has changed); tune again". `which`: "the
/// profiles for 3 of 5 sizes are".
[[nodiscard]] std::string stale_line(std::string_view family, std::string_view which, Currency currency);

/// "sonfin-train: profiles left out, because their sizes are others in this program: ..., and 2 more". `where`: what
/// holds them; `first`: the reason for the first of them, of `count`.
[[nodiscard]] std::string left_out_line(std::string_view where, std::string_view first, std::size_t count);

}  // namespace heddle
