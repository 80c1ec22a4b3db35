#include "heddle/runtime/fuzzy/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/given_table.hpp"
#include "heddle/runtime/device/caller_memory.hpp"
#include "heddle/runtime/device/device_failure.hpp"

namespace heddle::fuzzy {

namespace {

constexpr std::int64_t kBlock = 256, kBlocksPerUnit = 8;  // as many threads as a multiprocessor has

std::string_view real_of(std::int64_t bits) { return bits == 32 ? "float" : "double"; }

}  // namespace

Intake::Intake(Device& device) : device_(device), source_("heddle/kernels/fuzzy/cuda/intake.cuh", compile_options()) {}

void Intake::copy(const GivenNumbers& from, Memory& to, Places places) {
  const ByteSpan span = span_of(from);
  const auto* lowest = static_cast<const std::byte*>(from.address) - span.start;
  GivenTable table{.start = span.start,
                   .rows = from.rows,
                   .columns = from.columns,
                   .row_stride = from.row_stride,
                   .column_stride = from.column_stride};
  void* target = to.pointer();
  auto components = static_cast<std::int32_t>(places.components), first = static_cast<std::int32_t>(places.first),
       step = static_cast<std::int32_t>(places.step);
  const std::array<void*, 6> values{&lowest, &table, &target, &components, &first, &step};
  launch(fmt::format("heddle::fuzzy::gather<{}, {}>", real_of(from.bits), kBlock), from.count(),
         {{.name = "from", .bytes = span.bytes, .role = Role::input},
          {.name = "to", .bytes = to.bytes(), .role = Role::state}},
         {BufferArgument{.buffer = 0}, StructArgument(table), BufferArgument{.buffer = 1}, components, first, step},
         values.data(), from.stream);
  const auto* const memory = dynamic_cast<const CallerMemory*>(&device_);
  std::array<std::byte, 1> byte{};
  if (memory != nullptr) memory->read_at(target, byte, from.stream);  // which waits for the stream
}

std::optional<std::int64_t> Intake::first_fault(const ArrayShape& shape, Memory& array) {
  return first_fault(shape.encoding == Encoding::lower_upper ? "BoundsRule" : "RadiiRule", shape.bits, shape.numbers,
                     shape.components(), array);
}

std::optional<std::int64_t> Intake::first_infinite(std::int64_t count, std::int64_t bits, Memory& reals) {
  return first_fault("FiniteRule", bits, count, 1, reals);
}

std::optional<std::int64_t> Intake::first_fault(const std::string& rule, std::int64_t bits, std::int64_t rows,
                                                std::int64_t components, Memory& array) {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  const auto first = device_.allocate(sizeof kNone);
  first->fill(std::byte{0xff});
  void *from = array.pointer(), *found = first->pointer();
  auto width = static_cast<std::int32_t>(components);
  const std::array<void*, 4> values{&from, &rows, &width, &found};
  launch(fmt::format("heddle::fuzzy::find_fault<heddle::fuzzy::{}, {}, {}>", rule, real_of(bits), kBlock), rows,
         {{.name = "rows", .bytes = array.bytes(), .role = Role::input},
          {.name = "first", .bytes = first->bytes(), .role = Role::state}},
         {BufferArgument{.buffer = 0}, rows, width, BufferArgument{.buffer = 1}}, values.data(), std::nullopt);
  std::uint64_t position = kNone;
  first->read(std::as_writable_bytes(std::span(&position, 1)));
  return position == kNone ? std::nullopt : std::optional(static_cast<std::int64_t>(position));
}

void Intake::launch(const std::string& kernel, std::int64_t threads, std::vector<Buffer> buffers,
                    std::vector<Argument> arguments, void* const* values, std::optional<Stream> stream) {
  if (device_.identity().backend == "cpu") {
    throw Error(ErrorKind::usage, fmt::format("fuzzy arrays: {} has no memory but the host's", device_.label()));
  }
  const Kernels kernels{KernelInstance(kernel)};
  std::shared_ptr<const Binary>& binary = compiled_[kernel];
  if (!binary) {
    const CompileOutcome outcome = compile_one(device_, {.source = &source_, .kernels = kernels});
    if (!outcome.binary) throw DeviceFailure(Status::compilation, first_complaint(outcome.log));
    binary = outcome.binary;
  }
  Plan plan;
  plan.kernels = kernels;
  plan.buffers = std::move(buffers);
  Launch launch;
  launch.grid.x = static_cast<unsigned>(
      std::clamp<std::int64_t>((threads + kBlock - 1) / kBlock, 1, device_.identity().units * kBlocksPerUnit));
  launch.block.x = static_cast<unsigned>(kBlock);
  launch.arguments = std::move(arguments);
  plan.launches.push_back(std::move(launch));
  plan.samples = 1;
  device_.load(plan, binary)->launch(values, stream);
}

}  // namespace heddle::fuzzy
