#include "heddle/runtime/dispatch/candidate_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle {

CandidateRow::CandidateRow(const Dispatcher& dispatcher, Problem problem)
    : dispatcher_(&dispatcher), problem_(std::move(problem)) {}

const Candidate& CandidateRow::first() const {
  if (!first_) first_ = dispatcher_->choose(problem_);
  return *first_;
}

std::string CandidateRow::note(const std::string& why) {
  if (std::exchange(starts_again_, false)) failures_.clear();
  std::string configuration = current().configuration.text();
  failures_.push_back(fmt::format("{} ({})", configuration, why));
  if (all_.empty()) all_ = dispatcher_->candidates(problem_);
  return configuration;
}

std::optional<std::string> CandidateRow::fail(const std::string& why) {
  const std::string failed = note(why);
  if (!exhausted()) ++failed_;
  if (exhausted()) return std::nullopt;
  return fmt::format("{} at {}: {} failed ({}); using {} instead", dispatcher_->family().name(), problem_.text(),
                     failed, why, current().configuration.text());
}

std::string CandidateRow::pass_over(const std::string& why) {
  const std::string passed = note("passed over: " + why);
  all_[place()].passed_over = true;
  const auto present = all_.begin() + static_cast<std::ptrdiff_t>(place());
  std::rotate(present, present + 1, all_.end());
  ++passed_over_;
  return fmt::format("{} at {}: {} passed over ({}); using {} instead", dispatcher_->family().name(), problem_.text(),
                     passed, why, current().configuration.text());
}

}  // namespace heddle
