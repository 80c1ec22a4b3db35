#include "heddle/cli/tune_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "heddle/cli/crew.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/outcomes.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/result_file.hpp"
#include "heddle/cli/tune_target.hpp"
#include "heddle/cli/tuning_findings.hpp"
#include "heddle/cli/tuning_table.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/tuner/replay/record.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle::cli {
namespace {

/// The budget if the user names none: enough for the default problems of one GPU.
constexpr double kDefaultSeconds = 600.0;

void check_recordable(const TuneOptions& options, const std::vector<FamilyTask>& work) {
  std::size_t problems = 0;
  for (const FamilyTask& task : work) problems += task.problems.size();
  if (problems != 1) {
    throw Error(ErrorKind::usage, fmt::format("option --record: found {} problems, expected one family and one problem "
                                              "(--family, --size)",
                                              problems));
  }
  std::vector<std::string> read = options.described.files;
  read.insert(read.end(), options.captures.files().begin(), options.captures.files().end());
  read.push_back(options.described.with);
  read.push_back(options.replay);
  claim_result_file("--record", options.record, read, options.profiles);
  check_writable(options.record);
}

/// Writes what the store knows of the one problem; returns how many configurations.
std::size_t write_record(const TuneOptions& options, const ProfileStore& store, const DeviceIdentity& device,
                         const FamilyTask& task) {
  const ProfileKey key{.device = device, .family = std::string(task.family->name()), .problem = task.problems.front()};
  const RecordedSpace recording = recorded(store, *task.family, key, options.tuner.cold_cache);
  write_recorded_space(options.record, recording);
  return recording.configurations.size();
}

/// A device of this run, and what only its thread uses.
struct Card {
  std::unique_ptr<TuneTarget> target;
  std::optional<ProfileStore> store;
  std::unique_ptr<TuningFindings> findings;
  std::size_t model = 0;   ///< index of its model
  std::size_t place = 0;   ///< among the cards of its model
  std::size_t family = 0;  ///< index of the family that it tunes at present
  bool interrupted = false;
};

/// The cards of one model share out the problems: their profiles are the same.
struct Model {
  std::vector<FamilyTask> work;
  std::size_t problems = 0;
  std::vector<std::string> devices;
  std::vector<std::unique_ptr<ProblemPool>> pools;       ///< of each family; a single card has no use for it
  std::vector<std::unique_ptr<ResultPrinter>> printers;  ///< of each family
  std::vector<std::once_flag> begun;                     ///< of each family
};

/// One command: its devices, opened and grouped by model.
class TuneRun {
 public:
  explicit TuneRun(const TuneOptions& options)
      : options_(options),
        labels_(options.replay.empty() ? device_labels(options.device) : std::vector<std::string>{options.replay}),
        cards_(labels_.size()),
        crew_(labels_.size()) {
    tuner_ = options.tuner;
    // The user named no sizes, and no calls at sizes that alone have contents.
    tuner_.tune_sizes_between = options.sizes.empty() && options.replay.empty() && options.captures.empty();
    if (!budget_.seconds && !budget_.evaluations) budget_.seconds = kDefaultSeconds;
    rethrow_first(crew_.each([&](std::size_t i) {
      cards_[i].target = options_.replay.empty() ? device_target(options_.context, labels_[i], options_.compile_seconds,
                                                                 options_.tuner.cold_cache)
                                                 : replay_target(options_.replay);
    }));
    group();
    open_stores();
  }
  ~TuneRun() {
    // A worker ends with the thread that started it.
    crew_.each([&](std::size_t i) { cards_[i].target.reset(); });
  }
  TuneRun(const TuneRun&) = delete;
  TuneRun& operator=(const TuneRun&) = delete;

  int carry_out();

 private:
  static void rethrow_first(const std::vector<std::exception_ptr>& failures) {
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }
  void group();
  void open_stores();
  void tune(Card& card);
  void tune_family(Card& card, std::size_t number, StopCondition& stop, std::size_t& waiting, const TuningRun& run);
  void leave_behind(Card& card, const std::exception_ptr& failure);
  [[nodiscard]] std::string task_of(Card& card);
  [[nodiscard]] std::pair<TuningSummary, Json> found() const;
  void report(bool stopped) const;
  /// Throws Error(input) if the default configuration of a described kernel failed at some size.
  void refuse_kernel() const;
  void show_remarks() const;
  [[nodiscard]] const ProfileStore& store() const { return *keeper_->store; }

  const TuneOptions& options_;
  TunerOptions tuner_;
  Budget budget_ = options_.budget;  ///< of each card
  std::vector<std::string> labels_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<Card> cards_;
  std::unique_ptr<TuneProgress> progress_;
  bool kept_ = false;                    ///< profiles of some card are kept in a database
  const Card* keeper_ = nullptr;         ///< such a card; if there is none, the first
  std::atomic<bool> abandoned_ = false;  ///< something failed that concerns all cards
  std::mutex failing_;
  std::exception_ptr lost_;  ///< what ended the last card of a model
  Crew crew_;
};

/// Finds the models, and what there is to do for each.
void TuneRun::group() {
  std::map<DeviceIdentity, std::size_t> known;
  for (Card& card : cards_) {
    const auto [found, fresh] = known.emplace(card.target->identity(), models_.size());
    card.model = found->second;
    if (fresh) {
      Model& model = *models_.emplace_back(std::make_unique<Model>());
      const bool named = !options_.families.empty() || options_.kernels.empty();
      model.work = card.target->tasks(named ? options_.families : options_.kernels, options_.sizes);
      for (const FamilyTask& task : model.work) {
        model.problems += task.problems.size();
        const auto& objective = options_.tuner.objective;
        if (!objective) continue;
        objective->check(*task.family, card.target->identity());
        if (options_.tuner.cold_cache && objective->needs_energy(*task.family)) {
          throw Error(ErrorKind::usage,
                      "option --l2: energy is measured with a warm cache, so --objective cannot ask for it");
        }
      }
    }
    Model& model = *models_[card.model];
    const std::string& label = card.target->label();
    if (can_be_timed(card.target->identity().backend) && std::ranges::count(model.devices, label) > 0) {
      throw Error(ErrorKind::usage, fmt::format("option --device: {} is named twice", label));
    }
    card.place = model.devices.size();
    model.devices.push_back(label);
    card.findings = std::make_unique<TuningFindings>(label);
  }
  std::vector<std::string> devices;
  devices.reserve(cards_.size());
  for (const Card& card : cards_) devices.push_back(card.target->label());
  for (const auto& model : models_) {
    model->begun = std::vector<std::once_flag>(model->work.size());
    for (const FamilyTask& task : model->work) {
      model->pools.push_back(std::make_unique<ProblemPool>(model->devices.size()));
      model->printers.push_back(
          std::make_unique<ResultPrinter>(task.problems, devices, options_.kernels.empty() ? nullptr : task.family));
    }
  }
  progress_ = std::make_unique<TuneProgress>(options_.common.quiet, devices);
  if (!options_.record.empty()) {
    if (cards_.size() > 1) throw Error(ErrorKind::usage, "option --record: needs a single device");
    check_recordable(options_, models_.front()->work);
  }
}

void TuneRun::open_stores() {
  Common common = options_.common;
  for (Card& card : cards_) {
    // Profiles of an emulated device are never kept, those of a recording only if the user names a database.
    const std::string& backend = card.target->identity().backend;
    const bool timed = can_be_timed(backend);
    const bool forgotten = (!options_.replay.empty() && options_.profiles.empty()) || !timed;
    if (keeper_ == nullptr || (!kept_ && !forgotten)) keeper_ = &card;
    kept_ = kept_ || !forgotten;
    if (!common.quiet) note_timing(backend);
    if (!common.quiet && timed && !card.target->remark().empty()) note(card.target->remark());
    card.store.emplace(open_profiles(options_.context, forgotten ? ":memory:" : options_.profiles,
                                     ProfileStore::Access::read_write, common));
    common.quiet = true;  // the others have the same to say
  }
}

std::string TuneRun::task_of(Card& card) {
  const Model& model = *models_[card.model];
  std::string task;
  for (const FamilyTask& each : model.work) {
    const auto evaluator = card.target->evaluator(*each.family, tuner_.seed);
    task += fmt::format("{}\n", Tuner(*evaluator, *card.store, tuner_).task(each.problems));
  }
  if (model.devices.size() > 1) task += fmt::format("card {} of {}\n", card.place + 1, model.devices.size());
  return task;
}

/// All families of one card. In the card's thread.
void TuneRun::tune(Card& card) {
  Budget budget = budget_;
  if (budget.evaluations) {
    const auto cards = static_cast<std::int64_t>(cards_.size());
    const auto number = static_cast<std::int64_t>(&card - cards_.data());
    budget.evaluations = *budget.evaluations / cards + (number < *budget.evaluations % cards ? 1 : 0);
  }
  StopCondition stop(
      budget, [&] { return interrupted() || abandoned_; }, card.target->clock());
  const TuningRun run = card.store->begin_run(task_of(card));
  stop.add_seconds_used(run.seconds);
  if (run.resumed && !options_.common.quiet) {
    note(fmt::format("{}continuing a run that was stopped after {}",
                     cards_.size() > 1 ? card.target->label() + ": " : "", duration(run.seconds)));
  }
  std::size_t waiting = models_[card.model]->problems;
  for (std::size_t i = 0; i < models_[card.model]->work.size() && !stop.interrupted(); ++i) {
    card.family = i;
    tune_family(card, i, stop, waiting, run);
  }
  card.findings->took(stop.seconds_used() - run.seconds);  // choosing what to visit included
  card.interrupted = stop.interrupted();
  card.store->spent(run, stop.seconds_used());
  card.store->end_run(run, !stop.interrupted());
}

void TuneRun::tune_family(Card& card, std::size_t number, StopCondition& stop, std::size_t& waiting,
                          const TuningRun& run) {
  Model& model = *models_[card.model];
  const FamilyTask& task = model.work[number];
  std::call_once(model.begun[number], [&] {
    if (options_.common.json) return;
    progress_->interrupted_by([&] {
      print(fmt::format("{}tuning {} on {} ({}), {}\n", number == 0 && card.model == 0 ? "" : "\n", task.family->name(),
                        fmt::join(model.devices, ", "), card.target->identity().name,
                        counted(task.problems.size(), "problem")));
    });
  });
  card.findings->begin(*task.family);
  TunerCallbacks callbacks;
  const auto place = static_cast<std::size_t>(&card - cards_.data());
  callbacks.progress = [&, place](const TuningProgress& progress) { progress_->show(place, progress); };
  callbacks.result = [&](const TuningResult& result) {
    card.findings->add(result);
    if (options_.common.json) return;
    progress_->interrupted_by([&] { model.printers[number]->row(card.target->label(), result); });
  };
  std::optional<double> expected_loss;
  callbacks.expected_loss = [&](double loss) {
    if (task.problems.size() > 1) expected_loss = loss;
  };
  callbacks.single_mapping = [&](const SingleMapping& mapping) { card.findings->add(mapping); };
  callbacks.model = [&](const FittedModel& fitted) { card.findings->add(fitted); };
  const double share = static_cast<double>(task.problems.size()) / static_cast<double>(waiting);
  StopCondition part = stop.slice(share, share);
  waiting -= task.problems.size();
  const auto evaluator = card.target->evaluator(*task.family, tuner_.seed);
  const PoolShare pool{.pool = model.devices.size() > 1 ? model.pools[number].get() : nullptr, .run = card.place};
  auto results = Tuner(*evaluator, *card.store, tuner_, callbacks, pool).tune(task.problems, part, run);
  card.findings->end(std::move(results), expected_loss, card.target->compiler_calls());
}

/// A card has failed. The others of its model go on; without another one the failure is the command's.
void TuneRun::leave_behind(Card& card, const std::exception_ptr& failure) {
  const std::scoped_lock lock(failing_);
  const Model& model = *models_[card.model];
  for (std::size_t i = card.family; i < model.pools.size(); ++i) {
    model.pools[i]->leave(card.place, i == card.family ? card.findings->finished() : std::set<Problem>());
  }
  const bool alone = model.pools.back()->runs() == 0;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device || alone) {
      abandoned_ = abandoned_ || error.kind() != ErrorKind::device;
      if (!lost_) lost_ = failure;
      return;
    }
    const std::string what = error.what(), label = card.target->label();
    note(
        fmt::format("{}{}; the other cards take over its problems", what.starts_with(label) ? "" : label + ": ", what));
  } catch (...) {
    abandoned_ = true;
    if (!lost_) lost_ = failure;
  }
}

std::pair<TuningSummary, Json> TuneRun::found() const {
  std::pair<TuningSummary, Json> all{{}, Json::array()};
  for (const auto& model : models_) all.first.problems += model->problems;
  for (const Card& card : cards_) card.findings->add_to(all.first, all.second);
  return all;
}

void TuneRun::report(bool stopped) const {
  if (options_.common.json) {
    const auto [summary, results] = found();
    Json devices = Json::array();
    std::vector<std::string> labels;
    std::int64_t compiler_calls = 0;
    for (const Card& card : cards_) {
      labels.push_back(card.target->label());
      devices.push_back({{"device", labels.back()}, {"identity", cli::to_json(card.target->identity())}});
      compiler_calls += card.findings->compiler_calls();
    }
    print_document("tune", {{"device", fmt::format("{}", fmt::join(labels, ","))},
                            {"identity", devices.front().at("identity")},
                            {"devices", devices},
                            {"profiles", store().file().string()},
                            {"strategy", tuner_.strategy},
                            {"seed", tuner_.seed},
                            {"interrupted", stopped},
                            {"problems", summary.problems},
                            {"evaluations", summary.evaluations},
                            {"compiler_calls", compiler_calls},
                            {"seconds", cli::to_json(summary.effort)},
                            {"expected_loss", summary.expected_losses()},
                            {"gains", summary.gains_document()},
                            {"models", summary.models()},
                            {"results", results}});
  }
  push_output();
}

void TuneRun::refuse_kernel() const {
  for (const Card& card : cards_) {
    const DeviceIdentity& device = card.target->identity();
    for (const FamilyTask& task : models_[card.model]->work) {
      for (const Problem& problem : task.problems) {
        const auto measurements = card.store->measurements(
            ProfileKey{.device = device, .family = std::string(task.family->name()), .problem = problem});
        const std::string untuned = task.family->default_configuration(device, problem).text();
        const auto failure = std::ranges::find_if(measurements, [&](const Measurement& each) {
          return each.configuration == untuned && failed(each.status) && each.status != Status::constraint;
        });
        if (failure == measurements.end()) continue;
        throw Error(ErrorKind::input,
                    fmt::format("kernel {} at {}: every configuration failed; the default '{}': {}: {}",
                                task.family->name(), problem.text(), untuned, text(failure->status), failure->message));
      }
    }
  }
}

/// What the verification of the winners has to say, though it accepted them: each remark once.
void TuneRun::show_remarks() const {
  std::set<std::string> remarks;
  for (const Card& card : cards_) {
    for (const FamilyTask& task : models_[card.model]->work) {
      for (const Problem& problem : task.problems) {
        const auto measurements = card.store->measurements(ProfileKey{
            .device = card.target->identity(), .family = std::string(task.family->name()), .problem = problem});
        for (const Measurement& each : measurements) {
          if (each.status == Status::correct && !each.message.empty()) remarks.insert(each.message);
        }
      }
    }
  }
  for (const std::string& remark : remarks) note(remark);
}

int TuneRun::carry_out() {
  catch_interrupts();
  // Every measurement was written to the store before the next one began. Whatever waits (for the database, too) from
  // here to the end of the run is left in time.
  const auto interrupted_early = [&] {
    report(true);
    note(fmt::format("interrupted; all measurements are kept in {}; the same command continues",
                     store().file().string()));
    return exit_interrupted;
  };
  std::optional<LeaveInTime> leave(interrupted_early);
  for (const auto& failure : crew_.each([&](std::size_t i) {
         try {
           tune(cards_[i]);
         } catch (const Interrupted&) {
           cards_[i].interrupted = true;
         } catch (...) {
           leave_behind(cards_[i], std::current_exception());
         }
       })) {
    if (failure) std::rethrow_exception(failure);
  }
  progress_->interrupted_by([] {});
  if (!options_.record.empty() && !lost_) {
    const std::size_t count =
        write_record(options_, store(), cards_.front().target->identity(), models_.front()->work.front());
    if (!options_.common.quiet) note(fmt::format("{}: {} recorded", options_.record, counted(count, "configuration")));
  }
  leave.reset();

  const bool stopped = std::ranges::any_of(cards_, &Card::interrupted);
  const auto [summary, results] = found();
  if (lost_) std::rethrow_exception(lost_);
  if (!stopped && !options_.kernels.empty() && summary.reached == 0) refuse_kernel();
  report(stopped);
  if (!options_.kernels.empty()) show_remarks();
  if (options_.tuner.energy && std::ranges::any_of(results, [](const Json& result) {
        return !result.at("profile").is_null() && result.at("joules_per_sample").is_null();
      })) {
    note("energy: not measured; the device has no counter of energy that can be read (on NVIDIA cards NVML has it)");
  }
  if (!options_.common.json) {
    for (const auto& [family, losses] : summary.losses) {
      if (losses.empty()) continue;
      print(fmt::format(
          "{}: sizes that were not tuned: about {:.1f} % slower than if they were; 'heddle profiles regret' "
          "measures it\n",
          family, 100.0 * mean_of(losses)));
    }
    print(summary.text(kept_, options_.tuner.goal()));
    if (!stopped) print(summary.advice());
    print(kept_ ? fmt::format("profiles: {}\n", store().file().string()) : "profiles: not kept\n");
  }
  if (!stopped && !options_.kernels.empty() && summary.reached == 0) {
    push_output();
    throw Error(ErrorKind::input, fmt::format("kernel {}: nothing was tuned: not one run of the default ended in time",
                                              models_.front()->work.front().family->name()));
  }
  if (!stopped) return 0;
  push_output();
  note(fmt::format(
      "interrupted; measurements of {} and {} are kept in {}; the same command "
      "continues",
      counted(summary.evaluations, "configuration"), counted(summary.reached, "profile"), store().file().string()));
  return exit_interrupted;
}

}  // namespace

int tune(const TuneOptions& options) {
  if (!options.replay.empty() && !options.device.empty()) {
    throw Error(ErrorKind::usage,
                "option --replay: a recording takes the place of a device, so --device cannot be given");
  }
  const bool peak = options.tuner.peak_bytes_per_second > 0.0 || options.tuner.peak_operations_per_second > 0.0;
  if (options.tuner.target && !peak) {
    throw Error(ErrorKind::usage, "option --target: needs --peak-bandwidth or --peak-rate, of which it is a fraction");
  }
  if (options.tuner.target && options.tuner.objective) {
    throw Error(ErrorKind::usage, "option --target: is about the time, so --objective cannot be given");
  }
  if (options.tuner.cold_cache && options.kernels.empty()) {
    throw Error(ErrorKind::usage, "option --l2: only kernels of your own are timed with a cold cache (--kernel)");
  }
  if (options.tuner.cold_cache && options.tuner.energy) {
    throw Error(ErrorKind::usage, "option --l2: energy is measured with a warm cache, so --energy cannot be given");
  }
  if (!options.kernels.empty() && !options.replay.empty()) {
    throw Error(ErrorKind::usage,
                "option --replay: a recording takes the place of a kernel, so --kernel cannot be given");
  }
  check(options.described);
  return TuneRun(options).carry_out();
}

}  // namespace heddle::cli
