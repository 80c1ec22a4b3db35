// Subsets of rows, folds, and training on all but one of them.
#include "heddle/runtime/train/cross_validation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "heddle/runtime/train/subset.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

TEST_CASE("rows are drawn by the seed, once each, in the data's order") {
  Dataset data = test::clusters(50, 3, 2, 1);
  data.remarks = {"what the user should know of the file"};
  const Dataset drawn = draw_rows(data, 20, 4);
  CHECK(drawn.rows() == 20);
  CHECK(drawn.remarks == data.remarks);
  CHECK(drawn.inputs == draw_rows(data, 20, 4).inputs);
  CHECK(drawn.inputs != draw_rows(data, 20, 5).inputs);
  CHECK(draw_rows(data, 50, 4).inputs == data.inputs);
  CHECK_THROWS_AS((void)draw_rows(data, 51, 1), Error);
}

TEST_CASE("a row of a part has the number that it has in the file") {
  Dataset data = test::clusters(50, 3, 2, 1);
  const std::vector<std::int32_t> some{40, 7, 12}, last{2, 0};
  const Dataset part = select(data, some);
  CHECK(data.row_number(40) == 41);
  CHECK(part.numbers == std::vector<std::int64_t>{41, 8, 13});
  CHECK(select(part, last).numbers == std::vector<std::int64_t>{13, 41});

  data.inputs[30 * 3 + 1] = 1e30F;
  for (const char* validation : {"0", "0.5"}) {
    for (const Trainer* trainer : trainers()) {
      CAPTURE(trainer->name());
      const TrainingJob job = test::job(*trainer, data, {{"scale", "none"}, {"validation", validation}});
      CHECK_THROWS_WITH_AS((void)trainer->train(test::cpu(), {}, job), doctest::Contains("1e+30 in row 31"), Error);
      CHECK_THROWS_WITH_AS((void)cross_validate(*trainer, test::cpu(), {}, job, 5, {}, {}),
                           doctest::Contains("1e+30 in row 31"), Error);
    }
  }
}

TEST_CASE("folds hold every row once, and nearly as many of each class") {
  const Dataset data = test::clusters(101, 3, 3, 1);
  const auto folds = deal_folds(data, 5, 1);
  std::set<std::int32_t> rows;
  for (const auto& fold : folds) {
    CHECK((fold.size() == 20 || fold.size() == 21));
    rows.insert(fold.begin(), fold.end());
    for (std::int32_t c = 0; c < 3; ++c) {
      const auto in = [&](const auto& some) {
        return static_cast<double>(std::ranges::count_if(
            some, [&](std::int32_t row) { return data.labels[static_cast<std::size_t>(row)] == c; }));
      };
      const auto all = static_cast<double>(std::ranges::count(data.labels, c));
      CHECK(std::abs(in(fold)-all / 5) < 1.0);
    }
  }
  CHECK(rows.size() == 101);
  CHECK_THROWS_AS((void)deal_folds(data, 102, 1), Error);
  CHECK_THROWS_WITH_AS((void)deal_folds(test::clusters(1, 2, 2, 1), 2, 1),
                       "clusters: found one row, expected at least 2 for --folds", Error);
}

TEST_CASE("every network is cross-validated; mean, spread and metrics are those of the folds") {
  for (const Trainer* trainer : trainers()) {
    for (const bool classes : {true, false}) {
      CAPTURE(trainer->name());
      const Dataset data = classes ? test::clusters(120, 3, 2, 1) : test::curves(120, 2, 1);
      int told = 0;
      const CrossValidation all =
          cross_validate(*trainer, test::cpu(), {}, test::job(*trainer, data, {{"epochs", "3"}}), 4, {},
                         [&](const CrossValidation& so_far) {
                           CHECK(so_far.folds.back().fold == ++told);
                           CHECK(so_far.metrics.rows == 30 * told);
                         });
      REQUIRE(all.folds.size() == 4);
      double sum = 0.0, squares = 0.0;
      for (const FoldResult& fold : all.folds) {
        CHECK(fold.learnt == 90);
        CHECK(fold.tested == 30);
        sum += fold.test.value / 4;
      }
      for (const FoldResult& fold : all.folds) squares += std::pow(fold.test.value - sum, 2.0);
      CHECK(all.mean == doctest::Approx(sum));
      CHECK(*all.spread == doctest::Approx(std::sqrt(squares / 3)));
      CHECK(all.metrics.rows == 120);
      if (classes) {
        CHECK(all.metrics.accuracy == doctest::Approx(all.mean));  // folds of one size
      } else {
        CHECK(all.metrics.targets.size() == 2);
      }
    }
  }
}

TEST_CASE("a cross-validation that is stopped keeps the folds that were finished") {
  const Trainer& perceptrons = trainer("mlp");
  const Dataset data = test::clusters(60, 3, 2, 1);
  int finished = 0;
  TrainingObserver observer;
  observer.stop = [&] { return finished == 2; };
  const CrossValidation all =
      cross_validate(perceptrons, test::cpu(), {}, test::job(perceptrons, data, {{"epochs", "3"}}), 5, observer,
                     [&](const CrossValidation&) { ++finished; });
  CHECK(all.stopped);
  CHECK(all.folds.size() == 2);
}

}  // namespace
}  // namespace heddle
