// The candidates for one problem: the one whose turn it is, those before it, which failed, and those that were passed
// over.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle {

/// The dispatcher must outlive it. Calls from one thread at a time.
class CandidateRow {
 public:
  CandidateRow(const Dispatcher& dispatcher, Problem problem);

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  /// The candidate whose turn it is; the last one if all have failed. The first is found without the others.
  [[nodiscard]] const Candidate& current() const { return all_.empty() ? first() : all_[place()]; }
  /// Whether every candidate has failed.
  [[nodiscard]] bool exhausted() const noexcept { return !all_.empty() && failed_ == all_.size(); }
  /// Another number after every fail() and pass_over().
  [[nodiscard]] std::size_t turn() const noexcept { return failed_ + passed_over_; }

  /// The present candidate failed, and the next one has its turn. Returns the line that tells a user so; nothing if
  /// there is no next one.
  std::optional<std::string> fail(const std::string& why);
  /// The present candidate can run and should not: it comes behind all others, and the next one has its turn. It is not
  /// the last one. Returns the line that tells a user so.
  std::string pass_over(const std::string& why);
  /// The first one has its turn again. The failures are kept until one fails again.
  void start_again() noexcept {
    failed_ = 0;
    starts_again_ = true;
  }

  /// A line for each candidate that failed, "block_size=128 (error: no room)", or was passed over.
  [[nodiscard]] const std::vector<std::string>& failures() const noexcept { return failures_; }

 private:
  [[nodiscard]] const Candidate& first() const;
  [[nodiscard]] std::size_t place() const noexcept { return exhausted() ? failed_ - 1 : failed_; }
  /// Notes why the present candidate does not run, and returns its text.
  std::string note(const std::string& why);

  const Dispatcher* dispatcher_;
  Problem problem_;
  mutable std::optional<Candidate> first_;
  std::vector<Candidate> all_;  ///< empty until the second has its turn, since they take longer to find than the first
  std::size_t failed_ = 0, passed_over_ = 0;
  bool starts_again_ = false;
  std::vector<std::string> failures_;
};

}  // namespace heddle
