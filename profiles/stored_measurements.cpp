#include "heddle/profiles/stored_measurements.hpp"

#include <fmt/format.h>

namespace heddle {

std::vector<Measurement> measurements_of(StoreFile& store, const std::optional<ProfileKey>& key) {
  constexpr const char* kNewestFirst = "ORDER BY r.id DESC";
  if (!key) return store.select<Measurement>("measurements", kNewestFirst);
  return store.select<Measurement>("measurements", fmt::format("WHERE {} {}", kOfKey, kNewestFirst), key->device.text(),
                                   key->family, key->problem.text());
}

std::vector<Measurement> measurements_with(StoreFile& store, const std::string& family, const DeviceIdentity& device,
                                           const KernelVersion& kernels) {
  return store.select<Measurement>("measurements",
                                   "WHERE d.identity = ? AND r.family = ? AND r.source_hash = ? AND r.contract_digest "
                                   "IN ('', ?) ORDER BY r.id",
                                   device.text(), family, kernels.source_hash, kernels.contract_digest);
}

std::vector<Measurement> measurements_known(StoreFile& store, const ProfileKey& key, const Measurement& like,
                                            const TuningRun& run) {
  return store.select<Measurement>(
      "measurements",
      fmt::format("WHERE {} AND r.source_hash = ? AND r.contract_digest IN ('', ?) AND p.driver = ? AND p.compiler = ? "
                  "AND (r.run = ? OR r.id <= (SELECT horizon FROM runs WHERE id = ?)) ORDER BY r.id",
                  kOfKey),
      key.device.text(), key.family, key.problem.text(), like.kernels.source_hash, like.kernels.contract_digest,
      like.provenance.driver, like.provenance.compiler, run.id, run.id);
}

}  // namespace heddle
