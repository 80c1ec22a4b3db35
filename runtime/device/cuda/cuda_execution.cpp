#include "heddle/runtime/device/cuda/cuda_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace heddle {
namespace {

constexpr std::int64_t kAlignment = 256;  // of every buffer, as cuMemAlloc gives it
constexpr std::size_t kGuardBytes = 4096;
using Guard = std::array<std::byte, kGuardBytes>;

/// Read as float it is not a number, so that reading behind a buffer shows too.
const Guard& guard_pattern() {
  static const Guard pattern = [] {
    constexpr std::array<unsigned char, 4> kWord{0x5a, 0xa5, 0xc0, 0x7f};
    Guard bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{kWord[i % kWord.size()]};
    return bytes;
  }();
  return pattern;
}

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

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

CudaExecution::CudaExecution(std::shared_ptr<const CudaContext> context, CudaModules& modules, Plan plan,
                             const std::shared_ptr<const Binary>& binary, const Bindings& bindings)
    : context_(std::move(context)), plan_(std::move(plan)) {
  const auto* kernels = dynamic_cast<const CudaBinary*>(binary.get());
  if (kernels == nullptr || kernels->kernels().size() != plan_.kernels.size())
    throw std::invalid_argument("the binary was not compiled for this plan by a CUDA device");
  bind(bindings);
  load(modules, *kernels);
  pack();
}

CudaExecution::~CudaExecution() {
  const Driver& driver = context_->driver();
  try {
    const CudaContext::Scope scope(*context_);
    if (graph_ != nullptr) driver.cuGraphExecDestroy(graph_);
    if (start_ != nullptr) driver.cuEventDestroy(start_);
    if (stop_ != nullptr) driver.cuEventDestroy(stop_);
  } catch (const DeviceFailure&) {
    // The context is lost, and what was made in it.
  }
}

/// One allocation holds every buffer that the caller does not bring, each with a guard right behind its last byte.
void CudaExecution::bind(const Bindings& bindings) {
  std::vector<std::int64_t> offsets(plan_.buffers.size(), -1);
  std::int64_t total = 0;
  memory_.resize(plan_.buffers.size());
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    const auto bound = bindings.find(buffer.name);
    if (bound == bindings.end() && buffer.piece_bytes > 0) {
      if (!pieces_) pieces_ = std::make_unique<CudaPieces>(context_);
      in_pieces_.emplace(i, pieces_->add(buffer.bytes, buffer.piece_bytes));
      continue;
    }
    if (bound == bindings.end()) {
      offsets[i] = total;
      total += aligned(buffer.bytes + static_cast<std::int64_t>(kGuardBytes));
      guarded_.push_back(i);
      continue;
    }
    memory_[i] = std::dynamic_pointer_cast<CudaMemory>(bound->second);
    if (!memory_[i] || memory_[i]->bytes() < buffer.bytes)
      throw std::invalid_argument(fmt::format("memory bound to {}: expected {} bytes on a CUDA device, found {}",
                                              buffer.name, buffer.bytes, bound->second ? bound->second->bytes() : 0));
  }
  if (guarded_.empty()) return;
  const auto arena = std::make_shared<CudaMemory>(context_, total);
  for (const std::size_t i : guarded_) {
    memory_[i] = std::make_shared<CudaMemory>(context_, arena->address() + static_cast<CUdeviceptr>(offsets[i]),
                                              plan_.buffers[i].bytes, arena);
    arena->write(guard_pattern(), offsets[i] + plan_.buffers[i].bytes);
  }
}

/// Finds the kernels, and refuses what they cannot be launched with.
void CudaExecution::load(CudaModules& modules, const CudaBinary& binary) {
  for (const CompiledKernel& kernel : binary.kernels()) {
    modules_.push_back(modules.load(context_, *kernel.blob));
    functions_.push_back(modules_.back()->function(kernel.symbol));
  }
  const Driver& driver = context_->driver();
  const CudaContext::Scope scope(*context_);
  for (const Launch& launch : plan_.launches) {
    if (!launch.routine.empty()) {
      CudaRoutines::require(launch.routine);
      if (!routines_) routines_ = std::make_unique<CudaRoutines>(context_);
      continue;
    }
    const CUfunction function = functions_.at(static_cast<std::size_t>(launch.kernel));
    int threads = 0, shared = 0;
    context_->check(driver.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                    "cannot load a kernel");
    const auto wanted = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
    if (wanted > static_cast<std::uint64_t>(threads))
      throw DeviceFailure(Status::launch,
                          fmt::format("{}: {} threads in a block, expected at most {}",
                                      plan_.kernels[static_cast<std::size_t>(launch.kernel)].text(), wanted, threads));
    // Only ever raised: other executions may use the same function.
    context_->check(driver.cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function),
                    "cannot load a kernel");
    if (launch.shared_bytes > shared)
      context_->check(driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                static_cast<int>(launch.shared_bytes)),
                      fmt::format("{} bytes of shared memory", launch.shared_bytes).c_str());
    if (launch.cluster > 8)
      context_->check(driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                      "no clusters of more than 8 blocks");
  }
  context_->check(driver.cuEventCreate(&start_, CU_EVENT_DEFAULT), "cannot make an event");
  context_->check(driver.cuEventCreate(&stop_, CU_EVENT_DEFAULT), "cannot make an event");
}

void CudaExecution::pack() {
  calls_.reserve(plan_.launches.size());
  for (const Launch& launch : plan_.launches) {
    Call& call = calls_.emplace_back();
    call.routine = launch.routine;
    if (call.routine.empty()) call.function = functions_[static_cast<std::size_t>(launch.kernel)];
    call.config.gridDimX = launch.grid.x;
    call.config.gridDimY = launch.grid.y;
    call.config.gridDimZ = launch.grid.z;
    call.config.blockDimX = launch.block.x;
    call.config.blockDimY = launch.block.y;
    call.config.blockDimZ = launch.block.z;
    call.config.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
    call.attributes = attributes(launch);
    call.config.attrs = call.attributes.data();
    call.config.numAttrs = static_cast<unsigned>(call.attributes.size());
    if (launch.resident || launch.cluster > 1) require_residence(call, launch);
    call.arguments = ArgumentValues(launch.arguments);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const auto* address = std::get_if<BufferArgument>(&launch.arguments[i]);
      if (address == nullptr) continue;
      const auto buffer = static_cast<std::size_t>(address->buffer);
      if (const auto moving = in_pieces_.find(buffer); moving != in_pieces_.end())
        call.moving.push_back({.argument = i, .buffer = moving->second.second, .offset = address->offset});
      else
        call.arguments.set_address(i, memory_.at(buffer)->address() + static_cast<CUdeviceptr>(address->offset));
    }
    call.piece = launch.piece;
  }
  int wanted = -1, after = -1;  // by the calls behind: the piece, and the one after it
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (call->moving.empty()) continue;
    if (call->piece != wanted) after = std::exchange(wanted, call->piece);
    call->next_piece = after;
  }
}

/// Blocks that wait for each other must all find room at once, on what the driver grants this process of the card.
void CudaExecution::require_residence(const Call& call, const Launch& launch) const {
  const Driver& driver = context_->driver();
  const CudaContext::Scope scope(*context_);
  const std::string kernel = plan_.kernels[static_cast<std::size_t>(launch.kernel)].text();
  if (launch.cluster > 1) {
    int clusters = 0;
    const CUresult result = driver.cuOccupancyMaxActiveClusters(&clusters, call.function, &call.config);
    if (result != CUDA_SUCCESS || clusters < 1)
      throw DeviceFailure(Status::launch,
                          fmt::format("{}: no room for a cluster of {} blocks", kernel, launch.cluster));
  }
  if (launch.resident) {
    int blocks = 0, units = 0;
    CUdevice device = 0;
    context_->check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                        &blocks, call.function, static_cast<int>(launch.block.x * launch.block.y * launch.block.z),
                        static_cast<std::size_t>(launch.shared_bytes)),
                    "cannot ask for the room of a kernel");
    context_->check(driver.cuCtxGetDevice(&device), "cannot find the device");
    context_->check(driver.cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                    "cannot count the multiprocessors");
    const std::uint64_t wanted = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    const std::uint64_t room = static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(units);
    if (wanted > room)
      throw DeviceFailure(Status::launch,
                          fmt::format("{}: {} blocks have to run at once, there is room for {}", kernel, wanted, room));
  }
}

Memory& CudaExecution::memory(std::string_view buffer) {
  const auto index = static_cast<std::size_t>(plan_.buffer(buffer));
  const auto moving = in_pieces_.find(index);
  if (moving != in_pieces_.end()) return *moving->second.first;
  return *memory_[index];
}

void CudaExecution::submit(CUstream stream) {
  if (pieces_) pieces_->begin(stream);
  for (Call& call : calls_) {
    if (!call.moving.empty()) pieces_->want(call.piece, call.next_piece, stream);
    for (const Call::Moving& moving : call.moving)
      call.arguments.set_address(moving.argument,
                                 pieces_->address(moving.buffer) + static_cast<CUdeviceptr>(moving.offset));
    if (!call.routine.empty()) {
      routines_->run(call.routine, call.arguments.places());
      continue;
    }
    call.config.hStream = stream;
    context_->check(
        context_->driver().cuLaunchKernelEx(&call.config, call.function, call.arguments.places().data(), nullptr),
        "cannot launch a kernel");
  }
}

/// Records the launches on a stream of its own, since the caller's may be one that cannot be captured.
void CudaExecution::capture() {
  const Driver& driver = context_->driver();
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  context_->check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cannot make a stream");
  CUresult result = driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result == CUDA_SUCCESS) {
    std::exception_ptr refused;
    try {
      submit(stream);
    } catch (const DeviceFailure&) {
      refused = std::current_exception();
    }
    result = driver.cuStreamEndCapture(stream, &graph);
    if (result == CUDA_SUCCESS && !refused) result = driver.cuGraphInstantiateWithFlags(&graph_, graph, 0);
    if (graph != nullptr) driver.cuGraphDestroy(graph);
    driver.cuStreamDestroy(stream);
    if (refused) std::rethrow_exception(refused);
  } else {
    driver.cuStreamDestroy(stream);
  }
  context_->check(result, "cannot capture the launches");
}

void CudaExecution::run() {
  if (graph_ != nullptr)
    context_->check(context_->driver().cuGraphLaunch(graph_, context_->stream()), "cannot launch a graph");
  else
    submit(context_->stream());
}

void CudaExecution::launch() {
  const CudaContext::Scope scope(*context_);
  if (plan_.captured && graph_ == nullptr) capture();
  run();
}

void CudaExecution::synchronize() {
  const CudaContext::Scope scope(*context_);
  context_->synchronize();
}

double CudaExecution::time() {
  const Driver& driver = context_->driver();
  const CudaContext::Scope scope(*context_);
  if (plan_.captured && graph_ == nullptr) capture();
  // An idle stream, so that the time to submit the launches is not hidden behind earlier work.
  context_->synchronize();
  context_->check(driver.cuEventRecord(start_, context_->stream()), "cannot record an event");
  run();
  context_->check(driver.cuEventRecord(stop_, context_->stream()), "cannot record an event");
  context_->check(driver.cuEventSynchronize(stop_), "a kernel failed");
  float milliseconds = 0.0F;
  context_->check(driver.event_elapsed_time(&milliseconds, start_, stop_), "cannot read an event");
  return static_cast<double>(milliseconds) * 1e-3;
}

bool CudaExecution::kept(std::size_t buffer) const {
  const Role role = plan_.buffers[buffer].role;
  return role == Role::parameter || role == Role::state;
}

void CudaExecution::save() {
  if (!saved_) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i)
      if (kept(i)) total += aligned(plan_.buffers[i].bytes);
    saved_ = std::make_shared<CudaMemory>(context_, total);
  }
  const CudaContext::Scope scope(*context_);
  CUdeviceptr to = saved_->address();
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const std::int64_t bytes = plan_.buffers[i].bytes;
    if (!kept(i) || bytes == 0) continue;
    context_->check(context_->driver().cuMemcpyDtoDAsync(to, memory_[i]->address(), static_cast<std::size_t>(bytes),
                                                         context_->stream()),
                    "cannot save a buffer");
    to += static_cast<CUdeviceptr>(aligned(bytes));
  }
}

void CudaExecution::restore() {
  if (!saved_) throw std::logic_error("restore() before save()");
  const CudaContext::Scope scope(*context_);
  CUdeviceptr from = saved_->address();
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const std::int64_t bytes = plan_.buffers[i].bytes;
    if (!kept(i) || bytes == 0) continue;
    context_->check(context_->driver().cuMemcpyDtoDAsync(memory_[i]->address(), from, static_cast<std::size_t>(bytes),
                                                         context_->stream()),
                    "cannot restore a buffer");
    from += static_cast<CUdeviceptr>(aligned(bytes));
  }
}

std::optional<std::string> CudaExecution::overrun() {
  const CudaContext::Scope scope(*context_);
  Guard found;
  for (const std::size_t i : guarded_) {
    const CUdeviceptr behind = memory_[i]->address() + static_cast<CUdeviceptr>(plan_.buffers[i].bytes);
    context_->check(context_->driver().cuMemcpyDtoHAsync(found.data(), behind, found.size(), context_->stream()),
                    "cannot read a guard");
    context_->synchronize();
    if (found != guard_pattern()) return plan_.buffers[i].name;
  }
  return {};
}

}  // namespace heddle
