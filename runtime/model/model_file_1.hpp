// Model files of format 1, which knew one kind of network: a TSK system was kept in the form of a SONFIN.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace heddle {

/// The body of a file of format 1 in the form of format 2. Trusts nothing and refuses nothing: what is not as it should
/// be stays as it is, and whatever reads format 2 finds it.
[[nodiscard]] nlohmann::json from_format_1(nlohmann::json body);

}  // namespace heddle
