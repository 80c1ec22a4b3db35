#include "heddle/runtime/device/cpu/cpu_execution.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "heddle/kernels/common/cpu_builtin.hpp"

namespace heddle {
namespace {

constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kGuardBytes = 4096;

/// Read as float it is not a number, so that reading behind a buffer shows too.
const std::array<std::byte, kGuardBytes>& guard_pattern() {
  static const auto pattern = [] {
    constexpr std::array<unsigned char, 4> kWord{0x5a, 0xa5, 0xc0, 0x7f};
    std::array<std::byte, kGuardBytes> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{kWord[i % kWord.size()]};
    return bytes;
  }();
  return pattern;
}

std::byte* allocate_guarded(std::int64_t bytes) {
  const std::size_t size = (static_cast<std::size_t>(bytes) + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = bytes < 0 ? nullptr : static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (memory == nullptr) throw DeviceFailure(Status::launch, fmt::format("cpu: cannot allocate {} bytes", bytes));
  return memory;
}

}  // namespace

void CpuMemory::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

CpuMemory::CpuMemory(std::int64_t bytes) : bytes_(bytes), memory_(allocate_guarded(bytes)) {
  std::memcpy(address() + bytes_, guard_pattern().data(), kGuardBytes);
}

bool CpuMemory::guard_intact() const {
  return std::memcmp(address() + bytes_, guard_pattern().data(), kGuardBytes) == 0;
}

std::byte* CpuMemory::range(std::int64_t offset, std::size_t count) const {
  if (offset < 0 || offset > bytes_ || count > static_cast<std::size_t>(bytes_ - offset)) {
    throw std::out_of_range(
        fmt::format("bytes {} to {} of {}", offset, offset + static_cast<std::int64_t>(count), bytes_));
  }
  return address() + offset;
}

void CpuMemory::write(std::span<const std::byte> from, std::int64_t offset) {
  std::byte* to = range(offset, from.size());
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void CpuMemory::read(std::span<std::byte> to, std::int64_t offset) const {
  const std::byte* from = range(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

void CpuMemory::fill(std::byte value) {
  std::memset(address(), std::to_integer<int>(value), static_cast<std::size_t>(bytes_));
}

void CpuMemory::copy(const Memory& from) {
  const auto count = static_cast<std::size_t>(from.bytes());
  from.read({range(0, count), count});
}

CpuLibrary::CpuLibrary(const CompiledBlob& blob) : file_(::memfd_create("heddle", MFD_CLOEXEC)) {
  const auto refuse = [this](const std::string& why) {
    if (file_ >= 0) ::close(file_);
    throw DeviceFailure(Status::launch, "cpu: cannot load a kernel: " + why);
  };
  if (file_ < 0) refuse(std::strerror(errno));
  for (std::size_t done = 0; done < blob.bytes.size();) {
    const ssize_t written = ::write(file_, blob.bytes.data() + done, blob.bytes.size() - done);
    if (written <= 0) refuse(std::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
  handle_ = ::dlopen(fmt::format("/proc/self/fd/{}", file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) refuse(::dlerror());
}

CpuLibrary::~CpuLibrary() {
  ::dlclose(handle_);
  ::close(file_);
}

cpu::Kernel CpuLibrary::kernel(const std::string& symbol) const {
  void* found = ::dlsym(handle_, symbol.c_str());
  if (found == nullptr) throw DeviceFailure(Status::launch, "cpu: a compiled object has no kernel " + symbol);
  return reinterpret_cast<cpu::Kernel>(found);
}

std::shared_ptr<const CpuLibrary> CpuLibraries::load(const CompiledBlob& blob) {
  const std::lock_guard lock(loading_);
  std::weak_ptr<const CpuLibrary>& known = loaded_[blob.digest];
  auto library = known.lock();
  if (!library) known = library = std::make_shared<const CpuLibrary>(blob);
  return library;
}

std::vector<CpuFunction> load_functions(CpuLibraries& libraries, const std::string& architecture, const Plan& plan,
                                        const Binary* binary) {
  const auto* compiled = dynamic_cast<const CpuBinary*>(binary);
  if (compiled == nullptr || compiled->kernels().size() != plan.kernels.size()) {
    throw std::invalid_argument("the binary was not compiled for this plan by the CPU device");
  }
  std::vector<CpuFunction> functions;
  functions.reserve(compiled->kernels().size());
  for (const CompiledKernel& kernel : compiled->kernels()) {
    CpuFunction& function = functions.emplace_back();
    if (kernel.blob) {
      function.library = libraries.load(*kernel.blob);
      function.kernel = function.library->kernel(kernel.symbol);
    } else {
      function.kernel = cpu::builtin_kernel(kernel.symbol, architecture);
    }
  }
  return functions;
}

CpuLoadedKernel::CpuLoadedKernel(ThreadTeam& team, const Plan& plan, std::vector<CpuFunction> functions)
    : team_(team),
      function_(std::move(functions.at(static_cast<std::size_t>(plan.launches.front().kernel)))),
      parts_(static_cast<int>(plan.launches.front().grid.x)) {
  const std::vector<Argument>& arguments = plan.launches.front().arguments;
  is_buffer_.reserve(arguments.size());
  for (const Argument& argument : arguments) is_buffer_.push_back(std::holds_alternative<BufferArgument>(argument));
}

void CpuLoadedKernel::launch(void* const* values, std::optional<Stream>) const {
  // A kernel on the CPU is given the address of a buffer itself, not a place that holds it.
  std::array<void*, kMostArguments> places;
  for (std::size_t i = 0; i < is_buffer_.size(); ++i) {
    places[i] = values[i];
    if (is_buffer_[i]) std::memcpy(&places[i], values[i], sizeof places[i]);
  }
  if (parts_ == 1) {
    team_.run(function_.kernel, places.data(), 1);
  } else {
    team_.run_adapted(function_.kernel, places.data(), parts_);
  }
}

CpuExecution::CpuExecution(ThreadTeam& team, CpuLibraries& libraries, const std::string& architecture, Plan plan,
                           const std::shared_ptr<const Binary>& binary, const Bindings& bindings)
    : team_(team), plan_(std::move(plan)), functions_(load_functions(libraries, architecture, plan_, binary.get())) {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    const auto bound = bindings.find(buffer.name);
    if (bound == bindings.end()) {
      memory_.push_back(std::make_shared<CpuMemory>(buffer.bytes));
      guarded_.push_back(i);
      continue;
    }
    memory_.push_back(std::dynamic_pointer_cast<CpuMemory>(bound->second));
    if (!memory_.back() || memory_.back()->bytes() < buffer.bytes) {
      throw std::invalid_argument(fmt::format("memory bound to {}: expected {} bytes on the CPU, found {}", buffer.name,
                                              buffer.bytes, bound->second ? bound->second->bytes() : 0));
    }
  }
  for (const Launch& launch : plan_.launches) {
    Call& call = calls_.emplace_back();
    if (launch.routine.empty()) {
      call.kernel = functions_.at(static_cast<std::size_t>(launch.kernel)).kernel;
    } else {
      call.routine = cpu_routine(launch.routine);
    }
    call.parts = static_cast<int>(launch.grid.x);
    call.arguments = ArgumentValues(launch.arguments);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      // A kernel on the CPU is given the address of the buffer itself, not a place that holds it.
      if (const auto* buffer = std::get_if<BufferArgument>(&launch.arguments[i])) {
        call.arguments.places()[i] = memory_.at(static_cast<std::size_t>(buffer->buffer))->address() + buffer->offset;
      }
    }
  }
}

Memory& CpuExecution::memory(std::string_view buffer) {
  return *memory_[static_cast<std::size_t>(plan_.buffer(buffer))];
}

void CpuExecution::run(void (ThreadTeam::*how)(cpu::Kernel, void* const*, int)) {
  for (Call& call : calls_) {
    if (call.routine != nullptr) {
      call.routine(call.arguments.places().data());
    } else {
      (team_.*how)(call.kernel, call.arguments.places().data(), call.parts);
    }
  }
}

double CpuExecution::time() {
  const auto start = std::chrono::steady_clock::now();
  run(&ThreadTeam::run);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void CpuExecution::save() { snapshot_.save(plan_, memory_); }

void CpuExecution::restore() { snapshot_.restore(memory_); }

std::optional<std::string> CpuExecution::overrun() {
  for (const std::size_t i : guarded_) {
    if (!memory_[i]->guard_intact()) return plan_.buffers[i].name;
  }
  return {};
}

}  // namespace heddle
