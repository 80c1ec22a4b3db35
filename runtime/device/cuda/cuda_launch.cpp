#include "heddle/runtime/device/cuda/cuda_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <variant>

#include "heddle/runtime/device/constant_symbol.hpp"

namespace heddle {
namespace {

std::vector<CUlaunchAttribute> attributes(const Launch& launch) {
  std::vector<CUlaunchAttribute> list;
  const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    list.emplace_back().id = id;
    return list.back().value;
  };
  if (launch.programmatic)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).programmaticStreamSerializationAllowed = 1;
  if (launch.resident) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (launch.cluster > 1) {
    auto& dimension = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
    dimension.x = launch.cluster;
    dimension.y = dimension.z = 1;
  }
  return list;
}

struct BytesOf {
  std::size_t operator()(const BufferArgument&) const { return sizeof(CUdeviceptr); }
  std::size_t operator()(const StructArgument& value) const { return value.bytes.size(); }
  template <class Number>
  std::size_t operator()(const Number&) const {
    return sizeof(Number);
  }
};

}  // namespace

CudaLaunch::CudaLaunch(const CudaContext& context, CUfunction function, const Launch& launch,
                       const KernelInstance& kernel)
    : function_(function), attributes_(attributes(launch)) {
  const Driver& driver = context.driver();
  const CudaContext::Presence presence(context);
  int threads = 0;
  context.check(driver.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                "cannot load a kernel");
  const auto wanted = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (wanted > static_cast<std::uint64_t>(threads))
    throw DeviceFailure(Status::launch,
                        fmt::format("{}: {} threads in a block, expected at most {}", kernel.text(), wanted, threads));
  allow(context, launch);
  config_.gridDimX = launch.grid.x;
  config_.gridDimY = launch.grid.y;
  config_.gridDimZ = launch.grid.z;
  config_.blockDimX = launch.block.x;
  config_.blockDimY = launch.block.y;
  config_.blockDimZ = launch.block.z;
  config_.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  config_.attrs = attributes_.data();
  config_.numAttrs = static_cast<unsigned>(attributes_.size());
  require_arguments(context, launch, kernel);
  require_room(context, launch, kernel);
}

/// A launch reads as many bytes as the kernel takes, whatever it was given.
void CudaLaunch::require_arguments(const CudaContext& context, const Launch& launch,
                                   const KernelInstance& kernel) const {
  const auto parameter = context.driver().function_parameter;
  if (parameter == nullptr) return;
  std::size_t count = 0, offset = 0, bytes = 0;
  for (; parameter(function_, count, &offset, &bytes) == CUDA_SUCCESS; ++count) {
    if (count >= launch.arguments.size()) continue;
    const std::size_t given = std::visit(BytesOf(), launch.arguments[count]);
    if (given == bytes) continue;
    throw DeviceFailure(Status::launch, fmt::format("{}: parameter {} has {} bytes, the launch gives {}", kernel.text(),
                                                    count + 1, bytes, given));
  }
  if (count != launch.arguments.size()) {
    throw DeviceFailure(Status::launch, fmt::format("{}: the kernel takes {} arguments, the launch gives {}",
                                                    kernel.text(), count, launch.arguments.size()));
  }
}

/// Limits are only ever raised, since other launches may use the same function.
void CudaLaunch::allow(const CudaContext& context, const Launch& launch) const {
  const Driver& driver = context.driver();
  const auto lock = context.lock_attributes();  // or a thread could lower what another has just raised
  int shared = 0;
  context.check(driver.cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function_),
                "cannot load a kernel");
  if (launch.shared_bytes > shared)
    context.check(driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            static_cast<int>(launch.shared_bytes)),
                  fmt::format("{} bytes of shared memory", launch.shared_bytes).c_str());
  if (launch.cluster > 8)
    context.check(driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                  "no clusters of more than 8 blocks");
}

/// Blocks that wait for each other must all find room at once.
void CudaLaunch::require_room(const CudaContext& context, const Launch& launch, const KernelInstance& kernel) const {
  const Driver& driver = context.driver();
  if (launch.cluster > 1) {
    int clusters = 0;
    const CUresult result = driver.cuOccupancyMaxActiveClusters(&clusters, function_, &config_);
    if (result != CUDA_SUCCESS || clusters < 1)
      throw DeviceFailure(Status::launch,
                          fmt::format("{}: no room for a cluster of {} blocks", kernel.text(), launch.cluster));
    // A part of the device that takes no whole number of clusters leaves some of its multiprocessors idle.
    if (launch.resident && launch.grid.x / launch.cluster > static_cast<unsigned>(clusters))
      throw DeviceFailure(Status::launch,
                          fmt::format("{}: {} clusters of {} blocks have to run at once, there is room "
                                      "for {}",
                                      kernel.text(), launch.grid.x / launch.cluster, launch.cluster, clusters));
  }
  if (launch.resident) {
    int blocks = 0, units = 0;
    CUdevice device = 0;
    context.check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                      &blocks, function_, static_cast<int>(launch.block.x * launch.block.y * launch.block.z),
                      static_cast<std::size_t>(launch.shared_bytes)),
                  "cannot ask for the room of a kernel");
    context.check(driver.cuCtxGetDevice(&device), "cannot find the device");
    context.check(driver.cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                  "cannot count the multiprocessors");
    const std::uint64_t wanted = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    const std::uint64_t room = static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(units);
    if (wanted > room)
      throw DeviceFailure(Status::launch, fmt::format("{}: {} blocks have to run at once, there is room for {}",
                                                      kernel.text(), wanted, room));
  }
}

KernelResources CudaLaunch::resources(const CudaContext& context) const {
  const Driver& driver = context.driver();
  const auto of_function = [&](CUfunction_attribute which) {
    int value = 0;
    context.check(driver.cuFuncGetAttribute(&value, which, function_), "cannot ask for the resources of a kernel");
    return std::int64_t{value};
  };
  const unsigned threads = config_.blockDimX * config_.blockDimY * config_.blockDimZ;
  int blocks = 0, most = 0;
  CUdevice device = 0;
  context.check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, static_cast<int>(threads),
                                                                   config_.sharedMemBytes),
                "cannot ask for the room of a kernel");
  context.check(driver.cuCtxGetDevice(&device), "cannot find the device");
  context.check(driver.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device),
                "cannot ask for the threads of a multiprocessor");
  return {.registers = of_function(CU_FUNC_ATTRIBUTE_NUM_REGS),
          .shared_bytes = of_function(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + config_.sharedMemBytes,
          .local_bytes = of_function(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
          .occupancy = std::min(1.0, static_cast<double>(blocks) * threads / std::max(1, most))};
}

CUresult CudaLaunch::submit(const CudaContext& context, CUstream stream, void* const* values) const {
  CUlaunchConfig config = config_;
  config.hStream = stream;
  // The driver reads the values and writes nothing, whatever its declaration says.
  return context.driver().cuLaunchKernelEx(&config, function_, const_cast<void**>(values), nullptr);
}

CudaLoadedKernel::CudaLoadedKernel(std::shared_ptr<const CudaContext> context, CudaModules& modules, const Plan& plan,
                                   const Binary* binary)
    : context_(std::move(context)) {
  const auto* kernels = dynamic_cast<const CudaBinary*>(binary);
  if (kernels == nullptr || kernels->kernels().size() != plan.kernels.size())
    throw std::invalid_argument("the binary was not compiled for this plan by a CUDA device");
  const Launch& launch = plan.launches.front();
  const auto index = static_cast<std::size_t>(launch.kernel);
  const CompiledKernel& kernel = kernels->kernels().at(index);
  module_ = modules.load(context_, *kernel.blob);
  launch_ =
      std::make_unique<const CudaLaunch>(*context_, module_->function(kernel.symbol), launch, plan.kernels[index]);
  for (const CallConstant& constant : call_constants(plan)) {
    const Buffer& buffer = plan.buffers[constant.buffer];
    const auto variable = module_->constant(buffer.symbol);
    if (!variable) throw no_constant(buffer, "cuda");
    require_constant(buffer, variable->second, "cuda");
    constants_.push_back(
        {.variable = variable->first, .bytes = static_cast<std::size_t>(buffer.bytes), .value = constant.value});
  }
}

void CudaLoadedKernel::launch(void* const* values, std::optional<Stream> stream) const {
  const CudaContext::Presence presence(*context_);
  const CUstream at = stream ? static_cast<CUstream>(stream->handle) : context_->stream();
  for (const Constant& constant : constants_) {
    if (constant.bytes == 0) continue;
    CUdeviceptr from = 0;
    std::memcpy(&from, values[constant.value], sizeof from);
    context_->check_call(context_->driver().cuMemcpyDtoDAsync(constant.variable, from, constant.bytes, at),
                         "cannot copy constant memory");
  }
  context_->check_call(launch_->submit(*context_, at, values), "cannot launch a kernel");
}

}  // namespace heddle
