#include "heddle/tuner/journal.hpp"

#include <utility>

namespace heddle {

namespace {

constexpr double kLongestWait = 0.5;  // seconds

}  // namespace

Journal::Journal(ProfileStore& store, StopCondition::Clock clock)
    : store_(store), clock_(std::move(clock)), flushed_(clock_()) {}

Journal::~Journal() {
  try {
    flush();
  } catch (...) {  // on the way out of another error, or of nobody who would listen
  }
}

void Journal::add(Measurement measurement) {
  waiting_.push_back(std::move(measurement));
  if (clock_() - flushed_ > kLongestWait) flush();
}

void Journal::flush() {
  flushed_ = clock_();
  if (waiting_.empty()) return;
  const std::vector<Measurement> batch = std::exchange(waiting_, {});
  store_.record(batch);
}

}  // namespace heddle
