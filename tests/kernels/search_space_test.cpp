#include "heddle/kernels/search_space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"

namespace heddle {
namespace {

Problem problem(std::int64_t rules) { return Problem({{.name = "rules", .value = rules}}); }

/// `count` has a meaning in one mode alone; one constraint looks at an early prefix, one at the problem and device.
SearchSpace small_space() {
  const auto word = [](const char* text) { return Value(std::string(text)); };
  std::vector<Parameter> parameters{
      {.name = "mode", .values = {word("plain"), word("split")}, .meaning = "how", .active = {}},
      {.name = "count",
       .values = numbers({1, 2, 4}),
       .meaning = "parts",
       .active = [](const Configuration& before) { return before.word("mode") == "split"; }},
      {.name = "block", .values = numbers({32, 64, 128}), .meaning = "threads", .active = {}}};
  std::vector<Constraint> constraints{
      {.name = "count <= rules",
       .last = "count",
       .holds = [](const Configuration& c, const Problem& p,
                   const DeviceIdentity&) { return !c.has("count") || c.number("count") <= p.at("rules"); }},
      {.name = "block <= units",
       .last = {},
       .holds = [](const Configuration& c, const Problem&, const DeviceIdentity& d) {
         return c.number("block") <= d.units;
       }}};
  return {DeviceIdentity{.backend = "cpu", .name = "x", .architecture = "y", .units = 64}, std::move(parameters),
          std::move(constraints)};
}

std::vector<std::string> texts(const std::vector<Configuration>& list) {
  std::vector<std::string> result;
  result.reserve(list.size());
  for (const Configuration& each : list) result.push_back(each.text());
  return result;
}

std::string refusal(const SearchSpace& space, const std::string& text) {
  try {
    static_cast<void>(space.parse(text));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return {};
}

TEST_CASE("enumeration is lexicographic, leaves out what has no meaning, and obeys every constraint") {
  using List = std::vector<std::string>;
  CHECK(texts(small_space().enumerate(problem(2))) ==
        List{"mode=plain block=32", "mode=plain block=64", "mode=split count=1 block=32", "mode=split count=1 block=64",
             "mode=split count=2 block=32", "mode=split count=2 block=64"});
  CHECK(small_space().enumerate(problem(9)).size() == 8);
}

TEST_CASE("the first violated constraint is named") {
  const SearchSpace space = small_space();
  CHECK(space.violated(space.parse("mode=split count=4 block=128"), problem(2)) == "count <= rules");
  CHECK(space.violated(space.parse("mode=split count=2 block=128"), problem(2)) == "block <= units");
  CHECK(!space.violated(space.parse("mode=split count=2 block=64"), problem(2)));
}

TEST_CASE("a walk follows the order it is given and ends when it is told to") {
  const SearchSpace space = small_space();
  std::vector<std::string> seen;
  const auto backwards = [](std::size_t, std::vector<SearchSpace::Level>& levels) {
    std::reverse(levels.begin(), levels.end());
  };
  space.walk(problem(2), backwards, [&](const Configuration& c, const std::vector<SearchSpace::Level>& levels) {
    CHECK(space.levels(c) == levels);
    seen.push_back(c.text());
    return seen.size() < 3;
  });
  CHECK(seen == std::vector<std::string>{"mode=split count=2 block=64", "mode=split count=2 block=32",
                                         "mode=split count=1 block=64"});
  std::size_t visited = 0;
  const auto visit = [&](const Configuration&, const std::vector<SearchSpace::Level>&) { return ++visited > 0; };
  space.walk(problem(2), {}, visit, 3);  // mode=plain, block=32, block=64
  CHECK(visited == 2);
}

TEST_CASE("a walk and an estimate through dear constraints end when they are told to") {
  std::vector<Value> values;
  for (std::int64_t i = 0; i < 1000; ++i) values.emplace_back(i);
  Constraint counting;
  std::size_t asked = 0;
  counting.name = "counting";
  counting.last = "a";
  counting.holds = [&](const Configuration&, const Problem&, const DeviceIdentity&) { return ++asked > 0; };
  const SearchSpace space({}, {{.name = "a", .values = values, .meaning = {}, .active = {}}}, {counting});
  const auto visit = [](const Configuration&, const std::vector<SearchSpace::Level>&) { return true; };
  const Stop at_once = [] { return true; };
  CHECK_FALSE(space.walk(problem(2), {}, visit, 1000000, at_once));
  CHECK(asked < 500);
  asked = 0;
  CHECK(space.estimate(problem(2), 1000, at_once) == 1000.0);
  CHECK(asked == 4);  // one way: as many as say how many are allowed
}

TEST_CASE("of very many values few are tried, for a draw as for an estimate") {
  constexpr std::int64_t kValues = 1000;
  std::vector<Value> values;
  for (std::int64_t i = 0; i < kValues; ++i) values.emplace_back(i);
  std::size_t asked = 0;
  Constraint even{
      .name = "even", .last = "a", .holds = [&](const Configuration& c, const Problem&, const DeviceIdentity&) {
        ++asked;
        return c.number("a") % 2 == 0;
      }};
  Constraint rare{
      .name = "rare", .last = "b", .holds = [&](const Configuration& c, const Problem&, const DeviceIdentity&) {
        ++asked;
        return (c.number("a") + c.number("b")) % 100 == 3;
      }};
  const SearchSpace space({},
                          {{.name = "a", .values = values, .meaning = {}, .active = {}},
                           {.name = "b", .values = values, .meaning = {}, .active = {}}},
                          {even, rare});
  std::uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11U) * 0x1p-53;
  };
  constexpr int kDraws = 200;
  std::int64_t sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = space.draw(problem(2), uniform);
    REQUIRE(drawn.has_value());
    CHECK_FALSE(space.violated(*drawn, problem(2)));
    sum += drawn->number("a");
  }
  CHECK(asked < kDraws * 4 * 600);  // of 2000 values on each way
  CHECK(static_cast<double>(sum) / kDraws == doctest::Approx(kValues / 2.0).epsilon(0.15));  // all about as likely
  CHECK(space.estimate(problem(2), 2000) == doctest::Approx(500.0 * 10.0).epsilon(0.05));
  CHECK_FALSE(space.draw(problem(2), uniform, [] { return true; }));
}

TEST_CASE("what is chosen last is in no list, is read and written only where it is not the first value") {
  const DeviceIdentity device{.backend = "cpu", .name = "x", .architecture = "y", .units = 64};
  const std::vector<Parameter> parameters{
      {.name = "block", .values = numbers({32, 64}), .meaning = "", .active = {}},
      {.name = "wait",
       .values = numbers({440, 300, 600}),
       .meaning = "",
       .active = [](const Configuration& before) { return before.number("block") == 64; },
       .chosen_last = true},
      {.name = "copies", .values = numbers({8, 4}), .meaning = "", .active = {}, .chosen_last = true}};
  const std::vector<Constraint> constraints{
      {.name = "wait < 10 rules",
       .last = "wait",
       .holds = [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
         return !c.has("wait") || c.number("wait") < 10 * p.at("rules");
       }}};
  const SearchSpace space(device, parameters, constraints);
  CHECK(texts(space.enumerate(problem(100))) == std::vector<std::string>{"block=32", "block=64"});
  CHECK(space.estimate(problem(100), 10) == 2.0);
  CHECK(space.parse("block=64 wait=440 copies=8").text() == "block=64");
  const Configuration both = space.parse("block=64 wait=300 copies=4");
  CHECK(both.text() == "block=64 wait=300 copies=4");
  CHECK(space.is_refined(both));
  CHECK(!space.is_refined(space.parse("block=64")));
  CHECK(space.unrefined(both) == space.parse("block=64"));
  CHECK(space.unrefined(space.parse("block=32")) == space.parse("block=32"));
  CHECK(space.chosen_last(both).size() == 2);
  CHECK(space.chosen_last(space.parse("block=32")).front()->name == "copies");
  CHECK(refusal(space, "block=32 wait=300").find("no meaning") != std::string::npos);
  CHECK(refusal(space, "block=64 wait=301").find("440, 300, 600") != std::string::npos);
  CHECK(texts(space.refinements(space.parse("block=64"), problem(100))) ==
        std::vector<std::string>{"block=64 wait=300", "block=64 wait=600", "block=64 copies=4"});
  CHECK(texts(space.refinements(space.parse("block=32"), problem(100))) ==
        std::vector<std::string>{"block=32 copies=4"});
  CHECK(texts(space.refinements(space.parse("block=64"), problem(50))) ==
        std::vector<std::string>{"block=64 wait=300", "block=64 copies=4"});
  CHECK(texts(space.refinements(both, problem(100))) ==
        std::vector<std::string>{"block=64 copies=4", "block=64 wait=600 copies=4", "block=64 wait=300"});
  CHECK_THROWS_AS(SearchSpace(device, {parameters[2], parameters[0]}, {}), std::invalid_argument);
}

TEST_CASE("configurations are drawn and their number is estimated") {
  const SearchSpace space = small_space();
  std::uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11U) * 0x1p-53;
  };
  std::set<std::string> drawn;
  for (int i = 0; i < 200; ++i) {
    const auto configuration = space.draw(problem(2), uniform);
    REQUIRE(configuration.has_value());
    REQUIRE(!space.violated(*configuration, problem(2)).has_value());
    drawn.insert(configuration->text());
  }
  CHECK(drawn.size() == 6);
  CHECK(space.estimate(problem(2), 2000) == doctest::Approx(6.0).epsilon(0.05));
}

TEST_CASE("parse refuses what is outside the space and says what was expected") {
  const SearchSpace space = small_space();
  CHECK(space.parse("block=32 mode=plain").text() == "mode=plain block=32");
  CHECK(refusal(space, "mode=plain").find("32, 64, 128") != std::string::npos);
  CHECK(refusal(space, "mode=plain block=33").find("32, 64, 128") != std::string::npos);
  for (const char* bad : {"", "mode", "mode=plain block", "mode=plain block=32 block=32", "mode=plain count=1 block=32",
                          "mode=split block=32", "mode=plain block=32 extra=1", "mode=plain block=32 ; drop",
                          "mode=plain block= 32", "mode=plain\nblock=32", "mode=plain block=032"}) {
    CAPTURE(bad);
    CHECK(!refusal(space, bad).empty());
  }
}

TEST_CASE("values by name and kind") {
  const Configuration c = small_space().parse("mode=split count=2 block=32");
  CHECK(c.number("count") == 2);
  CHECK(c.word("mode") == "split");
  CHECK(c.has("count"));
  CHECK(!c.has("none"));
  CHECK_THROWS_AS(static_cast<void>(c.number("none")), std::out_of_range);
  CHECK_THROWS_AS(static_cast<void>(c.word("none")), std::out_of_range);
}

TEST_CASE("a constraint that waits for no parameter of its space is a mistake") {
  const Constraint waits{.name = "x", .last = "nothing", .holds = {}};
  CHECK_THROWS_AS(SearchSpace({}, {}, {waits}), std::out_of_range);
}

TEST_CASE("spaces of all families: texts come back, none is repeated, defaults are valid") {
  for (const auto& family : builtin_families().all()) {
    for (const char* backend : {"cuda", "cpu"}) {
      if (!family->supports(backend)) continue;
      CAPTURE(family->name());
      CAPTURE(backend);
      const DeviceIdentity device{.backend = backend,
                                  .name = "any",
                                  .architecture = backend == std::string("cuda") ? "9.0" : "x86-64-v3",
                                  .units = 16,
                                  .memory_gib = 80,
                                  .cache_bytes = 32 << 20,
                                  .local_bytes = 200 << 10};
      const SearchSpace space = family->space(device);
      const Problem sizes = family->awkward_problem();
      const auto all = space.enumerate(sizes);
      REQUIRE(!all.empty());
      std::set<std::string> seen;
      for (const Configuration& each : all) {
        REQUIRE(space.parse(each.text()) == each);
        REQUIRE(!space.violated(each, sizes));
        REQUIRE(seen.insert(each.text()).second);
      }
      CHECK(seen.contains(family->default_configuration(device, sizes).text()));
    }
  }
}

}  // namespace
}  // namespace heddle
