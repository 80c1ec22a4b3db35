#include "heddle/tuner/journal.hpp"

#include <doctest/doctest.h>

#include "fake_family.hpp"
#include "temporary_store.hpp"

using namespace heddle;

namespace {

Measurement measurement(int number) {
  Measurement measurement;
  measurement.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(8)};
  measurement.source_hash = std::string(32, 'a');
  measurement.configuration = "kind=good width=" + std::to_string(number);
  measurement.status = Status::unverified;
  measurement.times = {1.5, 2.5};
  measurement.samples = 16;
  return measurement;
}

}  // namespace

TEST_CASE("measurements are written in batches, within a second, in order") {
  const TemporaryStore temporary;
  double now = 0.0;
  {
    Journal journal(temporary.store, [&] { return now; });
    for (int i = 0; i < 5; ++i) journal.add(measurement(i));
    CHECK(temporary.store.measurements().empty());
    now += 0.9;
    journal.add(measurement(5));
    CHECK(temporary.store.measurements().size() == 6);
    journal.add(measurement(6));
    journal.flush();
    CHECK(temporary.store.measurements().size() == 7);
    journal.flush();
    journal.add(measurement(7));
  }
  const auto stored = temporary.store.measurements();
  REQUIRE(stored.size() == 8);
  for (int i = 0; i < 8; ++i)
    CHECK(stored[static_cast<std::size_t>(7 - i)].configuration == measurement(i).configuration);
}
