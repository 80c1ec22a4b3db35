#include "heddle/kernels/own/t1_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

using nlohmann::json;

constexpr const char* kBlurSource = R"(
#include "border.h"
#include <not_there.h>
__constant__ float d_filter[64];
extern "C" __global__ void blur(float* output, const float* input, const float* filter, int* steps, float gain) {}
)";

/// A kernel over a plane, with what the rules of T1 are about.
json blur() {
  return json::parse(R"json({
    "General": {"BenchmarkName": "blur"},
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "filter_width", "Type": "int", "Values": "[3, 5]"},
        {"Name": "block_size_x", "Type": "int", "Values": "[2**i for i in range(3, 7)]"},
        {"Name": "tile_size_x", "Type": "uint", "Values": [1, 2]},
        {"Name": "loop_unroll_factor_x", "Type": "int", "Values": "[0, 2]"}
      ],
      "Conditions": [
        {"Expression": "block_size_x * tile_size_x >= 32", "Parameters": ["block_size_x", "tile_size_x"]},
        {"Expression": "32 <= block_size_x * 4 <= 1024", "Parameters": ["block_size_x"]}
      ]
    },
    "KernelSpecification": {
      "Language": "CUDA", "CompilerOptions": ["-std=c++11", "-DFAST=1"],
      "KernelName": "blur", "KernelFile": "blur.cu", "GlobalSizeType": "CUDA",
      "GlobalSize": {"X": "(262144 // block_size_x) // tile_size_x", "Y": "4"},
      "LocalSize": {"X": "block_size_x", "Y": "4", "Z": "1"},
      "GridDivX": ["block_size_x", "tile_size_x"], "GridDivY": [],
      "ProblemSize": [100, 60], "SharedMemory": 4096, "Stream": null,
      "Arguments": [
        {"Name": "output", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 6000,
         "FillType": "Constant", "FillValue": 0.0, "Output": 1},
        {"Name": "input", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
         "Size": "(ProblemSize[0] + max(filter_width) - 1) * ProblemSize[1]", "FillValue": 1.0},
        {"Name": "d_filter", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "MemType": "Constant",
         "FillType": "Random", "Size": "max(filter_width)", "FillValue": -1.0},
        {"Name": "steps", "Type": "int32", "MemoryType": "Vector", "AccessType": "ReadWrite", "Size": 4,
         "FillType": "Generator", "DataSource": "i"},
        {"Name": "gain", "Type": "float", "MemoryType": "Scalar", "FillValue": 2.5}
      ]
    }
  })json");
}

class T1Folder {
 public:
  T1Folder() {
    write("blur.cu", kBlurSource);
    write("border.h", "#define BORDER 2\n");
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }
  [[nodiscard]] KernelDefinition read(const json& document, const json& changes = {}) const {
    write("blur.json", document.dump());
    KernelFileOptions options;
    if (!changes.is_null()) {
      write("with.json", changes.dump());
      options.with = folder_.path() / "with.json";
    }
    return read_kernel_file(folder_.path() / "blur.json", options);
  }

 private:
  TemporaryFolder folder_;
};

DeviceIdentity a_gpu() {
  return {.backend = "cuda", .name = "card", .architecture = "9.0", .units = 4, .memory_gib = 1, .local_bytes = 50000};
}

Plan untuned_plan_of(const KernelDefinition& kernel) {
  const DefinedFamily family(kernel, {});
  const Problem& problem = kernel.problems.front();
  return family.plan(family.default_configuration(a_gpu(), problem), problem, a_gpu(), 1);
}

}  // namespace

TEST_CASE("a T1 file becomes a definition, by the rules of those who write them") {
  const T1Folder folder;
  const KernelDefinition kernel = folder.read(blur());
  CHECK(kernel.name.starts_with("blur@"));
  CHECK(kernel.code.at("cuda").headers.size() == 1);
  CHECK(kernel.code.at("cuda").options.extra == std::vector<std::string>{"-DFAST=1"});
  const DefinedFamily family(kernel, {});
  const Problem& problem = kernel.problems.front();
  const Configuration untuned = family.default_configuration(a_gpu(), problem);
  // No default is named: the first configuration that is allowed.
  CHECK(untuned.text() == "filter_width=3 block_size_x=16 tile_size_x=2 loop_unroll_factor_x=0");

  const Plan plan = untuned_plan_of(kernel);
  const Launch& launch = plan.launches.front();
  CHECK(launch.grid.x == 4);   // 100 / (16 * 2): ProblemSize and GridDivX before GlobalSize
  CHECK(launch.grid.y == 15);  // 60 / 4: no GridDivY, so the size of a block
  CHECK(launch.block.x == 16);
  CHECK(launch.block.y == 4);
  CHECK(launch.shared_bytes == 0);  // the source has no dynamic shared memory
  REQUIRE(launch.arguments.size() == 5);
  CHECK(std::get<float>(launch.arguments[4]) == 2.5F);
  REQUIRE(plan.buffers.size() == 4);
  CHECK(plan.buffers[0].role == Role::output);
  CHECK(plan.buffers[1].bytes == 4 * 104 * 60);
  CHECK(plan.buffers[2].bytes == 4 * 5);
  CHECK(plan.buffers[2].symbol == "d_filter");  // copied there, and passed
  CHECK(plan.buffers[3].role == Role::state);
  CHECK(kernel.arguments[0].compared);
  CHECK_FALSE(kernel.arguments[3].compared);  // another one is marked as the output
  CHECK(kernel.arguments[2].fill == Fill{.from = -1.0, .to = 0.0, .usual = false});
  CHECK(kernel.arguments[3].fill.kind == Fill::Kind::index);

  const std::string text = plan.kernels.front().text();
  for (const char* const macro :
       {"kernel_tuner=1", "block_size_x=16", "block_size_y=4", "block_size_z=1", "grid_size_x=4", "grid_size_y=15",
        "grid_size_z=1", "loop_unroll_factor_x=0", "tile_size_x=2"}) {
    CAPTURE(macro);
    CHECK(text.find(macro) != std::string::npos);
  }
}

TEST_CASE("sizes of T1: OpenCL's and CUDA's convention, dynamic and local shared memory, a default that is named") {
  const T1Folder folder;
  json document = blur();
  json& kernel = document["KernelSpecification"];
  kernel.erase("ProblemSize");
  for (json& argument : kernel["Arguments"]) argument["Size"] = 64;
  kernel["GlobalSize"] = {{"X", "1000"}};
  CHECK(untuned_plan_of(folder.read(document)).launches.front().grid.x == 1000);
  kernel["GlobalSizeType"] = "OpenCL";
  CHECK(untuned_plan_of(folder.read(document)).launches.front().grid.x == 63);
  const auto shared_with = [&](const std::string& declaration) {
    folder.write("blur.cu", declaration + "\n" + std::string(kBlurSource));
    return untuned_plan_of(folder.read(document)).launches.front().shared_bytes;
  };
  for (const char* const none : {"// extern __shared__ float words[];", "/* extern __shared__ */",
                                 "extern int x; __device__ void f() { __shared__ float words[3]; }"}) {
    CHECK(shared_with(none) == 0);
  }
  for (const char* const dynamic :
       {"extern __align__(16) __shared__ float words[];", "extern volatile __shared__ float words[];",
        "extern   __shared__ float words[];", "extern\n/* of any size */ __shared__ float words[];",
        "extern __shared__ float words[];"}) {
    CAPTURE(dynamic);
    CHECK(shared_with(dynamic) == 4096);
  }
  kernel["Arguments"].push_back({{"Name", "local"}, {"Type", "double"}, {"MemoryType", "Local"}, {"Size", 16}});
  const Plan plan = untuned_plan_of(folder.read(document));
  CHECK(plan.launches.front().shared_bytes == 4096 + 128);
  CHECK(plan.launches.front().arguments.size() == 5);
  document["ConfigurationSpace"]["TuningParameters"][1]["Default"] = 32;
  CHECK(untuned_plan_of(folder.read(document)).launches.front().block.x == 32);
}

TEST_CASE("outputs of T1 are what is writable where none is marked") {
  const T1Folder folder;
  json document = blur();
  document["KernelSpecification"]["Arguments"][0].erase("Output");
  const KernelDefinition kernel = folder.read(document);
  CHECK(kernel.arguments[0].compared);
  CHECK(kernel.arguments[3].compared);
  document["KernelSpecification"]["Arguments"][4]["Output"] = 1;  // a scalar
  CHECK(folder.read(document).arguments[0].compared);
}

TEST_CASE("thresholds of T1: the strictest counts, and one that is none is refused where it stands") {
  const T1Folder folder;
  json document = blur();
  const auto reference = [](const char* target, double threshold) {
    return json{{"TargetName", target},
                {"FillType", "BinaryRaw"},
                {"DataSource", "expected.bin"},
                {"ValidationMethod", "SideBySideRelativeComparison"},
                {"ValidationThreshold", threshold}};
  };
  json& references = document["KernelSpecification"]["ReferenceArguments"];
  document["KernelSpecification"]["Arguments"][3]["Output"] = 1;
  references = {reference("output", 1e-6), reference("steps", 1e-2)};
  CHECK(folder.read(document).tolerance == 1e-6);
  references[1]["ValidationThreshold"] = 0.0;
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.read(document)), doctest::Contains("ValidationThreshold: found 0"),
                       Error);
}

TEST_CASE("T1 reads nothing outside the folder: neither an #include nor the compiler's words") {
  const T1Folder folder;
  json document = blur();
  document["KernelSpecification"]["CompilerOptions"] = {"-include", "/etc/hostname"};
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.read(document)),
                       doctest::Contains("CompilerOptions[0]: '-include' may name a file"), Error);
  folder.write("blur.cu", std::string(kBlurSource) + "#include \"/etc/hostname\"\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.read(blur())), doctest::Contains("names the file '/etc/hostname'"),
                       Error);
}

TEST_CASE("a second file overrides and completes the first") {
  const T1Folder folder;
  const KernelDefinition kernel = folder.read(blur(), json::parse(R"json({
    "meaning": "corrected", "macros": null, "shared_bytes": 64,
    "parameters": [{"name": "filter_width", "values": [5]}, {"name": "more", "values": [1, 2], "default": 2}],
    "arguments": [{"name": "steps", "remove": true}, {"name": "gain", "value": 4}],
    "verification": {"reference": {"kernel": "blur", "grid": [100, 60], "block": 1}}
  })json"));
  CHECK(kernel.meaning == "corrected");
  CHECK(kernel.parameters.size() == 5);
  CHECK(kernel.parameters[0].values.size() == 1);
  CHECK(kernel.arguments.size() == 4);
  CHECK(kernel.arguments[3].value == "4");
  CHECK(kernel.code.at("cuda").macros.empty());  // switched off: they clash with CUB
  CHECK(kernel.code.at("cuda").shared_bytes == "64");
  CHECK(DefinedFamily(kernel, {}).verified_against() == "the reference kernel 'blur'");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(folder.read(blur(), json::parse(R"({"arguments": [{"name": "no", "remove": true}]})"))),
      doctest::Contains("with.json: arguments[0]: there is no 'no' to remove"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.read(blur(), json::parse(R"({"parameters": [{"values": [1]}]})"))),
                       doctest::Contains("with.json: parameters[0]: the member 'name' is missing"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(folder.read(blur(), json::parse(R"({"girth": 1})"))),
                       doctest::Contains("there is no member 'girth'"), Error);
}

TEST_CASE("a T1 file may name a template with its arguments, which is compiled with macros all the same") {
  const T1Folder folder;
  json document = blur();
  document["KernelSpecification"]["KernelName"] = "blur<float, filter_width, filter_width_2>";
  const std::string text = untuned_plan_of(folder.read(document)).kernels.front().text();
  CHECK(text.starts_with("blur<float, 3, filter_width_2> "));
  CHECK(text.find(" tile_size_x=2") != std::string::npos);
  CHECK(text.find(" kernel_tuner=1") != std::string::npos);
  const json no_macros{{"macros", nullptr}};
  CHECK(untuned_plan_of(folder.read(document, no_macros)).kernels.front().text() == "blur<float, 3, filter_width_2>");
}

TEST_CASE("half, vectors and structs of T1") {
  const T1Folder folder;
  json document = blur();
  json& arguments = document["KernelSpecification"]["Arguments"];
  arguments[1]["Type"] = "half2";
  arguments[4] = {{"Name", "gain"},         {"Type", "custom"},     {"TypeSize", 12},
                  {"MemoryType", "Scalar"}, {"DataSource", "gain"}, {"FillType", "BinaryRaw"}};
  arguments.push_back({{"Name", "scale"}, {"Type", "half"}, {"MemoryType", "Scalar"}, {"FillValue", 1.5}});
  arguments.push_back({{"Name", "nodes"},
                       {"Type", "custom"},
                       {"TypeSize", 24},
                       {"MemoryType", "Vector"},
                       {"Size", 10},
                       {"FillType", "Constant"},
                       {"FillValue", 0}});
  folder.write("gain", std::string("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\xff", 12));
  const Plan plan = untuned_plan_of(folder.read(document));
  CHECK(plan.buffers[1].bytes == 4 * 104 * 60);
  CHECK(plan.buffers[4].bytes == 240);
  const auto& passed = plan.launches.front().arguments;
  const auto& gain = std::get<StructArgument>(passed[4]);
  CHECK(gain.bytes.size() == 12);
  CHECK(gain.bytes[11] == std::byte{0xff});
  CHECK(gain.alignment == 4);
  CHECK(std::get<StructArgument>(passed[5]).bytes == std::vector{std::byte{0x00}, std::byte{0x3e}});

  const auto refused = [&](const char* member, const json& value) {
    json wrong = document;
    wrong["KernelSpecification"]["Arguments"][4][member] = value;
    try {
      static_cast<void>(folder.read(wrong));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused("TypeSize", 13).find("'gain' has 12 bytes, expected 13") != std::string::npos);
  CHECK(refused("TypeSize", 0).find("TypeSize: found 0, expected 1 to 4096") != std::string::npos);
  CHECK(refused("FillType", "Random").find("BinaryRaw") != std::string::npos);
  CHECK(refused("Type", "float16").find("Type: found \"float16\", expected bool") != std::string::npos);
}

}  // namespace heddle
