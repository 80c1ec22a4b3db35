// A device in memory. What a kernel does is in its name: "fake::good<3>", and see FakeExecution::launch().
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake_family.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::fake {

class FakeMemory final : public Memory {
 public:
  explicit FakeMemory(std::int64_t size) : content(static_cast<std::size_t>(size)) {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(content.size()); }
  void write(std::span<const std::byte> from, std::int64_t offset) override {
    if (from.size() + static_cast<std::size_t>(offset) > content.size()) throw std::out_of_range("write");
    std::copy(from.begin(), from.end(), content.begin() + offset);
  }
  void read(std::span<std::byte> to, std::int64_t offset) const override {
    if (to.size() + static_cast<std::size_t>(offset) > content.size()) throw std::out_of_range("read");
    std::copy_n(content.begin() + offset, to.size(), to.begin());
  }
  void fill(std::byte value) override { std::fill(content.begin(), content.end(), value); }
  std::vector<std::byte> content;
};

struct FakeBinary final : Binary {
  std::string kernel;
};

struct FakeState {
  bool dead = false;
  std::int64_t compiled = 0;
  int alive_executions = 0;
  int launches = 0;
};

class FakeExecution final : public Execution {
 public:
  FakeExecution(FakeState& state, Plan plan, std::string kernel)
      : state_(state), plan_(std::move(plan)), kernel_(std::move(kernel)) {
    for (const Buffer& buffer : plan_.buffers) memory_.push_back(std::make_unique<FakeMemory>(buffer.bytes));
    ++state_.alive_executions;
  }
  ~FakeExecution() override { --state_.alive_executions; }
  const Plan& plan() const override { return plan_; }
  Memory& memory(std::string_view buffer) override { return *memory_[static_cast<std::size_t>(plan_.buffer(buffer))]; }

  void launch() override {
    if (state_.dead) throw DeviceFailure(Status::illegal_access, "the device is dead");
    if (is("launch")) throw DeviceFailure(Status::launch, "too many resources");
    if (is("crash")) {
      state_.dead = true;
      throw DeviceFailure(Status::illegal_access, "bad address");
    }
    const float samples = static_cast<float>(plan_.samples);
    const std::size_t count = content(0).size() / sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
      float value = 0.0f;
      float scratch = 0.0f;
      std::memcpy(&value, content(0).data() + i * sizeof(float), sizeof value);
      std::memcpy(&scratch, content(2).data() + i * sizeof(float), sizeof scratch);
      value += is("wrong") && i == count - 1 ? samples - 1.0f : samples;
      if (is("dirty")) value += scratch;  // reads what it did not write
      if (is("restless")) value += static_cast<float>(++state_.launches);
      std::memcpy(content(0).data() + i * sizeof(float), &value, sizeof value);
      if (!is("partial") || i + 1 < count) std::memcpy(content(3).data() + i * sizeof(float), &value, sizeof value);
    }
    if (is("trespass")) content(1).back() ^= std::byte{1};
    overrun_ = overrun_ || is("overrun");
  }
  void synchronize() override {
    if (state_.dead) throw DeviceFailure(Status::illegal_access, "the device is dead");
  }
  double time() override {
    launch();
    return 1e-6 * static_cast<double>(plan_.samples) * (is("good") ? 2.0 : 1.0);
  }
  void save() override { saved_ = content(0); }
  void restore() override { content(0) = saved_; }
  std::optional<std::string> overrun() override {
    return overrun_ ? std::optional<std::string>("values") : std::nullopt;
  }

 private:
  bool is(const std::string& kind) const { return kernel_.find("::" + kind + "<") != std::string::npos; }
  std::vector<std::byte>& content(std::size_t buffer) { return memory_[buffer]->content; }

  FakeState& state_;
  Plan plan_;
  std::string kernel_;
  std::vector<std::unique_ptr<FakeMemory>> memory_;
  std::vector<std::byte> saved_;
  bool overrun_ = false;
};

class FakeBatch final : public CompileBatch {
 public:
  FakeBatch(FakeState& state, std::vector<CompileRequest> requests) : state_(state), requests_(std::move(requests)) {}
  using CompileBatch::next;
  std::optional<std::pair<std::size_t, CompileOutcome>> next(const Stop&) override {
    if (requests_.empty()) return std::nullopt;
    const std::size_t index = requests_.size() - 1;  // last one first: any order is allowed
    auto binary = std::make_shared<FakeBinary>();
    binary->kernel = requests_.back().kernels.front().name;
    requests_.pop_back();
    ++state_.compiled;
    CompileOutcome outcome;
    outcome.seconds = 0.25;
    if (binary->kernel.find("::refused<") != std::string::npos) {
      outcome.log = "error: refused\nmore about it";
    } else {
      outcome.binary = binary;
    }
    return std::pair(index, std::move(outcome));
  }
  bool done() override { return true; }
  void wind_up() override { requests_.clear(); }

 private:
  FakeState& state_;
  std::vector<CompileRequest> requests_;
};

class FakeDevice final : public Device {
 public:
  std::string label() const override { return "fake"; }
  const DeviceIdentity& identity() const override { return identity_; }
  const Provenance& provenance() const override { return provenance_; }
  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    return std::make_unique<FakeBatch>(state, std::move(requests));
  }
  std::int64_t compiler_calls() const override { return state.compiled; }
  std::shared_ptr<Memory> allocate(std::int64_t bytes) override {
    if (state.dead) throw DeviceFailure(Status::illegal_access, "the device is dead");
    return std::make_shared<FakeMemory>(bytes);
  }
  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings) override {
    if (state.dead) throw DeviceFailure(Status::illegal_access, "the device is dead");
    return std::make_unique<FakeExecution>(state, std::move(plan), dynamic_cast<const FakeBinary&>(*binary).kernel);
  }
  FakeState state;

 private:
  DeviceIdentity identity_ = fake::identity();
  Provenance provenance_{.driver = "fake 1",
                         .compiler = "none",
                         .tool = "",
                         .host = "",
                         .clocks = "1 Hz",
                         .date = "",
                         .seed = 0,
                         .strategy = ""};
};

}  // namespace heddle::fake
