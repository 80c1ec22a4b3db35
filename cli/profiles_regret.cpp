// heddle profiles regret: tunes sizes between those that were tuned, knowing what the database knows, and says what the
// dispatcher's choice loses there.

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/cli/profiles.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/profiles/database.hpp"
#include "heddle/tuner/regret.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"

namespace heddle::cli {
namespace {

constexpr std::int64_t default_count = 30;
constexpr double kSecondsOfProblem = 10.0;  // for each problem

Json record_of(const Regret& regret, const KernelFamily& family) {
  return {{"family", family.name()},
          {"unit", family.unit()},
          {"problem", cli::to_json(regret.problem)},
          {"chosen", regret.chosen},
          {"reason", regret.reason},
          {"best", regret.best},
          {"chosen_microseconds_per_sample", regret.chosen_time},
          {"best_microseconds_per_sample", regret.best_time},
          {"default_microseconds_per_sample", number_or_null(regret.default_time)},
          {"loss", regret.loss},
          {"evaluations", regret.evaluations}};
}

std::pair<double, double> mean_and_worst(const std::vector<double>& losses) {
  if (losses.empty()) return {0.0, 0.0};
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  return {sum / static_cast<double>(losses.size()), *std::max_element(losses.begin(), losses.end())};
}

ProfileStore store_of(const Context& context, const ProfileOptions& options) {
  if (options.untuned) return {kInMemory, ProfileStore::Access::read_write, context.families};
  return open_present_profiles(context, options.profiles, ProfileStore::Access::read, options.common);
}

/// The problems between which sizes are drawn: those that are tuned on this device, or those that a tuning run would
/// tune.
std::vector<Problem> range_of(const Context& context, const ProfileOptions& options, const ProfileStore& store,
                              const KernelFamily& family, const DeviceIdentity& device) {
  if (options.untuned) return problem_grid(family, device, options.sizes);
  ProfileStates states(context.families);
  std::vector<Problem> problems;
  for (const Profile& profile : store.knowledge(std::string(family.name())).profiles) {
    if (profile.key.device == device && !states.is_stale(profile) &&
        matches(context.families, profile.key, options.sizes)) {
      problems.push_back(profile.key.problem);
    }
  }
  return problems;
}

int regret(const Context& context, const ProfileOptions& options) {
  check_sizes(context, options);
  const ProfileStore store = store_of(context, options);
  Worker worker({.device = options.device, .families = context.families.descriptions(), .stop = interrupted});
  std::vector<const KernelFamily*> asked;
  for (const auto& each : context.families.all()) {
    if (each->supports(worker.identity().backend) && asks_for(options, each->name())) {
      asked.push_back(each.get());
    }
  }
  ProgressBar bar(options.common.quiet);
  Json records = Json::array();
  Table table({{"family"},
               {"problem"},
               {"chosen us", Table::Align::right},
               {"best us", Table::Align::right},
               {"default us", Table::Align::right},
               {"loss", Table::Align::right},
               {"chosen because"}});
  std::vector<double> losses, losses_of_default;
  std::mutex findings;  // held while the last four change or are reported
  const auto conclude = [&] {
    const std::scoped_lock lock(findings);
    const auto [mean, worst] = mean_and_worst(losses);
    if (options.common.json) {
      print_document("profiles regret", {{"profiles", options.untuned ? Json() : Json(store.file().string())},
                                         {"device", worker.label()},
                                         {"seed", options.seed},
                                         {"mean", mean},
                                         {"worst", worst},
                                         {"records", records}});
    } else if (!losses.empty()) {
      print(table.text());
      print(fmt::format(
          "\nat {}, the chosen mapping is {:.1f} % slower than the best on average, "
          "{:.1f} % at worst\n",
          counted(losses.size(), "size that was not tuned", "sizes that were not tuned"), 100.0 * mean, 100.0 * worst));
      const auto [usual, most] = mean_and_worst(losses_of_default);
      print(fmt::format("the untuned default is {:.1f} % slower on average, {:.1f} % at worst\n", 100.0 * usual,
                        100.0 * most));
    }
    return interrupted() ? exit_interrupted : 0;
  };
  catch_interrupts();
  std::optional<LeaveInTime> leave(conclude);
  for (const KernelFamily* family : asked) {
    const auto between =
        problems_between(range_of(context, options, store, *family, worker.identity()), family->axes(),
                         static_cast<std::size_t>(options.count.value_or(default_count)), options.seed);
    TunerOptions tuner;
    tuner.seed = options.seed;
    IsolatedEvaluator evaluator(worker, *family, options.seed);
    RegretMeter meter(evaluator, store, tuner);
    for (std::size_t i = 0; i < between.size() && !interrupted(); ++i) {
      bar.show(static_cast<double>(i) / static_cast<double>(between.size()),
               fmt::format("{}/{}  {} {}", i + 1, between.size(), family->name(), between[i].text()));
      StopCondition stop({.seconds = options.seconds.value_or(kSecondsOfProblem), .evaluations = {}}, interrupted);
      Regret found;
      try {
        found = meter.measure(between[i], stop);
      } catch (const Interrupted&) {
      }
      if (interrupted()) break;
      const std::scoped_lock lock(findings);
      losses.push_back(found.loss);
      if (found.default_time) {
        losses_of_default.push_back(std::max(0.0, *found.default_time / found.best_time - 1.0));
      }
      records.push_back(record_of(found, *family));
      table.row({std::string(family->name()), found.problem.text(), short_number(found.chosen_time),
                 short_number(found.best_time), found.default_time ? short_number(*found.default_time) : "-",
                 fmt::format("{:.1f} %", 100.0 * found.loss), found.reason});
    }
  }
  leave.reset();
  bar.clear();
  if (losses.empty() && !interrupted() && options.untuned) {
    throw Error(ErrorKind::usage, "no size lies between those that are named; name at least two values of a size");
  }
  if (losses.empty() && !interrupted()) {
    throw Error(ErrorKind::profiles,
                fmt::format("profile database {}: no size lies between the tuned sizes for {}; run 'heddle tune' "
                            "with at least two values of a size",
                            store.file().string(), worker.label()));
  }
  return conclude();
}

}  // namespace

void add_regret(Command& profiles) {
  auto options = std::make_shared<ProfileOptions>();
  Command command = add_subcommand(
      profiles, "regret", "Measure how much slower untuned sizes run than if they were tuned", options, regret);
  add_families(command, *options);
  add_sizes(command, options->sizes, true, options->context.families);
  add_device(command, options->device);
  command.flag("--untuned",
               "As if nothing had been tuned or imported, at sizes between those that 'heddle tune' would tune",
               options->untuned);
  command.option("--count", "N", fmt::format("Number of sizes for each family [default: {}]", default_count),
                 [options](const std::string& text) { options->count = read_integer("--count", text, 1, 10000); });
  command.option("--budget", "TIME", "Time for each size, as 30s or 5m [default: 10s]",
                 [options](const std::string& text) { options->seconds = read_duration("--budget", text); });
  command.option("--seed", "N", "Seed of sizes, search and workload [default: 1]", [options](const std::string& text) {
    options->seed = static_cast<std::uint64_t>(read_integer("--seed", text, 0));
  });
}

}  // namespace heddle::cli
