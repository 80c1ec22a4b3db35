#include "heddle/tuner/model_fit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "counting_family.hpp"
#include "fake_evaluator.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

const DeviceIdentity kCard{.backend = "cuda",
                           .name = "card",
                           .architecture = "9.0",
                           .units = 132,
                           .memory_gib = 140,
                           .cache_bytes = 50 << 20,
                           .local_bytes = 227 << 10};

double weight(const FittedModel& model, std::string_view term) {
  const auto found = std::ranges::find(model.weights, term, &TermWeight::term);
  REQUIRE(found != model.weights.end());
  return found->microseconds;
}

/// Times of the fake family: 2 for the unit, 0.5 for each width off, 0.25 for each depth off, times `factor`.
FitPoints points_of(const KernelFamily& family, const std::vector<std::int64_t>& sizes, std::size_t each,
                    const std::function<double(const Configuration&, const Problem&)>& factor) {
  fake::FakeEvaluator evaluator(family);
  FitPoints points(family, kCard);
  std::mt19937_64 random(7);
  for (const std::int64_t size : sizes) {
    const Problem problem = fake::problem(size);
    for (std::size_t i = 0; i < each; ++i) {
      const Configuration configuration = fake::Family::configuration(
          "good", 4 + static_cast<std::int64_t>(random() % 8), 2 + static_cast<std::int64_t>(random() % 5));
      points.add(problem, configuration, evaluator.cost(configuration, problem) * factor(configuration, problem));
    }
  }
  return points;
}

const std::vector<std::int64_t> kSizes{1, 4, 8, 16, 32, 64, 128, 256};

double exactly(const Configuration&, const Problem&) { return 1.0; }

/// The same for the same configuration and problem, and otherwise as good as random, with a standard deviation of
/// `share`.
std::function<double(const Configuration&, const Problem&)> noise(double share) {
  return [share](const Configuration& c, const Problem& p) {
    std::mt19937_64 random(std::hash<std::string>()(c.text() + p.text()));
    return std::exp(std::normal_distribution(0.0, share)(random));
  };
}

/// So many that what a search measures of the fast configurations is enough for a fit, however good its first guess.
std::vector<Problem> many_problems() {
  std::vector<Problem> problems;
  for (std::int64_t size = 1; size <= 256; size *= 2) {
    for (const std::int64_t numerator : {4, 5, 6, 7}) {
      if (size >= 4) problems.push_back(fake::problem(size * numerator / 4));
    }
  }
  return problems;
}

}  // namespace

TEST_CASE("a fit finds the weights that the times were made with") {
  const fake::CountingFamily family;
  const FitPoints points = points_of(family, kSizes, 30, exactly);
  const auto model = fit_model(points, nullptr);
  REQUIRE(model);
  CHECK(weight(*model, "once") == doctest::Approx(2.0).epsilon(0.01));
  CHECK(weight(*model, "widths off") == doctest::Approx(0.5).epsilon(0.01));
  CHECK(weight(*model, "depths off") == doctest::Approx(0.25).epsilon(0.01));
  CHECK(model->weights.size() == 3);  // about "unused" nobody knows anything
  CHECK(model->left_out_error < 0.005);
  CHECK(model->problems == 8);
  CHECK(model->measurements == static_cast<std::int64_t>(points.size()));
  CHECK(model == fit_model(points, nullptr));
}

TEST_CASE(
    "what only slow configurations do has the weight that makes them slow, and what they are off moves no other") {
  const fake::CountingFamily family;
  fake::FakeEvaluator evaluator(family);
  FitPoints points(family, kCard);
  // At every size the widest is off by 6 and more, and takes 2.5 times as long as the fastest or longer. At one of them
  // it takes four times as long as its counts explain.
  for (const std::int64_t size : kSizes) {
    const Problem problem = fake::problem(size);
    for (std::int64_t depth = 2; depth <= 6; ++depth) {
      const auto add = [&](std::int64_t width, double factor) {
        const Configuration c = fake::Family::configuration("good", width, depth);
        points.add(problem, c, evaluator.cost(c, problem) * factor);
      };
      const auto best = static_cast<std::int64_t>(4.0 + std::log2(static_cast<double>(size)));
      add(best, 1.0);
      add(best + 6, size == 8 ? 4.0 : 1.0);
    }
  }
  double fastest = 1e9, slowest = 0.0;
  for (const FitPoints::Point& point : points.weighted()) {
    if (point.problem != fake::problem(4)) continue;
    CHECK(point.worth <= 1.0);
    CHECK((point.worth == 1.0) == (point.counts[1] == 0.0 && point.counts[2] == 0.0));
    fastest = std::min(fastest, point.time);
    slowest = std::max(slowest, point.time);
  }
  CHECK(slowest > 2.5 * fastest);
  const auto model = fit_model(points, nullptr);
  REQUIRE(model);
  CHECK(weight(*model, "once") == doctest::Approx(2.0).epsilon(0.01));
  CHECK(weight(*model, "depths off") == doctest::Approx(0.25).epsilon(0.05));
  CHECK(weight(*model, "widths off") == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("noise is what is left out, not learnt") {
  const fake::CountingFamily family;
  const auto model = fit_model(points_of(family, kSizes, 60, noise(0.03)), nullptr);
  REQUIRE(model);
  CHECK(weight(*model, "once") == doctest::Approx(2.0).epsilon(0.05));
  CHECK(weight(*model, "widths off") == doctest::Approx(0.5).epsilon(0.1));
  CHECK(model->left_out_error > 0.02);
  CHECK(model->left_out_error < 0.045);
}

TEST_CASE("a model whose terms do not explain the times has a large error, and is not used") {
  const fake::CountingFamily family;
  // What a problem does to all of its configurations shows only where the problem is left out.
  const auto moody = [](const Configuration&, const Problem& p) {
    return std::exp2(static_cast<double>(p.at("size") * 7 % 5) - 2.0);
  };
  auto model = fit_model(points_of(family, kSizes, 30, moody), nullptr);
  REQUIRE(model);
  CHECK(model->left_out_error > 2.0 * kMostLeftOutError);
  model->kernels = kernel_version(family, kCard);
  std::vector<RejectedModel> rejected;
  CHECK(!choose_model(family, kCard, {*model}, &rejected));
  CHECK(rejected.size() == 1);
}

TEST_CASE("too few measurements or problems make no model") {
  const fake::CountingFamily family;
  CHECK(!fit_model(points_of(family, {1, 4, 8, 16}, 60, exactly), nullptr));
  CHECK(!fit_model(points_of(family, kSizes, 2, exactly), nullptr));
  const fake::Family uncounted;
  CHECK(!fit_model(points_of(uncounted, kSizes, 60, exactly), nullptr));
}

TEST_CASE("times that are no times do not count, and of two of one configuration the later one does") {
  const fake::CountingFamily family;
  FitPoints points(family, kCard);
  const Configuration one = fake::Family::configuration("good", 4, 4);
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    points.add(fake::problem(8), one, bad);
  CHECK(points.size() == 0);
  points.add(fake::problem(8), one, 7.0);
  points.add(fake::problem(8), one, 3.0);
  REQUIRE(points.weighted().size() == 1);
  CHECK(points.weighted()[0].time == 3.0);
}

TEST_CASE("terms that were not measured keep the prior's weights, on the scale of this device") {
  const fake::CountingFamily family;
  FittedModel before{.device = kCard,
                     .family = "fake",
                     .kernels = {},
                     .weights = {{.term = "depths off", .microseconds = 0.125},
                                 {.term = "once", .microseconds = 1.0},
                                 {.term = "unused", .microseconds = 3.0},
                                 {.term = "widths off", .microseconds = 0.25}},
                     .left_out_error = 0.02,
                     .measurements = 100,
                     .problems = 10,
                     .remark = {},
                     .imported = false,
                     .provenance = {}};
  const CostModel prior(family, kCard, before, CostModel::Source::shipped);
  const auto model = fit_model(points_of(family, kSizes, 30, exactly), &prior);
  REQUIRE(model);
  CHECK(weight(*model, "unused") == doctest::Approx(6.0).epsilon(0.02));  // everything takes twice as long here
  CHECK(weight(*model, "once") == doctest::Approx(2.0).epsilon(0.01));
  CHECK(weight(*model, "depths off") == doctest::Approx(0.25).epsilon(0.02));
}

TEST_CASE("planted weights of the first network's kernels choose nearly the fastest where nothing was measured") {
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(kCard);
  const auto names = family.cost_terms("cuda");
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> factor(0.5, 2.0);
  FittedModel planted = choose_model(family, kCard, {})->fitted();
  planted.device = kCard;
  planted.imported = false;
  for (TermWeight& each : planted.weights) each.microseconds *= factor(random);
  const CostModel truth(family, kCard, planted, CostModel::Source::device);
  FitPoints points(family, kCard);
  const auto fastest_first = [&](const CostModel& model, const Problem& problem) {
    std::vector<std::pair<double, Configuration>> all;
    for (const Configuration& configuration : space.enumerate(problem)) {
      if (const auto estimate = model.estimate(configuration)) all.emplace_back(estimate(problem), configuration);
    }
    std::ranges::sort(all, {}, [](const auto& each) { return each.first; });
    return all;
  };
  for (const auto& [rules, dim] : {std::pair(40, 16), std::pair(40, 200), std::pair(128, 60), std::pair(300, 200),
                                   std::pair(700, 64), std::pair(1020, 200), std::pair(1020, 640)}) {
    for (const std::int64_t outputs : {1, 10}) {
      const Problem problem = sonfin::problem(rules, dim, outputs);
      const auto all = fastest_first(truth, problem);
      for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 40); ++i) {
        points.add(problem, all[i].second, all[i].first * noise(0.02)(all[i].second, problem));
      }
    }
  }
  const auto prior = choose_model(family, kCard, {});
  auto model = fit_model(points, &*prior);
  REQUIRE(model);
  CHECK(model->weights.size() == planted.weights.size());  // of the others neither the prior nor a measurement says
  CHECK(model->weights.size() < names.size());
  CHECK(model->left_out_error < 0.08);
  const CostModel fitted(family, kCard, *model, CostModel::Source::device);
  const Problem elsewhere = sonfin::problem(512, 100, 4);
  const Configuration choice = fastest_first(fitted, elsewhere).front().second;
  CHECK(truth.estimate(choice)(elsewhere) < 1.1 * fastest_first(truth, elsewhere).front().first);
}

TEST_CASE("what is chosen last is of no term: such measurements take no part in a fit") {
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(kCard);
  const std::string grid = "scheme=grid coarsen_count=1 block_size=256 threads_per_rule=32 vector=4 storage=registers";
  FitPoints points(family, kCard);
  points.add(sonfin::problem(512, 512, 1), space.parse(grid + " first_look=250"), 1.0);
  CHECK(points.size() == 0);
  points.add(sonfin::problem(512, 512, 1), space.parse(grid), 1.0);
  CHECK(points.size() == 1);
}

TEST_CASE("batch least squares: planted weights choose nearly the fastest where nothing was measured") {
  for (const KernelFamily* const family : {&tsk::constant_family(), &tsk::linear_family()}) {
    CAPTURE(family->name());
    const SearchSpace space = family->space(kCard);
    const auto names = family->cost_terms("cuda");
    REQUIRE(!names.empty());
    FittedModel planted{.device = kCard,
                        .family = std::string(family->name()),
                        .kernels = {},
                        .weights = {},
                        .left_out_error = 0.0,
                        .measurements = 1,
                        .problems = 1,
                        .remark = {},
                        .imported = false,
                        .provenance = {}};
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> factor(0.5, 2.0);
    for (const std::string_view name : names) {
      planted.weights.push_back({.term = std::string(name), .microseconds = 0.05 * factor(random)});
    }
    const CostModel truth(*family, kCard, planted, CostModel::Source::device);
    const auto fastest_first = [&](const CostModel& model, const Problem& problem) {
      std::vector<std::pair<double, Configuration>> all;
      for (const Configuration& configuration : space.enumerate(problem)) {
        const auto estimate = model.estimate(configuration);
        REQUIRE(static_cast<bool>(estimate) == (configuration.word("scheme") == "resident"));
        if (estimate) all.emplace_back(estimate(problem), configuration);
      }
      std::ranges::sort(all, {}, [](const auto& each) { return each.first; });
      return all;
    };
    FitPoints points(*family, kCard);
    for (const Problem& problem : family->default_problems(kCard)) {
      const auto all = fastest_first(truth, problem);
      for (std::size_t i = 0; i < all.size(); ++i) {
        REQUIRE(std::isfinite(all[i].first));
        points.add(problem, all[i].second, all[i].first * noise(0.02)(all[i].second, problem));
      }
    }
    const auto model = fit_model(points, nullptr);
    REQUIRE(model);
    CHECK(model->left_out_error < 0.1);
    const CostModel fitted(*family, kCard, *model, CostModel::Source::device);
    const Problem elsewhere = tsk::problem(14, 3, 1, 20000);
    const Configuration choice = fastest_first(fitted, elsewhere).front().second;
    CHECK(truth.estimate(choice)(elsewhere) < 1.1 * fastest_first(truth, elsewhere).front().first);
  }
}

TEST_CASE("a tuning run keeps the model that it fits, and says what tuning pays") {
  const TemporaryStore temporary;
  const fake::CountingFamily family;
  fake::FakeEvaluator evaluator(family);
  evaluator.identity.backend = "cpu";  // whose times mean something
  const std::vector<Problem> problems = many_problems();
  std::vector<FittedModel> told;
  std::vector<SingleMapping> single;
  TunerCallbacks callbacks;
  callbacks.model = [&](const FittedModel& model) { told.push_back(model); };
  callbacks.single_mapping = [&](const SingleMapping& mapping) { single.push_back(mapping); };
  StopCondition stop(Budget{.seconds = {}, .evaluations = 1000});
  REQUIRE(Tuner(evaluator, temporary.store, {}, callbacks).tune(problems, stop).size() == problems.size());
  REQUIRE(told.size() == 1);
  CHECK(temporary.store.models() == told);
  const FittedModel& model = told[0];
  CHECK(model.device == evaluator.device());
  CHECK(model.kernels == evaluator.kernels());
  CHECK(model.provenance.driver == "fake");
  CHECK(model.left_out_error < 0.1);
  CHECK(weight(model, "once") == doctest::Approx(2.0).epsilon(0.1));

  // Of the sizes' best widths, 4 to 12, no single one is the best for all.
  REQUIRE(single.size() == 1);
  CHECK(single[0].problems == problems.size());
  CHECK(2 * single[0].tried >= problems.size());
  CHECK(single[0].mean_log_ratio > 0.02);

  // The next run refits it to all that was measured.
  StopCondition more(Budget{.seconds = {}, .evaluations = 1000});
  (void)Tuner(evaluator, temporary.store, {.seed = 2}, callbacks).tune(problems, more);
  REQUIRE(told.size() == 2);
  CHECK(told[1].measurements >= told[0].measurements);
  CHECK(temporary.store.models() == std::vector{told[1]});
}

TEST_CASE("an imported model that rests on more measurements stays") {
  const fake::CountingFamily family;
  fake::FakeEvaluator evaluator(family);
  evaluator.identity.backend = "cpu";
  const std::vector<Problem> problems = many_problems();
  for (const std::int64_t measurements : {1'000'000, 10}) {
    const TemporaryStore temporary;
    FittedModel imported = *fit_model(points_of(family, kSizes, 30, exactly), nullptr);
    imported.device = evaluator.device();
    imported.kernels = evaluator.kernels();
    imported.measurements = measurements;
    imported.imported = true;
    temporary.store.keep(imported);
    StopCondition stop(Budget{.seconds = {}, .evaluations = 1000});
    (void)Tuner(evaluator, temporary.store).tune(problems, stop);
    REQUIRE(temporary.store.models().size() == 1);
    CHECK((temporary.store.models()[0] == imported) == (measurements > 1000));
  }
}
