#include "heddle/runtime/device/emulator/emulator_execution.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "heddle/runtime/device/constant_symbol.hpp"
#include "heddle/runtime/device/cpu/cpu_routine.hpp"
#include "heddle/runtime/device/emulator/calls.hpp"
#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle {
namespace {

/// Numbers of segments and read sets are 31 bits wide; a launch needs far fewer than this.
constexpr std::uint32_t kManySegments = 0x40000000U;

/// The part of memory that the object whose base is `begin` takes up.
std::uintptr_t end_of(std::uintptr_t begin) {
  struct Search {
    std::uintptr_t begin, end;
  } search{begin, begin};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (info->dlpi_addr != wanted.begin) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD) {
            wanted.end = std::max<std::uintptr_t>(wanted.end, wanted.begin + header.p_vaddr + header.p_memsz);
          }
        }
        return 1;
      },
      &search);
  return search.end;
}

/// Spreads a seed over the launches of a run; 0 stays 0.
std::uint64_t seed_of_launch(std::uint64_t seed, std::size_t launch) {
  if (seed == 0) return 0;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + launch;  // splitmix64, Vigna
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
  return (state ^ (state >> 31)) | 1U;
}

}  // namespace

EmulatorMemory::EmulatorMemory(std::shared_ptr<emulator::Machine> machine, std::int64_t bytes)
    : machine_(std::move(machine)),
      bytes_(bytes),
      address_(bytes < 0 ? throw DeviceFailure(Status::launch, "emulator: cannot allocate less than nothing")
                         : machine_->space.allocate(static_cast<std::size_t>(bytes))) {}

EmulatorMemory::~EmulatorMemory() { machine_->space.release(address_); }

std::byte* EmulatorMemory::range(std::int64_t offset, std::size_t count) const {
  if (offset < 0 || offset > bytes_ || count > static_cast<std::size_t>(bytes_ - offset)) {
    throw std::out_of_range(
        fmt::format("bytes {} to {} of {}", offset, offset + static_cast<std::int64_t>(count), bytes_));
  }
  return address_ + offset;
}

void EmulatorMemory::write(std::span<const std::byte> from, std::int64_t offset) {
  std::byte* to = range(offset, from.size());
  if (from.empty()) return;
  std::memcpy(to, from.data(), from.size());
  machine_->space.mark_written(to, from.size(), true);
  machine_->settle();
}

void EmulatorMemory::read(std::span<std::byte> to, std::int64_t offset) const {
  const std::byte* from = range(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
  machine_->settle();
}

void EmulatorMemory::fill(std::byte value) {
  std::memset(address_, std::to_integer<int>(value), static_cast<std::size_t>(bytes_));
  machine_->space.mark_written(address_, static_cast<std::size_t>(bytes_), true);
  machine_->settle();
}

void EmulatorMemory::copy(const Memory& from) {
  const auto count = static_cast<std::size_t>(from.bytes());
  std::byte* const to = range(0, count);
  from.read({to, count});
  if (count == 0) return;
  machine_->space.mark_written(to, count, true);
  machine_->settle();
}

EmulatorCode::EmulatorCode(const CompiledBlob& blob) {
  loaded_.file = folder_.path() / "kernels.so";
  std::ofstream file(loaded_.file, std::ios::binary);
  file << blob.bytes;
  file.close();
  if (!file) throw DeviceFailure(Status::launch, fmt::format("{}: cannot be written", loaded_.file.string()));
  handle_ = ::dlopen(loaded_.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr)
    throw DeviceFailure(Status::launch, fmt::format("emulator: cannot load a kernel: {}", ::dlerror()));
  *static_cast<const emulator::Calls**>(symbol("heddle_emulator_calls")) = &emulator::calls();
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0) {
    loaded_.begin = map->l_addr;
    loaded_.end = end_of(loaded_.begin);
  }
}

EmulatorCode::~EmulatorCode() { ::dlclose(handle_); }

void* EmulatorCode::symbol(const std::string& name) const {
  void* found = ::dlsym(handle_, name.c_str());
  if (found == nullptr) throw DeviceFailure(Status::launch, "emulator: a compiled object has no symbol " + name);
  return found;
}

emulator::Kernel EmulatorCode::kernel(const std::string& name) const {
  return reinterpret_cast<emulator::Kernel>(symbol(name));
}

std::span<std::byte> EmulatorCode::constant(std::string_view name) const {
  void* const found = ::dlsym(handle_, mangled_variable(name).c_str());
  Dl_info info{};
  void* entry = nullptr;
  if (found == nullptr || ::dladdr1(found, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return {};
  const auto& variable = *static_cast<const ElfW(Sym)*>(entry);
  // A name that the kernels lack may be found in a library that they need.
  const bool own = reinterpret_cast<std::uintptr_t>(info.dli_fbase) == loaded_.begin;
  if (!own || ELF64_ST_TYPE(variable.st_info) != STT_OBJECT) return {};
  return {static_cast<std::byte*>(found), variable.st_size};
}

std::string_view EmulatorCode::parameters(const std::string& name) const {
  return reinterpret_cast<const char* (*)()>(symbol(name + "_parameters"))();
}

namespace {

/// What an argument is to the kernel that takes it, as parameters() of hooks.hpp says.
struct KindOf {
  std::string operator()(const BufferArgument&) const { return "p"; }
  std::string operator()(std::int32_t) const { return "i"; }
  std::string operator()(std::uint32_t) const { return "u"; }
  std::string operator()(std::int64_t) const { return "l"; }
  std::string operator()(std::uint64_t) const { return "m"; }
  std::string operator()(float) const { return "f"; }
  std::string operator()(double) const { return "d"; }
  std::string operator()(const StructArgument& value) const {
    return fmt::format("<{}/{}>", value.bytes.size(), value.alignment);
  }
};

/// A GPU takes whatever lies behind the arguments it was given.
void require_arguments(const Launch& launch, std::string_view expected, const std::string& kernel) {
  std::string found;
  for (const Argument& argument : launch.arguments) found += std::visit(KindOf(), argument);
  if (found == expected) return;
  const auto count = [](std::string_view kinds) {
    std::size_t arguments = 0;
    bool within = false;
    for (const char kind : kinds) {
      arguments += within ? 0 : 1;
      if (kind == '<' || kind == '>') within = kind == '<';
    }
    return arguments;
  };
  throw DeviceFailure(Status::launch,
                      fmt::format("emulator: {} takes {} arguments ({}), a launch gives {} ({}); p: buffer, i, u: int, "
                                  "unsigned, l, m: the same of 64 bits, f: float, d: double, <bytes/alignment>: other",
                                  kernel, count(expected), expected, launch.arguments.size(), found));
}

}  // namespace

std::shared_ptr<const EmulatorCode> EmulatorCodes::load(const CompiledBlob& blob) {
  const std::lock_guard lock(loading_);
  std::weak_ptr<const EmulatorCode>& known = loaded_[blob.digest];
  auto code = known.lock();
  if (!code) known = code = std::make_shared<const EmulatorCode>(blob);
  return code;
}

EmulatorFunctions load_functions(EmulatorCodes& codes, const emulator::Capability& capability, const Plan& plan,
                                 const Binary* binary) {
  const auto* compiled = dynamic_cast<const EmulatorBinary*>(binary);
  if (compiled == nullptr || compiled->kernels().size() != plan.kernels.size()) {
    throw std::invalid_argument("the binary was not compiled for this plan by the emulator");
  }
  for (const Launch& launch : plan.launches) {
    if (!launch.routine.empty()) {
      static_cast<void>(cpu_routine(launch.routine));
      continue;
    }
    emulator::require(capability, launch, plan.kernels.at(static_cast<std::size_t>(launch.kernel)).text());
  }
  EmulatorFunctions functions;
  std::vector<std::string_view> parameters;
  for (const CompiledKernel& kernel : compiled->kernels()) {
    auto code = codes.load(*kernel.blob);
    functions.kernels.push_back(code->kernel(kernel.symbol));
    parameters.push_back(code->parameters(kernel.symbol));
    if (std::find(functions.codes.begin(), functions.codes.end(), code) == functions.codes.end()) {
      functions.loaded.push_back(code->loaded());
      functions.codes.push_back(std::move(code));
    }
  }
  for (const Launch& launch : plan.launches) {
    if (!launch.routine.empty()) continue;
    const auto kernel = static_cast<std::size_t>(launch.kernel);
    require_arguments(launch, parameters[kernel], plan.kernels[kernel].text());
  }
  return functions;
}

EmulatorExecution::EmulatorExecution(std::shared_ptr<emulator::Machine> machine, EmulatorCodes& codes,
                                     const emulator::Capability& capability, std::uint64_t seed, Plan plan,
                                     const std::shared_ptr<const Binary>& binary, const Bindings& bindings)
    : machine_(std::move(machine)),
      seed_(seed),
      plan_(std::move(plan)),
      functions_(load_functions(codes, capability, plan_, binary.get())) {
  for (const Buffer& buffer : plan_.buffers) {
    const auto bound = bindings.find(buffer.name);
    if (bound == bindings.end()) {
      memory_.push_back(std::make_shared<EmulatorMemory>(machine_, buffer.bytes));
      continue;
    }
    memory_.push_back(std::dynamic_pointer_cast<EmulatorMemory>(bound->second));
    if (!memory_.back() || memory_.back()->bytes() < buffer.bytes) {
      throw std::invalid_argument(fmt::format("memory bound to {}: expected {} bytes on the emulator, found {}",
                                              buffer.name, buffer.bytes, bound->second ? bound->second->bytes() : 0));
    }
  }
  find_constants();
  for (const Launch& launch : plan_.launches) {
    ArgumentValues& values = arguments_.emplace_back(launch.arguments);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      if (const auto* buffer = std::get_if<BufferArgument>(&launch.arguments[i])) {
        values.set_address(i, reinterpret_cast<std::uintptr_t>(address_of(*buffer)));
      }
    }
  }
}

std::byte* EmulatorExecution::address_of(const BufferArgument& argument) const {
  return memory_.at(static_cast<std::size_t>(argument.buffer))->address() + argument.offset;
}

Memory& EmulatorExecution::memory(std::string_view buffer) {
  return *memory_[static_cast<std::size_t>(plan_.buffer(buffer))];
}

void EmulatorExecution::find_constants() {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.symbol.empty()) continue;
    bool found = false;
    for (const auto& code : functions_.codes) {
      const std::span<std::byte> variable = code->constant(buffer.symbol);
      if (variable.empty()) continue;
      require_constant(buffer, static_cast<std::int64_t>(variable.size()), "emulator");
      constants_.emplace_back(i, variable);
      found = true;
    }
    if (!found) throw no_constant(buffer, "emulator");
  }
}

/// The promises of a role hold from here on: scratch and outputs mean nothing, inputs are only read.
void EmulatorExecution::begin_run() {
  emulator::AddressSpace& space = machine_->space;
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Role role = plan_.buffers[i].role;
    const auto bytes = static_cast<std::size_t>(plan_.buffers[i].bytes);
    space.mark_read_only(memory_[i]->address(), bytes, role == Role::input);
    if (role == Role::scratch || role == Role::output) space.mark_written(memory_[i]->address(), bytes, false);
  }
  if (machine_->segments > kManySegments || machine_->read_sets > kManySegments) {
    space.forget_accesses();
    machine_->segments = machine_->read_sets = 0;
    machine_->settle();
  }
}

/// Of a buffer that comes in pieces a launch has the one it names; the rest is as if nobody had written it.
void EmulatorExecution::show_piece(const Launch& launch) {
  emulator::AddressSpace& space = machine_->space;
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.piece_bytes <= 0) continue;
    const std::int64_t first = std::min(buffer.bytes, launch.piece * buffer.piece_bytes);
    const std::int64_t count = std::min(buffer.bytes - first, buffer.piece_bytes);
    space.mark_written(memory_[i]->address(), static_cast<std::size_t>(buffer.bytes), false);
    space.mark_written(memory_[i]->address() + first, static_cast<std::size_t>(count), true);
  }
}

void EmulatorExecution::launch() {
  begin_run();
  for (const auto& [buffer, variable] : constants_) {  // other executions use the same code
    std::memcpy(variable.data(), memory_[buffer]->address(), static_cast<std::size_t>(plan_.buffers[buffer].bytes));
  }
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    const Launch& shape = plan_.launches[i];
    if (!shape.routine.empty()) {
      call(i);
      continue;
    }
    show_piece(shape);
    const emulator::GridLaunch launch{
        .kernel = functions_.kernels[static_cast<std::size_t>(shape.kernel)],
        .arguments = arguments_[i].places().data(),
        .shape = &shape,
        .describe = [this](const void* address) { return describe(address); },
        .constant =
            [this](const void* address) {
              const auto at = reinterpret_cast<std::uintptr_t>(address);
              return std::any_of(functions_.loaded.begin(), functions_.loaded.end(),
                                 [at](const emulator::LoadedCode& code) { return at >= code.begin && at < code.end; });
            }};
    const auto finding = emulator::Grid(*machine_, launch, seed_of_launch(seed_, i)).run();
    if (finding) {
      machine_->settle();
      throw DeviceFailure(finding->status, text(*finding, plan_.kernels[static_cast<std::size_t>(shape.kernel)].text(),
                                                i, functions_.loaded));
    }
  }
}

namespace {

/// The argument that the caller gives in place of one of the plan. A buffer stays that of the plan.
struct GivenArgument {
  const void* value;
  Argument operator()(const BufferArgument& buffer) const { return buffer; }
  template <class Number>
  Argument operator()(Number number) const {
    std::memcpy(&number, value, sizeof number);
    return number;
  }
  Argument operator()(StructArgument given) const {
    std::memcpy(given.bytes.data(), value, given.bytes.size());
    return given;
  }
};

/// A range of the caller's memory that buffers of a plan stand for.
struct CallersRange {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
  std::vector<std::size_t> buffers;
  bool written = false;
};

void add_range(std::vector<CallersRange>& ranges, const Plan& plan, std::size_t buffer, std::byte* begin) {
  const Buffer& what = plan.buffers[buffer];
  if (begin == nullptr && what.bytes > 0) {
    throw Error(ErrorKind::usage, fmt::format("emulator: the address of buffer '{}' is null", what.name));
  }
  auto range = std::find_if(ranges.begin(), ranges.end(), [&](const CallersRange& r) { return r.begin == begin; });
  if (range == ranges.end()) {
    range = ranges.insert(ranges.end(), {.begin = begin, .bytes = 0, .buffers = {}, .written = false});
  }
  if (std::find(range->buffers.begin(), range->buffers.end(), buffer) == range->buffers.end()) {
    range->buffers.push_back(buffer);
  }
  range->bytes = std::max(range->bytes, what.bytes);
  range->written = range->written || what.role != Role::input;
}

void require_apart(std::vector<CallersRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CallersRange& a, const CallersRange& b) { return std::less<>()(a.begin, b.begin); });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].bytes > 0 && ranges[i].begin - ranges[i - 1].begin < ranges[i - 1].bytes) {
      throw Error(ErrorKind::usage, "emulator: two buffers of the caller overlap without being the same");
    }
  }
}

}  // namespace

EmulatorLoadedKernel::EmulatorLoadedKernel(EmulatorState& state, const emulator::Capability& capability,
                                           std::uint64_t seed, Plan plan, std::shared_ptr<const Binary> binary)
    : state_(state),
      capability_(capability),
      seed_(seed),
      plan_(std::move(plan)),
      binary_(std::move(binary)),
      functions_(load_functions(state_.codes, capability_, plan_, binary_.get())) {}

void EmulatorLoadedKernel::launch(void* const* values, std::optional<Stream>) const {
  Plan plan = plan_;
  std::vector<CallersRange> ranges;
  std::vector<Argument>& arguments = plan.launches.front().arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const auto* const buffer = std::get_if<BufferArgument>(&arguments[i])) {
      std::byte* begin = nullptr;
      std::memcpy(&begin, values[i], sizeof begin);
      add_range(ranges, plan, static_cast<std::size_t>(buffer->buffer), begin);
    }
    arguments[i] = std::visit(GivenArgument{values[i]}, plan_.launches.front().arguments[i]);
  }
  for (const CallConstant& constant : call_constants(plan_)) {
    std::byte* begin = nullptr;
    std::memcpy(&begin, values[constant.value], sizeof begin);
    add_range(ranges, plan, constant.buffer, begin);
  }
  require_apart(ranges);

  const std::lock_guard lock(state_.launching);
  Bindings bindings;
  for (const CallersRange& range : ranges) {
    const auto copy = std::make_shared<EmulatorMemory>(state_.machine, range.bytes);
    copy->write({range.begin, static_cast<std::size_t>(range.bytes)});
    for (const std::size_t buffer : range.buffers) {
      bindings[plan.buffers[buffer].name] = copy;
      // A buffer that is written in place is neither only read nor without contents.
      if (range.buffers.size() > 1 && range.written) plan.buffers[buffer].role = Role::state;
    }
  }
  const std::vector<Buffer> buffers = plan.buffers;
  EmulatorExecution execution(state_.machine, state_.codes, capability_, seed_, std::move(plan), binary_, bindings);
  execution.launch();
  for (const CallersRange& range : ranges) {
    if (!range.written) continue;
    const auto bytes = static_cast<std::size_t>(range.bytes);
    bindings.at(buffers[range.buffers.front()].name)->read({range.begin, bytes});
    emulator::AddressSpace& space = state_.machine->space;
    if (space.contains(range.begin)) space.mark_written(range.begin, bytes, true);  // memory of this device
  }
}

/// Routines are not watched: those of the CPU, on the memory of the emulator.
void EmulatorExecution::call(std::size_t launch) {
  const std::vector<Argument>& arguments = plan_.launches[launch].arguments;
  std::vector<void*> places = arguments_[launch].places();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const auto* buffer = std::get_if<BufferArgument>(&arguments[i])) places[i] = address_of(*buffer);
  }
  cpu_routine(plan_.launches[launch].routine)(places.data());
  for (const Argument& argument : arguments) {
    const auto* const buffer = std::get_if<BufferArgument>(&argument);
    if (buffer == nullptr) continue;
    const Buffer& what = plan_.buffers[static_cast<std::size_t>(buffer->buffer)];
    if (what.role == Role::input) continue;
    machine_->space.mark_written(memory_[static_cast<std::size_t>(buffer->buffer)]->address(),
                                 static_cast<std::size_t>(what.bytes), true);
  }
  machine_->settle();
}

double EmulatorExecution::time() {
  const auto start = std::chrono::steady_clock::now();
  launch();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void EmulatorExecution::save() { snapshot_.save(plan_, memory_); }

void EmulatorExecution::restore() { snapshot_.restore(memory_); }

std::string EmulatorExecution::describe(const void* address) const {
  // The buffer that begins last at or below the address, or the first above it.
  const std::byte* const byte = static_cast<const std::byte*>(address);
  std::size_t nearest = memory_.size();
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (memory_[i]->address() > byte) continue;
    if (nearest == memory_.size() || memory_[i]->address() > memory_[nearest]->address()) nearest = i;
  }
  if (nearest == memory_.size()) return "before every buffer";
  const std::int64_t offset = byte - memory_[nearest]->address();
  const Buffer& buffer = plan_.buffers[nearest];
  if (offset >= buffer.bytes)
    return fmt::format("byte {} of buffer '{}', which has {}", offset, buffer.name, buffer.bytes);
  return fmt::format("word {} of buffer '{}'", offset / 4, buffer.name);
}

}  // namespace heddle
