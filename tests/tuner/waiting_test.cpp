// The first verifications wait until the strategy's first proposals are measured.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "one_search.hpp"

using namespace heddle;

namespace {

/// Without named configurations: nothing but the default is tried before the strategy's proposals.
struct Unnamed final : fake::Family {
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override { return {}; }
};

/// A search in which the untuned default is by far the fastest and wrong.
struct Deceived {
  Unnamed family;
  fake::FakeEvaluator evaluator{family};
  TemporaryStore temporary;

  explicit Deceived(bool on_processor) {
    evaluator.noise = evaluator.outliers = 0.0;
    evaluator.on_processor = on_processor;
    const std::string untuned = family.default_configuration(fake::identity(), fake::problem(16)).text();
    const auto is_wrong = [=](const Configuration& c) { return c.text() == untuned; };
    evaluator.fate = [=](const Configuration& c) { return is_wrong(c) ? Status::wrong_result : Status::correct; };
    evaluator.cost = [=, formula = evaluator.cost](const Configuration& c, const Problem& p) {
      return is_wrong(c) ? 0.01 : formula(c, p);
    };
  }
  TuningResult tune(const TunerOptions& options) {
    return fake::tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 200}, 16, options);
  }
};

}  // namespace

TEST_CASE("a wrong default that seems fast neither ends a search nor stays in the database as measured") {
  for (const bool on_processor : {false, true}) {
    CAPTURE(on_processor);
    double fastest = 0.0;
    for (const bool has_target : {false, true}) {
      CAPTURE(has_target);
      Deceived search(on_processor);
      TunerOptions options;
      if (has_target) {
        const Work work = search.family.work(fake::problem(16));
        options.target = 0.9;
        options.peak_bytes_per_second = work.bytes / 0.9e-6;
        options.peak_operations_per_second = work.operations / 0.9e-6;
      }
      const TuningResult result = search.tune(options);
      REQUIRE(result.profile);
      CHECK(result.untuned.status == Status::wrong_result);
      CHECK(search.evaluator.prepared.size() > 100);
      if (!has_target) fastest = result.profile->time;
      CHECK(result.profile->time == fastest);
      std::map<std::string, int> rows;
      for (const Measurement& known : search.temporary.store.measurements()) {
        if (known.visit > 0 || known.status == Status::constraint) continue;
        CHECK(++rows[known.configuration] == 1);
        if (known.configuration == result.untuned.configuration) CHECK(known.status == Status::wrong_result);
      }
      CHECK(rows.contains(result.untuned.configuration));
    }
  }
}

TEST_CASE("what was pruned against a wrong default may win") {
  Deceived search(false);
  const TuningResult result = search.tune({});
  fake::FakeEvaluator right(search.family);
  right.noise = right.outliers = 0.0;
  const TemporaryStore temporary;
  const TuningResult expected =
      fake::tune_one(right, temporary.store, {.seconds = {}, .evaluations = 200}, 16, {.strategy = "exhaustive"});
  REQUIRE(result.profile);
  REQUIRE(expected.profile);
  CHECK(result.profile->time < 1.2 * expected.profile->time);
}

TEST_CASE("a device that ends a search while verification waits loses no measurement") {
  Deceived search(false);
  search.evaluator.dies_for_good = true;
  search.evaluator.fate = [&](const Configuration&) {
    return search.evaluator.prepared.size() > 1 ? Status::illegal_access : Status::correct;
  };
  CHECK_THROWS_AS(static_cast<void>(search.tune({})), Error);
  CHECK(search.evaluator.looked_at.empty());
  std::map<Status, int> kept;
  for (const Measurement& known : search.temporary.store.measurements()) ++kept[known.status];
  CHECK(kept[Status::unverified] == 1);  // the default
  CHECK(kept[Status::illegal_access] == 1);
}
