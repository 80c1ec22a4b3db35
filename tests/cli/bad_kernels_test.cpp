// Descriptions of kernels that are wrong: one line each, with the file, the place and the cause, and nothing is lost.
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "cli/twice_kernel.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

struct WrongDescription {
  const char* what;
  std::function<void(json&)> change;
  std::vector<std::string> words;  ///< that the line has
  int code = 3;
  std::string size = "n=1000";
};

const std::vector<WrongDescription>& wrong_descriptions() {
  static const std::vector<WrongDescription> all{
      {"no name", [](json& d) { d.erase("name"); }, {"the member 'name' is missing"}},
      {"an empty name", [](json& d) { d["name"] = ""; }, {"name: found \"\", expected 1 to 48 letters"}},
      {"a name with blanks", [](json& d) { d["name"] = "a b"; }, {"name: found \"a b\""}},
      {"a name that is a number", [](json& d) { d["name"] = 3; }, {"name: found 3, expected a text"}},
      {"an unknown member", [](json& d) { d["gird"] = 1; }, {"there is no member 'gird', expected one of name"}},
      {"no source", [](json& d) { d.erase("source"); }, {"the member 'source' is missing"}},
      {"a source that is not there", [](json& d) { d["source"] = "no.cu"; }, {"source: 'no.cu': No such file"}},
      {"a source that is a folder", [](json& d) { d["source"] = "."; }, {"source: ", "is a folder"}},
      {"a source outside", [](json& d) { d["source"] = "/etc/hostname"; }, {"source: ", "--allow-outside"}},
      {"a source that includes a file outside",
       [](json& d) { d["source"] = "outside.cu"; },
       {"source: 'outside.cu' names the file '/etc/hostname'", "--allow-outside"}},
      {"a kernel's name that goes on in another line",
       [](json& d) { d["kernel"] = "twice\n#include </etc/hostname>\n"; },
       {"kernel is ", "expected a function's name in C++"}},
      {"a source that is no text",
       [](json& d) { d["source"] = "binary.cu"; },
       {"twice.json: kernel 'tests/twice@", "a text in it is not UTF-8"}},
      {"a missing header", [](json& d) { d["headers"] = {"no.cuh"}; }, {"headers[0]: 'no.cuh': No such file"}},
      {"a missing include", [](json& d) { d["source"] = "include.cu"; }, {"an #include", "missing.cuh"}},
      {"no kernel", [](json& d) { d.erase("kernel"); }, {"the member 'kernel' is missing"}},
      {"an empty kernel", [](json& d) { d["kernel"] = ""; }, {"kernel: found \"\""}},
      {"a kernel that asks for what is not there",
       [](json& d) { d["kernel"] = "twice<{items}>"; },
       {"kernel: ", "asks for 'items', expected one of: block_size, n"}},
      {"an unknown language",
       [](json& d) { d["language"] = "opencl"; },
       {"language: found \"opencl\", expected one of cuda, cpu"}},
      {"no sizes", [](json& d) { d["axes"] = json::array(); }, {"axes: there are no sizes"}},
      {"sizes that are no array", [](json& d) { d["axes"] = "n"; }, {"axes: found \"n\", expected an array"}},
      {"a size that comes twice",
       [](json& d) {
         d["axes"] = {"n", "n"};
       },
       {"axes[1]: ", "n"}},
      {"a size that is a keyword",
       [](json& d) {
         d["axes"] = {"n", "if"};
       },
       {"axes[1]: the name is 'if'"}},
      {"a size with a maximum of 0",
       [](json& d) {
         d["axes"] = {{{"name", "n"}, {"maximum", 0}}};
       },
       {"axes[0]: "}},
      {"a parameter without values",
       [](json& d) { d["parameters"][0].erase("values"); },
       {"parameters[0]: the member 'values' is missing"}},
      {"no values",
       [](json& d) { d["parameters"][0]["values"] = json::array(); },
       {"parameters[0].values: there are no values"}},
      {"values that cannot be read",
       [](json& d) { d["parameters"][0]["values"] = "[1, 2"; },
       {"parameters[0].values: expression '[1, 2', column 6: expected ]"}},
      {"10^15 values",
       [](json& d) { d["parameters"][0]["values"] = "range(10**15)"; },
       {"parameters[0].values: ", "1000000000000000 values, expected at most 5000"}},
      {"a value that comes twice",
       [](json& d) {
         d["parameters"][0]["values"] = {32, 64, 32};
       },
       {"parameters[0].values: the value 32 comes twice"}},
      {"a value that is a list",
       [](json& d) {
         d["parameters"][0]["values"] = {{1}, {2}};
       },
       {"parameters[0].values[0]: found [1]"}},
      {"a value beyond 64 bits",
       [](json& d) { d["parameters"][0]["values"] = {18446744073709551615U}; },
       {"parameters[0].values[0]: found 18446744073709551615"}},
      {"a default outside the values",
       [](json& d) { d["parameters"][0]["default"] = 48; },
       {"parameters[0].default: 48 is none of the values of 'block_size'"}},
      {"a parameter that comes twice",
       [](json& d) { d["parameters"].push_back(d["parameters"][0]); },
       {"two things are called 'block_size'"}},
      {"a parameter with the name of a size",
       [](json& d) { d["parameters"][0]["name"] = "n"; },
       {"two things are called 'n'"}},
      {"conditions in a circle",
       [](json& d) {
         d["parameters"] = json::parse(R"([{"name": "block_size", "values": [32], "when": "b > 1"},
                                           {"name": "b", "values": [1, 2], "when": "block_size > 1"}])");
       },
       {"active: ", "asks for 'b'"}},
      {"a constraint that cannot be read",
       [](json& d) { d["constraints"] = {"n && 1"}; },
       {"constraints[0]: expression 'n && 1', column 3"}},
      {"a constraint that names nothing",
       [](json& d) { d["constraints"] = {"1 < 2"}; },
       {"constraints[0]: '1 < 2' names nothing"}},
      {"a constraint over an unknown name",
       [](json& d) { d["constraints"] = {"blocksize < n"}; },
       {"constraint: ", "asks for 'blocksize', expected one of: block_size, n"}},
      {"a constraint that divides by zero",
       [](json& d) { d["constraints"] = {"n // (block_size - 32) > 0"}; },
       {"column 3: division by zero"}},
      {"a constraint of mixed kinds",
       [](json& d) { d["constraints"] = {"block_size < 'n'"}; },
       {"< does not take int (32) and str"}},
      {"a default that the constraints refuse",
       [](json& d) { d["constraints"] = {"block_size > 32"}; },
       {"at n=1000: the default 'block_size=32' violates the constraint 'block_size > 32'"}},
      {"no valid configuration",
       [](json& d) { d["constraints"] = {"block_size > 4096"}; },
       {"violates the constraint 'block_size > 4096'"}},
      {"no grid", [](json& d) { d.erase("grid"); }, {"the member 'grid' is missing"}},
      {"a grid of four sizes",
       [](json& d) {
         d["grid"] = {1, 1, 1, 1};
       },
       {"grid: 4 elements, expected at most 3"}},
      {"a grid of none", [](json& d) { d["grid"] = json::array(); }, {"grid has 0 sizes, expected 1 to 3"}},
      {"a grid of 0", [](json& d) { d["grid"] = "n // 4096"; }, {"grid 'n // 4096' is 0, expected 1 to"}},
      {"a grid of 2^40", [](json& d) { d["grid"] = "2**40"; }, {"grid '2**40' is 1099511627776, expected 1 to"}},
      {"a grid that is no integer",
       [](json& d) { d["grid"] = "n / block_size"; },
       {"31.25 is no integer; // divides integers"}},
      {"a grid that is a list", [](json& d) { d["grid"] = "[n]"; }, {"[1000] is no integer"}},
      {"an empty expression", [](json& d) { d["block"] = ""; }, {"block: found \"\", expected an expression"}},
      {"a block of 2000 threads", [](json& d) { d["block"] = 2000; }, {"launch limits of CUDA"}},
      {"less than no shared memory", [](json& d) { d["shared_bytes"] = -1; }, {"shared_bytes '-1' is -1"}},
      {"an unknown standard",
       [](json& d) {
         d["options"] = {{"standard", "c++98"}};
       },
       {"options.standard: found \"c++98\""}},
      {"an unknown option",
       [](json& d) {
         d["options"] = {{"fast", true}};
       },
       {"options: there is no member 'fast'"}},
      {"no arguments", [](json& d) { d.erase("arguments"); }, {"the member 'arguments' is missing"}},
      {"nothing that is written",
       [](json& d) { d["arguments"][1].erase("role"); },
       {"arguments: the kernel writes no buffer"}},
      {"an unknown type",
       [](json& d) { d["arguments"][0]["type"] = "flaot"; },
       {"arguments[0].type: found \"flaot\", expected int8"}},
      {"a vector of five", [](json& d) { d["arguments"][0]["type"] = "float5"; }, {"arguments[0].type: "}},
      {"a struct without members",
       [](json& d) {
         d["arguments"][2] = {{"name", "s"}, {"type", "struct"}, {"fields", json::array()}};
       },
       {"arguments[2].fields: there are no members"}},
      {"a struct that says nothing",
       [](json& d) {
         d["arguments"][2] = {{"name", "s"}, {"type", "struct"}};
       },
       {"arguments[2]: expected the fields of the struct or its bytes"}},
      {"a struct with a member of an unknown type",
       [](json& d) {
         d["arguments"][2] = {
             {"name", "s"}, {"type", "struct"}, {"fields", {{{"name", "m"}, {"type", "x"}, {"value", 1}}}}};
       },
       {"arguments[2].fields[0].type: found \"x\", expected int8"}},
      {"bytes that are no digits",
       [](json& d) {
         d["arguments"][2] = {{"name", "s"}, {"type", "struct"}, {"bytes", "0g"}};
       },
       {"arguments[2].bytes: argument 's': the bytes of a struct are '0g', expected two hexadecimal digits"}},
      {"an alignment that no type has",
       [](json& d) {
         d["arguments"][2] = {{"name", "s"}, {"type", "struct"}, {"bytes", "000000"}, {"alignment", 3}};
       },
       {"arguments[2].bytes: argument 's': 3 bytes cannot be aligned to 3"}},
      {"members of a number",
       [](json& d) { d["arguments"][2]["fields"] = json::array(); },
       {"arguments[2].fields: only an argument of type struct has that"}},
      {"a fill that no half can be",
       [](json& d) {
         d["arguments"][0]["type"] = "half";
         d["arguments"][0]["fill"] = 1e6;
       },
       {"arguments[0].fill: found 1000000.0, expected numbers that a float16 can be"}},
      {"an unknown role",
       [](json& d) { d["arguments"][0]["role"] = "in"; },
       {"arguments[0].role: found \"in\", expected one of input, output, inout, scratch"}},
      {"value and elements",
       [](json& d) { d["arguments"][0]["value"] = 1; },
       {"arguments[0]: expected a value (a number) or elements (a buffer)"}},
      {"neither value nor elements", [](json& d) { d["arguments"][2].erase("value"); }, {"arguments[2]: expected"}},
      {"a number with a role",
       [](json& d) { d["arguments"][2]["role"] = "input"; },
       {"arguments[2].role: a number has none"}},
      {"an output with contents",
       [](json& d) { d["arguments"][1]["fill"] = 0; },
       {"arguments[1].fill: the buffer has no contents"}},
      {"a fill that no number of the type is",
       [](json& d) {
         d["arguments"][0]["type"] = "uint8";
         d["arguments"][0]["fill"] = 256;
       },
       {"arguments[0].fill: found 256, expected numbers that a uint8 can be"}},
      {"a fill from more to less",
       [](json& d) {
         d["arguments"][0]["fill"] = {{"from", 2}, {"to", 1}};
       },
       {"arguments[0].fill: "}},
      {"two arguments of one name", [](json& d) { d["arguments"][1]["name"] = "x"; }, {"two arguments are called 'x'"}},
      {"elements over a parameter",
       [](json& d) { d["arguments"][0]["elements"] = "block_size"; },
       {"elements: ", "asks for 'block_size', expected one of: n"}},
      {"elements below 0",
       [](json& d) { d["arguments"][0]["elements"] = "n - 5000"; },
       {"argument 'x' has -4000 elements"}},
      {"elements beyond all memory",
       [](json& d) { d["arguments"][0]["elements"] = "n * 2**40"; },
       {"argument 'x' has 1099511627776000 elements"}},
      {"buffers beyond the device's memory",
       [](json& d) { d["arguments"][0]["elements"] = "n * 2**21"; },
       {"GiB, the device has"}},
      {"a number that its type cannot hold",
       [](json& d) { d["arguments"][2]["value"] = "n * 10**9"; },
       {"argument 'n': 1000000000000 is no int32"}},
      {"a number that is a text", [](json& d) { d["arguments"][2]["value"] = "'n'"; }, {"'n' is no integer"}},
      {"a size that is not there",
       [](json& d) {
         d["sizes"] = {{{"m", 3}}};
       },
       {"sizes[0]: there is no size 'm'"}},
      {"a size that is 0",
       [](json& d) {
         d["sizes"] = {{{"n", 0}}};
       },
       {"sizes[0]: "}},
      {"an awkward size that is missing", [](json& d) { d["awkward"] = json::object(); }, {"awkward: "}},
      {"a tolerance of 0",
       [](json& d) {
         d["verification"] = {{"tolerance", 0}};
       },
       {"verification.tolerance: found 0, expected a number above 0"}},
      {"two references",
       [](json& d) {
         d["verification"] = {{"configuration", "block_size=32"}, {"expected", {{"y", "y.npy"}}}};
       },
       {"verification: expected one of reference, configuration and expected"}},
      {"a reference kernel without a grid",
       [](json& d) {
         d["verification"] = {{"reference", {{"kernel", "twice"}}}};
       },
       {"verification.reference: the member 'grid' is missing"}},
      {"a reference kernel over a parameter",
       [](json& d) {
         d["verification"] = {{"reference", {{"kernel", "twice"}, {"grid", "block_size"}, {"block", 1}}}};
       },
       {"asks for 'block_size', expected one of: n"}},
      {"a reference kernel of no blocks",
       [](json& d) {
         d["verification"] = {{"reference", {{"kernel", "twice"}, {"grid", "n // 4096"}, {"block", 1}}}};
       },
       {"grid 'n // 4096' is 0, expected 1 to"}},
      {"a reference kernel with an argument that is not there",
       [](json& d) {
         d["verification"] = {{"reference", {{"kernel", "twice"}, {"grid", 1}, {"block", 1}, {"arguments", {"z"}}}}};
       },
       {"verification.reference.arguments[0]: there is no argument 'z'"}},
      {"a reference source that is not there",
       [](json& d) {
         d["verification"] = {{"reference", {{"source", "no.cu"}, {"kernel", "twice"}, {"grid", 1}, {"block", 1}}}};
       },
       {"verification.reference.source: 'no.cu': No such file"}},
      {"a reference configuration with an unknown value",
       [](json& d) {
         d["verification"] = {{"configuration", {{"block_size", 48}}}};
       },
       {"verification.configuration.block_size: 48 is none of the values"}},
      {"a reference configuration without values",
       [](json& d) {
         d["verification"] = {{"configuration", json::object()}};
       },
       {"verification.configuration: found {}, expected an object with the values"}},
      {"a reference configuration as a text that is none",
       [](json& d) {
         d["verification"] = {{"configuration", "block=32"}};
       },
       {"at n=1000: ", "block"}},
      {"a reference configuration that the constraints refuse",
       [](json& d) {
         d["constraints"] = {"block_size < 128"};
         d["verification"] = {{"configuration", "block_size=128"}};
       },
       {"the reference configuration 'block_size=128' violates the constraint 'block_size < 128'"}},
      {"expected outputs that are not there",
       [](json& d) {
         d["verification"] = {{"expected", {{"y", "y_{n}.npy"}}}};
       },
       {"y_1000.npy: cannot be read"}},
      {"an expected output of another length",
       [](json& d) {
         d["verification"] = {{"expected", {{"y", "twice.cu"}}}};
       },
       {"twice.cu: has ", "bytes of numbers, expected 4000 (1000 of float32)"}},
      {"expected contents of an input",
       [](json& d) {
         d["verification"] = {{"expected", {{"x", "x.npy"}}}};
       },
       {"the reference: 'x' is no output"}},
      {"expected outputs outside",
       [](json& d) {
         d["verification"] = {{"expected", {{"y", "/etc/hostname"}}}};
       },
       {"verification.expected.y: ", "--allow-outside"}},
      {"an absolute tolerance below 0",
       [](json& d) {
         d["verification"] = {{"absolute", -1}};
       },
       {"verification.absolute: found -1, expected a number from 0"}},
      {"contents from a file that is not there",
       [](json& d) {
         d["arguments"][0]["fill"] = {{"file", "x.bin"}};
       },
       {"x.bin: cannot be read"}},
      {"an output in constant memory",
       [](json& d) { d["arguments"][1]["constant"] = "filter"; },
       {"arguments[1].constant: constant memory is an input"}},
      {"a compiler's word that names a folder",
       [](json& d) {
         d["options"] = {{"extra", {"-lineinfo", "-I/etc"}}};
       },
       {"options.extra[1]: '-I/etc' may name a file", "--allow-outside"}},
      {"a compiler's word that is a file",
       [](json& d) {
         d["options"] = {{"extra", {"@words"}}};
       },
       {"options.extra[0]: '@words' may name a file"}},
      {"no output that is compared",
       [](json& d) { d["arguments"][1]["compared"] = false; },
       {"arguments: no output is compared, so nothing would be verified"}},
      {"an input that is compared",
       [](json& d) { d["arguments"][0]["compared"] = true; },
       {"arguments[0].compared: the kernel does not write it"}},
      {"a macro that cannot be read",
       [](json& d) {
         d["macros"] = {{"half", "block_size /"}};
       },
       {"macros: expression 'block_size /'"}},
      {"an unknown verification",
       [](json& d) {
         d["verification"] = {{"magic", true}};
       },
       {"verification: there is no member 'magic'"}},
      {"work that cannot be read",
       [](json& d) {
         d["work"] = {{"bytes", "8 n"}};
       },
       {"bytes: expression '8 n'"}},
      {"work that has no value at these sizes",
       [](json& d) {
         d["work"] = {{"bytes", "1 // (n - 1000)"}};
       },
       {"kernel 'tests/twice@", "at n=1000: work.bytes: expression '1 // (n - 1000)', column 3: "}},
      {"work below 0",
       [](json& d) {
         d["work"] = {{"bytes", -5}};
       },
       {"work.bytes: '-5' is -5, expected 0 or more"}},
      {"a constraint that has no value",
       [](json& d) { d["constraints"] = {"1 // (block_size - 32) < 5"}; },
       {"kernel 'tests/twice@", "a constraint, with 'block_size=32': expression '1 // (block_size - 32) < 5'"}},
      {"a block beyond the limits",
       [](json& d) { d["block"] = "64 * block_size"; },
       {"the default 'block_size=32' violates the launch limits of CUDA: the threads of a block are 2048, at most "
        "1024"}},
      {"a grid that is true", [](json& d) { d["grid"] = true; }, {"grid: found true, expected an expression"}},
      {"metrics that are no object",
       [](json& d) { d["metrics"] = "n / time"; },
       {"metrics: found \"n / time\", expected an object of at most 16 expressions"}},
      {"a metric that cannot be read",
       [](json& d) {
         d["metrics"] = {{"rate", "n /"}};
       },
       {"metrics: expression 'n /'"}},
      {"a metric over what nobody measures",
       [](json& d) {
         d["metrics"] = {{"rate", "n / seconds"}};
       },
       {"metrics: ", "asks for 'seconds', expected one of: block_size, n, time, energy"}},
      {"a metric without a name",
       [](json& d) {
         d["metrics"] = {{"", "n"}};
       },
       {"metrics: the name is ''"}},
      {"a size that the kernel does not have", [](json&) {}, {"--size", "m=3"}, 2, "m=3"},
      {"a size that is no number", [](json&) {}, {"--size n", "many"}, 2, "n=many"},
      {"no size at all", [](json&) {}, {"names no sizes, expected --size n=LIST"}, 2, ""}};
  return all;
}

TEST_CASE("wrong descriptions of kernels are one line each") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  place.write("binary.cu", std::string(kDoubleSource) + "// \xff\n");
  place.write("include.cu", "#include \"missing.cuh\"\n");
  place.write("outside.cu", "#include </etc/hostname>\n");
  REQUIRE(wrong_descriptions().size() >= 40);
  for (const WrongDescription& wrong : wrong_descriptions()) {
    CAPTURE(wrong.what);
    json description = twice_description();
    wrong.change(description);
    const std::string file = place.write("twice.json", description.dump(1));
    check_refused(place.run(tune_kernel(file, wrong.size, place.path("p.sqlite").string())), wrong.code, wrong.words);
    CHECK_FALSE(std::filesystem::exists(place.path("p.sqlite")));
  }
}

TEST_CASE("files that are no descriptions") {
  const Workplace place;
  const auto refused = [&](const std::string& bytes, const std::vector<std::string>& words) {
    CAPTURE(bytes);
    check_refused(place.run(tune_kernel(place.write("k.json", bytes), "n=3", ":memory:")), 3, words);
  };
  refused("", {"k.json: line 1, column 1: "});
  refused("{\"name\": \"x\",\n \"axes\": [", {"k.json: line 2, column "});
  refused("{\"name\": \"x\",\n \"axes\": ?}", {"k.json: line 2, column "});
  refused("[]", {"k.json: found []", "an object"});
  refused("{\"name\": \"x\",\n \"block\": {\"name\": 1},\n  \"name\": \"y\"}",
          {"k.json: line 3, column 3: the member 'name' comes twice"});
  refused(std::string(40, '[') + std::string(40, ']'), {"k.json: line 1"});
  refused("{\"name\x1b[2J\": 1}", {"k.json: "});
  refused("{\"\\u001b[2J\": 1}", {"k.json: there is no member '\\x1b[2J'"});
  check_refused(place.run(tune_kernel("none.json", "n=3", ":memory:")), 3, {"none.json: cannot be read"});
  check_refused(place.run({"tune", "--kernel", place.write("a.json", "{}"), "--replay", "x"}), 3, {"a.json: "});
}

TEST_CASE("a kernel that compiles in no configuration, one that writes nothing") {
  const Workplace place;
  json description = twice_description();
  place.write("twice.cu", "__global__ void twice(const float* x, float* y, int n) { y[n] = x[nothing]; }\n");
  const std::string file = place.write("twice.json", description.dump(1));
  check_refused(place.run(tune_kernel(file, "n=1000", place.path("p.sqlite").string())), 3,
                {"kernel tests/twice@", "at n=1000: every configuration failed", "compil", "nothing"});
  // However few of several sizes were reached.
  for (const char* const evaluations : {"1", "2", "3"}) {
    check_refused(place.run(tune_kernel(file, "n=1000,2000,3000", place.path("p.sqlite").string(), evaluations)), 3,
                  {"kernel tests/twice@", ": every configuration failed", "compil"});
  }
  place.write("twice.cu", "__global__ void twice(const float* x, float* y, int n) { if (n < 0) y[0] = x[0]; }\n");
  check_refused(place.run(tune_kernel(file, "n=1000", place.path("p.sqlite").string())), 3,
                {"every configuration failed", "output 'y' was not written"});
  for (const char* const source :
       {"extern __shared__ float tile[];\n__global__ void twice(const float* x, float* y, int n) {}\n",
        "__global__ void twice(const float* x, float* y, int n) { __shared__ int t; }\n"}) {
    place.write("twice.cu", source);
    check_refused(place.run(tune_kernel(file, "n=1000", place.path("p.sqlite").string())), 3,
                  {"every configuration failed", "the emulator has no __shared__ variables", "heddle::SharedMemory"});
  }
}

TEST_CASE("a kernel that does not end is an error, too") {
  const Workplace place;
  place.write("twice.cu",
              "__global__ void twice(const float* x, float* y, int n) {\n"
              "  while (*static_cast<const volatile float*>(x) < 2.0f) y[0] = x[0];\n}\n");
  const std::string file = place.write("twice.json", twice_description().dump(1));
  const Outcome outcome = place.run({"tune", "--kernel", file, "--device", "emulator", "--size", "n=1000", "--budget",
                                     "1s", "--profiles", ":memory:"});
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find("nothing was tuned: not one run of the default ended in time") != std::string::npos);
}

TEST_CASE("a kernel with other arguments than its description") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  json description = twice_description();
  description["arguments"].push_back({{"name", "m"}, {"type", "int32"}, {"value", 1}});
  const auto refused = [&](const std::vector<std::string>& words) {
    check_refused(place.run(tune_kernel(place.write("twice.json", description.dump(1)), "n=1000", ":memory:")), 3,
                  words);
  };
  refused({"every configuration failed", "takes 3 arguments (ppi), a launch gives 4 (ppii)"});
  description = twice_description();
  description["arguments"][2]["type"] = "int64";
  refused({"every configuration failed", "takes 3 arguments (ppi), a launch gives 3 (ppl)"});
}

TEST_CASE("inspect says how a description is understood") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  const std::string file = place.write("twice.json", twice_description().dump(1));
  const Outcome lines = place.run({"inspect", file, "--device", "emulator", "--size", "n=1000"});
  CHECK(lines.code == 0);
  for (const char* const word : {"tests/twice@", "3 points, 3 of them allowed at n=1000", "32 x 1 x 1 blocks of 32",
                                 "random, -1 to 1", "only agreement was checked"}) {
    CAPTURE(word);
    CHECK(lines.out.find(word) != std::string::npos);
  }
  const Outcome document = place.run({"inspect", file, "--device", "emulator", "--size", "n=1000", "--json"});
  REQUIRE(document.code == 0);
  const json read = json::parse(document.out);
  CHECK(read["after_constraints"]["points"] == 3);
  CHECK(read["arguments"][0]["bytes"] == 4000);
  CHECK(read["default"] == "block_size=32");
  check_refused(place.run({"inspect", file, "--size", "m=3"}), 2, {"--size", "NAME is one of"});
  check_refused(place.run({"inspect", file, "--device", "abacus"}), 4, {"abacus"});
  check_refused(place.run({"inspect", place.write("m.bin", "no model"), "--size", "n=3"}), 2, {"no description"});
}

TEST_CASE("a described kernel is tuned, and its table says that only agreement was checked") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  const std::string file = place.write("twice.json", twice_description().dump(1));
  const Outcome outcome =
      place.run({"tune", "--kernel", file, "--device", "emulator", "--size", "n=300,1000", "--evaluations", "6"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("tuning tests/twice@") != std::string::npos);
  CHECK(outcome.out.find("2 of 2 problems tuned") != std::string::npos);
  CHECK(outcome.out.find("agree with the default configuration: only agreement was checked") != std::string::npos);
}

json twice_t1() {
  return json::parse(R"json({
    "General": {"BenchmarkName": "t1 twice", "FormatVersion": 1},
    "ConfigurationSpace": {
      "TuningParameters": [{"Name": "block_size_x", "Type": "int", "Values": "[32, 64, 128]", "Default": 64}],
      "Conditions": [{"Expression": "block_size_x <= 128", "Parameters": ["block_size_x"]}]
    },
    "KernelSpecification": {
      "Language": "CUDA", "KernelName": "twice", "KernelFile": "twice.cu", "ProblemSize": [1000],
      "GlobalSize": {"X": "7"}, "LocalSize": {"X": "block_size_x"},
      "Arguments": [
        {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": "ProblemSize[0]",
         "FillType": "Random", "FillValue": 2.0},
        {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 1000, "Output": 1},
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000.0}
      ]
    }
  })json");
}

TEST_CASE("T1 files are inspected and tuned, with a second file, too; wrong ones are one line") {
  const Workplace place;
  place.write("twice.cu", kDoubleSource);
  const std::string file = place.write("twice.json", twice_t1().dump(1));
  const Outcome lines = place.run({"inspect", file, "--device", "emulator"});
  CHECK(lines.code == 0);
  for (const char* const word : {"t1-twice@", "3 points", "16 x 1 x 1 blocks of 64", "random, 0 to 2"}) {
    CAPTURE(word);
    CHECK(lines.out.find(word) != std::string::npos);
  }
  const std::string with = place.write("with.json", R"({"meaning": "corrected", "parameters": [
      {"name": "block_size_x", "values": [32], "default": 32}]})");
  const Outcome tuned =
      place.run({"tune", "--kernel", file, "--with", with, "--device", "emulator", "--evaluations", "1"});
  CHECK(tuned.code == 0);
  CHECK(tuned.out.find("1 of 1 problem tuned") != std::string::npos);
  check_refused(place.run({"tune", "--with", with, "--device", "emulator"}), 2, {"--with", "found 0 of --kernel"});
  check_refused(place.run({"inspect", file, "--with", "none.json"}), 3, {"none.json: cannot be read"});
  check_refused(place.run({"inspect", file, "--with", place.write("list.json", "[]")}), 3, {"list.json: found []"});

  const auto refused = [&](const std::function<void(json&)>& change, const std::vector<std::string>& words) {
    json document = twice_t1();
    change(document);
    CAPTURE(words.back());
    check_refused(place.run({"inspect", place.write("wrong.json", document.dump()), "--device", "emulator"}), 3, words);
  };
  refused([](json& d) { d.erase("ConfigurationSpace"); }, {"wrong.json: the member 'ConfigurationSpace' is missing"});
  refused([](json& d) { d["KernelSpecification"]["Language"] = "OpenCL"; },
          {"KernelSpecification.Language: found \"OpenCL\", expected CUDA"});
  refused([](json& d) { d["KernelSpecification"]["KernelFile"] = "no.cu"; },
          {"KernelSpecification.KernelFile: 'no.cu'"});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][0]["Type"] = "float16"; },
          {"KernelSpecification.Arguments[0].Type: found \"float16\""});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][0].erase("Size"); },
          {"KernelSpecification.Arguments[0]: the member 'Size' is missing"});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][0]["Size"] = "ProblemSize[3]"; },
          {"KernelSpecification.Arguments[0].Size: ", "index 3"});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][0]["FillType"] = "Script"; },
          {"KernelSpecification.Arguments[0].FillType: contents by Script are not known"});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][2].erase("FillValue"); },
          {"KernelSpecification.Arguments[2]: the member 'FillValue' is missing"});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][2]["FillValue"] = 0.5; },
          {"KernelSpecification.Arguments[2].FillValue: found 0.5, expected an integer"});
  refused([](json& d) { d["General"]["FormatVersion"] = "9.0.0"; },
          {"General.FormatVersion: found \"9.0.0\", expected version 1"});
  refused([](json& d) { d["KernelSpecification"]["Arguments"][0]["MemType"] = "Texture"; },
          {"KernelSpecification.Arguments[0].MemType: texture memory is not known"});
  refused([](json& d) { d["KernelSpecification"]["GlobalSizeType"] = "Metal"; },
          {"KernelSpecification.GlobalSizeType: found \"Metal\""});
  refused(
      [](json& d) {
        d["KernelSpecification"].erase("ProblemSize");
        d["KernelSpecification"].erase("GlobalSize");
      },
      {"the member 'GlobalSize' or 'ProblemSize' is missing"});
  refused([](json& d) { d["ConfigurationSpace"]["TuningParameters"][0]["Default"] = 1; },
          {"parameters[0].default: 1 is none of the values of 'block_size_x'"});
}

}  // namespace
}  // namespace heddle::test
