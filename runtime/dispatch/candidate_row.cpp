#include "heddle/runtime/dispatch/candidate_row.hpp"

#include <fmt/format.h>

#include <utility>

namespace heddle {

CandidateRow::CandidateRow(const Dispatcher& dispatcher, Problem problem)
    : dispatcher_(&dispatcher), problem_(std::move(problem)) {}

const Candidate& CandidateRow::first() const {
  if (!first_) first_ = dispatcher_->choose(problem_);
  return *first_;
}

std::optional<std::string> CandidateRow::fail(const std::string& why) {
  if (failed_ == 0) failures_.clear();
  const std::string failed = current().configuration.text();
  failures_.push_back(fmt::format("{} ({})", failed, why));
  if (all_.empty()) all_ = dispatcher_->candidates(problem_);
  if (!exhausted()) ++failed_;
  if (exhausted()) return std::nullopt;
  return fmt::format("{} at {}: {} failed ({}); using {} instead", dispatcher_->family().name(), problem_.text(),
                     failed, why, current().configuration.text());
}

}  // namespace heddle
