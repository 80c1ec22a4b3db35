#include "heddle/runtime/device/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "heddle/runtime/device/cuda/cuda_context.hpp"
#include "heddle/runtime/device/cuda/cuda_execution.hpp"
#include "heddle/runtime/device/cuda/cuda_launch.hpp"
#include "heddle/runtime/device/cuda/nvml.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/device/memory_comparison.hpp"
#include "heddle/runtime/device/provenance.hpp"

namespace heddle {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

std::string label_of(CUdevice device) { return fmt::format("cuda:{}", device); }

DeviceIdentity identity_of(const Driver& driver, CUdevice device) {
  const std::string label = label_of(device);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.check(driver.cuDeviceGetAttribute(&value, which, device), label, "cannot read an attribute");
    return value;
  };
  std::array<char, 256> name{};
  driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device), label,
               "cannot read the name");
  std::size_t bytes = 0;
  driver.check(driver.cuDeviceTotalMem(&bytes, device), label, "cannot read the size of its memory");

  DeviceIdentity identity;
  identity.backend = "cuda";
  identity.name = name.data();
  identity.architecture = fmt::format("{}.{}", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  identity.units = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  identity.memory_gib = std::llround(static_cast<double>(bytes) / kGib);
  identity.cache_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  identity.local_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  return identity;
}

std::string bus_of(const Driver& driver, CUdevice device) {
  std::array<char, 32> text{};
  if (driver.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device) != CUDA_SUCCESS) return {};
  return text.data();
}

std::string uuid_of(const Driver& driver, CUdevice device) {
  CUuuid uuid{};
  if (driver.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return {};
  std::string text;
  for (const char byte : uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Where the driver does not show all cards of the machine, who counts them has to know.
std::string visible_cards() {
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  return list == nullptr ? "this machine has" : fmt::format("CUDA_VISIBLE_DEVICES={} shows", list);
}

int count_of(const Driver& driver) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "cuda", "cannot count the GPUs");
  return count;
}

CUdevice device_of(const Driver& driver, int ordinal) {
  const int count = count_of(driver);
  if (ordinal < 0 || ordinal >= count)
    throw Error(ErrorKind::device, fmt::format("no device cuda:{}: {} {} NVIDIA GPU{}", ordinal, visible_cards(), count,
                                               count == 1 ? "" : "s"));
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), label_of(ordinal), "cannot be opened");
  return device;
}

CUdevice device_of(const Driver& driver, CUcontext context) {
  CUdevice device = 0;
  CUcontext popped = nullptr;
  driver.check(driver.cuCtxPushCurrent(context), "cuda", "cannot use the caller's context");
  const CUresult result = driver.cuCtxGetDevice(&device);
  driver.cuCtxPopCurrent(&popped);
  driver.check(result, "cuda", "cannot use the caller's context");
  return device;
}

std::string driver_text(const Driver& driver, const Nvml& nvml) {
  const std::string cuda = fmt::format("CUDA {}.{}", driver.version() / 1000, driver.version() % 1000 / 10);
  const std::string version = nvml.driver_version();
  return version.empty() ? cuda : fmt::format("{} ({})", version, cuda);
}

std::shared_ptr<const Nvrtc> nvrtc_for(const Driver& driver, const DeviceIdentity& identity) {
  return Nvrtc::open(identity.compute_capability(), driver.version() / 1000);
}

}  // namespace

struct CudaDevice::Implementation {
  Implementation(const std::shared_ptr<const Driver>& driver, CUdevice device, const Compiling& compiling)
      : label(label_of(device)),
        identity(identity_of(*driver, device)),
        unit(uuid_of(*driver, device)),
        nvml(bus_of(*driver, device)),
        compiler(nvrtc_for(*driver, identity), identity.architecture,
                 std::make_shared<CompileCache>(CompileCache::default_folder("cuda")), 0, compiling),
        provenance(host_provenance()) {
    provenance.driver = driver_text(*driver, nvml);
    provenance.compiler = compiler.nvrtc().name();
  }

  std::string label;
  DeviceIdentity identity;
  std::string unit;
  Nvml nvml;
  CudaCompiler compiler;
  Provenance provenance;
  std::shared_ptr<const CudaContext> context;
  CudaModules modules;
  std::unique_ptr<MemoryComparison> comparison;  ///< since prepare_to_compare()
  bool compares_on_host = false;                 ///< since its kernel could not be made
};

CudaDevice::CudaDevice(int ordinal, const Compiling& compiling) {
  const auto driver = Driver::open();
  const CUdevice device = device_of(*driver, ordinal);
  implementation_ = std::make_unique<Implementation>(driver, device, compiling);
  implementation_->context = std::make_shared<const CudaContext>(driver, device, implementation_->label);
}

CudaDevice::CudaDevice(CUctx_st* context, CUstream_st* stream) {
  const auto driver = Driver::open();
  implementation_ = std::make_unique<Implementation>(driver, device_of(*driver, context), Compiling{});
  implementation_->context = std::make_shared<const CudaContext>(driver, context, stream, implementation_->label);
}

CudaDevice::~CudaDevice() = default;

std::string CudaDevice::label() const { return implementation_->label; }

const DeviceIdentity& CudaDevice::identity() const { return implementation_->identity; }

std::string CudaDevice::unit() const { return implementation_->unit; }

const Provenance& CudaDevice::provenance() const {
  implementation_->provenance.clocks = implementation_->nvml.clocks();
  implementation_->provenance.date = utc_now();
  return implementation_->provenance;
}

std::string CudaDevice::remark() const { return implementation_->compiler.cache().remark(); }

std::unique_ptr<CompileBatch> CudaDevice::compile(std::vector<CompileRequest> requests) {
  return implementation_->compiler.compile(requests);
}

std::optional<std::int64_t> CudaDevice::local_bytes(const Binary& binary) const {
  const auto* const cuda = dynamic_cast<const CudaBinary*>(&binary);
  if (cuda == nullptr) throw std::invalid_argument("the binary was not compiled by a CUDA device");
  const auto& context = implementation_->context;
  const CudaContext::Scope scope(*context);
  int most = 0;
  for (const CompiledKernel& kernel : cuda->kernels()) {
    const auto module = implementation_->modules.load(context, *kernel.blob);
    int bytes = 0;
    context->check(context->driver().cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                                        module->function(kernel.symbol)),
                   "cannot ask for the local memory of a kernel");
    most = std::max(most, bytes);
  }
  return most;
}

std::int64_t CudaDevice::compiler_calls() const { return implementation_->compiler.calls(); }

std::optional<double> CudaDevice::joules() { return implementation_->nvml.joules(); }

std::shared_ptr<Memory> CudaDevice::allocate(std::int64_t bytes) {
  return std::make_shared<CudaMemory>(implementation_->context, bytes);
}

bool CudaDevice::same(Memory& a, Memory& b) {
  // What stays in the host's memory has no address on the device.
  if (a.pointer() == nullptr || b.pointer() == nullptr) return Device::same(a, b);
  prepare_to_compare();
  auto& comparison = implementation_->comparison;
  if (!comparison) return Device::same(a, b);
  try {
    comparison->get_ready();
  } catch (const DeviceFailure& failure) {  // of the compiler or the driver; not of whose memory is compared
    comparison.reset();
    if (takes_device_down(failure.status())) throw;
    implementation_->compares_on_host = true;
    return Device::same(a, b);
  }
  return comparison->same(a, b);
}

void CudaDevice::prepare_to_compare() {
  auto& comparison = implementation_->comparison;
  if (!comparison && !implementation_->compares_on_host) comparison = std::make_unique<MemoryComparison>(*this);
}

std::optional<std::int64_t> CudaDevice::bytes_behind(const void* address) const {
  const CudaContext& context = *implementation_->context;
  const CudaContext::Scope scope(context);
  const auto at = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  if (context.driver().cuMemGetAddressRange(&begin, &bytes, at) != CUDA_SUCCESS) return std::nullopt;
  return static_cast<std::int64_t>(begin + bytes - at);
}

void CudaDevice::read_at(const void* address, std::span<std::byte> to, Stream stream) const {
  if (to.empty()) return;
  const CudaContext& context = *implementation_->context;
  const CudaContext::Scope scope(context);
  auto* const queue = static_cast<CUstream>(stream.handle);
  const auto at = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
  context.check_call(context.driver().cuMemcpyDtoHAsync(to.data(), at, to.size(), queue),
                     "cannot copy from the device");
  context.check_call(context.driver().cuStreamSynchronize(queue), "cannot wait for the stream");
}

std::unique_ptr<Execution> CudaDevice::prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) {
  return std::make_unique<CudaExecution>(implementation_->context, implementation_->modules, std::move(plan),
                                         std::move(binary), bindings);
}

std::unique_ptr<LoadedKernel> CudaDevice::load(const Plan& plan, std::shared_ptr<const Binary> binary) {
  require_one_kernel(plan);
  return std::make_unique<CudaLoadedKernel>(implementation_->context, implementation_->modules, plan, binary.get());
}

std::shared_ptr<Memory> CudaDevice::wrap(std::uint64_t address, std::int64_t bytes) {
  return std::make_shared<CudaMemory>(implementation_->context, address, bytes, nullptr);
}

std::vector<DeviceListing> cuda_listings() {
  std::vector<DeviceListing> listings;
  try {
    const auto driver = Driver::open();
    const int count = count_of(*driver);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      const CUdevice device = device_of(*driver, ordinal);
      DeviceIdentity identity = identity_of(*driver, device);
      try {
        static_cast<void>(nvrtc_for(*driver, identity));
        listings.push_back({label_of(device), std::move(identity), {}});
      } catch (const Error& error) {
        listings.push_back({label_of(device), {}, fmt::format("{}: {}", identity.name, error.what())});
      }
    }
    if (count == 0) listings.push_back({"cuda", {}, visible_cards() + " no NVIDIA GPU"});
  } catch (const Error& error) {
    listings.push_back({"cuda", {}, error.what()});
  }
  return listings;
}

}  // namespace heddle
