// The outcome of trying one configuration on one device, and the profile made from such outcomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/profiles/goal.hpp"
#include "heddle/profiles/kernel_resources.hpp"
#include "heddle/profiles/provenance.hpp"
#include "heddle/profiles/status.hpp"

namespace heddle {

/// Where something was measured or holds: the key of a profile.
struct ProfileKey {
  DeviceIdentity device;
  std::string family;
  Problem problem;
  /// Of a profile. A measurement serves every goal, so that its key has the usual one.
  Goal goal = {};
  auto operator<=>(const ProfileKey&) const = default;
};

struct Measurement {
  ProfileKey key;
  KernelVersion kernels;      ///< of the family on this device
  std::string configuration;  ///< canonical text
  Status status = Status::launch;
  std::vector<double> times;  ///< microseconds per sample, one per repetition, in the order taken
  std::int64_t samples = 0;   ///< S: consecutive samples per repetition
  double compile_seconds = 0.0;
  double worst_error = 0.0;
  std::string message;
  /// The cost that a search learnt from it, microseconds per sample: the fastest repetition of a screening, the median
  /// of the finals; a lower bound if it was pruned.
  std::optional<double> cost;
  std::int64_t run = 0;    ///< TuningRun::id; 0: of none
  std::int64_t visit = 0;  ///< in the finals of which visit of the run, from 1; 0: screening
  /// Nothing where the device does not say, or where nothing was prepared to run.
  std::optional<KernelResources> resources = {};
  bool cold_cache = false;            ///< timed one launch at a time, with nothing of its data in the cache
  std::optional<double> energy = {};  ///< joules per sample; nothing if it was not measured
  Provenance provenance;
};

/// The best verified configuration of a key: the fastest one, unless its goal is another.
struct Profile {
  ProfileKey key;
  KernelVersion kernels;
  std::string configuration;
  double time = 0.0;    ///< median, microseconds per sample
  double spread = 0.0;  ///< half the interquartile range of the repetitions, microseconds
  double worst_error = 0.0;
  std::int64_t samples = 0;  ///< S
  /// Of the objective, smaller for what is better; nothing where that is the time, or where it is not known: databases
  /// before schema 8 did not keep it.
  std::optional<double> value = {};
  std::vector<std::string> ties;  ///< other configurations whose medians could not be told apart from this one
  bool imported = false;          ///< came from a file and was not measured here yet
  std::int64_t run = 0;           ///< TuningRun::id of the run that made it; 0: none in this database
  Provenance provenance;
  /// Of a family that this program does not know: the record with which it was imported, as it came. An export carries
  /// it on, with members that only other programs understand.
  std::string record = {};

  /// What profiles of one goal are compared by; nothing where it is not known.
  [[nodiscard]] std::optional<double> cost() const { return key.goal.is_time() ? std::optional(time) : value; }
};

/// Whether `a` is known to be better than `b`, a profile of the same goal. One whose cost is not known is worse than
/// one whose cost is.
[[nodiscard]] inline bool is_better(const Profile& a, const Profile& b) {
  return a.cost() && (!b.cost() || *a.cost() < *b.cost());
}

}  // namespace heddle
