#include "heddle/kernels/own/kernel_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/array_file.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_review.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

using nlohmann::json;

constexpr const char* kScaleSource = R"(
#include "scale.cuh"
/// y[i] = a x[i]
template <int BlockSize, int Items>
__global__ void scale(float a, const float* x, float* y, int n) {
  const int first = static_cast<int>(blockIdx.x) * BlockSize * Items + static_cast<int>(threadIdx.x);
  for (int item = 0; item < Items; ++item) {
    const int i = first + item * BlockSize;
    if (i < n) y[i] = scaled(a, x[i]);
  }
}
)";
constexpr const char* kScaleHeader = "__device__ inline float scaled(float a, float x) { return a * x; }\n";

json scale_description() {
  return json::parse(R"json({
    "name": "tests/scale", "meaning": "y = a x", "source": "scale.cu", "headers": ["scale.cuh"],
    "kernel": "scale<{block_size}, {items}>",
    "axes": ["n", {"name": "halo", "maximum": 8, "spacing": "difference", "zero": true, "optional": true}],
    "parameters": [
      {"name": "block_size", "values": "[2**i for i in range(5, 11)]", "default": 64, "meaning": "threads"},
      {"name": "items", "values": [1, 2, 4]},
      {"name": "late", "values": [false, true], "when": "items > 1"}
    ],
    "constraints": ["block_size * items <= 1024 or late"],
    "grid": "ceil_div(n, block_size * items)",
    "block": ["block_size", 1],
    "shared_bytes": 64,
    "options": {"fast_math": true, "standard": "c++20", "extra": ["-DX=1"]},
    "arguments": [
      {"name": "a", "type": "float", "value": 2.5},
      {"name": "x", "type": "float4", "elements": "n // 4 + 1", "fill": {"from": 1, "to": 2}},
      {"name": "k", "type": "int8", "elements": "n", "fill": 3},
      {"name": "y", "type": "float", "elements": "n", "role": "output"},
      {"name": "z", "type": "uint16", "elements": "n", "role": "inout", "fill": "index"},
      {"name": "n", "type": "int32", "value": "n"},
      {"name": "s", "type": "uint8", "value": "n % 3"}
    ],
    "sizes": [{"n": 1000}, {"n": 5000, "halo": 2}],
    "awkward": {"n": 77},
    "verification": {"tolerance": 1e-5},
    "work": {
  "bytes" : "8 * n", "operations" : "n"}
  })json");
}

/// A folder with the kernel's files.
class KernelFolder {
 public:
  KernelFolder() {
    write("scale.cu", kScaleSource);
    write("scale.cuh", kScaleHeader);
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] KernelDefinition read(const json& description, const KernelFileOptions& options = {}) const {
    write("scale.json", description.dump(1));
    return read_kernel_file(path("scale.json"), options);
  }

 private:
  TemporaryFolder folder_;
};

DeviceIdentity gpu() {
  return {.backend = "cuda", .name = "card", .architecture = "9.0", .units = 4, .memory_gib = 1, .local_bytes = 50000};
}

TEST_CASE("a description becomes a definition") {
  const KernelFolder folder;
  const KernelDefinition kernel = folder.read(scale_description());
  CHECK(kernel.name.starts_with("tests/scale@"));
  CHECK(kernel.name.size() == std::string("tests/scale@").size() + 12);
  CHECK(kernel.axes.size() == 2);
  CHECK(kernel.axes[1].optional);
  CHECK(kernel.problems.size() == 2);
  CHECK(kernel.parameters[0].values.size() == 6);
  CHECK(kernel.arguments[1].lanes == 4);
  CHECK(kernel.code.at("cuda").headers.size() == 1);
  CHECK(kernel.tolerance == 1e-5);

  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(kernel));
  const Problem problem = Problem::parse("n=1000", kernel.axes);
  const Configuration untuned = family.default_configuration(gpu(), problem);
  CHECK(untuned.text() == "block_size=64 items=1");
  const Trial trial = family.trial(untuned, problem, gpu(), 1, 1);
  const Plan& plan = trial.plan;
  CHECK(plan.kernels == Kernels{"scale<64, 1>"});
  CHECK(plan.launches[0].grid.x == 16);
  CHECK(plan.launches[0].shared_bytes == 64);
  REQUIRE(plan.buffers.size() == 4);
  CHECK(plan.buffers[0].bytes == 251 * 16);
  CHECK(plan.buffers[3].role == Role::state);
  CHECK(std::get<StructArgument>(plan.launches[0].arguments[6]).bytes == std::vector<std::byte>{std::byte{1}});
  const std::vector<std::byte>&k = trial.initial->at("k"), &z = trial.initial->at("z");
  CHECK(k == std::vector<std::byte>(1000, std::byte{3}));
  CHECK(z[2] == std::byte{1});
  CHECK(z[600] == std::byte{300 % 256});
  CHECK_FALSE(trial.initial->contains("y"));
  CHECK(family.work(problem).bytes == 8000.0);
  CHECK(family.source("cuda").options().fast_math);
  CHECK(family.verified_against() == "the default configuration: only agreement was checked");
}

TEST_CASE("kernels of one name and different definitions are different families") {
  const KernelFolder folder;
  const auto name_after = [&](auto change) {
    json description = scale_description();
    change(description);
    return folder.read(description).name;
  };
  const std::string name = name_after([](json&) {});
  CHECK(name_after([](json& d) { d["meaning"] = "other"; }) == name);
  CHECK(name_after([](json& d) { d["sizes"] = json::array(); }) == name);
  CHECK(name_after([](json& d) { d["grid"] = "ceil_div(n, block_size * items) + 1"; }) != name);
  CHECK(name_after([](json& d) { d["parameters"][1]["values"] = {1, 2}; }) != name);
  CHECK(name_after([](json& d) { d["arguments"][1]["fill"] = "random"; }) != name);
  folder.write("scale.cuh", "// a comment\n" + std::string(kScaleHeader));
  CHECK(name_after([](json&) {}) == name);
  folder.write("scale.cuh", "__device__ inline float scaled(float a, float x) { return x * a; }\n");
  CHECK(name_after([](json&) {}) != name);
}

TEST_CASE("a review counts points and finds what looks wrong") {
  const KernelFolder folder;
  const auto review = [&](const json& description, const std::string& problem) {
    const DefinedFamily family(folder.read(description), {});
    return review_kernel(family, gpu(), Problem::parse(problem, family.axes()));
  };
  KernelReview found = review(scale_description(), "n=1000");
  CHECK(found.points.exact);
  CHECK(found.points.configurations == 6 + 2 * 6 * 2);
  CHECK(found.allowed.configurations == 6 + 12 + 12 - 3);  // 1024 * 2, 512 * 4 and 1024 * 4 are too many
  CHECK(found.doubts.size() == 1);                         // no expression asks for the halo
  CHECK(found.doubts[0].find("'halo'") != std::string::npos);

  json odd = scale_description();
  odd["parameters"][0]["values"] = json::array({50, 64});
  odd["parameters"][0]["default"] = 50;
  odd["parameters"].push_back({{"name", "unused"}, {"values", {1, 2}}});
  odd["constraints"].push_back("n > 10");
  odd["awkward"] = {{"n", 3}};
  odd["kernel"] = "scala<{block_size}, {items}>";
  found = review(odd, "n=1000");
  std::string all;
  for (const std::string& doubt : found.doubts) all += doubt + "\n";
  for (const char* const word : {"the source has no 'scala'", "'unused' changes nothing", "'n > 10' refuses nothing",
                                 "50 threads", "not allowed at n=3"}) {
    CAPTURE(word);
    CHECK(all.find(word) != std::string::npos);
  }
  // Only a file of the awkward size is missing: the default is allowed there.
  json filled = scale_description();
  filled["arguments"][2]["fill"] = {{"file", "k_{n}.bin"}};
  folder.write("k_1000.bin", std::string(1000, '\1'));
  all.clear();
  for (const std::string& doubt : review(filled, "n=1000").doubts) all += doubt + "\n";
  CHECK(all.find("k_77.bin: cannot be read") != std::string::npos);
  CHECK(all.find("is not allowed at") == std::string::npos);

  json large = scale_description();
  for (int i = 0; i < 10; ++i) {
    large["parameters"].push_back({{"name", "p" + std::to_string(i)}, {"values", "list(range(100))"}});
  }
  found = review(large, "n=1000");
  CHECK_FALSE(found.allowed.exact);
  CHECK(found.points.configurations > 1e20);
}

TEST_CASE("what a file may be is limited") {
  const KernelFolder folder;
  const auto fails = [&](const std::filesystem::path& file, const char* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(read_kernel_file(file)), doctest::Contains(why), Error);
  };
  fails(folder.path("none.json"), "cannot be read");
  fails(folder.path(""), "is a folder");
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);  // opening it would wait for a writer
  fails(folder.path("pipe"), "is no regular file");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_array(folder.path("pipe"), ElementType::int8, 1)),
                       doctest::Contains("is no regular file"), Error);
  folder.write("long.json", std::string((1 << 20) + 1, ' '));
  fails(folder.path("long.json"), "longer than 1048576 bytes");
  folder.write("scale.cuh", std::string((1 << 22) + 1, ' '));
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.read(scale_description())), doctest::Contains("headers[0]: "), Error);

  const KernelFolder inside;
  std::filesystem::create_directory(inside.path("below"));
  inside.write("below/scale.json", [] {
    json description = scale_description();
    description["source"] = "../scale.cu";
    description["headers"] = json::array({"../scale.cuh"});
    return description.dump();
  }());
  CHECK_THROWS_WITH_AS(static_cast<void>(read_kernel_file(inside.path("below/scale.json"))),
                       doctest::Contains("--allow-outside"), Error);
  // An expression may make a path that leads outside, and so may a link.
  std::filesystem::create_symlink(inside.path("scale.cu"), inside.path("below/of_1000"));
  inside.write("below/scale.cu", kScaleSource);
  inside.write("below/scale.cuh", kScaleHeader);
  for (const char* const outside : {"{'../' * 1 + 'scale.cu'}", "of_{n}"}) {
    json description = scale_description();
    description["arguments"][2]["fill"] = {{"file", outside}};
    inside.write("below/fill.json", description.dump());
    const KernelDefinition kernel = read_kernel_file(inside.path("below/fill.json"));
    const auto family = make_defined_family(describe(kernel).text);
    CHECK_THROWS_WITH_AS(dynamic_cast<const DefinedFamily&>(*family).check_reference(kernel.problems.front(), gpu()),
                         doctest::Contains("is not in the description's folder"), Error);
  }
  std::filesystem::create_symlink(inside.path("scale.cu"), inside.path("below/link.cu"));
  inside.write("below/link.json", [] {
    json description = scale_description();
    description["source"] = "link.cu";
    description.erase("headers");
    return description.dump();
  }());
  CHECK_THROWS_WITH_AS(static_cast<void>(read_kernel_file(inside.path("below/link.json"))),
                       doctest::Contains("source: 'link.cu' is not in the description's folder"), Error);
}

}  // namespace
}  // namespace heddle
