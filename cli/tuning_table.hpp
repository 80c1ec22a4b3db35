// What `heddle tune` shows while it searches: a table of results, and how far it is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/cli/tune_target.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle::cli {

/// Prints a table whose rows appear during the search, so the widths of its columns are fixed before.
class ResultPrinter {
 public:
  explicit ResultPrinter(const FamilyTask& task);
  /// Prints the row of a problem, and the head of the table before the first; nothing if the search was interrupted
  /// before it found anything.
  void row(const TuningResult& result);

 private:
  static constexpr std::size_t kLeastWidth = 7;  ///< of "problem"

  void head(const std::vector<NamedTime>& named) const;

  std::size_t width_ = kLeastWidth;
  bool headed_ = false;
};

/// One line about a search that goes on. The most important part comes first: a terminal may cut the end off.
[[nodiscard]] std::string progress_text(const TuningProgress& progress);

}  // namespace heddle::cli
