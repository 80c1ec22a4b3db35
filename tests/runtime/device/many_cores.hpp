// The CPU device, as if the machine had more cores; its threads can be counted.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/cpu/cpu_device.hpp"

namespace heddle::test {

class ManyCores final : public Device {
 public:
  explicit ManyCores(std::int64_t cores) : identity_(device_->identity()) { identity_.units = cores; }

  /// A launch of a second in which a thread had no core all the time, or never.
  void pretend(bool busy) { team_->size().count({}, 1.0, busy ? 1.0 : 0.0, 0); }
  [[nodiscard]] int threads(int parts) const { return team_->size().of(parts); }

  std::string label() const override { return device_->label(); }
  const DeviceIdentity& identity() const override { return identity_; }
  const Provenance& provenance() const override { return device_->provenance(); }
  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    return device_->compile(std::move(requests));
  }
  std::int64_t compiler_calls() const override { return device_->compiler_calls(); }
  std::string contention() override { return device_->contention(); }
  std::shared_ptr<Memory> allocate(std::int64_t bytes) override { return device_->allocate(bytes); }
  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    return device_->prepare(std::move(plan), std::move(binary), std::move(bindings));
  }

 private:
  std::shared_ptr<ThreadTeam> team_ = std::make_shared<ThreadTeam>();
  std::unique_ptr<Device> device_ = open_cpu_device(team_);
  DeviceIdentity identity_;
};

[[nodiscard]] inline bool same_but_for_threads(const Configuration& a, const Configuration& b) {
  for (const auto& [name, value] : a.entries()) {
    if (name != "threads" && value != b.value(name)) {
      return false;
    }
  }
  return true;
}

}  // namespace heddle::test
