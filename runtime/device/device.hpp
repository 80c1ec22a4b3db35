// A thing that compiles and runs kernel templates. One interface for cuda:N, cpu and what comes later.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/kernel_resources.hpp"
#include "heddle/profiles/provenance.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/device/loaded_kernel.hpp"

namespace heddle {

/// Device memory. Owned by whoever holds the pointer; must not outlive its device. Calls from one thread at a time.
class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
  /// Both wait for earlier launches on the same device and throw DeviceFailure.
  virtual void write(std::span<const std::byte> from, std::int64_t offset = 0) = 0;
  virtual void read(std::span<std::byte> to, std::int64_t offset = 0) const = 0;
  /// Sets every byte.
  virtual void fill(std::byte value) = 0;
  /// Takes all contents of `from`, which has as many bytes and is of the same device. Otherwise like write().
  virtual void copy(const Memory& from);
  /// Its address as kernels see it, for LoadedKernel::launch(); on a GPU no address of the host. Null if kernels do not
  /// see all of it at once.
  [[nodiscard]] virtual void* pointer() noexcept { return nullptr; }
};

/// Memory to use instead of what prepare() would allocate, by buffer name; at least as large as the plan says.
using Bindings = std::map<std::string, std::shared_ptr<Memory>, std::less<>>;

/// The compiled kernels of one configuration. Opaque; made and understood by its device; immutable.
class Binary {
 public:
  virtual ~Binary() = default;
};

struct CompileRequest {
  const TemplateSource* source = nullptr;
  Kernels kernels;  ///< of one configuration
};

struct CompileOutcome {
  std::shared_ptr<const Binary> binary;  ///< empty if the compilation failed
  std::string log;                       ///< of the compiler, when it failed
  double seconds = 0.0;                  ///< this configuration's share of its batch
  bool cached = false;                   ///< found on disk or built in: no compiler was called
};

/// Compilations under way. Destroying it drops what has not started, and ends the compiler where that is a program.
class CompileBatch {
 public:
  virtual ~CompileBatch() = default;
  /// The next request that is done, in any order, as its index and outcome; waits. Nothing after the last. Throws
  /// Interrupted as soon as `stop` says so, and can be called again then.
  [[nodiscard]] virtual std::optional<std::pair<std::size_t, CompileOutcome>> next(const Stop& stop) = 0;
  [[nodiscard]] std::optional<std::pair<std::size_t, CompileOutcome>> next() { return next({}); }
  /// Whether all requests are done, so that next() does not wait any more.
  [[nodiscard]] virtual bool done() = 0;
  /// Starts nothing more: next() delivers what is under way, and nothing of the rest.
  virtual void wind_up() = 0;
};

/// A plan bound to memory and kernels on one device. Calls from one thread at a time.
class Execution {
 public:
  virtual ~Execution() = default;
  [[nodiscard]] virtual const Plan& plan() const = 0;
  [[nodiscard]] virtual Memory& memory(std::string_view buffer) = 0;
  /// Submits one run of the plan; may return before it is done. Other programs on the device may change how much of it
  /// the run uses, and never what it computes.
  virtual void launch() = 0;
  /// Waits for everything submitted. Throws DeviceFailure.
  virtual void synchronize() = 0;
  /// Wall time of one run on all units that the plan asks for, launch included, in seconds.
  [[nodiscard]] virtual double time() = 0;
  /// Keeps a copy on the device of every parameter and state buffer; restore() brings it back.
  virtual void save() = 0;
  virtual void restore() = 0;
  /// Whether the guard after every buffer that prepare() allocated is untouched; the name of the first overrun
  /// buffer if not.
  [[nodiscard]] virtual std::optional<std::string> overrun() = 0;
  /// Of the kernels that the plan launches. Nothing where the device has no such limits, or does not say.
  [[nodiscard]] virtual std::optional<KernelResources> resources() { return {}; }
};

/// Thread safety: compile(), local_bytes() and load() may be called from any thread; everything else from one thread at
/// a time.
class Device {
 public:
  virtual ~Device() = default;

  /// "cuda:0", "cpu": what --device takes.
  [[nodiscard]] virtual std::string label() const = 0;
  [[nodiscard]] virtual const DeviceIdentity& identity() const = 0;
  /// What tells it from others of its model: the UUID of a GPU or of a slice of one. Empty where there can be no other.
  [[nodiscard]] virtual std::string unit() const { return {}; }
  /// May ask a compiler for its version, and throws Error(device) if that does not answer.
  [[nodiscard]] virtual const Provenance& provenance() const = 0;
  /// One line about what limits this device at present (compiled code that cannot be kept); mostly empty.
  [[nodiscard]] virtual std::string remark() const { return {}; }

  /// Compiles many configurations at once, batched and in parallel. A bad one does not sink the others.
  [[nodiscard]] virtual std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) = 0;
  /// Bytes of local memory (registers that were spilled, and arrays) that a thread of the kernels takes at most.
  /// Nothing where the device does not say. Throws DeviceFailure if they cannot be loaded.
  [[nodiscard]] virtual std::optional<std::int64_t> local_bytes(const Binary&) const { return {}; }
  /// How often a compiler was called so far.
  [[nodiscard]] virtual std::int64_t compiler_calls() const = 0;

  /// A line for the user, once, when launches run on fewer units than they ask for because other programs use these.
  /// Their results are the same, bit for bit. Else empty.
  [[nodiscard]] virtual std::string contention() { return {}; }

  /// Keeps one unit of the device busy for as long as the handle lives, as another program would that runs at the same
  /// time. Empty where programs do not share the units.
  [[nodiscard]] virtual std::shared_ptr<void> occupy() { return {}; }

  /// The energy that the device has taken since any fixed moment, in joules, by a counter that may move only every
  /// tenth of a second. Nothing where there is no such counter.
  [[nodiscard]] virtual std::optional<double> joules() { return {}; }

  [[nodiscard]] virtual std::shared_ptr<Memory> allocate(std::int64_t bytes) = 0;
  /// Whether two pieces of this device's memory are as large and hold the same bytes. Waits for earlier launches, and
  /// throws DeviceFailure. By default, the host reads both; a device with fast memory of its own compares them there.
  [[nodiscard]] virtual bool same(Memory& a, Memory& b);
  /// Starts in the background what the first call of same() would otherwise wait for: a kernel that the compiler has
  /// not begun stands in line behind all others.
  virtual void prepare_to_compare() {}
  /// Allocates the buffers that `bindings` does not name, each with a guard behind it, and loads the kernels.
  /// Throws DeviceFailure(launch) if the plan cannot run here.
  [[nodiscard]] virtual std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary,
                                                           Bindings bindings = {}) = 0;
  /// Loads the kernel of a plan of one launch. It gets its arguments, buffers too, with every launch. Throws
  /// DeviceFailure(launch) if it cannot run here, and what require_one_kernel() throws.
  [[nodiscard]] virtual std::unique_ptr<LoadedKernel> load(const Plan& plan, std::shared_ptr<const Binary> binary);
};

/// Compiles one configuration; throws DeviceFailure(compilation) with the first line of the log.
[[nodiscard]] CompileOutcome compile_one(Device& device, CompileRequest request);

/// A device that may be there.
struct DeviceListing {
  std::string label;
  std::optional<DeviceIdentity> identity;  ///< nothing if it cannot be used
  std::string remark;                      ///< why it cannot be used, or what limits it
};
/// Everything heddle knows how to look for, the best usable device first, the emulator last.
[[nodiscard]] std::vector<DeviceListing> list_devices();
/// Opens "cuda:N", "cuda" (N = 0), "cpu", "emulator:N" (compute capability times ten), "emulator", or "" (the best
/// one). Throws Error(device) with the labels there are.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& label, const Compiling& compiling = {});

}  // namespace heddle
