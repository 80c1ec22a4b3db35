#include "heddle/kernels/family_registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/forwarding_family.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle {
namespace {

/// sonfin-train under another name.
class Renamed final : public ForwardingFamily {
 public:
  explicit Renamed(std::string name) : ForwardingFamily(sonfin::train_family()), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }

 private:
  std::string name_;
};

/// The line of the Error(usage) that `work` throws; empty if it throws none.
template <class Work>
std::string usage_error(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return {};
}

TEST_CASE("families are found by name, in the order in which they were added") {
  FamilyRegistry families = builtin_families();
  const std::size_t built_in = families.all().size();
  REQUIRE(built_in > 1);
  const std::string last(families.all().back()->name());
  const KernelFamily& carpet = families.add(std::make_shared<Renamed>("carpet"));
  REQUIRE(families.all().size() == built_in + 1);
  CHECK(families.all().back().get() == &carpet);
  for (const auto& each : families.all()) {
    CHECK(families.find(each->name()) == each.get());
    CHECK(&families.at(each->name()) == each.get());
  }
  CHECK(families.names().ends_with(last + ", carpet"));
  CHECK(families.find("weaving") == nullptr);
  CHECK(builtin_families().find("carpet") == nullptr);  // no registry knows what was added to another
}

TEST_CASE("an unknown family is answered with the names there are") {
  const FamilyRegistry families = builtin_families();
  const std::string line = usage_error([&] { static_cast<void>(families.at("carpet")); });
  CHECK(line.find("carpet") != std::string::npos);
  for (const auto& each : families.all()) CHECK(line.find(each->name()) != std::string::npos);
  CHECK_FALSE(usage_error([&] { static_cast<void>(FamilyRegistry().at("carpet")); }).empty());
}

TEST_CASE("names that are taken, or that no table and no option can hold, are refused") {
  FamilyRegistry families = builtin_families();
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a,b"), std::string("a\n"), std::string("\x1b[2J"),
        std::string("caf\xc3\xa9"), std::string(65, 'x'), std::string("sonfin-train"), std::string("tsk-linear")}) {
    CAPTURE(name);
    CHECK_FALSE(usage_error([&] { families.add(std::make_shared<Renamed>(name)); }).empty());
  }
  CHECK(families.all().size() == builtin_families().all().size());
  families.add(std::make_shared<Renamed>(std::string(64, 'x')));
  CHECK_THROWS_AS(families.add(std::shared_ptr<const KernelFamily>()), Error);
}

TEST_CASE("a family made from a description can be made again elsewhere") {
  const auto with_maker = [] {
    FamilyRegistry families = builtin_families();
    families.add_maker("renamed", [](const std::string& text) { return std::make_shared<Renamed>(text); });
    return families;
  };
  FamilyRegistry here = with_maker(), there = with_maker();
  CHECK(here.descriptions().empty());
  CHECK(here.add({.maker = "renamed", .text = "one"}).name() == "one");
  here.add(std::make_shared<Renamed>("not-described"));
  here.add({.maker = "renamed", .text = "two"});
  REQUIRE(here.descriptions().size() == 2);
  for (const FamilyDescription& each : here.descriptions()) there.add(each);
  CHECK(there.names().ends_with(std::string(builtin_families().all().back()->name()) + ", one, two"));

  CHECK(usage_error([&] { here.add({.maker = "weaver", .text = "three"}); }).find("'weaver'") != std::string::npos);
  CHECK_FALSE(usage_error([&] { here.add({.maker = "renamed", .text = "two"}); }).empty());
  CHECK(here.descriptions().size() == 2);
  CHECK(here.find("three") == nullptr);
}

TEST_CASE("copies share families, and what is added to one stays there") {
  const KernelFamily* carpet = nullptr;
  FamilyRegistry copy;
  {
    FamilyRegistry families;
    carpet = &families.add(std::make_shared<Renamed>("carpet"));
    copy = families;
    families.add(std::make_shared<Renamed>("rug"));
  }
  CHECK(copy.find("carpet") == carpet);
  CHECK(carpet->name() == "carpet");
  CHECK(copy.find("rug") == nullptr);
}

TEST_CASE("buffers of a plan by name") {
  Plan plan;
  plan.buffers = {{.name = "rows", .bytes = 4, .role = Role::input},
                  {.name = "sums", .bytes = 8, .role = Role::output}};
  CHECK(plan.buffer("sums") == 1);
  CHECK_THROWS_AS(static_cast<void>(plan.buffer("none")), std::out_of_range);
}

}  // namespace
}  // namespace heddle
