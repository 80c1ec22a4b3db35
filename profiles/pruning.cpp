#include "heddle/profiles/pruning.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

namespace heddle {

std::int64_t delete_outdated(StoreFile& store, const char* table,
                             const std::function<bool(const std::string& family, const DeviceIdentity& device,
                                                      const KernelVersion& version)>& outdated) {
  struct Key {
    std::string family;
    std::int64_t device = 0;
    KernelVersion kernels;
  };
  std::vector<Key> keys;  // rows are not deleted while they are being read
  SQLite::Statement version(store.database(),
                            fmt::format("SELECT DISTINCT r.family, r.device, d.identity, r.source_hash, "
                                        "r.contract_digest FROM {} r JOIN devices d ON d.id = r.device",
                                        table));
  while (version.executeStep()) {
    Key key{.family = version.getColumn(0).getString(),
            .device = version.getColumn(1).getInt64(),
            .kernels = {.source_hash = version.getColumn(3).getString(),
                        .contract_digest = version.getColumn(4).getString()}};
    const DeviceIdentity device = DeviceIdentity::parse(version.getColumn(2).getString());
    if (outdated(key.family, device, key.kernels)) keys.push_back(std::move(key));
  }
  SQLite::Statement row(
      store.database(),
      fmt::format("DELETE FROM {} WHERE family = ? AND device = ? AND source_hash = ? AND contract_digest = ?", table));
  std::int64_t deleted = 0;
  for (const Key& key : keys) {
    bind_all(row, key.family, key.device, key.kernels.source_hash, key.kernels.contract_digest);
    deleted += row.exec();
    row.reset();
  }
  return deleted;
}

void delete_unreferenced(StoreFile& store) {
  for (const auto& [table, column] : {std::pair("devices", "device"), std::pair("provenances", "provenance")}) {
    store.database().exec(fmt::format(
        "DELETE FROM {0} WHERE id NOT IN (SELECT {1} FROM measurements UNION SELECT {1} FROM profiles "
        "UNION SELECT {1} FROM profile_snapshots UNION SELECT {1} FROM models UNION SELECT {1} FROM model_snapshots)",
        table, column));
  }
}

}  // namespace heddle
