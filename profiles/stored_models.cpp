#include "heddle/profiles/stored_models.hpp"

namespace heddle {

std::optional<FittedModel> find_model(StoreFile& store, const std::string& family, const DeviceIdentity& device) {
  auto found = store.select<FittedModel>("models", "WHERE r.family = ? AND d.identity = ?", family, device.text());
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<FittedModel> models_of(StoreFile& store, const std::string& family) {
  constexpr const char* kInOrder = "ORDER BY r.family, d.identity";
  if (family.empty()) return store.select<FittedModel>("models", kInOrder);
  return store.select<FittedModel>("models", fmt::format("WHERE r.family = ? {}", kInOrder), family);
}

std::vector<FittedModel> models_before_run(StoreFile& store, const TuningRun& run) {
  return store.select<FittedModel>("model_snapshots", "WHERE r.kept_for = ? ORDER BY r.family, d.identity", run.id);
}

}  // namespace heddle
