// heddle tune: searches for the fastest mappings on one device and keeps them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "heddle/cli/command.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/outcomes.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/tune_target.hpp"
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

/// Runs of the untuned default that take as long as one problem at least, verification included.
constexpr double kRunsOfOne = 25.0;

/// The budget if the user names none: enough for the default problems of one GPU.
constexpr double kDefaultSeconds = 600.0;

std::string time_text(const std::optional<double>& time) { return time ? short_number(*time) : "-"; }

/// Prints a table whose rows appear during the search, so the widths of its columns are fixed before.
class ResultPrinter {
 public:
  explicit ResultPrinter(const FamilyTask& task) {
    for (const Problem& problem : task.problems) width_ = std::max(width_, problem.text().size());
  }

  void head(const std::vector<NamedTime>& named) const {
    std::string line = fmt::format("{:<{}}  {:>8}  {:>8}  {:>6}", "problem", width_, "us", "default", "gain");
    for (const NamedTime& other : named) line += fmt::format("  {:>8}", other.name);
    print(line + "  configuration\n");
  }

  void row(const TuningResult& result) {
    if (!result.profile && result.interrupted) return;
    if (!headed_) head(result.named);
    headed_ = true;
    std::string line = fmt::format("{:<{}}", result.problem.text(), width_);
    if (result.out_of_time) {
      print(line + fmt::format("  not tuned: one run of the untuned default takes more than {}; it may fit a --budget "
                               "of {} or more\n",
                               duration(*result.out_of_time), duration(kRunsOfOne * *result.out_of_time)));
      return;
    }
    if (result.compiler_out_of_time) {
      print(line +
            fmt::format("  not tuned: the compiler did not end within {}\n", duration(*result.compiler_out_of_time)));
      return;
    }
    if (!result.profile) {
      print(line + "  not tuned: every configuration failed; 'heddle profiles show' tells how\n");
      return;
    }
    const auto gain = result.untuned.time ? short_number(*result.untuned.time / result.profile->time) + "x" : "-";
    line +=
        fmt::format("  {:>8}  {:>8}  {:>6}", short_number(result.profile->time), time_text(result.untuned.time), gain);
    for (const NamedTime& other : result.named) line += fmt::format("  {:>8}", time_text(other.time));
    line += "  " + result.profile->configuration;
    if (!result.profile->ties.empty()) line += fmt::format("  (as fast: {} more)", result.profile->ties.size());
    if (!result.change.empty()) {
      line += fmt::format("  ({}: {})", result.searched ? "searched again" : "measured again", result.change);
    }
    if (!result.was_stored) line += "  (not stored: the stored profile is faster)";
    print(line + "\n");
  }

 private:
  std::size_t width_ = 7;
  bool headed_ = false;
};

/// The most important part comes first: a terminal may cut the end off.
std::string progress_text(const TuningProgress& progress) {
  std::string text = fmt::format("{}/{}", progress.problem_index + 1, progress.problems);
  if (progress.seconds_left) text += fmt::format("  {} left", duration(*progress.seconds_left));
  if (progress.best) text += fmt::format("  {} us", short_number(*progress.best));
  if (progress.problem != nullptr) text += "  " + progress.problem->text();
  return text + fmt::format("  {}, {} tried", heddle::text(progress.stage), progress.all_evaluations);
}

Json record_of(const NamedTime& time) {
  return {{"name", time.name},
          {"configuration", time.configuration},
          {"microseconds_per_sample", number_or_null(time.time)},
          {"status", text(time.status)}};
}

Json record_of(const Effort& effort) {
  return {{"waiting", effort.waiting},
          {"measuring", effort.measuring},
          {"verifying", effort.verifying},
          {"compiling", effort.compiling},
          {"total", effort.total}};
}

Json record_of(std::string_view family, std::string_view unit, const TuningResult& result) {
  Json named = Json::array(), statuses = Json::object();
  for (const NamedTime& time : result.named) named.push_back(record_of(time));
  for (const auto& [status, count] : result.statuses) statuses[std::string(text(status))] = count;
  return {{"family", family},
          {"unit", unit},
          {"problem", cli::to_json(result.problem)},
          {"searched", result.searched},
          {"between", result.is_between},
          {"change", result.change},
          {"interrupted", result.interrupted},
          {"out_of_time", number_or_null(result.out_of_time)},
          {"compiler_out_of_time", number_or_null(result.compiler_out_of_time)},
          {"kept", result.was_stored},
          {"profile", result.profile ? cli::to_json(*result.profile) : Json()},
          {"baseline", record_of(result.untuned)},
          {"named", named},
          {"samples", result.samples},
          {"valid", result.valid},
          {"evaluations", result.evaluations()},
          {"recalled", result.recalled},
          {"statuses", statuses},
          {"seconds", record_of(result.effort)}};
}

struct Summary {
  std::size_t problems = 0, reached = 0, between = 0;
  std::int64_t evaluations = 0, recalled = 0;
  Outcomes statuses;
  Effort effort;
  double log_gain = 0.0;
  std::size_t gains = 0;
  bool tried_more = false;  ///< for some problem, more than the untuned default was tried
  std::string compiler;

  void add(const TuningResult& result) {
    tried_more = tried_more || result.evaluations() + result.recalled > 1;
    if (result.profile) compiler = result.profile->provenance.compiler;
    if (result.profile) ++(result.is_between ? between : reached);
    evaluations += result.evaluations();
    recalled += result.recalled;
    for (const auto& [status, count] : result.statuses) statuses[status] += count;
    effort += result.effort;
    if (result.profile && result.untuned.time) {
      log_gain += std::log(*result.untuned.time / result.profile->time);
      ++gains;
    }
  }

  /// `kept`: whether the profiles are kept in a database.
  [[nodiscard]] std::string text(bool kept) const {
    const std::string others = between > 0 ? fmt::format(" and {} sizes between them", between) : "";
    std::string text =
        fmt::format("\n{} of {} problems{} tuned in {}{}\n", reached, problems, others, duration(effort.total),
                    kept && reached > 0 ? "; 'heddle train' and 'heddle predict' use these profiles" : "");
    const std::string before = recalled > 0 ? fmt::format(", {} of them by earlier runs", recalled) : "";
    text += fmt::format("{} configurations tried{}{}\n{}", evaluations, before, statuses.empty() ? "" : ":",
                        explained(statuses));
    const double other = std::max(0.0, effort.total - effort.waiting - effort.measuring - effort.verifying);
    text += fmt::format(
        "time spent: {:.1f} s waiting for the compiler, {:.1f} s measuring, {:.1f} s verifying, {:.1f} s on everything "
        "else; {:.1f} s of compiler time\n",
        effort.waiting, effort.measuring, effort.verifying, other, effort.compiling);
    if (gains > 0) {
      text += fmt::format("speed against the untuned default: {}x on average (geometric mean)\n",
                          short_number(std::exp(log_gain / static_cast<double>(gains))));
    }
    return text;
  }

  /// Advice after a search that was too short.
  [[nodiscard]] std::string advice() const {
    std::string text;
    if (reached < problems) {
      text += fmt::format("{} of {} problems were not tuned in this run; a longer --budget may reach them\n",
                          problems - reached, problems);
    }
    if (!tried_more && effort.waiting > effort.total / 2) {
      text += fmt::format(
          "only untuned defaults were tried: the compiler ({}) finished nothing else in time; a longer --budget or "
          "another compiler (CXX) may help\n",
          compiler.empty() ? "unknown" : compiler);
    }
    return text;
  }
};

/// What a run has found so far. The helper thread of LeaveInTime reads it while the search goes on.
struct Findings {
  std::mutex mutex;  ///< of all members
  Summary summary;   ///< of the families that are done, as are the next three
  Json results = Json::array(), losses = Json::object();
  std::int64_t compiler_calls = 0;
  std::string family, unit;           ///< that is being tuned, and what its work is counted in
  std::vector<TuningResult> present;  ///< its problems that are done

  void begin(const KernelFamily& next) {
    const std::scoped_lock lock(mutex);
    family = next.name();
    unit = next.unit();
  }
  /// A problem is done, or an earlier result of it has been improved.
  void add(const TuningResult& result) {
    const std::scoped_lock lock(mutex);
    const auto known = std::ranges::find(present, result.problem, &TuningResult::problem);
    if (known == present.end()) {
      present.push_back(result);
    } else {
      *known = result;
    }
  }
  /// The family is done. `found`: its results, all of them; none if the search was interrupted between two problems.
  void end(std::vector<TuningResult> found, std::optional<double> expected_loss, std::int64_t calls) {
    const std::scoped_lock lock(mutex);
    if (!found.empty()) present = std::move(found);
    for (const TuningResult& result : std::exchange(present, {})) {
      summary.add(result);
      results.push_back(record_of(family, unit, result));
    }
    losses[family] = number_or_null(expected_loss);
    compiler_calls = calls;
  }
  void took(double seconds) {
    const std::scoped_lock lock(mutex);
    summary.effort.total = seconds;
  }
  /// Summary and results with those of the family that is being tuned. With the mutex held, or once the search is over.
  [[nodiscard]] std::pair<Summary, Json> all() const {
    std::pair<Summary, Json> whole(summary, results);
    for (const TuningResult& result : present) {
      whole.first.add(result);
      whole.second.push_back(record_of(family, unit, result));
    }
    return whole;
  }
};

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
  Findings findings;
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
                              {"seconds", record_of(summary.effort)},
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

  const Summary& summary = findings.summary;
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
