// One answer of the dispatcher.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heddle/kernels/search_space.hpp"
#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/present_kernels.hpp"

namespace heddle {

/// Why a configuration was chosen, best reason first.
enum class Tier {
  exact,         ///< a profile of this device for this very problem
  nearest,       ///< a profile of this device for another problem
  architecture,  ///< a profile of another device of the same compute capability or instruction set
  backend,       ///< a profile of another device of the same backend
  stale,         ///< a profile made with kernels that have changed since
  expected,      ///< no profile: the model of times expects it to be faster than the family's default
  fallback,      ///< the family's default
  likely,        ///< fast elsewhere, says the family, and different in kind: where even the default cannot run
};
/// "exact", "nearest", "architecture", "backend", "stale", "expected", "default", "likely".
[[nodiscard]] std::string_view text(Tier tier);
/// Whether a profile is behind a choice: something was measured.
[[nodiscard]] constexpr bool has_profile(Tier tier) { return tier < Tier::expected; }

struct Candidate {
  Configuration configuration;
  Tier tier = Tier::fallback;
  const Profile* profile = nullptr;       ///< owned by the dispatcher; none for the tiers expected and fallback
  Currency currency = Currency::current;  ///< of the profile
  double squared_distance = 0.0;          ///< between the profile's problem and the actual one
  /// Microseconds per sample here, where the family has a model and it was not measured here.
  std::optional<double> expected = {};
  /// Microseconds per sample that this device can be held to: measured here for this problem or one of nearly the same
  /// size, or expected by the model from a profile of this device.
  std::optional<double> promised = {};
  std::string reason;        ///< one line for people
  bool passed_over = false;  ///< its turn comes after all others (CandidateRow::pass_over())
};

}  // namespace heddle
