// A device that runs nothing, remembers what it was asked for and fails where it is told to.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/device.hpp"

namespace heddle::test {

class HostMemory final : public Memory {
 public:
  explicit HostMemory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes), std::byte{0xff}) {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void write(std::span<const std::byte> from, std::int64_t offset) override {
    std::ranges::copy(from, bytes_.begin() + offset);
  }
  void read(std::span<std::byte> to, std::int64_t offset) const override {
    std::memcpy(to.data(), bytes_.data() + offset, to.size());
  }
  void fill(std::byte value) override { std::ranges::fill(bytes_, value); }

 private:
  std::vector<std::byte> bytes_;
};

struct FakeBinary final : Binary {
  Kernels kernels;
};

class FakeExecution final : public Execution {
 public:
  FakeExecution(Plan plan, Bindings bindings) : plan_(std::move(plan)), memory_(std::move(bindings)) {
    for (const Buffer& buffer : plan_.buffers) {
      if (!memory_.contains(buffer.name)) memory_[buffer.name] = std::make_shared<HostMemory>(buffer.bytes);
    }
  }
  const Plan& plan() const override { return plan_; }
  Memory& memory(std::string_view buffer) override { return *memory_.find(buffer)->second; }
  void launch() override {}
  void synchronize() override {}
  double time() override { return 1.0; }
  void save() override {}
  void restore() override {}
  std::optional<std::string> overrun() override { return std::nullopt; }

 private:
  Plan plan_;
  Bindings memory_;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(DeviceIdentity identity) : identity_(std::move(identity)) {}

  std::string label() const override { return "fake"; }
  const DeviceIdentity& identity() const override { return identity_; }
  const Provenance& provenance() const override { return provenance_; }
  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    batches.push_back({});
    for (const CompileRequest& request : requests) batches.back().push_back(request.kernels);
    return std::make_unique<Batch>(*this, std::move(requests));
  }
  std::optional<std::int64_t> local_bytes(const Binary& binary) const override {
    const auto spilled = spills.find(dynamic_cast<const FakeBinary&>(binary).kernels);
    return spilled == spills.end() ? 0 : spilled->second;
  }
  std::int64_t compiler_calls() const override { return static_cast<std::int64_t>(batches.size()); }
  std::shared_ptr<Memory> allocate(std::int64_t bytes) override { return std::make_shared<HostMemory>(bytes); }
  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    if (dynamic_cast<const FakeBinary&>(*binary).kernels != plan.kernels) throw Error(ErrorKind::bug, "other kernels");
    if (refuses_to_load.contains(plan.kernels)) throw DeviceFailure(Status::launch, "does not load");
    return std::make_unique<FakeExecution>(std::move(plan), std::move(bindings));
  }

  std::set<Kernels> refuses_to_compile, refuses_to_load;
  std::map<Kernels, std::int64_t> spills;  ///< bytes of local memory; 0 of all others
  std::vector<std::vector<Kernels>> batches;

 private:
  class Batch final : public CompileBatch {
   public:
    Batch(FakeDevice& device, std::vector<CompileRequest> requests) : device_(device), requests_(std::move(requests)) {}
    /// Last first: callers must not rely on the order.
    using CompileBatch::next;
    std::optional<std::pair<std::size_t, CompileOutcome>> next(const Stop&) override {
      if (requests_.empty()) return std::nullopt;
      const CompileRequest request = requests_.back();
      requests_.pop_back();
      CompileOutcome outcome;
      if (device_.refuses_to_compile.contains(request.kernels)) {
        outcome.log = "error: no\nmore lines";
      } else {
        auto binary = std::make_shared<FakeBinary>();
        binary->kernels = request.kernels;
        outcome.binary = std::move(binary);
      }
      return std::pair(requests_.size(), std::move(outcome));
    }
    bool done() override { return true; }
    void wind_up() override { requests_.clear(); }

   private:
    FakeDevice& device_;
    std::vector<CompileRequest> requests_;
  };

  DeviceIdentity identity_;
  Provenance provenance_;
};

}  // namespace heddle::test
