#include "heddle/tuner/replay/search_benchmark.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "heddle/kernels/error.hpp"

using namespace heddle;

namespace {

RecordedSpace recording(const std::string& name) {
  return read_recorded_space(std::filesystem::path(HEDDLE_RECORDINGS) / name);
}

RecordedSpace tiny() {
  RecordedSpace space;
  space.parameters = {"x"};
  for (std::int64_t x = 0; x < 7; ++x) {
    space.configurations.push_back(Configuration({{"x", x}}));
    RecordedOutcome outcome;
    if (x == 3) outcome.status = Status::launch;
    if (x != 3) outcome.time = 10.0 + static_cast<double>((x * 5) % 7);
    space.outcomes.push_back(outcome);
  }
  return space;
}

}  // namespace

TEST_CASE("random search, exactly, is what all orders come to") {
  const RecordedSpace space = tiny();
  for (const std::size_t count : {1U, 2U, 4U, 7U}) {
    std::vector<std::size_t> order(space.configurations.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    double all = 0.0, sum = 0.0, near = 0.0;
    std::vector<double> fractions;
    do {
      double fraction = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto& time = space.outcomes[order[i]].time;
        if (time) fraction = std::max(fraction, space.best() / *time);
      }
      all += 1.0;
      sum += fraction;
      near += fraction * 1.05 >= 1.0 ? 1.0 : 0.0;
      fractions.push_back(fraction);
    } while (std::next_permutation(order.begin(), order.end()));
    std::sort(fractions.begin(), fractions.end());
    const SearchScore score = random_search(space, static_cast<std::int64_t>(count));
    CAPTURE(count);
    CHECK(score.mean_fraction == doctest::Approx(sum / all));
    CHECK(score.within_5_percent == doctest::Approx(near / all));
    CHECK(score.median_fraction >= fractions[(fractions.size() - 1) / 2]);
    CHECK(score.median_fraction <= fractions[fractions.size() / 2]);
  }
  CHECK(random_search(space, 1000).mean_fraction == doctest::Approx(1.0));
}

TEST_CASE("the benchmark counts as the definition says and does not depend on threads") {
  const RecordedSpace space = recording("synthetic.t1.json.gz");
  SearchBenchmark one;
  one.seeds = 5;
  one.marks = {10, 40};
  SearchBenchmark three = one;
  three.threads = 3;
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    const auto a = benchmark(space, entry, one);
    const auto b = benchmark(space, entry, three);
    REQUIRE(a.size() == 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].median_fraction == b[i].median_fraction);
      CHECK(a[i].mean_fraction == b[i].mean_fraction);
      CHECK(a[i].mean_fraction <= 1.0);
      REQUIRE((a[i].lower_quartile && a[i].upper_quartile));
      CHECK(*a[i].lower_quartile <= a[i].median_fraction);
      CHECK(a[i].median_fraction <= *a[i].upper_quartile);
      CHECK(a[i].lower_quartile == b[i].lower_quartile);
    }
    CHECK(a[0].mean_fraction <= a[1].mean_fraction);
  }
  SearchBenchmark whole = one;
  whole.marks = {static_cast<std::int64_t>(space.configurations.size())};
  for (const std::string_view name : {"random", "exhaustive"}) {
    CHECK(benchmark(space, strategy(name), whole).front().median_fraction == 1.0);
  }
}

TEST_CASE("guided strategies do better than random search on what was recorded") {
  for (const std::string file : {"synthetic.t1.json.gz", "cpu-sonfin-train.t4.json.gz"}) {
    const RecordedSpace space = recording(file);
    SearchBenchmark options;
    options.seeds = 20;
    const auto count = static_cast<std::int64_t>(space.configurations.size());
    options.marks = {std::min<std::int64_t>(50, count / 2)};
    const SearchScore random = random_search(space, options.marks.front());
    for (const std::string_view name : {"portfolio", "model"}) {
      const SearchScore found = benchmark(space, strategy(name), options).front();
      CAPTURE(file);
      CAPTURE(name);
      CHECK(found.mean_fraction > random.mean_fraction);
      CHECK(found.within_5_percent > random.within_5_percent);
    }
  }
}
