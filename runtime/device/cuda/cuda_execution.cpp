#include "heddle/runtime/device/cuda/cuda_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "heddle/runtime/device/constant_symbol.hpp"

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

/// All that a CudaLaunch is made from.
using LaunchShape = std::tuple<int, std::array<unsigned, 6>, std::int64_t, bool, bool, unsigned>;

LaunchShape shape_of(const Launch& launch) {
  const auto& [grid, block] = std::tie(launch.grid, launch.block);
  return {launch.kernel,       {grid.x, grid.y, grid.z, block.x, block.y, block.z},
          launch.shared_bytes, launch.programmatic,
          launch.resident,     launch.cluster};
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
  std::vector<CUfunction> functions;
  for (const CompiledKernel& kernel : binary.kernels()) {
    modules_.push_back(modules.load(context_, *kernel.blob));
    functions.push_back(modules_.back()->function(kernel.symbol));
  }
  find_constants();
  calls_.resize(plan_.launches.size());
  std::map<LaunchShape, const CudaLaunch*> known;
  const CudaContext::Scope scope(*context_);
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Launch& launch = plan_.launches[i];
    calls_[i].routine = launch.routine;
    if (!launch.routine.empty()) {
      CudaRoutines::require(launch.routine);
      if (!routines_) routines_ = std::make_unique<CudaRoutines>(context_);
      continue;
    }
    const CudaLaunch*& shared = known[shape_of(launch)];
    if (shared == nullptr) {
      const auto kernel = static_cast<std::size_t>(launch.kernel);
      launches_.push_back(
          std::make_unique<const CudaLaunch>(*context_, functions.at(kernel), launch, plan_.kernels[kernel]));
      shared = launches_.back().get();
    }
    calls_[i].launch = shared;
  }
  context_->check(context_->driver().cuEventCreate(&start_, CU_EVENT_DEFAULT), "cannot make an event");
  context_->check(context_->driver().cuEventCreate(&stop_, CU_EVENT_DEFAULT), "cannot make an event");
}

void CudaExecution::find_constants() {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.symbol.empty()) continue;
    bool found = false;
    for (const auto& module : modules_) {
      const auto variable = module->constant(buffer.symbol);
      if (!variable) continue;
      require_constant(buffer, variable->second, "cuda");
      constants_.emplace_back(i, variable->first);
      found = true;
    }
    if (!found) throw no_constant(buffer, "cuda");
  }
}

/// Before every run, since other executions use the same modules. Needs a Scope.
void CudaExecution::copy_constants() {
  for (const auto& [buffer, variable] : constants_) {
    context_->check(
        context_->driver().cuMemcpyDtoDAsync(variable, memory_[buffer]->address(),
                                             static_cast<std::size_t>(plan_.buffers[buffer].bytes), context_->stream()),
        "cannot copy constant memory");
  }
}

void CudaExecution::pack() {
  for (std::size_t number = 0; number < calls_.size(); ++number) {
    const Launch& launch = plan_.launches[number];
    Call& call = calls_[number];
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
    context_->check(call.launch->submit(*context_, stream, call.arguments.places().data()), "cannot launch a kernel");
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
  copy_constants();
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
  copy_constants();
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

std::optional<KernelResources> CudaExecution::resources() {
  if (launches_.empty()) return {};
  const CudaContext::Scope scope(*context_);
  KernelResources all{.occupancy = 1.0};
  for (const auto& launch : launches_) {
    const KernelResources one = launch->resources(*context_);
    all.registers = std::max(all.registers, one.registers);
    all.shared_bytes = std::max(all.shared_bytes, one.shared_bytes);
    all.local_bytes = std::max(all.local_bytes, one.local_bytes);
    all.occupancy = std::min(all.occupancy, one.occupancy);
  }
  return all;
}

}  // namespace heddle
