#include "heddle/profiles/environment.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("what a profile was made with is compared with what is here") {
  const Environment now{.driver = "580.1", .compiler = "NVRTC 13.0", .clocks = "SM 1980 MHz, memory 3201 MHz"};
  const auto change = [&](auto alter) {
    Profile profile;
    profile.provenance.driver = now.driver;
    profile.provenance.compiler = now.compiler;
    profile.provenance.clocks = now.clocks;
    alter(profile);
    return change_since(profile, now);
  };
  CHECK(change([](Profile&) {}).empty());
  CHECK(change([](Profile& p) { p.provenance.driver = "570.9"; }) == "the driver was 570.9, now 580.1");
  CHECK(change([](Profile& p) { p.provenance.compiler = "NVRTC 12.8"; }).find("compiler") != std::string::npos);
  CHECK(change([](Profile& p) { p.provenance.clocks = "SM 1905 MHz, memory 3201 MHz"; }).empty());
  CHECK(!change([](Profile& p) { p.provenance.clocks = "SM 1200 MHz, memory 3201 MHz"; }).empty());
  CHECK(!change([](Profile& p) { p.provenance.clocks = "SM 1980 MHz, memory 2619 MHz"; }).empty());
  CHECK(change([](Profile& p) { p.provenance.clocks = ""; }).empty());
  CHECK(change([](Profile& p) { p.provenance.driver = ""; }).empty());
}
