#include "heddle/tuner/finals.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

struct Entrant {
  Finalist* finalist;
  std::unique_ptr<Runner> runner;

  void fail(const DeviceFailure& failure) {
    finalist->status = failure.status();
    finalist->message = failure.what();
    finalist->times.clear();
    finalist->values.clear();
    runner.reset();
  }
  /// `step`: something that may fail. Afterwards runner is empty if it did.
  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const DeviceFailure& failure) {
      fail(failure);
    }
  }
};

/// Whether a failure may have damaged the device, so that later finalists would fail through no fault of their own.
bool device_in_doubt(const std::vector<Finalist>& finalists) {
  return std::any_of(finalists.begin(), finalists.end(), [](const Finalist& f) { return takes_device_down(f.status); });
}

void drop_finished(std::vector<Entrant>& racing) {
  std::erase_if(racing, [](const Entrant& entrant) { return !entrant.runner; });
}

const Finalist* leader(const std::vector<Entrant>& racing) {
  const auto faster = [](const Entrant& a, const Entrant& b) {
    return median(a.finalist->costs()) < median(b.finalist->costs());
  };
  return std::min_element(racing.begin(), racing.end(), faster)->finalist;
}

}  // namespace

void run_finals(std::vector<Finalist>& finalists,
                const std::function<std::unique_ptr<Runner>(std::size_t configuration)>& prepare,
                const FinalsLimits& limits, const std::function<bool(int round)>& stop) {
  std::vector<Entrant> racing;
  for (Finalist& finalist : finalists) {
    Entrant entrant{.finalist = &finalist, .runner = nullptr};
    entrant.attempt([&] {
      entrant.runner = prepare(finalist.configuration);
      (void)entrant.runner->time();  // warm-up
      finalist.resources = entrant.runner->resources();
      if (limits.energy) finalist.energy = entrant.runner->energy();
    });
    if (device_in_doubt(finalists)) return;
    if (entrant.runner) racing.push_back(std::move(entrant));
  }
  std::mt19937_64 random(limits.seed);
  int repeats = limits.minimum_rounds;
  for (int round = 0; round < limits.maximum_rounds && !racing.empty() && !stop(round); ++round) {
    // A rotated start rather than a library's shuffle, whose result differs between libraries.
    std::rotate(racing.begin(), racing.begin() + static_cast<std::ptrdiff_t>(random() % racing.size()), racing.end());
    for (Entrant& entrant : racing) {
      entrant.attempt([&] {
        Finalist& finalist = *entrant.finalist;
        finalist.times.push_back(entrant.runner->time());
        if (limits.objective) finalist.values.push_back(limits.objective(finalist, finalist.times.back()));
      });
      if (device_in_doubt(finalists)) return;
    }
    drop_finished(racing);
    if (limits.disturbed && limits.disturbed() && repeats-- > 0) {
      for (const Entrant& entrant : racing) {
        entrant.finalist->times.pop_back();
        if (limits.objective) entrant.finalist->values.pop_back();
      }
      --round;
      continue;
    }
    if (racing.empty()) break;
    const Finalist* first = leader(racing);
    for (Entrant& entrant : racing) {
      if (entrant.finalist == first || !clearly_slower(entrant.finalist->costs(), first->costs())) continue;
      entrant.finalist->beaten = true;
      entrant.attempt([&] { entrant.runner->check_guards(); });
      entrant.runner.reset();
    }
    drop_finished(racing);
    const bool decided = std::ranges::all_of(racing, [&](const Entrant& entrant) {
      return entrant.finalist == first || equally_fast(entrant.finalist->costs(), first->costs());
    });
    if (decided && round + 1 >= limits.minimum_rounds) break;
  }
  for (Entrant& entrant : racing) {
    entrant.attempt([&] { entrant.runner->check_guards(); });
  }
}

Ranking rank(const std::vector<Finalist>& finalists) {
  Ranking ranking;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (!finalists[i].failed() && !finalists[i].yields_to_fewer_threads && !finalists[i].times.empty())
      ranking.order.push_back(i);
  }
  if (ranking.order.empty()) return ranking;
  // Who has dropped out was timed in the first rounds alone, when the clocks may have been higher.
  const auto place_of = [&](std::size_t i) { return std::pair(finalists[i].beaten, median(finalists[i].costs())); };
  std::ranges::sort(ranking.order, {}, place_of);
  const Finalist& fastest = finalists[ranking.order.front()];
  const auto tied = [&](std::size_t i) {
    // A finalist that dropped out was compared with the leader of its rounds; the present fastest may have been unlucky
    // in them.
    const Finalist& finalist = finalists[i];
    return &finalist == &fastest || !(finalist.beaten || clearly_slower(finalist.costs(), fastest.costs()));
  };
  const auto end = std::stable_partition(ranking.order.begin(), ranking.order.end(), tied);
  ranking.ties = static_cast<std::size_t>(end - ranking.order.begin());
  return ranking;
}

}  // namespace heddle
