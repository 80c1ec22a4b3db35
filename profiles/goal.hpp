// What a search made small, and how it timed: a part of what identifies a profile.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// The winner of a search for something else than the time, or with a cold cache, is a winner of another kind: it is
/// kept beside the usual one, and only who asks for its goal gets it.
struct Goal {
  std::string objective = "time";  ///< "time", "energy", or an expression in its normal form
  bool cold_cache = false;         ///< timed one launch at a time, with nothing of its data in the cache

  /// `objective`: as a user wrote it. What is no expression of this heddle, or has a normal form that is too long for
  /// one, is kept as it is, on one line.
  [[nodiscard]] static Goal of(std::string_view objective, bool cold_cache = false);

  auto operator<=>(const Goal&) const = default;
  /// The time, launch after launch with a warm cache: what programs use unless they ask for something else.
  [[nodiscard]] bool is_usual() const { return *this == Goal(); }
  [[nodiscard]] bool is_time() const { return objective == "time"; }
  /// "time", "energy", "time, cold cache".
  [[nodiscard]] std::string text() const;
};

/// `text` with one blank in the place of all blanks, tabs and ends of lines between two words.
[[nodiscard]] std::string on_one_line(std::string_view text);

}  // namespace heddle
