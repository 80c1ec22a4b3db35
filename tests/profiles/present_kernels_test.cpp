#include "heddle/profiles/present_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;

TEST_CASE("a profile is current as long as what it says about its kernels is true") {
  const FamilyRegistry families = builtin_families();
  PresentKernels present(families.at(key().family));
  CHECK(present.version(card()) == kernel_version(families.at(key().family), card()));

  Profile both = profile();
  both.kernels = present.version(card());
  CHECK(present.currency(both) == Currency::current);
  Profile other_contract = both;
  other_contract.kernels.contract_digest = std::string(32, 'c');
  CHECK(present.currency(other_contract) == Currency::other_contract);
  Profile other_templates = both;
  other_templates.kernels.source_hash = std::string(32, 'f');
  CHECK(present.currency(other_templates) == Currency::other_templates);
  Profile other_backend = both;
  other_backend.key.device.backend = "abacus";
  CHECK(present.currency(other_backend) == Currency::other_templates);
  CHECK(change(Currency::current).empty());
  CHECK(text(Currency::other_contract) == "contract");
}

TEST_CASE("a profile of the time before there was a second digest is current if the space has its configuration") {
  const FamilyRegistry families = builtin_families();
  PresentKernels present(families.at(key().family));
  const Profile old = profile();
  REQUIRE(old.kernels.contract_digest.empty());
  CHECK(present.currency(old) == Currency::current);
  Profile gone = old;
  gone.configuration = "scheme=loom";
  CHECK(present.currency(gone) == Currency::other_configuration);
  // The space has its values, but a constraint forbids them at this size.
  const SearchSpace space = families.at(key().family).space(card());
  const Problem small = key(1, 1, 1).problem;
  const auto large = space.enumerate(key(1000, 16, 10).problem);
  const auto forbidden =
      std::ranges::find_if(large, [&](const Configuration& c) { return space.violated(c, small).has_value(); });
  REQUIRE(forbidden != large.end());
  Profile elsewhere = profile(key(1, 1, 1));
  elsewhere.configuration = forbidden->text();
  CHECK(present.currency(elsewhere) == Currency::other_configuration);
}

}  // namespace
}  // namespace heddle
