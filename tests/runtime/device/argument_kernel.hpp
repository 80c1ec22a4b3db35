// A kernel that takes an argument of every kind, for the devices that are tested with it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/device.hpp"

namespace heddle::test {

/// Three bytes; a struct with a hole; one that is aligned like a vector of four floats.
struct Odd {
  unsigned char bytes[3];
};
struct Mixed {
  double first;
  std::int32_t second;
  float third;
  std::int64_t fourth;
  unsigned char fifth;
};
struct alignas(16) Wide {
  float values[8];
};

/// All of them, where a kernel writes what it was given.
struct Given {
  std::int32_t i;
  std::uint32_t u;
  std::int64_t l;
  std::uint64_t m;
  float f;
  double d;
  Odd odd;
  Mixed mixed;
  Wide wide;
};

inline const TemplateSource& argument_source(const std::string& backend) {
  constexpr const char* kStructs = R"(
namespace given {
using int64 = long long;
struct Odd { unsigned char bytes[3]; };
struct Mixed { double first; int second; float third; int64 fourth; unsigned char fifth; };
struct alignas(16) Wide { float values[8]; };
struct Given { int i; unsigned u; int64 l; unsigned long long m; float f; double d; Odd odd; Mixed mixed; Wide wide; };
}
)";
  static const TemplateSource on_cpu(std::vector<SourceFile>{{"test/arguments.hpp", R"(
#include "test/structs.hpp"
namespace heddle::cpu {
struct LaunchContext { int thread; int threads; };
}
namespace given {
template <class T>
const T& at(const void* argument) { return *static_cast<const T*>(argument); }
void take(const heddle::cpu::LaunchContext&, void* const* a) {
  Given& out = *static_cast<Given*>(a[4]);
  out.odd = at<Odd>(a[0]);
  out.d = at<double>(a[1]);
  out.i = at<int>(a[2]);
  out.mixed = at<Mixed>(a[3]);
  out.u = at<unsigned>(a[5]);
  out.l = at<int64>(a[6]);
  out.f = at<float>(a[7]);
  out.wide = at<Wide>(a[8]);
  out.m = at<unsigned long long>(a[9]);
}
}
)"},
                                                             {"test/structs.hpp", kStructs}});
  static const TemplateSource on_gpu(std::vector<SourceFile>{{"test/arguments.cuh", R"(
#include "test/structs.hpp"
namespace given {
__global__ void take(Odd odd, double d, int i, Mixed mixed, Given* out, unsigned u, int64 l, float f, Wide wide,
                     unsigned long long m) {
  for (int byte = 0; byte < 3; ++byte) out->odd.bytes[byte] = odd.bytes[byte];
  out->d = d;
  out->i = i;
  out->mixed.first = mixed.first;
  out->mixed.second = mixed.second;
  out->mixed.third = mixed.third;
  out->mixed.fourth = mixed.fourth;
  out->mixed.fifth = mixed.fifth;
  out->u = u;
  out->l = l;
  out->f = f;
  for (int k = 0; k < 8; ++k) out->wide.values[k] = wide.values[k];
  out->m = m;
}
}
)"},
                                                             {"test/structs.hpp", kStructs}});
  return backend == "cpu" ? on_cpu : on_gpu;
}

/// `offset`: of the buffer to write to.
inline Plan argument_plan(const Given& given, std::int64_t offset) {
  Plan plan;
  plan.kernels = {"given::take"};
  plan.buffers = {{"out", static_cast<std::int64_t>(sizeof(Given)) + offset, Role::output}};
  plan.launches = {
      {.kernel = 0,
       .grid = {},
       .block = {},
       .arguments = {StructArgument(given.odd), given.d, given.i, StructArgument(given.mixed),
                     BufferArgument{0, offset}, given.u, given.l, given.f, StructArgument(given.wide), given.m}}};
  plan.samples = 1;
  return plan;
}

/// Random bits, but no float that is no number, which would not equal itself.
inline Given any_given(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1e30, 1e30);
  const auto real = [&] { return static_cast<float>(uniform(random)); };
  Given given{};
  given.i = static_cast<std::int32_t>(random());
  given.u = static_cast<std::uint32_t>(random());
  given.l = static_cast<std::int64_t>(random());
  given.m = random();
  given.f = real();
  given.d = uniform(random);
  for (unsigned char& byte : given.odd.bytes) byte = static_cast<unsigned char>(random());
  given.mixed = {uniform(random), static_cast<std::int32_t>(random()), real(), static_cast<std::int64_t>(random()),
                 static_cast<unsigned char>(random())};
  for (float& value : given.wide.values) value = real();
  return given;
}

inline Given extreme_given() {
  Given given{};
  given.i = std::numeric_limits<std::int32_t>::min();
  given.u = std::numeric_limits<std::uint32_t>::max();
  given.l = std::numeric_limits<std::int64_t>::min();
  given.m = std::numeric_limits<std::uint64_t>::max();
  given.f = std::numeric_limits<float>::denorm_min();
  given.d = -0.0;
  given.odd = {{255, 0, 128}};
  given.mixed = {std::numeric_limits<double>::denorm_min(), -1, -0.0F, std::numeric_limits<std::int64_t>::max(), 255};
  given.wide = {{std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}};
  return given;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::ranges::equal(std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&b, 1)));
}

/// A launch passes every argument bit for bit.
inline void check_arguments(Device& device) {
  std::mt19937_64 random(3);
  std::vector<Given> all{extreme_given()};
  all.reserve(8);
  while (all.size() < 8) all.push_back(any_given(random));
  const auto binary = compile_one(device, {&argument_source(device.identity().backend), {"given::take"}}).binary;
  for (const Given& given : all) {
    for (const std::int64_t offset : {0, 64}) {
      for (const bool captured : {false, true}) {
        Plan plan = argument_plan(given, offset);
        plan.captured = captured;
        const auto execution = device.prepare(std::move(plan), binary);
        execution->memory("out").fill(std::byte{0xcc});
        execution->launch();
        execution->synchronize();
        Given got{};
        execution->memory("out").read(std::as_writable_bytes(std::span(&got, 1)), offset);
        CHECK(got.i == given.i);
        CHECK(got.u == given.u);
        CHECK(got.l == given.l);
        CHECK(got.m == given.m);
        CHECK(same_bits(got.f, given.f));
        CHECK(same_bits(got.d, given.d));
        CHECK(same_bits(got.odd, given.odd));
        CHECK(same_bits(got.mixed.first, given.mixed.first));
        CHECK(got.mixed.second == given.mixed.second);
        CHECK(same_bits(got.mixed.third, given.mixed.third));
        CHECK(got.mixed.fourth == given.mixed.fourth);
        CHECK(got.mixed.fifth == given.mixed.fifth);
        CHECK(same_bits(got.wide, given.wide));
        CHECK_FALSE(execution->overrun().has_value());
      }
    }
  }
}

}  // namespace heddle::test
