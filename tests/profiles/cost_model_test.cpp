#include "heddle/profiles/cost_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/shipped_models.hpp"
#include "profiles/support.hpp"
#include "runtime/device/environment_variable.hpp"

namespace heddle {
namespace {

using namespace test;

const KernelFamily& family() { return sonfin::train_family(); }

/// Every part of a step takes `microseconds`.
FittedModel flat(const DeviceIdentity& device, double microseconds) {
  FittedModel model{.device = device,
                    .family = std::string(family().name()),
                    .kernels = kernel_version(family(), device),
                    .weights = {},
                    .left_out_error = 0.03,
                    .measurements = 500,
                    .problems = 40,
                    .remark = {},
                    .imported = false,
                    .provenance = provenance()};
  for (const std::string_view term : family().cost_terms(device.backend)) {
    model.weights.push_back({.term = std::string(term), .microseconds = microseconds});
  }
  return model;
}

double shipped_estimate(const std::string& configuration, const Problem& sizes) {
  const auto model = choose_model(family(), card(), {});
  REQUIRE(model);
  return model->estimate(family().space(card()).parse(configuration))(sizes);
}

TEST_CASE("the shipped weights are those of a family's present terms, and say what they were fitted to") {
  CHECK(!shipped_models().empty());
  for (const FittedModel& model : shipped_models()) {
    CAPTURE(model.family);
    const KernelFamily& known = builtin_families().at(model.family);
    CHECK(!other_terms(known, model));
    CHECK(model.left_out_error < kMostLeftOutError);
    CHECK(!model.remark.empty());
    CHECK(!model.provenance.date.empty());
    const auto chosen = choose_model(known, model.device, {});
    REQUIRE(chosen);
    CHECK(chosen->source() == CostModel::Source::shipped);
    CHECK(contains(chosen->text(), "brings along"));
  }
}

TEST_CASE("the shipped weights make times of a sane size of everything that is counted") {
  const auto model = choose_model(family(), card(), {});
  REQUIRE(model);
  for (const Problem& sizes : {key(33, 17, 3).problem, key(1020, 201, 21).problem, key(700, 999, 1).problem}) {
    CAPTURE(sizes.text());
    for (const Configuration& configuration : family().space(card()).enumerate(sizes)) {
      const CostModel::Estimate estimate = model->estimate(configuration);
      REQUIRE(static_cast<bool>(estimate) == static_cast<bool>(family().term_counts(configuration, card()).count));
      if (!estimate) continue;
      CAPTURE(configuration.text());
      CHECK(estimate(sizes) > 0.2);
      CHECK(estimate(sizes) < 40.0);
    }
  }
}

TEST_CASE("with the shipped weights, what a step has more of takes longer") {
  const std::string cluster = "scheme=cluster coarsen_count=1 block_size=128 threads_per_rule=8 vector=4 ";
  const Problem sizes = key(200, 60, 10).problem;
  const double usual = shipped_estimate(cluster + "storage=registers", sizes);
  CHECK(usual < shipped_estimate(cluster + "storage=registers", sizes.with("dim", 200)));
  CHECK(usual < shipped_estimate(cluster + "storage=registers", sizes.with("outputs", 26)));
  CHECK(usual < shipped_estimate(cluster + "storage=shared", sizes));
  // 72 tasks a thread spill, 64 do not.
  const std::string three =
      "scheme=cluster coarsen_count=3 coarsening=rules block_size=128 threads_per_rule=8 vector=4 storage=registers";
  CHECK(shipped_estimate(three, key(360, 192, 16).problem) > 1.1 * shipped_estimate(three, key(360, 160, 16).problem));
}

TEST_CASE("an estimate is the sum of the counts, each times its weight") {
  const CostModel model(family(), card(), flat(card(), 0.5), CostModel::Source::device);
  const Configuration configuration = family().space(card()).parse(
      "scheme=cluster coarsen_count=1 block_size=128 threads_per_rule=8 vector=4 storage=registers");
  const TermCounts terms = family().term_counts(configuration, card());
  std::vector<double> counts(terms.size);
  terms.count(key().problem, counts);
  double sum = 0.0;
  for (const double count : counts) sum += 0.5 * count;
  CHECK(model.estimate(configuration)(key().problem) == doctest::Approx(sum));
}

TEST_CASE("a device's own weights come first, then those of its architecture, then the shipped ones") {
  DeviceIdentity sibling = card("NVIDIA Sibling"), cousin = card("NVIDIA Cousin"), old = card("NVIDIA Old");
  cousin.units = 16;
  old.architecture = "8.0";
  std::vector<FittedModel> known{flat(old, 4.0), flat(cousin, 3.0), flat(sibling, 2.0), flat(card(), 1.0)};
  const auto chosen = [&](bool own = true) { return choose_model(family(), card(), known, nullptr, own); };
  CHECK(chosen()->fitted() == known[3]);
  CHECK(chosen()->source() == CostModel::Source::device);
  CHECK(chosen()->text() ==
        "of this device, fitted to 500 measurements at 40 problems, 3.0 % off where they were left out");
  CHECK(chosen(false)->fitted() == known[2]);  // as many multiprocessors
  known.pop_back();
  CHECK(chosen()->fitted() == known[2]);
  CHECK(chosen()->source() == CostModel::Source::architecture);
  CHECK(contains(chosen()->text(), "of NVIDIA Sibling, also 9.0"));
  known[2].kernels.source_hash = std::string(32, 'f');  // of other kernels: behind those of the present ones
  CHECK(chosen()->fitted() == known[1]);
  known.erase(known.begin() + 1, known.end());
  CHECK(chosen()->source() == CostModel::Source::shipped);
}

TEST_CASE("the shipped weights can be left out, so that a card is on its own") {
  {
    const Variable wanted("HEDDLE_SHIPPED_WEIGHTS", "");
    CHECK(choose_model(family(), card(), {}));
  }
  const Variable none("HEDDLE_SHIPPED_WEIGHTS", "none");
  CHECK(!choose_model(family(), card(), {}));
  CHECK(choose_model(family(), card(), {flat(card(), 1.0)})->source() == CostModel::Source::device);
  const Variable wrong("HEDDLE_SHIPPED_WEIGHTS", "no");
  CHECK_THROWS_WITH_AS((void)choose_model(family(), card(), {}),
                       "HEDDLE_SHIPPED_WEIGHTS: found 'no', expected 'none' or nothing", Error);
}

TEST_CASE("weights that are too far off, or of other terms, are not used, and it is said why") {
  std::vector<RejectedModel> rejected;
  FittedModel wild = flat(card(), 1.0);
  wild.left_out_error = 1.01 * kMostLeftOutError;
  const auto instead = choose_model(family(), card(), {wild}, &rejected);
  REQUIRE(instead);
  CHECK(instead->source() == CostModel::Source::shipped);
  REQUIRE(rejected.size() == 1);
  CHECK(rejected[0].fitted == wild);
  CHECK(contains(rejected[0].reason, "off at problems that were left out, more than 15.0 %"));

  rejected.clear();
  FittedModel other = flat(card(), 1.0);
  other.weights.push_back({.term = "knots", .microseconds = 1.0});
  CHECK(choose_model(family(), card(), {other}, &rejected)->source() == CostModel::Source::shipped);
  REQUIRE(rejected.size() == 1);
  CHECK(contains(rejected[0].reason, "'knots' is no term of sonfin-train"));
  CHECK_THROWS_AS(CostModel(family(), card(), other, CostModel::Source::device), Error);
}

TEST_CASE("what counts something whose weight nobody knows has no finite estimate") {
  FittedModel some = flat(card(), 1.0);
  std::erase_if(some.weights, [](const TermWeight& each) { return each.term == "cluster: several outputs"; });
  const auto model = choose_model(family(), card(), {some});
  REQUIRE(model);
  CHECK(model->source() == CostModel::Source::device);
  const auto estimate = model->estimate(family().space(card()).parse(
      "scheme=cluster coarsen_count=1 block_size=128 threads_per_rule=8 vector=4 storage=registers"));
  CHECK(std::isfinite(estimate(key(200, 60, 1).problem)));
  CHECK(std::isinf(estimate(key(200, 60, 2).problem)));
}

TEST_CASE("a family that counts nothing has no model, whatever is known") {
  DeviceIdentity cpu = card();
  cpu.backend = "cpu";
  CHECK(!choose_model(family(), cpu, {flat(cpu, 1.0)}));
  CHECK(!choose_model(builtin_families().at("sonfin-predict"), card(), {flat(card(), 1.0)}));
}

}  // namespace
}  // namespace heddle
