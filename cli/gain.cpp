#include "heddle/cli/gain.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle::cli {
namespace {

std::string line_of(std::string_view name, const std::vector<double>& times, const MappingUse& mapping) {
  return fmt::format("{:<16}  {:>5} +- {} us per sample  {} ({})\n", name, short_number(median(times)),
                     short_number(half_interquartile_range(times)), mapping.configuration, heddle::text(mapping.tier));
}

std::string verdict_line(const TrainingGain& gain) {
  if (!has_profile(gain.tuned_mapping.tier)) {
    return "there is no profile for this training yet, so both are untuned: 'heddle tune' makes profiles\n";
  }
  if (gain.tuned_mapping.configuration == gain.untuned_mapping.configuration) {
    return "both ran the same mapping: tuning found none that is faster than the untuned one\n";
  }
  switch (gain.verdict()) {
    case TrainingGain::Verdict::faster:
      return fmt::format("training is {:.2f} times as fast with the profiles as without\n", gain.factor());
    case TrainingGain::Verdict::slower:
      return fmt::format(
          "training is {:.2f} times as slow with the profiles as without: 'heddle tune', while nothing else runs, "
          "measures them again\n",
          1.0 / gain.factor());
    case TrainingGain::Verdict::within_noise:
      break;
  }
  return "the difference is within the noise: here training is as fast with the profiles as without\n";
}

Json record_of(const std::vector<double>& times, const MappingUse& mapping) {
  return {{"microseconds_per_sample", times.empty() ? Json() : Json(median(times))},
          {"half_interquartile_range", times.empty() ? Json() : Json(half_interquartile_range(times))},
          {"times", times},
          {"configuration", mapping.configuration},
          {"tier", heddle::text(mapping.tier)}};
}

std::string_view word(TrainingGain::Verdict verdict) {
  switch (verdict) {
    case TrainingGain::Verdict::faster:
      return "faster";
    case TrainingGain::Verdict::slower:
      return "slower";
    case TrainingGain::Verdict::within_noise:
      break;
  }
  return "within noise";
}

}  // namespace

std::string gain_text(const TrainingGain& gain) {
  const std::size_t rounds = gain.tuned.size();
  if (rounds == 0 && !gain.failure.empty()) {
    return fmt::format("nothing to compare: the training without profiles failed: {}\n", gain.failure);
  }
  if (rounds == 0) return "nothing to compare: the first epoch does not count, so at least two are needed (--epochs)\n";
  return line_of("with profiles", gain.tuned, gain.tuned_mapping) +
         line_of("without profiles", gain.untuned, gain.untuned_mapping) +
         fmt::format("(medians of {} each, by turns; +- half the distance between the quartiles)\n",
                     counted(rounds, "epoch")) +
         fmt::format("the epoch with profiles was the faster one in {} of {}\n", gain.rounds_faster(),
                     counted(rounds, "turn")) +
         verdict_line(gain);
}

Json to_json(const TrainingGain& gain) {
  return {{"with_profiles", record_of(gain.tuned, gain.tuned_mapping)},
          {"without_profiles", record_of(gain.untuned, gain.untuned_mapping)},
          {"turns", gain.tuned.size()},
          {"turns_faster", gain.rounds_faster()},
          {"factor", gain.factor()},
          {"verdict", word(gain.verdict())}};
}

}  // namespace heddle::cli
