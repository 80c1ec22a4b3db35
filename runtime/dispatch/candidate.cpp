#include "heddle/runtime/dispatch/candidate.hpp"

namespace heddle {

std::string_view text(Tier tier) {
  switch (tier) {
    case Tier::exact:
      return "exact";
    case Tier::nearest:
      return "nearest";
    case Tier::architecture:
      return "architecture";
    case Tier::backend:
      return "backend";
    case Tier::stale:
      return "stale";
    case Tier::expected:
      return "expected";
    case Tier::fallback:
      return "default";
    case Tier::likely:
      return "likely";
  }
  return "default";
}

}  // namespace heddle
