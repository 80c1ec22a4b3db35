// Outcomes of tried configurations in words for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "heddle/profiles/measurement.hpp"

namespace heddle::cli {

using Outcomes = std::map<Status, std::int64_t>;

/// Whether a configuration was tried and did not work: it is neither timed nor stopped because it could not win.
[[nodiscard]] bool failed(Status status);

/// All on one line: "5 verified, 23 timed, 82 stopped early, 1 failed (launch 1)"; "none" if there are none.
[[nodiscard]] std::string outcomes_text(const Outcomes& outcomes);
/// One indented line for each kind of outcome, with what it means for the user. Empty if there are none.
/// `verified_against`: what the results of verified configurations agree with (KernelFamily::verified_against()).
[[nodiscard]] std::string explained(const Outcomes& outcomes, const std::string& verified_against);

}  // namespace heddle::cli
