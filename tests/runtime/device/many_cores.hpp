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

  /// As after launches in which a thread had no core: there are fewer threads than now.
  void lose_cores() {
    const int before = threads(kMany);
    do count(1.0);
    while (threads(kMany) >= before);
  }
  /// As after launches in which no thread waited for a core: there are as many threads as parts.
  void regain_cores() {
    do count(0.0);
    while (threads(kMany) < kMany);
  }
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
  static constexpr int kMany = 1 << 20;
  /// A launch of a second; one that is on trial is given up with it.
  void count(double lost) { team_->size().count({}, 1.0, lost, 0); }

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
