// Calls that are captured into a file, tuned from it, and made again with the profiles that were found.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "described/described_kernel.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/own/capture_file.hpp"
#include "heddle/kernels/own/example.hpp"
#include "heddle/runtime/kernel/tuned_kernel.hpp"
#include "placed.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

struct Line {
  float slope;
  signed char sign;
  double offset;
  int count;
};

/// y = sign (slope x + offset) for `count` numbers, and what y was is added.
KernelDefinition line_kernel() {
  KernelDefinition kernel;
  kernel.name = "tests/line";
  kernel.axes = {{.name = "n"}};
  kernel.code["cuda"] = {.text = R"(
struct Line { float slope; signed char sign; double offset; int count; };
template <int Block>
__global__ void line(Line to, const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x) * Block + static_cast<int>(threadIdx.x);
  if (i < to.count) y[i] += static_cast<float>(to.sign) * (to.slope * x[i] + static_cast<float>(to.offset));
}
)",
                         .kernel = "line<{block}>",
                         .grid = {"ceil_div(n, block)"},
                         .block = {"block"}};
  kernel.parameters = {{.name = "block", .values = {Value(std::int64_t{32}), Value(std::int64_t{64})}}};
  kernel.arguments = {{.name = "to",
                       .fields = {{.name = "slope", .value = "2"},
                                  {.name = "sign", .type = ElementType::int8, .value = "-1"},
                                  {.name = "offset", .type = ElementType::float64, .value = "0.5"},
                                  {.name = "count", .type = ElementType::int32, .value = "n"}}},
                      {.name = "x", .elements = "n"},
                      {.name = "y", .elements = "n", .role = Role::state}};
  return kernel;
}

using LineKernel = TunedKernel<Line, const float*, float*>;

/// A program's call: its device, its memory, its numbers.
struct Call {
  explicit Call(std::int64_t size = 50) : n(size), x(static_cast<std::size_t>(size)), y(x.size(), 1.0F) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    to.count = static_cast<int>(n);
  }
  [[nodiscard]] Problem problem() const { return Problem::from(family.axes(), {n}); }

  FamilyRegistry families = builtin_families();
  const DefinedFamily& family = dynamic_cast<const DefinedFamily&>(families.add(describe(line_kernel())));
  std::unique_ptr<Device> device = open_device("emulator");
  std::int64_t n;
  std::vector<float> x, y;
  Line to{.slope = 3.0F, .sign = 1, .offset = 0.25, .count = 0};
};

void capture(const Call& call, const std::filesystem::path& file) {
  const LineKernel kernel(*call.device, call.family, {}, {.wait = true});
  kernel.capture(call.problem(), {}, file, call.to, std::span<const float>(call.x),
                 std::span<float>(const_cast<float*>(call.y.data()), call.y.size()));
}

std::string refusal(const std::filesystem::path& file) {
  try {
    static_cast<void>(read_capture(file));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a struct is laid out as C++ does, and a call passes its own") {
  const Call call;
  const Plan plan = call.family.plan(call.family.default_configuration(call.device->identity(), call.problem()),
                                     call.problem(), call.device->identity(), 1);
  const auto& made = std::get<StructArgument>(plan.launches.front().arguments.front());
  REQUIRE(made.bytes.size() == sizeof(Line));
  CHECK(made.alignment == alignof(Line));
  Line line{};
  std::memcpy(&line, made.bytes.data(), sizeof line);
  CHECK(line.slope == 2.0F);
  CHECK(line.sign == -1);
  CHECK(line.offset == 0.5);
  CHECK(line.count == 50);

  const LineKernel kernel(*call.device, call.family, {}, {.wait = true});
  std::vector<float> y = call.y;
  kernel(call.problem(), call.to, call.x.data(), y.data());
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 1.0F + 3.0F * call.x[i] + 0.25F);
}

TEST_CASE("a captured call is tuned elsewhere, with its numbers and contents, and the program uses what was found") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "call";
  const Call call;
  capture(call, file);
  REQUIRE(is_capture(file));
  const KernelCapture read = read_capture(file);
  CHECK(read.problem == call.problem());
  CHECK(std::memcmp(read.contents.at("x").data(), call.x.data(), 4 * call.x.size()) == 0);
  CHECK(std::memcmp(read.contents.at("y").data(), call.y.data(), 4 * call.y.size()) == 0);

  // Elsewhere: the file alone is known.
  const TemporaryFolder examples;
  FamilyRegistry families = builtin_families();
  const auto& family = dynamic_cast<const DefinedFamily&>(families.add(
      describe(read.kernel, {.folder = examples.path().string(), .calls = {{read.problem.text(), read.numbers}}})));
  save_example(examples.path().string(), read.problem, family.buffers(read.problem), read.contents);
  const DeviceIdentity identity = call.device->identity();
  CHECK(kernel_version(family, identity) == kernel_version(call.family, identity));
  CHECK_FALSE(family.has_workload(Problem::from(family.axes(), {97})));
  const Trial trial = family.trial(family.default_configuration(identity, read.problem), read.problem, identity, 1, 1);
  Line passed{};
  std::memcpy(&passed, std::get<StructArgument>(trial.plan.launches.front().arguments.front()).bytes.data(),
              sizeof passed);
  CHECK(passed.slope == 3.0F);
  CHECK(passed.offset == 0.25);
  CHECK(trial.initial->at("x") == read.contents.at("x"));

  ProfileStore store(":memory:", ProfileStore::Access::read_write, families);
  Worker process({.command = {test::worker_program()}, .device = "emulator", .families = families.descriptions()});
  IsolatedEvaluator evaluator(process, family, 1);
  StopCondition stop({.seconds = {}, .evaluations = 2});
  const auto results = Tuner(evaluator, store, {}).tune({read.problem}, stop);
  REQUIRE(results.size() == 1);
  REQUIRE(results.front().profile);

  // In the program again.
  const LineKernel kernel(*call.device, call.family, store.knowledge(), {.wait = true});
  std::vector<float> y = call.y;
  kernel(call.problem(), call.to, call.x.data(), y.data());
  CHECK(y[7] == 1.0F + 3.0F * 7.0F + 0.25F);
  const KernelExplanation why = kernel.explain(call.problem());
  REQUIRE(why.running);
  CHECK(why.running->tier == Tier::exact);
  CHECK(why.running->configuration.text() == results.front().profile->configuration);
}

TEST_CASE("constant memory of a called kernel is filled by each call, and captured") {
  KernelDefinition definition;
  definition.name = "tests/weighted";
  definition.axes = {{.name = "n", .maximum = 1 << 20}};
  definition.code["cuda"] = {.text = R"(
namespace tests { __constant__ float weights[3]; }
__constant__ float offset[1];
template <int Block>
__global__ void weighted(const float* x, const float* shift, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x) * Block + static_cast<int>(threadIdx.x);
  if (i < n) y[i] = tests::weights[i % 3] * x[i] + offset[0] + shift[0];
}
)",
                             .kernel = "weighted<{block}>",
                             .grid = {"ceil_div(n, block)"},
                             .block = {"block"}};
  definition.parameters = {{.name = "block", .values = {Value(std::int64_t{32}), Value(std::int64_t{64})}}};
  // In the middle, so that the order of a call differs from that of the definition.
  definition.arguments = {{.name = "x", .elements = "n"},
                          {.name = "weights", .elements = "3", .symbol = "tests::weights", .passed = false},
                          {.name = "shift", .elements = "1", .symbol = "offset"},
                          {.name = "y", .elements = "n", .role = Role::output},
                          {.name = "n", .type = ElementType::int32, .value = "n"}};
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(definition));
  const auto device = open_device("emulator");
  using Weighted = TunedKernel<const float*, const float*, float*, std::int32_t, const float*>;
  const Weighted kernel(*device, family, {}, {.wait = true});
  const Problem problem = Problem::from(family.axes(), {50});
  std::vector<float> x(50), y(50);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const float factor : {1.0F, 5.0F}) {  // another call, other contents
    const std::vector<float> weights{factor, 2.0F * factor, 4.0F * factor}, shift{0.25F * factor};
    kernel(problem, x.data(), shift.data(), y.data(), 50, weights.data());
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == weights[i % 3] * x[i] + 2.0F * shift[0]);
  }
  CHECK_THROWS_WITH_AS((TunedKernel<const float*, const float*, float*, std::int32_t>(*device, family, {})),
                       doctest::Contains("takes 5 arguments with constant memory, the program passes 4"), Error);
  CHECK_THROWS_WITH_AS((TunedKernel<const float*, const float*, float*, std::int32_t, float>(*device, family, {})),
                       doctest::Contains("argument 5 is the contents of constant memory, 'weights'"), Error);

  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "call";
  const std::vector<float> weights{1.0F, 2.0F, 3.0F}, shift{0.5F};
  kernel.capture(problem, {}, file, std::span<const float>(x), std::span<const float>(shift), std::span<float>(y), 50,
                 std::span<const float>(weights));
  const KernelCapture read = read_capture(file);
  CHECK(std::ranges::equal(read.contents.at("weights"), std::as_bytes(std::span(weights))));
  CHECK(std::ranges::equal(read.contents.at("shift"), std::as_bytes(std::span(shift))));
  CHECK(read.contents.at("x").size() == 200);
  CHECK(read.numbers.size() == 1);
  CHECK(family_name(read.kernel) == family.name());
}

TEST_CASE("a kernel with a condition of the program is not captured") {
  KernelDefinition definition = line_kernel();
  definition.conditions = {{"any", [](const Configuration&) { return true; }}};
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(definition));
  const Call call;
  const LineKernel kernel(*call.device, family, {}, {.wait = true});
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(kernel.capture(call.problem(), {}, folder.path() / "call", call.to, call.x.data(),
                                      const_cast<float*>(call.y.data())),
                       doctest::Contains("its condition 'any' is a function of this program"), Error);
}

TEST_CASE("a call is captured only if the lengths of its buffers are known and long enough") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "call";
  const Call call;
  const LineKernel kernel(*call.device, call.family, {}, {.wait = true});
  auto* const y = const_cast<float*>(call.y.data());
  const auto refusal_of = [](const auto& capturing) -> std::string {
    try {
      capturing();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.what();
    }
    return "captured";
  };
  CHECK(refusal_of([&] { kernel.capture(call.problem(), {}, file, call.to, call.x.data(), y); }) ==
        std::string(call.family.name()) +
            ": the length of 'x' cannot be known on emulator; a std::span in place of the pointer says it");
  CHECK(refusal_of([&] {
          kernel.capture(call.problem(), {}, file, call.to, std::span<const float>(call.x.data(), 49),
                         std::span<float>(y, 50));
        }) == std::string(call.family.name()) + " at n=50: 'x' has 196 bytes, expected 200");
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("damaged captures are refused in one line") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "call", bad = folder.path() / "bad";
  capture(Call(), file);
  const std::string good = *file_bytes(file);
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(bad, std::ios::binary) << bytes;
    std::string why = refusal(bad);
    CHECK(why.find('\n') == std::string::npos);
    return why.substr(std::min(why.size(), bad.string().size() + 2));
  };
  CHECK(refused(good) == refused(good));
  CHECK(refusal(bad) == "accepted");
  CHECK(refused("") == "is no capture of a kernel's call");
  CHECK(refused(good.substr(0, 20)) == "is cut off, or no capture");
  CHECK(refused(good.substr(0, 200)) == "is cut off, or no capture");
  CHECK(refused(good.substr(0, good.size() - 1)) == "is damaged: it has 399 bytes of contents, expected 400");
  CHECK(refused(good + "x") == "is damaged: it has 401 bytes of contents, expected 400");
  std::string changed = good;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  CHECK(refused(changed) == "is damaged: the contents of 'y' do not have their digest");
  changed = good;
  changed[200] = static_cast<char>(changed[200] ^ 1);
  CHECK(refused(changed) == "is damaged: its header does not have the digest that its first line says");
  changed = good;
  changed[15] = '7';
  CHECK(refused(changed) == "is a capture of version '7', expected 1");
  // Every cut and many flips: refused, and never more than that.
  for (std::size_t at = 0; at < good.size(); at += 13) {
    CHECK(refused(good.substr(0, at)) != "accepted");
    changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    CHECK(refusal((refused(changed), bad)) != "accepted");
  }
}

TEST_CASE("a capture names no files, whoever wrote it") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "call";
  KernelCapture made{
      .kernel = line_kernel(), .problem = Problem::parse("n=1", line_kernel().axes), .numbers = {}, .contents = {}};
  KernelCode& code = made.kernel.code.at("cuda");
  for (const char* const name : {"../outside.h", "/tmp/outside.h", "a/../../b.h"}) {
    code.headers = {{name, "int x;"}};
    write_capture(file, made);
    CHECK(refusal(file).find("leaves its folder") != std::string::npos);
  }
  code.headers.clear();
  code.options.extra = {"--pre-include=/etc/passwd"};
  write_capture(file, made);
  CHECK(refusal(file).find("--allow-outside") != std::string::npos);
  CHECK(read_capture(file, true).kernel.code.at("cuda").options.extra.size() == 1);
  code.options.extra.clear();
  made.kernel.folder = "/etc";
  made.kernel.allow_outside = true;
  write_capture(file, made);
  CHECK(read_capture(file).kernel.folder.empty());
  CHECK_FALSE(read_capture(file).kernel.allow_outside);
}

}  // namespace heddle
