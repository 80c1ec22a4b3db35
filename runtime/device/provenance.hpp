// Provenance that is recorded beside the measurements of every device.
#pragma once

#include <string>

#include "heddle/profiles/provenance.hpp"

namespace heddle {

/// Tool, host and date (now) filled in; the device adds driver, compiler and clocks.
[[nodiscard]] Provenance host_provenance();
/// The present second in UTC: "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_now();
/// The same to the millisecond: "2026-01-31T12:00:00.250Z".
[[nodiscard]] std::string utc_now_exactly();

}  // namespace heddle
