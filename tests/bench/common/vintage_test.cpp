#include "heddle/bench/common/vintage.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "bench/card.hpp"
#include "carving_family.hpp"
#include "heddle/bench/common/restricted_family.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/tsk/train.hpp"

namespace heddle::bench {
namespace {

/// The same kernels and the same space each time, another choice without measurements.
class Choosing final : public test::CarvingFamily {
 public:
  explicit Choosing(std::int64_t untuned, std::int64_t likely = 2) : untuned_(untuned), likely_(likely) {}
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return configuration(untuned_, 1);
  }
  [[nodiscard]] std::vector<Configuration> likely_configurations(const DeviceIdentity&, const Problem&) const override {
    return {configuration(likely_, 1)};
  }

 private:
  std::int64_t untuned_, likely_;
};

TEST_CASE("the digest of a space changes with the space, with the default and with what is tried first") {
  CHECK(atm_family().source("cuda").hash() == sonfin::train_family().source("cuda").hash());
  CHECK(space_digest(atm_family(), kCard) != space_digest(sonfin::train_family(), kCard));
  CHECK(space_digest(captured_family(), kCard) != space_digest(atm_family(), kCard));
  const std::set<std::string> digests{space_digest(Choosing(1), kCard), space_digest(Choosing(2), kCard),
                                      space_digest(Choosing(1, 3), kCard)};
  CHECK(digests.size() == 3);
  CHECK(digests.contains(space_digest(Choosing(1), kCard)));
}

TEST_CASE("the digest of weights changes with a weight and with its term, and with nothing else") {
  FittedModel model;
  model.weights = {{.term = "launches", .microseconds = 2.0}, {.term = "bytes", .microseconds = 0.25}};
  const std::string before = weights_digest(model);
  model.remark = "fitted on another day";
  CHECK(weights_digest(model) == before);
  model.weights.front().microseconds = 2.5;
  const std::string dearer = weights_digest(model);
  CHECK(dearer != before);
  model.weights.front().term = "waits";
  CHECK(weights_digest(model) != dearer);
}

TEST_CASE("what chooses among kernels is told by backend and family, weights of those that have some") {
  const auto choices = choice_digests({&sonfin::train_family(), &tsk::constant_family()}, "cuda");
  CHECK(choices["spaces"]["cuda"].size() == 2);
  CHECK(choices["spaces"]["cuda"]["sonfin-train"].get<std::string>().size() == 32);
  CHECK(choices["weights"]["cuda"].size() == 1);
  CHECK(choices["weights"]["cuda"]["sonfin-train"].get<std::string>().size() == 32);
  CHECK(choice_digests({&sonfin::train_family()}, "cpu")["weights"]["cpu"].empty());
}

}  // namespace
}  // namespace heddle::bench
