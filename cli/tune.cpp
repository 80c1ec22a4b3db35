// heddle tune: searches for the fastest mappings on one device and keeps them.

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "heddle/cli/command.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/tune_target.hpp"
#include "heddle/cli/tuning_findings.hpp"
#include "heddle/cli/tuning_table.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/tuner/replay/record.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle::cli {
namespace {

struct TuneOptions {
  Common common;
  std::string device, profiles, replay, record;
  std::vector<std::string> families;
  Sizes sizes;
  Budget budget;
  TunerOptions tuner;
};

/// The budget if the user names none: enough for the default problems of one GPU.
constexpr double kDefaultSeconds = 600.0;

double read_rate(const std::string& option, const std::string& text, double most) {
  const double value = read_real(option, text);
  if (value > 0.0 && value <= most) return value;
  throw Error(ErrorKind::usage, fmt::format("option {}: found {}, expected a number above 0 and up to {}", option,
                                            in_quotes(text), most));
}

void check_recordable(const TuneOptions& options, const std::vector<FamilyTask>& work) {
  std::size_t problems = 0;
  for (const FamilyTask& task : work) problems += task.problems.size();
  if (problems != 1) {
    throw Error(ErrorKind::usage, fmt::format("option --record: found {} problems, expected one family and one problem "
                                              "(--family, --size)",
                                              problems));
  }
  check_writable(options.record);
}

/// Writes what the store knows of the one problem; returns how many configurations.
std::size_t write_record(const TuneOptions& options, const ProfileStore& store, const DeviceIdentity& device,
                         const FamilyTask& task) {
  const ProfileKey key{.device = device, .family = std::string(task.family->name()), .problem = task.problems.front()};
  const RecordedSpace recording = recorded(store, *task.family, key);
  write_recorded_space(options.record, recording);
  return recording.configurations.size();
}

int run(const Context& context, const TuneOptions& options) {
  if (!options.replay.empty() && !options.device.empty()) {
    throw Error(ErrorKind::usage,
                "option --replay: a recording takes the place of a device, so --device cannot be given");
  }
  const bool peak = options.tuner.peak_bytes_per_second > 0.0 || options.tuner.peak_operations_per_second > 0.0;
  if (options.tuner.target && !peak) {
    throw Error(ErrorKind::usage, "option --target: needs --peak-bandwidth or --peak-rate, of which it is a fraction");
  }
  const auto target = options.replay.empty() ? device_target(context, options.device) : replay_target(options.replay);
  const auto work = target->tasks(options.families, options.sizes);
  TunerOptions tuner = options.tuner;
  tuner.tune_sizes_between = options.sizes.empty() && options.replay.empty();  // the user named no sizes
  if (!options.record.empty()) check_recordable(options, work);
  // Profiles of a recording or of an emulated device are not for training. They are kept only if the user asks for it.
  const std::string& backend = target->identity().backend;
  const bool forgotten = (!options.replay.empty() && options.profiles.empty()) || !can_be_timed(backend);
  if (!options.common.quiet) note_timing(backend);
  if (!options.common.quiet && can_be_timed(backend) && !target->remark().empty()) note(target->remark());
  ProfileStore store = open_profiles(context, forgotten ? ":memory:" : options.profiles,
                                     ProfileStore::Access::read_write, options.common);
  std::size_t waiting = 0;
  for (const FamilyTask& task : work) waiting += task.problems.size();

  Budget budget = options.budget;
  if (!budget.seconds && !budget.evaluations) budget.seconds = kDefaultSeconds;
  TuningFindings findings;
  findings.summary.problems = waiting;
  const auto report = [&](bool stopped) {
    if (options.common.json) {
      const auto [summary, results] = findings.all();
      print_document("tune", {{"device", target->label()},
                              {"identity", cli::to_json(target->identity())},
                              {"profiles", store.file().string()},
                              {"strategy", options.tuner.strategy},
                              {"seed", options.tuner.seed},
                              {"interrupted", stopped},
                              {"problems", summary.problems},
                              {"evaluations", summary.evaluations},
                              {"compiler_calls", findings.compiler_calls},
                              {"seconds", cli::to_json(summary.effort)},
                              {"expected_loss", findings.losses},
                              {"results", results}});
    }
    push_output();
  };
  catch_interrupts();
  // Every measurement was written to the store before the next one began. Whatever waits (for the database, too) from
  // here to the end of the run is left in time.
  const auto interrupted_early = [&] {
    const std::scoped_lock lock(findings.mutex);
    report(true);
    note(
        fmt::format("interrupted; all measurements are kept in {}; the same command continues", store.file().string()));
    return exit_interrupted;
  };
  std::optional<LeaveInTime> leave(interrupted_early);
  StopCondition stop(budget, interrupted, target->clock());
  std::string whole_task;
  try {
    for (const FamilyTask& task : work) {
      const auto evaluator = target->evaluator(*task.family, options.tuner.seed);
      whole_task += fmt::format("{}\n", Tuner(*evaluator, store, tuner).task(task.problems));
    }
  } catch (const Interrupted&) {
    leave.reset();
    return interrupted_early();
  }
  const TuningRun whole_run = store.begin_run(whole_task);
  stop.add_seconds_used(whole_run.seconds);
  if (whole_run.resumed && !options.common.quiet) {
    note(fmt::format("continuing a run that was stopped after {}", duration(whole_run.seconds)));
  }
  ProgressBar bar(options.common.quiet);
  for (const FamilyTask& task : work) {
    if (!options.common.json) {
      print(fmt::format("{}tuning {} on {} ({}), {} problems\n", &task == work.data() ? "" : "\n", task.family->name(),
                        target->label(), target->identity().name, task.problems.size()));
      push_output();
    }
    findings.begin(*task.family);
    ResultPrinter printer(task);
    TunerCallbacks callbacks;
    callbacks.progress = [&](const TuningProgress& progress) { bar.show(progress.fraction, progress_text(progress)); };
    callbacks.result = [&](const TuningResult& result) {
      findings.add(result);
      if (options.common.json) return;
      bar.clear();
      printer.row(result);
      push_output();
    };
    std::optional<double> expected_loss;
    callbacks.expected_loss = [&](double loss) { expected_loss = loss; };
    const double share = static_cast<double>(task.problems.size()) / static_cast<double>(waiting);
    StopCondition part = stop.slice(share, share);
    waiting -= task.problems.size();
    const auto evaluator = target->evaluator(*task.family, options.tuner.seed);
    auto found = Tuner(*evaluator, store, tuner, callbacks).tune(task.problems, part, whole_run);
    findings.end(std::move(found), expected_loss, target->compiler_calls());
    if (!options.common.json && expected_loss && task.problems.size() > 1) {
      bar.clear();
      print(fmt::format(
          "sizes that were not tuned: about {:.1f} % slower than if they were; 'heddle profiles regret' measures it\n",
          100.0 * *expected_loss));
    }
    if (stop.interrupted()) break;
  }
  bar.clear();
  findings.took(stop.seconds_used() - whole_run.seconds);  // choosing what to visit included
  store.spent(whole_run, stop.seconds_used());
  store.end_run(whole_run, !stop.interrupted());
  if (!options.record.empty()) {
    const std::size_t count = write_record(options, store, target->identity(), work.front());
    if (!options.common.quiet) note(fmt::format("{}: {} configurations recorded", options.record, count));
  }
  leave.reset();

  const TuningSummary& summary = findings.summary;
  report(stop.interrupted());
  if (!options.common.json) {
    print(summary.text(!forgotten));
    if (!stop.interrupted()) print(summary.advice());
    print(forgotten ? "profiles: not kept\n" : fmt::format("profiles: {}\n", store.file().string()));
  }
  if (!stop.interrupted()) return 0;
  push_output();
  note(
      fmt::format("interrupted; measurements of {} configurations and {} profiles are kept in {}; the same command "
                  "continues",
                  summary.evaluations, summary.reached, store.file().string()));
  return exit_interrupted;
}

}  // namespace

void add_tune(Command& program) {
  Command command = program.add("tune", "Find the fastest mappings on a device and keep them");
  const auto options = std::make_shared<TuneOptions>();
  add_device(command, options->device);
  const FamilyRegistry& families = program.context().families;
  command.list(
      "--family", "F", fmt::format("Kernel families to tune: {} [default: all]", families.names()),
      [options, &families](const std::string& name) { options->families.emplace_back(families.at(name).name()); });
  add_sizes(command, options->sizes, true);
  std::string names;
  for (const StrategyEntry& each : strategies()) names += fmt::format("\n  {}: {}", each.name, each.meaning);
  command.option("--strategy", "S", fmt::format("How to search [default: {}]{}", options->tuner.strategy, names),
                 [options](const std::string& name) { options->tuner.strategy = strategy(name).name; });
  command.option("--budget", "TIME", "Time to spend, as 30s, 5m or 1h [default: 10m, or none with --evaluations]",
                 [options](const std::string& text) { options->budget.seconds = read_duration("--budget", text); });
  command.option(
      "--evaluations", "N", "Largest number of configurations to try, for all problems together",
      [options](const std::string& text) { options->budget.evaluations = read_integer("--evaluations", text, 1); });
  command.option("--patience", "N", "End the search for a problem after N configurations in a row without a gain",
                 [options](const std::string& text) { options->tuner.patience = read_integer("--patience", text, 1); });
  command.option("--target", "F",
                 "End the search for a problem at this fraction of the speed that the peak rates allow; needs "
                 "--peak-bandwidth or --peak-rate",
                 [options](const std::string& text) { options->tuner.target = read_rate("--target", text, 1.0); });
  command.option("--peak-bandwidth", "GB/s", "Peak memory bandwidth of the device", [options](const std::string& text) {
    options->tuner.peak_bytes_per_second = 1e9 * read_rate("--peak-bandwidth", text, 1e9);
  });
  command.option("--peak-rate", "GFLOP/s", "Peak arithmetic rate of the device", [options](const std::string& text) {
    options->tuner.peak_operations_per_second = 1e9 * read_rate("--peak-rate", text, 1e9);
  });
  command.option("--seed", "N",
                 fmt::format("Seed of the search and of the workload [default: {}]", options->tuner.seed),
                 [options](const std::string& text) {
                   options->tuner.seed = static_cast<std::uint64_t>(read_integer("--seed", text, 0));
                 });
  command.option("--replay", "FILE", "Search a recorded space (T4 or T1) in virtual time in place of a device",
                 options->replay);
  command.option("--record", "FILE",
                 "Write the measurements of the one problem as a T4 file; stops no configuration early",
                 [options](const std::string& file) {
                   options->record = file;
                   options->tuner.prune_factor = std::numeric_limits<double>::infinity();
                 });
  add_profile_file(command, options->profiles);
  add_common(command, options->common);
  command.action([options, &context = program.context()] { return run(context, *options); });
}

}  // namespace heddle::cli
