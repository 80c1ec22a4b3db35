#include "heddle/tuner/screening.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

namespace {

constexpr double kRepetition = 1500.0;  // microseconds: thousands of clock ticks, hundreds of launches

// The first repetition of a configuration (the warm-up) also loads code and fills caches. The configuration is given up
// at once only if this repetition takes more than this many times the limit.
constexpr double kColdStart = 4.0;
// Loading code and starting threads may take the first repetition up to so many microseconds, on any device.
constexpr double kLongestDelay = 100e3;
// One repetition may be disturbed, two in a row hardly ever. After one repetition a configuration may take this many
// times the limit; after two, the limit itself.
constexpr double kDisturbed = 2.0;
// On a device that does not share the host's processor, such delays do not grow with the length of a repetition:
// microseconds for loading code, and for a disturbance, beyond a part of the limit that noise explains.
constexpr double kLongestLoading = 3000.0, kLongestDisturbance = 1000.0, kNoisy = 1.1;

/// Work of a repetition of kRepetition, at this many microseconds per unit: a power of two, unless the range ends
/// before the next one.
std::int64_t work_for(double microseconds, const WorkRange& range) {
  const double wanted = std::clamp(kRepetition / std::max(microseconds, 1e-9), static_cast<double>(range.least),
                                   static_cast<double>(range.most));
  return std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::ceil(wanted)))), range.most);
}

double fastest(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

/// `multiple` times the limit, or less where a repetition of `samples` is so long that a delay cannot explain as much.
double allowed(double limit, double multiple, double longest_delay, std::int64_t samples, bool shares_processor) {
  const double usual = multiple * limit;
  if (shares_processor) return usual;
  return std::min(usual, kNoisy * limit + longest_delay / static_cast<double>(samples));
}

/// `cold`: the time of the warm-up. It can save a configuration but not condemn it: among thousands of
/// configurations, some have two disturbed repetitions in a row, and the best may be one of them.
bool cannot_win(double cold, const std::vector<double>& times, double prune_above, double prune_first_above) {
  return std::min(cold, fastest(times)) > (times.size() < 2 ? prune_first_above : prune_above);
}

/// Two repetitions that agree this well, as a part of their time, were not disturbed: no two disturbances are equal.
constexpr double kAgreement = 0.03;

/// Whether a configuration is slower than `settle_above` beyond doubt. `settle_once_above`: what a single disturbed
/// repetition may reach.
bool is_settled(double cold, const std::vector<double>& times, double settle_above, double settle_once_above) {
  const double least = std::min(cold, fastest(times));
  if (least > settle_once_above) return true;
  if (least <= settle_above) return false;
  return times.size() > 1 || std::abs(cold - times.front()) <= kAgreement * times.front();
}

}  // namespace

std::int64_t pilot_work(const WorkRange& range) { return std::min(2 * range.least, range.most); }

std::int64_t usual_work(const WorkRange& range) { return std::min(4 * range.least, range.most); }

WorkRange timed_work(const Evaluator& evaluator, const Problem& problem) {
  return evaluator.family().timed_work(problem, evaluator.device());
}

std::int64_t choose_samples(Evaluator& evaluator, const Configuration& configuration, const Problem& problem,
                            const Stop& stop) {
  const WorkRange range = timed_work(evaluator, problem);
  try {
    // The cost of a launch hides the time of few samples, so longer repetitions are measured until that no longer
    // matters.
    const std::int64_t pilot = pilot_work(range);
    std::int64_t samples = pilot;
    while (true) {
      const auto runner = evaluator.prepare(configuration, problem, samples);
      double fastest = runner->time(samples == pilot ? stop : Stop());
      // If even a much faster repetition would need no more samples, one is enough: a repetition may take seconds. One
      // that is soon over may be nearly all delay: code is loaded, threads are started.
      const bool long_enough = fastest * static_cast<double>(samples) > kLongestDelay;
      if (long_enough && work_for(fastest / kColdStart, range) <= samples) return work_for(fastest, range);
      for (int repetition = 0; repetition < 2; ++repetition) fastest = std::min(fastest, runner->time());
      const std::int64_t next = work_for(fastest, range);
      if (next <= 2 * samples) return next;
      samples = next;
    }
  } catch (const DeviceFailure&) {
    return usual_work(range);
  }
}

Screened screen(Evaluator& evaluator, const Configuration& configuration, Measurement blank,
                const ScreeningLimits& limits) {
  Screened result{.measurement = std::move(blank), .cost = std::nullopt};
  Measurement& measurement = result.measurement;
  const auto give_up = [&](double time) {
    measurement.status = Status::pruned;
    measurement.message = fmt::format("stopped at {:.4g} us per {}, when {:.4g} could not win any more", time,
                                      evaluator.family().unit(), *limits.prune_above);
    result.cost = time;
  };
  try {
    const auto runner = evaluator.prepare(configuration, measurement.key.problem, measurement.samples);
    measurement.resources = runner->resources();
    const double cold = runner->time();
    const auto allowed_once = [&](double limit, double multiple, double longest_delay) {
      return allowed(limit, multiple, longest_delay, measurement.samples, evaluator.shares_processor());
    };
    if (limits.prune_above && cold > allowed_once(*limits.prune_above, kColdStart, kLongestLoading)) {
      give_up(cold);
    } else {
      std::vector<double> times;
      bool pruned = false, enough = false;
      constexpr int kMostRepetitions = 100;  // all of them are kept in the database
      double passed = 0.0;                   // microseconds in kernels
      const auto goes_on = [&](int repetition) {
        return repetition < limits.repetitions ||
               (passed < 1e6 * limits.least_seconds && repetition < kMostRepetitions);
      };
      for (int repetition = 0; goes_on(repetition); ++repetition) {
        times.push_back(runner->time());
        passed += times.back() * static_cast<double>(measurement.samples);
        pruned = limits.prune_above && repetition + 1 < limits.repetitions &&
                 cannot_win(cold, times, *limits.prune_above,
                            allowed_once(*limits.prune_above, kDisturbed, kLongestDisturbance));
        const bool settled =
            limits.settle_above && is_settled(cold, times, *limits.settle_above,
                                              allowed_once(*limits.settle_above, kDisturbed, kLongestDisturbance));
        enough = limits.enough && limits.enough(times.back(), measurement.resources);
        if (pruned || settled || enough) break;
      }
      if (pruned) {
        give_up(fastest(times));
      } else {
        measurement.status = Status::unverified;
        if (limits.energy && !enough) measurement.energy = runner->energy();
        result.cost = fastest(times);  // whatever disturbs a repetition makes it slower; the finals look at medians
        measurement.times = std::move(times);
      }
    }
    runner->check_guards();
  } catch (const DeviceFailure& failure) {
    measurement.status = failure.status();
    measurement.message = failure.what();
    measurement.times.clear();
    result.cost.reset();
  }
  return result;
}

}  // namespace heddle
