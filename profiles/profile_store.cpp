#include "heddle/profiles/profile_store.hpp"

#include <SQLiteCpp/Statement.h>

#include <utility>

#include "heddle/profiles/pruning.hpp"
#include "heddle/profiles/rows.hpp"
#include "heddle/profiles/store_file.hpp"
#include "heddle/profiles/stored_measurements.hpp"
#include "heddle/profiles/stored_models.hpp"
#include "heddle/profiles/stored_profiles.hpp"
#include "heddle/profiles/stored_runs.hpp"

namespace heddle {

ProfileStore::ProfileStore(const std::filesystem::path& file, Access access, FamilyRegistry families,
                           std::chrono::milliseconds patience)
    : file_(std::make_unique<StoreFile>(file, access == Access::read ? StoreFile::Mode::read : StoreFile::Mode::write,
                                        std::move(families), patience)) {}
ProfileStore::~ProfileStore() = default;
ProfileStore::ProfileStore(ProfileStore&&) noexcept = default;
ProfileStore& ProfileStore::operator=(ProfileStore&&) noexcept = default;

const std::filesystem::path& ProfileStore::file() const { return file_->file(); }

const FamilyRegistry& ProfileStore::families() const { return file_->families(); }

std::vector<std::string> ProfileStore::left_out() const {
  return file_->guarded([&] {
    SQLite::Statement row(file_->database(),
                          "SELECT family, problem FROM profiles UNION SELECT family, problem FROM measurements");
    std::vector<std::string> reasons;
    while (row.executeStep()) {
      if (auto reason = why_left_out(families(), row.getColumn(0).getString(), row.getColumn(1).getString())) {
        reasons.push_back(std::move(*reason));
      }
    }
    return reasons;
  });
}

void ProfileStore::record(const Measurement& measurement) {
  file_->in_transaction([&] { file_->insert(measurement); });
}

void ProfileStore::record(const std::vector<Measurement>& measurements) {
  file_->in_transaction([&] {
    for (const Measurement& measurement : measurements) file_->insert(measurement);
  });
}

std::vector<Measurement> ProfileStore::measurements(const std::optional<ProfileKey>& key) const {
  return file_->guarded([&] { return measurements_of(*file_, key); });
}

std::vector<Measurement> ProfileStore::measurements(const std::string& family, const DeviceIdentity& device,
                                                    const KernelVersion& kernels) const {
  return file_->guarded([&] { return measurements_with(*file_, family, device, kernels); });
}

std::vector<Measurement> ProfileStore::known(const ProfileKey& key, const Measurement& like,
                                             const TuningRun& run) const {
  return file_->guarded([&] { return measurements_known(*file_, key, like, run); });
}

TuningRun ProfileStore::begin_run(const std::string& task) {
  return file_->in_transaction([&] { return resume_or_begin_run(*file_, task); });
}

std::vector<Profile> ProfileStore::profiles_before(const TuningRun& run) const {
  return file_->guarded([&] { return profiles_before_run(*file_, run); });
}

void ProfileStore::spent(const TuningRun& run, double seconds) {
  file_->in_transaction([&] { store_seconds(*file_, run, seconds); });
}

void ProfileStore::end_run(const TuningRun& run, bool finished) {
  file_->in_transaction([&] { leave_run(*file_, run, finished); });
  file_->guarded([&] { file_->confirm(run.id); });
}

void ProfileStore::keep(const Profile& profile) {
  file_->in_transaction([&] { file_->replace(profile); });
}

bool ProfileStore::keep_if_better(const Profile& profile) {
  return file_->in_transaction([&] { return replace_if_better(*file_, profile); });
}

std::optional<Profile> ProfileStore::find(const ProfileKey& key) const {
  return file_->guarded([&] { return find_profile(*file_, key); });
}

std::vector<Profile> ProfileStore::profiles(const std::string& family) const {
  return file_->guarded([&] { return profiles_of(*file_, family); });
}

void ProfileStore::remove(const ProfileKey& key) {
  file_->in_transaction([&] { remove_profile(*file_, key); });
}

void ProfileStore::keep_for_now(const Profile& profile) {
  file_->in_transaction([&] { replace_for_now(*file_, profile); });
}

std::optional<Profile> ProfileStore::displaced(const ProfileKey& key) const {
  return file_->guarded([&] { return displaced_profile(*file_, key); });
}

std::vector<Profile> ProfileStore::displaced() const {
  return file_->guarded([&] { return displaced_profiles(*file_); });
}

void ProfileStore::forget_displaced(const ProfileKey& key) {
  file_->in_transaction([&] { forget_displaced_profile(*file_, key); });
}

bool ProfileStore::restore_displaced(const ProfileKey& key) {
  return file_->in_transaction([&] { return restore_displaced_profile(*file_, key); });
}

void ProfileStore::keep(const FittedModel& model) {
  file_->in_transaction([&] { file_->replace(model); });
}

std::optional<FittedModel> ProfileStore::find_model(const std::string& family, const DeviceIdentity& device) const {
  return file_->guarded([&] { return heddle::find_model(*file_, family, device); });
}

std::vector<FittedModel> ProfileStore::models(const std::string& family) const {
  return file_->guarded([&] { return models_of(*file_, family); });
}

std::vector<FittedModel> ProfileStore::models_before(const TuningRun& run) const {
  return file_->guarded([&] { return models_before_run(*file_, run); });
}

Knowledge ProfileStore::knowledge(const std::string& family, const Goal& goal) const {
  std::vector<Profile> found = profiles(family);
  std::erase_if(found, [&](const Profile& profile) { return profile.key.goal != goal; });
  return {std::move(found), models(family)};
}

void ProfileStore::atomically(const std::function<void()>& work) { file_->in_transaction(work); }

ProfileStore::Pruned ProfileStore::prune(const Outdated& outdated) {
  return file_->in_transaction([&] {
    const Pruned pruned{.measurements = delete_outdated(*file_, "measurements", outdated),
                        .profiles = delete_outdated(*file_, "profiles", outdated),
                        .models = delete_outdated(*file_, "models", outdated)};
    delete_unreferenced(*file_);
    return pruned;
  });
}

}  // namespace heddle
