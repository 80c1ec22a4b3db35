// Measurements on their way to the database.
#pragma once

#include <functional>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle {

/// Writes measurements in batches, since a transaction of its own for each takes longer than most of them. What was
/// added is written within about a second while measurements keep coming, by flush(), and on destruction.
class Journal {
 public:
  explicit Journal(ProfileStore& store, StopCondition::Clock clock = StopCondition::steady_clock());
  /// A failure to write goes unnoticed here: call flush() first.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Both throw Error(profiles); measurements that could not be written are dropped then.
  void add(Measurement measurement);
  void flush();

 private:
  ProfileStore& store_;
  StopCondition::Clock clock_;
  double flushed_;
  std::vector<Measurement> waiting_;
};

}  // namespace heddle
