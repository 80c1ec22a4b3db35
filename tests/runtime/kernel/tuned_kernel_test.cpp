#include "heddle/runtime/kernel/tuned_kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/kernels/sonfin/train.hpp"
#include "own_kernel.hpp"

namespace heddle {
namespace {

using Add = TunedKernel<float, const float*, const float*, float*, std::int32_t>;

Problem size(std::int64_t n) { return Problem({{.name = "n", .value = n}}); }

std::shared_ptr<const KernelFamily> add_family(const KernelDefinition& kernel = test::add_kernel()) {
  return make_defined_family(describe(kernel).text);
}

/// Calls the kernel on fresh vectors; whether every element of the result is right, and nothing behind it was touched.
bool adds(const Add& kernel, std::int64_t n, float a = 2.5F) {
  const auto count = static_cast<std::size_t>(n);
  constexpr float kUntouched = -77.0F;
  std::vector<float> x(count), y(count), z(count + 8, kUntouched);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(i % 31) - 7.0F;
    y[i] = static_cast<float>(i % 17);
  }
  kernel({n}, a, x.data(), y.data(), z.data(), static_cast<std::int32_t>(n));
  for (std::size_t i = 0; i < count; ++i) {
    if (z[i] != a * x[i] + y[i]) return false;
  }
  return std::all_of(z.begin() + n, z.end(), [](float value) { return value == kUntouched; });
}

/// A device of another one, which can be held up where it compiles, and fails where it is told to.
class Gate final : public Device {
 public:
  explicit Gate(std::unique_ptr<Device> device = open_device("cpu")) : device_(std::move(device)) {}

  std::string label() const override { return device_->label(); }
  const DeviceIdentity& identity() const override { return device_->identity(); }
  const Provenance& provenance() const override { return device_->provenance(); }
  std::int64_t compiler_calls() const override { return device_->compiler_calls(); }
  std::shared_ptr<Memory> allocate(std::int64_t bytes) override { return device_->allocate(bytes); }
  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    return device_->prepare(std::move(plan), std::move(binary), std::move(bindings));
  }
  std::unique_ptr<LoadedKernel> load(const Plan& plan, std::shared_ptr<const Binary> binary) override {
    const std::string kernel = plan.kernels.front().text();
    {
      const std::lock_guard lock(mutex_);
      loaded_.push_back(kernel);
    }
    if (refuses_to_load.contains(kernel)) throw DeviceFailure(Status::launch, "does not load");
    if (refuses_to_launch.contains(kernel)) return std::make_unique<Refusing>();
    return device_->load(plan, std::move(binary));
  }
  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    for (CompileRequest& request : requests) {
      const std::string kernel = request.kernels.front().text();
      if (refuses_to_compile.contains(kernel)) request.kernels.front().name = "own::no_such_kernel";
    }
    return std::make_unique<Held>(*this, std::move(requests));
  }

  std::optional<std::int64_t> local_bytes(const Binary&) const override {
    const std::lock_guard lock(mutex_);
    if (spilled_.empty()) return 0;
    const std::int64_t next = spilled_.front();
    spilled_.erase(spilled_.begin());
    return next;
  }

  /// What kernels are said to spill, in the order of the questions; nothing after that.
  void spill(std::vector<std::int64_t> bytes) {
    const std::lock_guard lock(mutex_);
    spilled_ = std::move(bytes);
  }
  /// From here on compilations of this kernel wait until open().
  void hold(const std::string& kernel) {
    const std::lock_guard lock(mutex_);
    held_ = kernel;
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      held_.clear();
    }
    opened_.notify_all();
  }
  std::vector<std::string> loaded() const {
    const std::lock_guard lock(mutex_);
    return loaded_;
  }

  // Kernels by their text; not changed while anything runs.
  std::set<std::string> refuses_to_compile, refuses_to_load, refuses_to_launch;
  std::atomic<int> breakdowns = 0;  ///< so many compilations end without a verdict

 private:
  class Refusing final : public LoadedKernel {
   public:
    void launch(void* const*, std::optional<Stream>) const override {
      throw DeviceFailure(Status::launch, "does not launch");
    }
  };
  class Held final : public CompileBatch {
   public:
    Held(Gate& gate, std::vector<CompileRequest> requests) : gate_(gate) {
      for (const CompileRequest& request : requests) names_.push_back(request.kernels.front().text());
      batch_ = gate.device_->compile(std::move(requests));
    }
    using CompileBatch::next;
    /// In the order of the requests, so that tests know which comes first.
    std::optional<std::pair<std::size_t, CompileOutcome>> next(const Stop& stop) override {
      if (gate_.breakdowns > 0 && gate_.breakdowns-- > 0) throw std::runtime_error("no space left");
      while (auto more = batch_->next(stop)) done_.insert(std::move(*more));
      if (done_.empty()) return std::nullopt;
      std::optional<std::pair<std::size_t, CompileOutcome>> done = *done_.begin();
      done_.erase(done_.begin());
      for (;;) {
        std::unique_lock lock(gate_.mutex_);
        if (gate_.held_ != names_[done->first]) break;
        gate_.opened_.wait_for(lock, std::chrono::milliseconds(2));
        if (stop && stop()) throw Interrupted();
      }
      return done;
    }
    bool done() override { return batch_->done(); }
    void wind_up() override { batch_->wind_up(); }

   private:
    Gate& gate_;
    std::vector<std::string> names_;
    std::unique_ptr<CompileBatch> batch_;
    std::map<std::size_t, CompileOutcome> done_;
  };

  std::unique_ptr<Device> device_;
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::string held_;
  std::vector<std::string> loaded_;
  mutable std::vector<std::int64_t> spilled_;
};

void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Lines that a kernel told, from any thread.
struct Notices {
  std::mutex mutex;
  std::vector<std::string> lines;
  Notice receiver() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      lines.push_back(line);
    };
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};

TEST_CASE("without a profile the default runs, with the right results at any size") {
  for (const char* const label : {"cpu", "emulator"}) {
    const auto device = open_device(label);
    const auto family = add_family();
    const Add add(*device, *family, {});
    for (const std::int64_t n : {1, 31, 97, 1000}) CHECK(adds(add, n, 1.5F));
    const KernelExplanation explanation = add.explain({1000});
    REQUIRE(explanation.running);
    CHECK(explanation.running->tier == Tier::fallback);
    CHECK_FALSE(explanation.awaited);
    CHECK(explanation.text().find("because   default: there is no profile for this kind of device") !=
          std::string::npos);
  }
}

TEST_CASE("the configuration follows the profiles, size by size") {
  Gate device;
  const auto family = add_family();
  const Add add(device, *family,
                {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4"),
                 test::profile_of(*family, device.identity(), size(100000), "parts=2 items=8")},
                {.wait = true});
  CHECK(adds(add, 100));
  CHECK(adds(add, 60000));
  CHECK(adds(add, 100));
  CHECK(device.loaded() == std::vector<std::string>{"own::add<1, 4>", "own::add<2, 8>"});
  CHECK(add.explain({100}).running->tier == Tier::exact);
  CHECK(add.explain({60000}).running->tier == Tier::nearest);
  CHECK(add.explain(size(60000)).text().find("distance") != std::string::npos);

  const KernelExplanation unused = add.explain({99});  // which is no call
  CHECK_FALSE(unused.running);
  REQUIRE(unused.awaited);
  CHECK(unused.awaited->configuration.text() == "parts=1 items=4");
  CHECK(unused.text().find("would run parts=1 items=4") != std::string::npos);
  CHECK(device.loaded().size() == 2);
}

TEST_CASE("the default runs until the choice has been compiled in the background") {
  Gate device;
  device.hold("own::add<1, 4>");
  const auto family = add_family();
  const Add add(device, *family, {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4")});
  CHECK(adds(add, 100));
  CHECK(adds(add, 100));
  const KernelExplanation meanwhile = add.explain({100});
  REQUIRE(meanwhile.running);
  CHECK(meanwhile.running->configuration.text() == "parts=1 items=1");
  REQUIRE(meanwhile.awaited);
  CHECK(meanwhile.awaited->configuration.text() == "parts=1 items=4");
  CHECK(meanwhile.text().find("compiling parts=1 items=4") != std::string::npos);
  CHECK(meanwhile.text().find("because   default: runs while the chosen") != std::string::npos);

  device.open();
  wait_until([&] { return add.explain({100}).running->configuration.text() == "parts=1 items=4"; });
  CHECK_FALSE(add.explain({100}).awaited);
  CHECK(adds(add, 100));
  // Another size of the same kernel finds it compiled.
  CHECK(adds(add, 101));
  CHECK(add.explain({101}).running->configuration.text() == "parts=1 items=4");
  CHECK(device.loaded() == std::vector<std::string>{"own::add<1, 1>", "own::add<1, 4>", "own::add<1, 4>"});
}

TEST_CASE("prepare() waits for what is compiled in the background") {
  Gate device;
  device.hold("own::add<1, 4>");
  const auto family = add_family();
  const Add add(device, *family, {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4")});
  CHECK(adds(add, 100));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    device.open();
  });
  add.prepare({100});
  CHECK(add.explain({100}).running->configuration.text() == "parts=1 items=4");
  opener.join();
  add.prepare(size(64));  // never called
  CHECK(add.explain({64}).running->configuration.text() == "parts=1 items=4");
}

TEST_CASE("a kernel that goes away while something is compiled waits for nothing") {
  Gate device;
  device.hold("own::add<1, 4>");
  const auto family = add_family();
  const Add add(device, *family, {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4")});
  CHECK(adds(add, 100));
}

TEST_CASE("from several threads at once, each at sizes of its own and shared ones, while choices are compiled") {
  for (const char* const label : {"cpu", "emulator"}) {
    const auto device = open_device(label);
    const bool on_cpu = std::string(label) == "cpu";
    const auto family = add_family();
    const auto profile = [&](std::int64_t n, const std::string& configuration) {
      return test::profile_of(*family, device->identity(), size(n), configuration);
    };
    const std::string block = on_cpu ? "parts=2 " : "block_size=64 ";
    const Add add(*device, *family,
                  {profile(64, block + "items=1"), profile(300, block + "items=2"), profile(900, block + "items=4")});
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    const int rounds = on_cpu ? 200 : 6;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < rounds; ++round) {
          for (const std::int64_t n : {64, 300, 900, 100 + 50 * t}) {
            if (!adds(add, n, static_cast<float>(t) + 0.5F)) ++wrong;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    add.prepare({900});
    CHECK(add.explain({900}).running->configuration.text() == block + "items=4");
  }
}

TEST_CASE("a choice that does not compile, load or launch is replaced, with a notice") {
  for (const char* const fault : {"compile", "load", "launch"}) {
    for (const bool wait : {true, false}) {
      CAPTURE(fault);
      CAPTURE(wait);
      Gate device;
      auto& refuses = *fault == 'c'                  ? device.refuses_to_compile
                      : std::string(fault) == "load" ? device.refuses_to_load
                                                     : device.refuses_to_launch;
      refuses.insert("own::add<1, 4>");
      const auto family = add_family();
      Notices notices;
      const Add add(device, *family,
                    {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4"),
                     test::profile_of(*family, device.identity(), size(200), "parts=1 items=2")},
                    {.wait = wait, .notice = notices.receiver()});
      CHECK(adds(add, 100));
      wait_until([&] {
        CHECK(adds(add, 100));
        return add.explain({100}).running->configuration.text() == "parts=1 items=2";
      });
      const KernelExplanation explanation = add.explain({100});
      CHECK(explanation.running->tier == Tier::nearest);
      REQUIRE(explanation.failures.size() == 1);
      CHECK(explanation.failures[0].find("parts=1 items=4 (") == 0);
      CHECK(explanation.text().find("failed    parts=1 items=4 (") != std::string::npos);
      const auto lines = notices.all();
      REQUIRE(lines.size() == 1);
      CHECK(lines[0].find(std::string(family->name()) + " at n=100: parts=1 items=4 failed (") == 0);
      CHECK(lines[0].find("using parts=1 items=2 instead") != std::string::npos);
    }
  }
}

TEST_CASE("a choice of other sizes that spills registers here alone is passed over, with a notice") {
  for (const bool wait : {true, false}) {
    CAPTURE(wait);
    Gate device;
    device.spill({400, 8});  // here, where it was measured
    const auto family = add_family();
    Notices notices;
    const Add add(device, *family,
                  {test::profile_of(*family, device.identity(), size(200), "parts=1 items=4"),
                   test::profile_of(*family, device.identity(), size(400), "parts=1 items=2")},
                  {.wait = wait, .notice = notices.receiver()});
    CHECK(adds(add, 100));
    wait_until([&] {
      CHECK(adds(add, 100));
      return add.explain({100}).running->configuration.text() == "parts=1 items=2";
    });
    const std::string line =
        "parts=1 items=4 passed over (a thread takes 400 bytes of local memory, 8 for n=200); using parts=1 items=2 "
        "instead";
    CHECK(notices.all() == std::vector{std::string(family->name()) + " at n=100: " + line});
    CHECK(adds(add, 200));  // measured here: nobody asks
    wait_until([&] {
      CHECK(adds(add, 200));
      return add.explain({200}).running->configuration.text() == "parts=1 items=4";
    });
  }
}

TEST_CASE("a choice that fails is replaced by one that the same batch still has to compile") {
  Gate device;
  device.refuses_to_load = {"own::add<1, 2>"};
  device.hold("own::add<1, 8>");
  const auto family = add_family();
  const Add add(device, *family,
                {test::profile_of(*family, device.identity(), size(10), "parts=1 items=8"),
                 test::profile_of(*family, device.identity(), size(1000), "parts=1 items=2"),
                 test::profile_of(*family, device.identity(), size(2000), "parts=1 items=4")});
  CHECK(adds(add, 10));  // keeps the thread busy, so that it finds the next two together
  CHECK(adds(add, 1000));
  CHECK(adds(add, 2000));
  device.open();
  for (const std::int64_t n : {1000, 2000}) {
    wait_until([&] { return !add.explain({n}).awaited; });
    CHECK(add.explain({n}).running->configuration.text() == "parts=1 items=4");
  }
}

TEST_CASE("a notice that throws keeps no kernel from running") {
  for (const bool standard : {true, false}) {
    Gate device;
    device.refuses_to_compile = {"own::add<1, 4>"};
    const auto family = add_family();
    std::atomic<int> told = 0;
    const Notice notice = [&](const std::string& line) {
      ++told;
      if (standard) throw std::runtime_error(line);
      throw 1;
    };
    const Add add(device, *family,
                  {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4"),
                   test::profile_of(*family, device.identity(), size(200), "parts=1 items=2")},
                  {.wait = false, .notice = notice});
    CHECK(adds(add, 100));
    wait_until([&] { return !add.explain({100}).awaited; });
    CHECK(add.explain({100}).running->configuration.text() == "parts=1 items=2");
    CHECK(told == 1);
  }
}

TEST_CASE("a compiler that broke down is asked again, and the list of failures does not grow") {
  Gate device;
  device.breakdowns = 3;
  const auto family = add_family();
  const Add add(device, *family, {});
  for (int times = 0; times < 3; ++times) {
    CHECK_THROWS_WITH_AS(adds(add, 100), doctest::Contains("no space left"), DeviceFailure);
    CHECK(add.explain({100}).failures.size() == 1);
  }
  CHECK(adds(add, 100));
}

TEST_CASE("explain() does not wait for the default to be compiled") {
  Gate device;
  device.hold("own::add<1, 1>");
  const auto family = add_family();
  const Add add(device, *family, {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4")});
  const auto call = std::async(std::launch::async, [&] { return adds(add, 100); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // most likely the call is compiling by now
  const auto explained = std::async(std::launch::async, [&] { return add.explain({100}).running.has_value(); });
  const bool answered = explained.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  device.open();
  CHECK(answered);
  call.wait();
}

TEST_CASE("a choice of which the family cannot make a kernel at these sizes is replaced") {
  for (const bool wait : {true, false}) {
    CAPTURE(wait);
    Gate device;
    KernelDefinition kernel = test::add_kernel();
    kernel.code["cpu"].kernel = "own::add<{parts}, {items + 0 // ((n - 101) * (n - 101) + (items - 4) * (items - 4))}>";
    const auto family = add_family(kernel);
    const Add add(device, *family, {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4")},
                  {.wait = wait});
    CHECK(adds(add, 101));
    wait_until([&] { return !add.explain({101}).awaited; });
    CHECK(add.explain({101}).running->configuration.text() == "parts=1 items=1");
    CHECK(add.explain({101}).failures.size() == 1);
  }
}

TEST_CASE("where nothing can run, the failure is the caller's") {
  Gate device;
  device.refuses_to_launch = {"own::add<1, 1>", "own::add<1, 4>"};
  const auto family = add_family();
  const Add add(device, *family, {test::profile_of(*family, device.identity(), size(100), "parts=1 items=4")},
                {.wait = true});
  for (int times = 0; times < 2; ++times) {
    CHECK_THROWS_WITH_AS(adds(add, 100), doctest::Contains("does not launch"), DeviceFailure);
  }
  Gate other;
  other.refuses_to_compile = {"own::add<1, 1>"};
  const Add broken(other, *family, {});
  for (int times = 0; times < 2; ++times) CHECK_THROWS_AS(adds(broken, 100), DeviceFailure);
  CHECK_FALSE(broken.explain({100}).running);
}

TEST_CASE("a stale profile is used with one notice") {
  Gate device;
  const auto family = add_family();
  Profile stale = test::profile_of(*family, device.identity(), size(100), "parts=1 items=4");
  stale.kernels.source_hash = "0123";
  Notices notices;
  const Add add(device, *family, {stale}, {.wait = true, .notice = notices.receiver()});
  CHECK(adds(add, 100));
  CHECK(adds(add, 200));
  CHECK(add.explain({100}).running->tier == Tier::stale);
  REQUIRE(notices.all().size() == 1);
  CHECK(notices.all()[0].find("tune again") != std::string::npos);
}

TEST_CASE("sizes that the family does not have are refused") {
  const auto device = open_device("cpu");
  const auto family = add_family();
  const Add add(*device, *family, {});
  CHECK_THROWS_WITH_AS(add({}, 1.0F, nullptr, nullptr, nullptr, 0),
                       doctest::Contains("has 1 sizes, the program passes 0"), Error);
  CHECK_THROWS_WITH_AS(add({1, 2}, 1.0F, nullptr, nullptr, nullptr, 0), doctest::Contains("passes 2"), Error);
  CHECK_THROWS_WITH_AS(add({0}, 1.0F, nullptr, nullptr, nullptr, 0), doctest::Contains("n is 0, expected"), Error);
  CHECK_THROWS_WITH_AS(add({std::nullopt}, 1.0F, nullptr, nullptr, nullptr, 0), doctest::Contains("n is missing"),
                       Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(add.explain(Problem({{.name = "m", .value = 3}}))),
                       doctest::Contains("expected"), Error);
}

TEST_CASE("arguments of another number or type are refused when the kernel is made") {
  const auto device = open_device("cpu");
  const auto family = add_family();
  const auto make = [&]<class... Arguments>() { TunedKernel<Arguments...>(*device, *family, {}); };
  CHECK_THROWS_WITH_AS((make.operator()<float, const float*, const float*, float*>()),
                       doctest::Contains(": the kernel takes 5 arguments, the program passes 4"), Error);
  CHECK_THROWS_WITH_AS((make.operator()<double, const float*, const float*, float*, int>()),
                       doctest::Contains(": argument 1 is float to the kernel, the program passes double"), Error);
  CHECK_THROWS_WITH_AS((make.operator()<float, const float*, const float*, float*, std::int64_t>()),
                       doctest::Contains(": argument 5 is int32 to the kernel, the program passes int64"), Error);
  CHECK_THROWS_WITH_AS((make.operator()<float, float, const float*, float*, int>()),
                       doctest::Contains(": argument 2 is a pointer to the kernel, the program passes float"), Error);
  CHECK_THROWS_WITH_AS((make.operator()<float, const float*, const float*, const float*, int>()),
                       doctest::Contains("argument 4 is 'z', which the kernel writes"), Error);
  static_assert(!CallArgument<bool>);
  static_assert(!CallArgument<short>);
  static_assert(!CallArgument<std::string>);
  static_assert(CallArgument<float*> && CallArgument<unsigned> && CallArgument<long long>);
}

TEST_CASE("a plan of two launches cannot be called") {
  const auto device = open_device("cpu");
  using Nothing = TunedKernel<>;
  CHECK_THROWS_WITH_AS(Nothing(*device, sonfin::train_family(), {}), doctest::Contains("sonfin-train: "), Error);
  // The plan of two samples of a defined kernel is one of two launches.
  const auto family = add_family();
  const Configuration configuration = family->default_configuration(device->identity(), size(64));
  const Plan two = family->plan(configuration, size(64), device->identity(), 2);
  const auto binary = compile_one(*device, {.source = &family->source("cpu"), .kernels = two.kernels}).binary;
  CHECK_THROWS_WITH_AS(static_cast<void>(device->load(two, binary)), doctest::Contains("the plan has 2 launches"),
                       Error);
}

TEST_CASE("a faulty call on the emulator is found: a buffer that is too small, one that is null") {
  const auto device = open_device("emulator");
  KernelDefinition kernel = test::add_kernel();
  kernel.arguments[3].elements = "n - 1";  // what is promised of z
  const auto family = add_family(kernel);
  const Add add(*device, *family, {});
  std::vector<float> x(64, 1.0F), z(64);
  CHECK_THROWS_WITH_AS(add({64}, 1.0F, x.data(), x.data(), z.data(), 64), doctest::Contains("buffer 'z'"),
                       DeviceFailure);
  add({64}, 1.0F, x.data(), x.data(), z.data(), 63);
  CHECK(z[62] == 2.0F);
  CHECK_THROWS_WITH_AS(add({64}, 1.0F, x.data(), nullptr, z.data(), 63), doctest::Contains("'y' is null"), Error);
  add({64}, 1.0F, x.data(), x.data(), x.data(), 63);  // in place
  CHECK(x[62] == 2.0F);
  CHECK(x[63] == 1.0F);
  CHECK_THROWS_WITH_AS(add({64}, 1.0F, x.data(), x.data() + 1, z.data(), 63), doctest::Contains("overlap"), Error);
}

TEST_CASE("an entry point with macros, memory of the device, and a stream that it does not have") {
  for (const char* const label : {"cpu", "emulator"}) {
    KernelDefinition kernel = test::add_kernel();
    kernel.parameters = {{.name = "FACTOR", .values = {std::int64_t{1}, std::int64_t{3}}}};
    kernel.constraints = {};
    kernel.code["cuda"] = {
        .text = "__global__ void fill(double* z) { z[blockIdx.x * 4 + threadIdx.x] = FACTOR * 1.5; }",
        .kernel = "fill",
        .untuned = "FACTOR=1",
        .grid = {"n // 4"},
        .block = {"4"}};
    kernel.code["cpu"] = {.text =
                              "#include \"heddle/kernels/common/cpu_launch.hpp\"\n"
                              "void fill(const heddle::cpu::LaunchContext&, void* const* at) {\n"
                              "  for (int i = 0; i < 8; ++i) static_cast<double*>(at[0])[i] = FACTOR * 1.5;\n}\n",
                          .kernel = "fill",
                          .untuned = "FACTOR=1"};
    kernel.arguments = {{.name = "z", .type = ElementType::float64, .elements = "n", .role = Role::output}};
    kernel.awkward = size(8);
    const auto family = add_family(kernel);
    const auto device = open_device(label);
    const TunedKernel<double*> fill(
        *device, *family, {test::profile_of(*family, device->identity(), size(8), "FACTOR=3")}, {.wait = true});
    const auto memory = device->allocate(64);
    REQUIRE(memory->pointer() != nullptr);
    fill.on(Stream{})({8}, static_cast<double*>(memory->pointer()));
    std::vector<double> z(8);
    memory->read(std::as_writable_bytes(std::span(z)));
    CHECK(z == std::vector<double>(8, 4.5));
  }
}

}  // namespace
}  // namespace heddle
