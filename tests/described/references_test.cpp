// Wrong kernels, and what finds them: a reference kernel, a configuration, a file, a function of the host. On a device
// whose label is in HEDDLE_TEST_DEVICE (by default the emulated one).
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "described/described_kernel.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/tune_kernel.hpp"
#include "heddle/tuner/verifier.hpp"
#include "placed.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

/// y = factor x. The default multiplies by 2, and so do the other values of `fault` but for the last.
constexpr const char* kFaulty = R"(
namespace tests {
__constant__ float factor[3];
}
extern "C" __global__ void twice(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#if fault == 2
  if (i < n) y[i] = 2.001f * x[i];
#else
  if (i < n) y[i] = 2.0f * x[i];
#endif
}
extern "C" __global__ void thrice(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 3.0f * x[i];
}
extern "C" __global__ void idle(const float* x, float* y, int n) {}
extern "C" __global__ void swapped(float* y, const float* x) { y[blockIdx.x] = 2.0f * x[blockIdx.x]; }
extern "C" __global__ void by_constant(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = tests::factor[i % 3] * x[i];
}
)";

std::string faulty_device() {
  const char* const label = std::getenv("HEDDLE_TEST_DEVICE");
  return label == nullptr ? "emulator" : label;
}

KernelDefinition faulty() {
  KernelDefinition kernel;
  kernel.name = "tests/faulty";
  kernel.axes = {{.name = "n", .maximum = 1 << 20}};
  kernel.parameters = {{.name = "fault", .values = {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}}}};
  kernel.code["cuda"] = {.text = kFaulty, .kernel = "twice", .grid = {"ceil_div(n, 32)"}, .block = {"32"}};
  kernel.arguments = {{.name = "x", .elements = "n"},
                      {.name = "y", .elements = "n", .role = Role::output},
                      {.name = "n", .type = ElementType::int32, .value = "n"}};
  kernel.problems = {Problem({{.name = "n", .value = 50}})};
  return kernel;
}

/// The verdict on each value of `fault`.
std::vector<Verdict> verdicts(const KernelDefinition& definition) {
  const test::DescribedKernel kernel(definition);
  const auto device = open_device(faulty_device());
  Verifier verifier(*device, kernel.family, 1);
  std::vector<Verdict> all;
  for (const Configuration& configuration :
       kernel.family.space(device->identity()).enumerate(kernel.problems.front())) {
    all.push_back(verifier.verify(configuration, kernel.problems.front(), VerificationExtent::all));
  }
  return all;
}

void check_all(const KernelDefinition& kernel, Status status, const std::string& words) {
  for (const Verdict& verdict : verdicts(kernel)) {
    CHECK(verdict.status == status);
    CHECK_MESSAGE(verdict.message.find(words) != std::string::npos, verdict.message);
  }
}

KernelCode reference_called(const std::string& name) {
  return {.text = kFaulty, .kernel = name, .grid = {"1"}, .block = {"1"}};
}

}  // namespace

TEST_CASE("the default configuration as the reference finds a difference, and not what all have in common") {
  const auto found = verdicts(faulty());
  REQUIRE(found.size() == 3);
  CHECK(found[0].status == Status::correct);
  CHECK(found[1].status == Status::correct);
  CHECK(found[2].status == Status::wrong_result);
  CHECK(found[2].message.find("not those of the default configuration") != std::string::npos);
  KernelDefinition loose = faulty();
  loose.tolerance = 1e-2;
  CHECK(verdicts(loose)[2].status == Status::correct);
  loose = faulty();
  loose.absolute_tolerance = 1e-2;
  CHECK(verdicts(loose)[2].status == Status::correct);
  CHECK(verdicts(loose)[2].worst_error == 0.0);
}

TEST_CASE("a reference kernel finds what all configurations have in common") {
  KernelDefinition kernel = faulty();
  kernel.reference.code["cuda"] = reference_called("thrice");
  check_all(kernel, Status::wrong_result, "not those of the reference kernel 'thrice'");
  kernel.reference.code["cuda"] = reference_called("twice");
  kernel.reference.code["cuda"].grid = {"n"};
  CHECK(verdicts(kernel)[1].status == Status::correct);
  // Some of the arguments, in an order of their own.
  kernel.reference.code["cuda"] = reference_called("swapped");
  kernel.reference.code["cuda"].grid = {"n"};
  kernel.reference.arguments = {"y", "x"};
  CHECK(verdicts(kernel)[0].status == Status::correct);
  kernel.reference.arguments = {"y"};
  check_all(kernel, Status::launch, "the reference: ");
  kernel.reference.code["cuda"].kernel = "nothing";
  check_all(kernel, Status::compilation, "the reference: ");
}

TEST_CASE("an inout buffer that no configuration writes is no result, unless a reference from outside says so") {
  KernelDefinition kernel = faulty();
  kernel.code["cuda"].kernel = "idle";
  kernel.arguments[1].role = Role::state;
  check_all(kernel, Status::wrong_result, "the output 'y' is as it was before the launch");
  kernel.reference.code["cuda"] = reference_called("idle");
  CHECK(verdicts(kernel)[0].status == Status::correct);
}

TEST_CASE("a result that looks like what was there before the launch is one, and what is not written is none") {
  KernelDefinition kernel = faulty();
  kernel.arguments[1].type = ElementType::int32;
  // y = -1, all bits of which are set. The values of `fault` write one part each of what the default writes.
  kernel.code["cuda"].text = R"(
extern "C" __global__ void minus(const float* x, int* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n >> fault) y[i] = -1;
}
extern "C" __global__ void half(const float* x, int* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n / 2) y[i] = i;
}
)";
  kernel.code["cuda"].kernel = "minus";
  const auto found = verdicts(kernel);
  CHECK(found[0].status == Status::correct);
  CHECK(found[0].message.empty());
  CHECK(found[1].status == Status::wrong_result);
  CHECK_MESSAGE(found[1].message.find("25 of 50 elements of the output 'y' were never written, and the default "
                                      "configuration writes some of them") != std::string::npos,
                found[1].message);
  CHECK(found[2].status == Status::wrong_result);
  // What no configuration writes is said.
  kernel.code["cuda"].kernel = "half";
  check_all(kernel, Status::correct, "25 of 50 elements of the output 'y' were never written");
  kernel.code["cuda"].kernel = "idle";
  kernel.code["cuda"].text += R"(extern "C" __global__ void idle(const float* x, int* y, int n) {})";
  check_all(kernel, Status::wrong_result, "the output 'y' was not written");
}

TEST_CASE("a named configuration as the reference of all others") {
  KernelDefinition kernel = faulty();
  kernel.reference.configuration = "fault=2";
  const auto found = verdicts(kernel);
  CHECK(found[0].status == Status::wrong_result);
  CHECK(found[0].message.find("not those of the configuration 'fault=2'") != std::string::npos);
  CHECK(found[2].status == Status::correct);
}

TEST_CASE("files with the contents and the expected outputs, bare or NumPy's") {
  const TemporaryFolder folder;
  std::vector<float> x(50), y(50);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 2.0F * x[i];
  }
  const auto write = [&](const std::string& name, const std::string& header, const std::vector<float>& values) {
    std::ofstream file(folder.path() / name, std::ios::binary);
    file << header;
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(4 * values.size()));
  };
  const auto numpy = [](const std::string& type) {
    std::string text = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (5, 10), }";
    text.resize(117, ' ');
    return std::string("\x93NUMPY\x01") + '\0' + '\x76' + '\0' + text + "\n";
  };
  write("x_50.bin", "", x);
  write("y_50.npy", numpy("<f4"), y);
  KernelDefinition kernel = faulty();
  kernel.folder = folder.path().string();
  kernel.arguments[0].fill = {.kind = Fill::Kind::file, .usual = false, .file = "x_{n}.bin"};
  kernel.reference.files = {{"y", "y_{n}.npy"}};
  auto found = verdicts(kernel);
  CHECK(found[0].status == Status::correct);
  CHECK(found[2].status == Status::wrong_result);
  CHECK(found[2].message.find("not those of the expected outputs in files") != std::string::npos);

  const DefinedFamily family(kernel, {});
  const DeviceIdentity device{.backend = "cuda", .name = "card", .architecture = "9.0"};
  const auto refused = [&](std::int64_t n, const char* why) {
    CHECK_THROWS_WITH_AS(family.check_reference(Problem({{.name = "n", .value = n}}), device), doctest::Contains(why),
                         Error);
  };
  CHECK_NOTHROW(family.check_reference(kernel.problems.front(), device));
  refused(51, "x_51.bin: cannot be read");
  write("x_51.bin", "", x);
  refused(51, "x_51.bin: has 200 bytes of numbers, expected 204 (51 of float32)");
  write("y_50.npy", numpy("<f8"), y);
  refused(50, "y_50.npy: holds numbers of type '<f8', expected float32");
  for (const char* const shape : {"(-50,)", "(9223372036854775807, 4)", "(5, 11)"}) {
    std::string header = numpy("<f4");
    const std::size_t at = header.find("(5, 10)");
    header.replace(at, 7, shape).erase(header.find("  ", at), std::string(shape).size() - 7);
    header.resize(128, ' ');
    write("y_50.npy", header, y);
    refused(50, "y_50.npy: has the shape");
  }
  write("y_50.npy", "\x93NUMPY", {});
  refused(50, "y_50.npy: ends within its header");
  y[7] = 0.0F;
  write("y_50.npy", numpy("<f4"), y);
  CHECK(verdicts(kernel)[0].status == Status::wrong_result);
}

TEST_CASE("constant memory is filled before each launch, by the variable's name") {
  KernelDefinition kernel = faulty();
  kernel.code["cuda"].kernel = "by_constant";
  kernel.arguments.push_back({.name = "factor", .elements = "3", .fill = {Fill::Kind::equal, 2.0, 2.0, false}});
  kernel.arguments.back().symbol = "tests::factor";
  kernel.arguments.back().passed = false;
  kernel.reference.code["cuda"] = reference_called("twice");
  kernel.reference.code["cuda"].grid = {"n"};
  CHECK(verdicts(kernel)[0].status == Status::correct);
  kernel.arguments.back().fill.from = 3.0;
  CHECK(verdicts(kernel)[0].status == Status::wrong_result);
  kernel.arguments.back().elements = "4";
  check_all(kernel, Status::launch, "'tests::factor' has 12 bytes, buffer 'factor' has 16");
  kernel.arguments.back().symbol = "factor";
  check_all(kernel, Status::launch, "has no __constant__ variable 'factor'");
  kernel.arguments.back().symbol = "environ";  // of a library that the emulator's kernels may need
  check_all(kernel, Status::launch, "has no __constant__ variable 'environ'");
}

TEST_CASE("a reference with a source of its own takes constant memory as an ordinary argument") {
  KernelDefinition kernel = faulty();
  kernel.code["cuda"].kernel = "by_constant";
  kernel.arguments.push_back({.name = "factor", .elements = "3", .fill = {Fill::Kind::equal, 2.0, 2.0, false}});
  kernel.arguments.back().symbol = "tests::factor";
  kernel.arguments.back().passed = false;
  kernel.reference.code["cuda"] = {.text = R"(
extern "C" __global__ void plain(const float* x, float* y, const float* by, int n) {
  for (int i = 0; i < n; ++i) y[i] = by[i % 3] * x[i];
}
)",
                                   .kernel = "plain",
                                   .grid = {"1"},
                                   .block = {"1"}};
  kernel.reference.arguments = {"x", "y", "factor", "n"};
  CHECK(verdicts(kernel)[0].message.empty());
  CHECK(verdicts(kernel)[0].status == Status::correct);
}

TEST_CASE("arguments that are not the kernel's are one clear failure") {
  KernelDefinition kernel = faulty();
  kernel.arguments.pop_back();
  check_all(kernel, Status::launch, "takes 3 arguments");
  kernel = faulty();
  kernel.arguments.back().type = ElementType::int64;
  check_all(kernel, Status::launch, faulty_device() == "emulator" ? "(ppi), a launch gives 3 (ppl)" : "has 4 bytes");
}

TEST_CASE("a function of the host computes what is expected") {
  const TemporaryFolder folder;
  // Each with a database of its own: what the run before found out about a configuration says nothing about another
  // reference.
  const auto options = [&](const char* name) {
    return TuneKernelOptions{.device = faulty_device(),
                             .profiles = folder.path() / name,
                             .tuner = {.strategy = "exhaustive"},
                             .worker = {test::worker_program()}};
  };
  const KernelDefinition kernel = faulty();
  const auto times = [](float factor) {
    return [factor](const Problem&, const HostImage& before) {
      std::vector<float> y = values_of<float>(before.at("x"));
      for (float& each : y) each *= factor;
      return HostImage{{"y", image_of(y)}};
    };
  };
  const auto right = tune(kernel, {}, {}, agrees_with(kernel, times(2.0F)), {}, options("right"));
  REQUIRE(right.front().profile);
  const auto wrong = tune(kernel, {}, {}, agrees_with(kernel, times(3.0F)), {}, options("wrong"));
  CHECK_FALSE(wrong.front().profile);
  CHECK(wrong.front().statuses.at(Status::wrong_result) >= 1);
  const auto nothing = [](const Problem&, const HostImage&) { return HostImage(); };
  CHECK_THROWS_WITH_AS(tune(kernel, {}, {}, agrees_with(kernel, nothing), {}, options("nothing")),
                       doctest::Contains(": the reference lacks the output 'y'"), Error);
}

TEST_CASE("a program's kernel that cannot be verified is refused before it is tuned") {
  const TemporaryFolder folder;
  const TuneKernelOptions options{
      .device = faulty_device(), .profiles = folder.path() / "p", .worker = {test::worker_program()}};
  KernelDefinition kernel = faulty();
  kernel.folder = folder.path().string();
  kernel.reference.files = {{"y", "missing.npy"}};
  CHECK_THROWS_WITH_AS(tune(kernel, {}, {}, {}, {}, options), doctest::Contains("missing.npy: cannot be read"), Error);
  kernel = faulty();
  kernel.arguments[1].compared = false;
  CHECK_THROWS_WITH_AS(tune(kernel, {}, {}, {}, {}, options), doctest::Contains("no output is compared"), Error);
}

}  // namespace heddle
