#include "heddle/runtime/device/argument_values.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "runtime/device/argument_kernel.hpp"
#include "runtime/device/compiling_cpu.hpp"
#include "runtime/device/environment_variable.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

TEST_CASE("arguments lie in memory as their types ask for, and stay there") {
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  Line line{};
  for (int i = 0; i < 64; ++i) line.bytes[i] = static_cast<unsigned char>(i);
  const unsigned char small = 7;
  std::vector<Argument> arguments;
  for (int i = 0; i < 3; ++i) {
    arguments.insert(arguments.end(), {StructArgument(small), 2.5, StructArgument(small), std::int32_t{-3},
                                       StructArgument(line), 1.5F, BufferArgument{0, 0}, std::uint64_t{1} << 63U});
  }
  ArgumentValues values(arguments);
  values.set_address(6, 0x123456789abcdef0U);
  void* const before = values.places().front();
  ArgumentValues moved = std::move(values);
  const std::vector<void*>& places = moved.places();
  REQUIRE(places.size() == arguments.size());
  CHECK(places.front() == before);
  for (std::size_t i = 0; i < places.size(); i += 8) {
    CHECK(*static_cast<unsigned char*>(places[i]) == 7);
    CHECK(*static_cast<double*>(places[i + 1]) == 2.5);
    CHECK(*static_cast<std::int32_t*>(places[i + 3]) == -3);
    CHECK(test::same_bits(*static_cast<Line*>(places[i + 4]), line));
    CHECK(*static_cast<float*>(places[i + 5]) == 1.5F);
    CHECK(*static_cast<std::uint64_t*>(places[i + 6]) == (i == 0 ? 0x123456789abcdef0U : 0U));
    CHECK(*static_cast<std::uint64_t*>(places[i + 7]) == std::uint64_t{1} << 63U);
    CHECK(reinterpret_cast<std::uintptr_t>(places[i + 1]) % alignof(double) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(places[i + 4]) % alignof(Line) == 0);
  }
  CHECK(ArgumentValues(std::vector<Argument>{}).places().empty());
}

TEST_CASE("a struct without bytes, or with an alignment that no type has, is no argument") {
  const std::vector<std::byte> bytes(4);
  CHECK_THROWS_AS(ArgumentValues({StructArgument({}, 4)}), std::invalid_argument);
  CHECK_THROWS_AS(ArgumentValues({StructArgument(bytes, 0)}), std::invalid_argument);
  CHECK_THROWS_AS(ArgumentValues({StructArgument(bytes, 3)}), std::invalid_argument);
}

TEST_CASE("cpu: a kernel gets arguments of every kind, bit for bit") {
  const test::CompilingCpu cpu;
  Device* const device = cpu.device_or_skip();
  if (device == nullptr) return;
  test::check_arguments(*device);
}

TEST_CASE("emulator: a kernel gets arguments of every kind, bit for bit") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  test::check_arguments(*open_emulator({}));
}

TEST_CASE("emulator: an argument of another type than the kernel's is refused") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const auto device = open_emulator({});
  const auto binary = compile_one(*device, {&test::argument_source("emulator"), {"given::take"}}).binary;
  const auto refusal = [&](std::size_t argument, const Argument& value) -> std::string {
    Plan plan = test::argument_plan({}, 0);
    plan.launches.front().arguments[argument] = value;
    try {
      static_cast<void>(device->prepare(std::move(plan), binary));
    } catch (const DeviceFailure& failure) {
      CHECK(failure.status() == Status::launch);
      return failure.what();
    }
    return {};
  };
  CHECK(refusal(1, 1.0).empty());
  CHECK(refusal(0, StructArgument(test::Odd{})).empty());
  CHECK(refusal(1, 1.0F).find("(<3/1>di<32/8>pulf<32/16>m), a launch gives 10 (<3/1>fi<32/8>pulf<32/16>m)") !=
        std::string::npos);
  CHECK_FALSE(refusal(2, std::uint32_t{1}).empty());
  CHECK_FALSE(refusal(2, std::int64_t{1}).empty());
  CHECK_FALSE(refusal(6, std::int32_t{1}).empty());
  CHECK_FALSE(refusal(9, std::int64_t{1}).empty());
  CHECK_FALSE(refusal(4, std::uint64_t{1}).empty());
  CHECK_FALSE(refusal(3, StructArgument(test::Odd{})).empty());
  CHECK_FALSE(refusal(8, StructArgument(std::vector<std::byte>(32), 4)).empty());
}

}  // namespace
}  // namespace heddle
