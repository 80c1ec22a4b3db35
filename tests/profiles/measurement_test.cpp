#include "heddle/profiles/measurement.hpp"

#include <doctest/doctest.h>

namespace heddle {
namespace {

TEST_CASE("every status has a text that brings it back") {
  for (int i = 0; i <= static_cast<int>(Status::hang); ++i) {
    const auto status = static_cast<Status>(i);
    CHECK(parse_status(text(status)) == status);
  }
  CHECK(text(Status::wrong_result) == "wrong_result");
  CHECK(!parse_status("fine"));
  CHECK(!parse_status(""));
}

}  // namespace
}  // namespace heddle
