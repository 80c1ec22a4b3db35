#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/definition_document.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "own_kernel.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

DeviceIdentity device(const std::string& backend) {
  return {.backend = backend, .name = "test", .architecture = backend == "cpu" ? "x86-64-v3" : "9.0", .units = 4};
}

Problem size(std::int64_t n) { return Problem({{.name = "n", .value = n}}); }

TEST_CASE("a definition survives its text, and the family is the same") {
  KernelDefinition kernel = test::add_kernel();
  kernel.axes.push_back(
      {.name = "halo", .weight = 0.5, .spacing = Spacing::difference, .zero_means_none = true, .optional = true});
  kernel.parameters.push_back({.name = "mixed", .values = {true, 1.5, std::string("graph"), std::int64_t{3}}});
  kernel.code["cpu"].untuned += " mixed=graph";
  kernel.code["cuda"].options = {.fast_math = true,
                                 .flush_denormals = true,
                                 .contraction = false,
                                 .standard = LanguageLevel::cpp20,
                                 .extra = {"-DA=1"}};
  kernel.problems = {Problem({{.name = "n", .value = 5}})};
  kernel.awkward = Problem({{.name = "n", .value = 99}, {.name = "halo", .value = 0}});
  const std::string text = describe(kernel, {.folder = "somewhere", .checked_elsewhere = true}).text;
  const auto [again, examples] = read_definition(text);
  CHECK(write_definition(again, examples) == text);
  CHECK(examples.folder == "somewhere");
  CHECK(examples.checked_elsewhere);
  CHECK(again.parameters.back().values == kernel.parameters.back().values);

  const auto family = make_defined_family(text);
  CHECK(family->name().starts_with("own-add@"));
  CHECK(family->unit() == "launch");
  CHECK(family->awkward_problem() == kernel.awkward);
  CHECK(family->source("cuda").options() == kernel.code["cuda"].options);
}

TEST_CASE("a plan has the geometry, the kernel and the arguments of the definition") {
  const auto family = make_defined_family(describe(test::add_kernel()).text);
  const SearchSpace space = family->space(device("cuda"));
  const Configuration configuration = space.parse("block_size=64 items=4");
  const Plan plan = family->plan(configuration, size(1000), device("cuda"), 3);
  CHECK(plan.kernels == Kernels{"own::add<64, 4>"});
  CHECK(family->kernels(configuration, size(1000), device("cuda")) == plan.kernels);
  REQUIRE(plan.launches.size() == 3);
  CHECK(plan.launches[0].grid.x == 4);
  CHECK(plan.launches[2].block.x == 64);
  REQUIRE(plan.buffers.size() == 3);
  CHECK(plan.buffers[2].bytes == 4000);
  CHECK(plan.buffers[2].role == Role::output);
  REQUIRE(plan.launches[0].arguments.size() == 5);
  CHECK(std::get<float>(plan.launches[0].arguments[0]) == 2.5F);
  CHECK(std::get<std::int32_t>(plan.launches[0].arguments[4]) == 1000);
  CHECK(space.violated(space.parse("block_size=128 items=4"), size(1000)) ==
        "backend == 'cpu' or block_size * items <= 256");
  CHECK(space.enumerate(size(1000)).size() == 9);
  CHECK(family->space(device("cpu")).enumerate(size(1000)).size() == 8);
  CHECK(family->host_threads(family->space(device("cpu")).parse("parts=2 items=1"), device("cpu")) == 2);
  CHECK(family->work(size(1000)).bytes == 12000.0);
  CHECK(family->work(size(1000)).operations == 1000.0);
  CHECK_FALSE(family->supports("abacus"));
  CHECK(family->supports("emulator"));
}

TEST_CASE("a constraint that names only sizes is known before the first parameter") {
  KernelDefinition kernel = test::add_kernel();
  for (int i = 0; i < 8; ++i) {
    kernel.parameters.push_back({.name = "p" + std::to_string(i), .values = {}});
    for (std::int64_t value = 0; value < 100; ++value) kernel.parameters.back().values.emplace_back(value);
  }
  kernel.constraints = {"n > 10"};
  const auto visit = [](const Configuration&, const std::vector<SearchSpace::Level>&) { return false; };
  // The walk may try no value at all, and comes to its end.
  CHECK(DefinedFamily(kernel, {}).space(device("cuda")).walk(size(5), {}, visit, 0));
}

TEST_CASE("the hash covers all that decides what a kernel computes, and nothing else") {
  const auto hash = [](const std::function<void(KernelDefinition&)>& change) {
    KernelDefinition kernel = test::add_kernel();
    change(kernel);
    return make_defined_family(describe(kernel).text)->source("cuda").hash();
  };
  const std::string before = hash([](KernelDefinition&) {});
  CHECK(hash([](KernelDefinition& k) { k.meaning = "other"; }) == before);
  CHECK(hash([](KernelDefinition& k) { k.problems = {size(3)}; }) == before);
  CHECK(hash([](KernelDefinition& k) { k.code["cpu"].text += "int more;"; }) == before);
  CHECK(hash([](KernelDefinition& k) { k.code["cuda"].text += "// more\n"; }) == before);
  CHECK(hash([](KernelDefinition& k) { k.code["cuda"].text += "int more;"; }) != before);
  CHECK(hash([](KernelDefinition& k) { k.code["cuda"].grid = {"1 + ceil_div(n, block_size * items)"}; }) != before);
  CHECK(hash([](KernelDefinition& k) { k.arguments[0].value = "1.5"; }) != before);
  CHECK(hash([](KernelDefinition& k) { k.version = "2"; }) != before);
}

TEST_CASE("examples come from a file, and have to fit") {
  const TemporaryFolder folder;
  const auto family = make_defined_family(describe(test::add_kernel(), {.folder = folder.path().string()}).text);
  const Configuration configuration = family->default_configuration(device("cpu"), size(3));
  const std::vector<std::byte> bytes(12, std::byte{7});
  save_example(folder.path().string(), *family, size(3), device("cpu"), {{"x", bytes}, {"y", bytes}});
  const Trial trial = family->trial(configuration, size(3), device("cpu"), 1, 1);
  CHECK(*trial.initial == HostImage{{"x", bytes}, {"y", bytes}});
  CHECK_THROWS_WITH_AS(static_cast<void>(family->trial(configuration, size(4), device("cpu"), 1, 1)),
                       doctest::Contains("the example for n=4 cannot be read: No such file"), Error);
  CHECK_THROWS_WITH_AS(save_example(folder.path().string(), *family, size(3), device("cpu"), {{"x", bytes}}),
                       doctest::Contains("has 0 bytes of 'y', expected 12"), Error);
}

TEST_CASE("a definition that makes no sense is one error that says what") {
  const auto fails = [](const std::function<void(KernelDefinition&)>& change, const char* why) {
    KernelDefinition kernel = test::add_kernel();
    change(kernel);
    CHECK_THROWS_WITH_AS(static_cast<void>(make_defined_family(describe(kernel).text)), doctest::Contains(why), Error);
  };
  fails([](auto& k) { k.constraints = {"blocksize < 3"}; }, "asks for 'blocksize', expected one of: block_size, ");
  fails([](auto& k) { k.constraints = {"1 +"}; }, "kernel 'own-add', constraint: expression '1 +'");
  fails([](auto& k) { k.parameters[1].active = "items == 1"; }, "active: expression 'items == 1' asks for");
  fails([](auto& k) { k.parameters[0].name = "n"; }, "two things are called 'n'");
  fails([](auto& k) { k.parameters[0].name = "units"; }, "two things are called 'units'");
  fails([](auto& k) { k.parameters[0].values.clear(); }, "parameter 'block_size' has no values");
  fails([](auto& k) { k.arguments[1].name = "y"; }, "two arguments are called 'y'");
  fails([](auto& k) { k.arguments[1].elements.clear(); }, "argument 'x' needs either elements or a value");
  fails([](auto& k) { k.arguments[1].elements = "items"; }, "elements: expression 'items' asks for 'items'");
  fails([](auto& k) { k.code.clear(); }, "there is no code");
  fails([](auto& k) { k.code["opencl"] = k.code["cpu"]; }, "code for 'opencl', expected cuda or cpu");
  fails([](auto& k) { k.code["cpu"].grid = {}; }, "grid has 0 sizes");
  fails([](auto& k) { k.code["cpu"].text = "#include \"heddle/none.hpp\"\n"; }, "an #include: no embedded source");
  fails([](auto& k) { k.code["cpu"].kernel = "add<{what}>"; }, "asks for 'what'");
  fails([](auto& k) { k.awkward = Problem({{.name = "m", .value = 3}}); }, "expected");
  for (const std::string text : {"", "{}", "[]", "{\"name\": 3}", "{\"name\":\"x\",\"meaning\":\"\",\"axes\":3}"}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(make_defined_family(text)), doctest::Contains("the description of a kernel"),
                         Error);
  }
  const auto family = make_defined_family(describe(test::add_kernel()).text);
  CHECK_THROWS_AS(static_cast<void>(family->source("abacus")), Error);
}

TEST_CASE("definitions of one name that differ are families of their own, and the same one is the same everywhere") {
  const std::string name = family_name(test::add_kernel());
  CHECK(name.starts_with("own-add@"));
  CHECK(name.size() == std::string("own-add@").size() + 12);
  const auto name_after = [](const std::function<void(KernelDefinition&)>& change) {
    KernelDefinition kernel = test::add_kernel();
    change(kernel);
    return family_name(kernel);
  };
  CHECK(name_after([](KernelDefinition& k) { k.meaning = "other words"; }) == name);
  CHECK(name_after([](KernelDefinition& k) { k.problems = {size(5)}; }) == name);
  CHECK(name_after([](KernelDefinition& k) { k.metrics = {{"n/us", "n / time"}}; }) == name);
  CHECK(name_after([](KernelDefinition& k) { k.name += "@of-the-program"; }) == "own-add@of-the-program");
  for (const char* const language : {"cuda", "cpu"}) {
    CHECK(name_after([&](KernelDefinition& k) { k.code[language].text += "\nstatic const int another = 1;\n"; }) !=
          name);
  }
  CHECK(name_after([](KernelDefinition& k) { k.version = "2"; }) != name);
  CHECK(name_after([](KernelDefinition& k) {
          k.conditions = {{"odd", [](const Configuration&) { return true; }}};
        }) != name);
}

TEST_CASE("a condition in C++ holds in this process, and a worker's family takes what it allows") {
  KernelDefinition kernel = test::add_kernel();
  kernel.conditions = {{"blocks of 64 have one item", [](const Configuration& configuration) {
                          return !configuration.has("block_size") || configuration.number("block_size") != 64 ||
                                 configuration.number("items") == 1;
                        }}};
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(kernel));
  const SearchSpace space = family.space(device("cuda"));
  CHECK(space.enumerate(size(1000)).size() == 7);
  CHECK(space.violated(space.parse("block_size=64 items=4"), size(1000)) == "blocks of 64 have one item");
  const auto in_worker = make_defined_family(families.descriptions().front().text);
  CHECK(in_worker->name() == family.name());
  CHECK(in_worker->source("cuda").hash() == family.source("cuda").hash());
  CHECK(in_worker->space(device("cuda")).enumerate(size(1000)).size() == 9);
}

TEST_CASE("metrics are expressions over sizes, parameters and what was measured") {
  KernelDefinition kernel = test::add_kernel();
  kernel.metrics = {{"GFLOP/s", "2 * n / time / 1e3"}, {"threads", "block_size"}};
  const auto family = make_defined_family(describe(kernel).text);
  REQUIRE(family->metrics().size() == 2);
  CHECK(family->metrics()[0].name == "GFLOP/s");
  CHECK(family->metrics()[1].value.text() == "block_size");
  kernel.metrics = {{"speed", "n / seconds"}};
  CHECK_THROWS_WITH_AS(static_cast<void>(describe(kernel)), doctest::Contains("metrics: expression 'n / seconds' asks"),
                       Error);
}

TEST_CASE("a registry of built-in families makes defined kernels, as a worker's does") {
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(test::add_kernel()));
  CHECK(families.find(family_name(test::add_kernel())) == &family);
  CHECK(families.descriptions().size() == 1);
}

}  // namespace
}  // namespace heddle
