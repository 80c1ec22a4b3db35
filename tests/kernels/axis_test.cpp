#include "heddle/kernels/axis.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "carving_family.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/size_box.hpp"

namespace heddle {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Rows, inputs, outputs and eight hidden layers, any of which may be missing: as much as a family is expected to have.
const std::vector<Axis>& deep_axes() {
  static const std::vector<Axis> axes = [] {
    std::vector<Axis> all{{.name = "rows", .maximum = 1 << 30}, {.name = "inputs"}, {.name = "outputs"}};
    for (int layer = 1; layer <= 8; ++layer) {
      all.push_back({.name = "hidden" + std::to_string(layer), .weight = 0.5, .zero_means_none = true});
    }
    return all;
  }();
  return axes;
}

const std::vector<const std::vector<Axis>*>& all_kinds() {
  static const std::vector<const std::vector<Axis>*> kinds{&test::carving_axes(), &deep_axes()};
  return kinds;
}

TEST_CASE("the axes of every family are sound") {
  for (const auto& each : builtin_families().all()) CHECK_NOTHROW(check_axes(each->axes()));
  for (const auto* axes : all_kinds()) CHECK_NOTHROW(check_axes(*axes));
}

TEST_CASE("axes that no family may have") {
  const auto refused = [](const std::vector<Axis>& axes, const char* word) {
    try {
      check_axes(axes);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::usage && std::string(error.what()).find(word) != std::string::npos;
    }
    return false;
  };
  for (const char* name : {"", "two words", "a=b", "a,b", "-a", "a\n", "h\xc3\xb6he"}) {
    CAPTURE(name);
    CHECK(refused({{.name = name}}, "name"));
  }
  CHECK(refused({{.name = std::string(41, 'a')}}, "name"));
  CHECK(refused({{.name = "a"}, {.name = "b"}, {.name = "a"}}, "twice"));
  CHECK(refused({{.name = "a", .weight = 0.0}}, "weight"));
  CHECK(refused({{.name = "a", .weight = kInfinite}}, "weight"));
  CHECK(refused({{.name = "a", .maximum = 0}}, "maximum"));
  CHECK(refused({{.name = "a", .maximum = (std::int64_t{1} << 53) + 1}}, "maximum"));
  std::vector<Axis> many;
  many.reserve(33);
  for (int i = 0; i < 33; ++i) many.push_back({.name = "a" + std::to_string(i)});
  CHECK(refused(many, "32"));
}

TEST_CASE("which values an axis has") {
  const Axis plain{.name = "a", .maximum = 8};
  CHECK(allows(plain, 1));
  CHECK(allows(plain, 8));
  CHECK_FALSE(allows(plain, 0));
  CHECK_FALSE(allows(plain, 9));
  CHECK_FALSE(allows(plain, -1));
  CHECK_FALSE(allows(plain, std::nullopt));
  const Axis loose{.name = "a", .maximum = 8, .zero_means_none = true, .optional = true};
  CHECK(allows(loose, 0));
  CHECK(allows(loose, std::nullopt));
  CHECK_FALSE(allows(loose, -1));
  CHECK(range_text(plain) == "from 1 to 8");
  CHECK(range_text(loose) == "from 0 to 8");
  const Axis few{.name = "a", .maximum = 64, .spacing = Spacing::equal, .values = {32, 64}};
  CHECK(range_text(few) == "32 or 64");
  CHECK(smallest(few) == 32);
  CHECK(allows(few, 32));
  CHECK_FALSE(allows(few, 48));
  CHECK_FALSE(allows(few, std::nullopt));
  CHECK(steps(few, 32, 64) == std::vector<std::int64_t>{32, 64});
  check_axes({few});
  Axis wrong = few;
  wrong.values = {64, 32};
  CHECK_THROWS_AS(check_axes({wrong}), Error);
  wrong.values = {32, 63};
  CHECK_THROWS_AS(check_axes({wrong}), Error);
}

TEST_CASE("distances of two values") {
  const Axis ratio{.name = "a", .zero_means_none = true};
  CHECK(axis_distance(ratio, 0, 0) == 0.0);
  CHECK(axis_distance(ratio, 4, 16) == 2.0);
  CHECK(axis_distance(ratio, 0, 1) == 1.0);  // an octave beyond 1
  CHECK(axis_distance(ratio, 0, 16) == 5.0);
  CHECK(axis_distance(ratio, 16, 0) == 5.0);
  const Axis difference{.name = "a", .spacing = Spacing::difference, .zero_means_none = true};
  CHECK(axis_distance(difference, 0, 7) == 7.0);
  CHECK(axis_distance(difference, 9, 7) == 2.0);
  const Axis equal{.name = "a", .spacing = Spacing::equal};
  CHECK(axis_distance(equal, 4, 4) == 0.0);
  CHECK(axis_distance(equal, 4, 8) == kInfinite);
  const Axis optional{.name = "a", .optional = true};
  CHECK(axis_distance(optional, std::nullopt, std::nullopt) == 0.0);
  CHECK(axis_distance(optional, std::nullopt, 1) == kInfinite);
  CHECK(axis_distance(optional, 1, std::nullopt) == kInfinite);
}

TEST_CASE("the value between two lies between them, evenly on the axis' own scale") {
  std::mt19937_64 random(std::random_device{}());
  for (const auto* axes : all_kinds()) {
    for (const Axis& axis : *axes) {
      CAPTURE(axis.name);
      for (int times = 0; times < 300; ++times) {
        const auto any = [&] {
          return smallest(axis) + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(axis.maximum));
        };
        const std::int64_t a = any(), b = any();
        CHECK(between(axis, a, b, 0.0) == a);
        CHECK(between(axis, a, b, 1.0) == b);
        CHECK(between(axis, a, a, 0.3) == a);
        const double part = static_cast<double>(random() % 1000) / 1000.0;
        const std::int64_t value = between(axis, a, b, part);
        CHECK(value >= std::min(a, b));
        CHECK(value <= std::max(a, b));
        CHECK(allows(axis, value));
        if (axis.spacing == Spacing::equal) continue;
        const double wanted = std::lerp(coordinate(axis, a), coordinate(axis, b), part);
        for (const std::int64_t other : {value - 1, value + 1}) {  // no other value is clearly closer
          if (!allows(axis, other)) continue;
          CHECK(std::abs(coordinate(axis, value) - wanted) <= std::abs(coordinate(axis, other) - wanted) + 0.2);
        }
      }
    }
  }
  const Axis ratio{.name = "a", .zero_means_none = true};
  CHECK(between(ratio, 4, 64, 0.5) == 16);
  CHECK(between(ratio, 0, 64, 0.05) == 0);
  CHECK(between(ratio, 0, 64, 0.1) == 1);
  CHECK(between({.name = "a", .spacing = Spacing::difference}, 4, 64, 0.5) == 34);
}

TEST_CASE("the values of a range") {
  const Axis ratio{.name = "a", .zero_means_none = true};
  CHECK(steps(ratio, 32, 200) == std::vector<std::int64_t>{32, 64, 128, 200});
  CHECK(steps(ratio, 0, 4) == std::vector<std::int64_t>{0, 1, 2, 4});
  CHECK(steps(ratio, 7, 7) == std::vector<std::int64_t>{7});
  CHECK(steps(ratio, 8, 7).empty());
  const Axis difference{.name = "a", .spacing = Spacing::difference};
  CHECK(steps(difference, 2, 5) == std::vector<std::int64_t>{2, 3, 4, 5});
  CHECK(steps(difference, 1, 1000).size() == 1000);
  CHECK(steps(difference, 1, 1001).empty());
}

TEST_CASE("problems of any axes come back from their text") {
  std::mt19937_64 random(std::random_device{}());
  for (const auto* axes : all_kinds()) {
    for (int times = 0; times < 300; ++times) {
      const Problem problem = test::any_problem(*axes, random);
      CAPTURE(problem.text());
      CHECK(Problem::parse(problem.text(), *axes) == problem);
      CHECK_FALSE(misfit(problem, *axes));
      CHECK(Problem::from(*axes, axis_values(problem, *axes)) == problem);
      CHECK(problem.text().size() < 200);  // what a cell of a table shows
    }
  }
  CHECK(test::carving(64, 0, std::nullopt, 4).text() == "elements=64 cuts=0 bytes=4");
  CHECK(test::carving(64, 0, 0, 4).text() == "elements=64 cuts=0 halo=0 bytes=4");
}

TEST_CASE("problems that do not fit their axes") {
  for (const char* text :
       {"", "elements=64 cuts=0", "elements=64 bytes=4", "elements=0 cuts=0 bytes=4", "elements=64 cuts=-1 bytes=4",
        "elements=64 cuts=65 bytes=4", "elements=64 cuts=0 bytes=0", "elements=64 cuts=0 halo= bytes=4",
        "elements=64 cuts=0 halo bytes=4", "elements=64 cuts=0 bytes=4 halo=1",
        "elements=64 cuts=0 halo=1 halo=1 bytes=4", "elements=64 cuts=00 bytes=4", "elements=64 cuts=0  bytes=4",
        "elements=64 cuts=0 bytes=4 "}) {
    CAPTURE(text);
    CHECK_THROWS_AS(static_cast<void>(Problem::parse(text, test::carving_axes())), Error);
  }
  const auto why = misfit(Problem({{.name = "elements", .value = 64}}), test::carving_axes());
  REQUIRE(why);
  CHECK(why->find("cuts=<number>") != std::string::npos);
  // In another order than that of the axes.
  const Problem turned({{.name = "cuts", .value = 1}, {.name = "elements", .value = 2}, {.name = "bytes", .value = 4}});
  CHECK(misfit(turned, test::carving_axes()));
}

TEST_CASE("the distance of two problems is a metric") {
  std::mt19937_64 random(std::random_device{}());
  for (const auto* axes : all_kinds()) {
    const auto apart = [&](const Problem& a, const Problem& b) { return distance(a, b, *axes); };
    for (int times = 0; times < 300; ++times) {
      const Problem a = test::any_problem(*axes, random);
      const Problem b = random() % 4 == 0 ? a : test::any_problem(*axes, random);
      const Problem c = test::any_problem(*axes, random);
      CAPTURE(a.text());
      CAPTURE(b.text());
      CAPTURE(c.text());
      CHECK(apart(a, a) == 0.0);
      CHECK((apart(a, b) == 0.0) == (a == b));
      CHECK(apart(a, b) >= 0.0);
      CHECK(std::isinf(apart(a, b)) == std::isinf(apart(b, a)));
      if (std::isfinite(apart(a, b))) {
        CHECK(apart(a, b) == doctest::Approx(apart(b, a)));
        CHECK(squared_distance(a, b, *axes) == doctest::Approx(apart(a, b) * apart(a, b)));
      }
      CHECK(apart(a, c) <= (apart(a, b) + apart(b, c)) * (1.0 + 1e-12));
      CHECK(std::isinf(apart(a, b)) == (separating_axis(a, b, *axes) != nullptr));
    }
  }
  const Problem here = test::carving(64, 3, std::nullopt, 4);
  CHECK(squared_distance(here, test::carving(256, 7, std::nullopt, 4), test::carving_axes()) == 4.0 + 0.25 * 16.0);
  CHECK(separating_axis(here, test::carving(64, 3, 8, 4), test::carving_axes())->name == "halo");
  CHECK(separating_axis(here, test::carving(1, 0, std::nullopt, 8), test::carving_axes())->name == "bytes");
}

TEST_CASE("groups of comparable problems, their boxes, and draws from them") {
  const std::vector<Axis>& axes = test::carving_axes();
  std::mt19937_64 random(std::random_device{}());
  std::vector<Problem> problems;
  problems.reserve(60);
  for (int i = 0; i < 60; ++i) problems.push_back(test::any_problem(axes, random));
  const auto groups = comparable_groups(problems, axes);
  CHECK(groups.front().front() == problems.front());
  std::size_t count = 0;
  for (const auto& group : groups) {
    count += group.size();
    const SizeBox box = bounding_box(group, axes);
    for (int times = 0; times < 20; ++times) {
      const Problem drawn = draw(box, axes, random, 0.1);
      CHECK_FALSE(misfit(drawn, axes));
      for (const Problem& problem : group) CHECK(std::isfinite(distance(problem, drawn, axes)));
      const auto low = axis_values(box.low, axes), value = axis_values(drawn, axes), high = axis_values(box.high, axes);
      for (std::size_t i = 0; i < axes.size(); ++i) {
        CHECK(low[i] <= value[i]);
        CHECK(value[i] <= high[i]);
      }
    }
    for (const auto& other : groups) {
      if (&other != &group) CHECK(std::isinf(distance(group.front(), other.back(), axes)));
    }
  }
  CHECK(count == problems.size());
  CHECK(bounding_boxes(problems, axes).size() == problems.size());
}

}  // namespace
}  // namespace heddle
