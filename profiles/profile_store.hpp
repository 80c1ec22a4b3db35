// Measurements and profiles in one SQLite file. All SQL lives behind this.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/fitted_model.hpp"
#include "heddle/profiles/knowledge.hpp"
#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/tuning_run.hpp"

namespace heddle {

class StoreFile;

/// Safe to use from several processes at once; one object from one thread at a time. Every call may throw
/// Error(profiles) with the file's name: not a database, truncated, made by a newer heddle, read-only, disk full, or
/// locked by another process for more than 10 s; holding what no heddle writes, as a negative time; deleted, replaced,
/// truncated or overwritten while it is open for writing: what this object had written is then in another file, which
/// the error names.
///
/// Records of a family that has other sizes in this heddle are passed over; left_out() has them. Records of a family
/// that the program does not know are kept as they are, for programs that know it; nothing is chosen from them.
class ProfileStore {
 public:
  enum class Access {
    read,        ///< a missing file is an empty store; a read-only folder is fine
    read_write,  ///< created, with its folders, if missing; migrated to the present schema
  };
  /// `families`: those that the program knows. `patience`: how long to wait for another process. ":memory:" is a store
  /// that lives as long as this object.
  ProfileStore(const std::filesystem::path& file, Access access, FamilyRegistry families = builtin_families(),
               std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~ProfileStore();
  ProfileStore(ProfileStore&&) noexcept;
  ProfileStore& operator=(ProfileStore&&) noexcept;

  /// --profiles, else HEDDLE_PROFILES, else the XDG data directory's heddle/profiles.sqlite.
  [[nodiscard]] static std::filesystem::path default_file();
  [[nodiscard]] const std::filesystem::path& file() const;
  [[nodiscard]] const FamilyRegistry& families() const;

  /// The rows that the functions below left out, a line each: "FAMILY problem 'size=3': expected ...".
  [[nodiscard]] std::vector<std::string> left_out() const;

  /// Appends a measurement, which is kept for good, failures too. Once this has returned, the measurement survives the
  /// end of this process. A power failure may lose the last seconds, never more.
  void record(const Measurement& measurement);
  void record(const std::vector<Measurement>& measurements);  ///< all or none
  /// Newest first; those of a key whatever its goal. Without a key, all.
  [[nodiscard]] std::vector<Measurement> measurements(const std::optional<ProfileKey>& key = {}) const;
  /// All of a family on a device with these kernels, oldest first.
  [[nodiscard]] std::vector<Measurement> measurements(const std::string& family, const DeviceIdentity& device,
                                                      const KernelVersion& kernels) const;

  /// The measurements of `key` with the same kernel source, driver and compiler as `like`, from before `run` began and
  /// from the run itself. Oldest first.
  [[nodiscard]] std::vector<Measurement> known(const ProfileKey& key, const Measurement& like,
                                               const TuningRun& run) const;

  /// The unfinished run of the same task that no process is working on, or a new one. `task`: Tuner::task(), the
  /// identity of the run.
  [[nodiscard]] TuningRun begin_run(const std::string& task);
  /// Profiles as they were when the run began; in key order.
  [[nodiscard]] std::vector<Profile> profiles_before(const TuningRun& run) const;
  /// Seconds spent so far, earlier processes' included. Kept with the next thing that is written.
  void spent(const TuningRun& run, double seconds);
  /// Ends this process's work on the run. `finished`: the run is not to be continued, and snapshots of displaced
  /// profiles are deleted where the imported profile has been measured meanwhile. Reads back from the file that
  /// everything written by the run is there.
  void end_run(const TuningRun& run, bool finished);

  /// Makes this the profile of its key, in place of another one.
  void keep(const Profile& profile);
  /// keep(), unless the store already has a local profile with the same source hash that is at least as good;
  /// decided and written in one transaction. Returns whether it was kept.
  bool keep_if_better(const Profile& profile);
  [[nodiscard]] std::optional<Profile> find(const ProfileKey& key) const;
  /// All profiles, of one family if named, in key order.
  [[nodiscard]] std::vector<Profile> profiles(const std::string& family = {}) const;
  void remove(const ProfileKey& key);

  /// keep() of a profile that has not been measured on this machine yet. If it displaces a local profile, a snapshot of
  /// that is kept until forget_displaced(), or until restore_displaced() puts it back. restore_displaced() returns
  /// whether there was one.
  void keep_for_now(const Profile& profile);
  [[nodiscard]] std::optional<Profile> displaced(const ProfileKey& key) const;
  [[nodiscard]] std::vector<Profile> displaced() const;  ///< all of them, in key order
  void forget_displaced(const ProfileKey& key);
  bool restore_displaced(const ProfileKey& key);

  /// Makes this the model of its device and family, in place of another one.
  void keep(const FittedModel& model);
  [[nodiscard]] std::optional<FittedModel> find_model(const std::string& family, const DeviceIdentity& device) const;
  /// All models, of one family if named, in the order of families and devices.
  [[nodiscard]] std::vector<FittedModel> models(const std::string& family = {}) const;
  /// Models as they were when the run began.
  [[nodiscard]] std::vector<FittedModel> models_before(const TuningRun& run) const;

  /// What choices stand on: the profiles() that were found with this goal, and models().
  [[nodiscard]] Knowledge knowledge(const std::string& family = {}, const Goal& goal = {}) const;

  /// Runs `work`, which may call the functions above, in one transaction: all of it happens or, if it throws, nothing.
  /// If the file is lost meanwhile, `work` runs once more, on what takes its place: it must find the same there.
  void atomically(const std::function<void()>& work);

  /// Whether what was measured with this version of a family's kernels on a device no longer matters.
  using Outdated =
      std::function<bool(const std::string& family, const DeviceIdentity& device, const KernelVersion& version)>;
  struct Pruned {
    std::int64_t measurements = 0, profiles = 0, models = 0;
  };
  /// Deletes the measurements that are outdated, the profiles and the models. Returns how many went.
  Pruned prune(const Outdated& outdated);

 private:
  std::unique_ptr<StoreFile> file_;
};

}  // namespace heddle
