#include "heddle/cli/train_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/epoch_table.hpp"
#include "heddle/cli/fold_table.hpp"
#include "heddle/cli/gain.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/metrics_table.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/reported.hpp"
#include "heddle/cli/result_file.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/kept_elsewhere.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/data_file.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/cross_validation.hpp"
#include "heddle/runtime/train/subset.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/training_document.hpp"
#include "heddle/runtime/train/training_log.hpp"

namespace heddle::cli {
namespace {

const Trainer& chosen_trainer(const TrainOptions& options, const std::optional<Model>& resumed) {
  if (!options.network.empty()) return trainer(options.network);
  return resumed ? trainer(resumed->kind()) : *trainers().front();
}

/// Checks before the training, which may take hours, that the model can be written.
void check_destination(const std::filesystem::path& file) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::input, fmt::format("option --model: no folder '{}' to write '{}' into", folder.string(),
                                              file.filename().string()));
  }
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorKind::input, fmt::format("option --model: '{}' is a folder, expected a file", file.string()));
  }
  check_writable(file);
}

/// How words among the inputs are read, a resumed model knows: what is asked for must not be something else.
void check_coding(const DataArguments& asked, const Model& resumed) {
  const InputCoding& coding = resumed.coding;
  if (coding.columns.empty()) return;
  if (asked.categories != Categories::refused && asked.categories != coding.categories) {
    throw Error(ErrorKind::usage, fmt::format("option --categories: found {}, expected {} as in the model",
                                              text(asked.categories), text(coding.categories)));
  }
  if (asked.missing_is_category && !coding.missing_is_category) {
    throw Error(ErrorKind::usage,
                "option --missing: found it with --resume of a model that learnt without, expected no --missing");
  }
}

Dataset load_training_data(const TrainOptions& options, const std::optional<Model>& resumed, std::uint64_t seed) {
  DataOptions how{.label = options.data.label, .header = options.data.header, .format = options.data.format};
  how.categories = options.data.categories;
  how.missing_is_category = options.data.missing_is_category;
  how.task = options.data.task.value_or(resumed ? resumed->task : Task::classify);
  if (resumed && how.task != resumed->task) {
    throw Error(ErrorKind::usage, "option --task: the resumed model does the other task");
  }
  if (resumed) {
    check_coding(options.data, *resumed);
    how.expected = resumed->expectation();
  }
  Dataset data = load_dataset(options.train, how);
  return options.data.rows > 0 ? draw_rows(data, options.data.rows, seed) : data;
}

Dataset load_test_data(const TrainOptions& options, const Dataset& train) {
  DataOptions how{
      .task = train.task, .label = options.test_label, .header = options.data.header, .format = options.data.format};
  if (how.label.empty()) {
    if (options.data.label.starts_with("file:")) {
      throw Error(ErrorKind::usage, "option --test-label: expected file:PATH with the labels of " + options.test);
    }
    how.label = options.data.label;
  }
  how.expected = expectation(train);
  return load_dataset(options.test, how);
}

Json document(const TrainOptions& options, const Device& device, const Dataset& train,
              const std::optional<Dataset>& test, const TrainingResult& result, const std::optional<TrainingGain>& gain,
              const Json& measured, const std::vector<std::string>& notices) {
  const NetworkSize size = result.model.size();
  Json all{{"device", device.label()},
           {"identity", to_json(device.identity())},
           {"data", data_document(train, test ? &*test : nullptr)},
           {"model", options.model},
           {"network", result.model.kind()},
           {"size", size.text}};
  add_counts(all, size);
  all["ending"] = text(result.ending);
  all["message"] = result.message;
  all["best_epoch"] = result.model.training.best_epoch;
  all["compiler_calls"] = device.compiler_calls();
  all["microseconds_per_sample"] = microseconds_per_sample(result.epochs);
  all["comparison"] = gain ? to_json(*gain) : Json();
  all["metrics"] = measured;
  all["notices"] = notices;
  Json& epochs = all["epochs"] = Json::array();
  for (const EpochReport& report : result.epochs) epochs.push_back(epoch_document(report, train.task));
  return all;
}

/// Saves a model in the file that the user wanted, for which a place may have been reserved. If that cannot be (the
/// disk is full, the folder has gone), it goes where temporary files go, and the Error(input) says so.
void keep_model(const Model& model, const std::string& file, std::optional<ReservedFile>& reserved) {
  std::string why, place;
  try {
    if (!reserved) reserved.emplace(file, 0, interrupted);
    return save_model(model, *reserved);
  } catch (const std::exception& error) {
    why = error.what();
  }
  try {
    place =
        kept_elsewhere("model.heddle", [&](const std::filesystem::path& other) { save_model(model, other); }).string();
  } catch (const std::exception& error) {
    throw Error(ErrorKind::input, fmt::format("{}; nor could the model be kept elsewhere: {}", why, error.what()));
  }
  throw Error(ErrorKind::input, fmt::format("{}; the model is kept in '{}' instead", why, place));
}

/// Draws rows: that of a resumed model, unless another is named.
std::uint64_t seed_of(const OptionValues& values, const std::optional<Model>& resumed) {
  if (resumed && !values.is_set("seed")) return resumed->training.seed;
  return static_cast<std::uint64_t>(values.integer("seed"));
}

/// Weights to begin with, as --weights names them.
std::optional<TrainingJob::Weights> load_weights(const TrainOptions& options) {
  if (options.weights.empty()) return std::nullopt;
  return TrainingJob::Weights{.text = read_data_file(options.weights), .source = options.weights};
}

/// One training, from the data to the model that is kept and what is said about it.
class Run {
 public:
  Run(const Context& context, const TrainOptions& options)
      : context_(context),
        options_(options),
        resumed_(options.resume.empty() ? std::nullopt : std::optional(load_model(options.resume))),
        trainer_(chosen_trainer(options, resumed_)),
        values_(trainer_options(trainer_, options.values)),
        train_(load_training_data(options, resumed_, seed_of(values_, resumed_))),
        weights_(load_weights(options)),
        test_(options.test.empty() ? std::nullopt : std::optional(load_test_data(options, train_))),
        bar_(options.common.quiet),
        device_(open_device_for(trainer_, options.device, [this](const std::string& line) { tell(line); })),
        table_(train_.task, test_.has_value(), values_.number("validation") > 0) {
    if (!options.log.empty()) log_ = std::make_unique<TrainingLog>(options.log, train_.task, interrupted);
  }

  int run() {
    if (!options_.common.quiet) note_timing(device_->identity().backend);
    const Knowledge known = knowledge_for(context_, options_.profiles, trainer_, *device_, options_.common,
                                          [this](const std::string& line) { tell(line); });
    say(fmt::format("{}: {}, {}, {}; on {} ({})\n", train_.source, counted(train_.rows(), "row"),
                    counted(train_.dim, "input"),
                    train_.task == Task::classify ? counted(train_.outputs(), "class", "classes")
                                                  : counted(train_.outputs(), "output"),
                    device_->label(), device_->identity().name));
    for (const Dataset* data : {&train_, test_ ? &*test_ : nullptr}) {
      if (data == nullptr) continue;
      for (const std::string& remark : data->remarks) tell(remark);
    }
    catch_interrupts();
    if (options_.folds > 0) return validate(known);
    if (log_) begin_log();
    const TrainingResult result = train_or_keep(known);
    bar_.clear();
    // A training that was stopped or has diverged ends without delay.
    const bool whole = result.ending != Ending::stopped && result.ending != Ending::diverged;
    if ((options_.metrics || log_) && whole) {
      if (const std::optional<int> code = measure_in_time(result, known)) return *code;
    }
    return conclude(result);
  }

 private:
  /// Cross-validation: no model is kept.
  int validate(const Knowledge& known) {
    FoldTable table(train_.task);
    TrainingObserver quiet;
    quiet.progress = [this](const TrainingProgress& progress) { show(progress); };
    quiet.notice = [this](const std::string& line) { tell(line); };
    quiet.stop = interrupted;
    const TrainingJob job{.train = &train_, .options = values_, .weights = weights_ ? &*weights_ : nullptr};
    const auto told = [&](const CrossValidation& so_far) {
      const std::scoped_lock lock(so_far_mutex_);  // each line that is printed counts when the command is interrupted
      folds_so_far_ = so_far;
      say(table.line(so_far.folds.back()));
    };
    CrossValidation all;
    {
      const LeaveInTime leave([&] {
        const std::scoped_lock lock(so_far_mutex_);
        folds_so_far_.stopped = true;
        return conclude(folds_so_far_, table);
      });
      try {
        all = cross_validate(trainer_, *device_, known, job, options_.folds, quiet, told);
      } catch (const Interrupted&) {
        throw;
      } catch (const std::exception&) {  // of a later fold: what the others have found is not lost
        bar_.clear();
        const std::scoped_lock lock(so_far_mutex_);
        if (!folds_so_far_.folds.empty()) report(folds_so_far_, table);
        throw;
      }
    }
    bar_.clear();
    return conclude(all, table);
  }

  void report(const CrossValidation& all, const FoldTable& table) {
    if (options_.common.json) {
      Json document{
          {"device", device_->label()}, {"data", train_.source}, {"rows", train_.rows()}, {"network", trainer_.name()}};
      document.update(folds_document(all, train_));
      document["metrics"] =
          options_.metrics && !all.folds.empty() ? metrics_document(all.metrics, train_.source) : Json();
      document["notices"] = notices_;
      print_document("train", document);
    } else {
      if (!all.folds.empty()) print(table.closing(all));
      if (options_.metrics && !all.folds.empty()) print("\n" + metrics_text(all.metrics, train_.source));
    }
    flush_output();
  }
  int conclude(const CrossValidation& all, const FoldTable& table) {
    report(all, table);
    const auto diverged =
        std::ranges::count_if(all.folds, [](const FoldResult& fold) { return fold.ending == Ending::diverged; });
    if (!all.stopped && diverged > 0) {
      throw Error(ErrorKind::input,
                  fmt::format("training diverged in {} of {}", diverged, counted(all.folds.size(), "fold")));
    }
    if (!all.stopped) return 0;
    note(fmt::format("interrupted after {} of {} folds", all.folds.size(), options_.folds));
    return exit_interrupted;
  }

  /// Of the test rows; of the training rows where there are none.
  [[nodiscard]] Metrics measure(const Model& model, const Knowledge& known) {
    const Dataset& data = measured_data();
    const auto predictor =
        trainer_.predictor(*device_, known, model.network, [this](const std::string& line) { tell(line); });
    return metrics(model, data, predict(*predictor, model, data));
  }
  /// Fills measured_, which may take as long as an epoch: the model is saved before. Returns the exit code if a signal
  /// ended that; the command has then said what there is to say.
  [[nodiscard]] std::optional<int> measure_in_time(const TrainingResult& result, const Knowledge& known) {
    save(result);
    const auto leave_unmeasured = [&] {
      const int code = conclude(result);
      note("interrupted before the metrics were computed");
      return code == 0 ? exit_interrupted : code;
    };
    try {
      std::optional<Metrics> measured;
      {
        const LeaveInTime leave([&] {
          const std::scoped_lock lock(so_far_mutex_);
          return leave_unmeasured();
        });
        measured = measure(result.model, known);
      }
      measured_ = std::move(measured);
      return {};
    } catch (const Interrupted&) {
      return leave_unmeasured();
    } catch (const std::exception& exception) {
      const Error error = as_error(exception);
      bar_.clear();
      if (log_) end_log(result);
      give_up({error.kind(), fmt::format("{}; the model is kept in {}", error.what(), options_.model)});
    }
  }
  [[nodiscard]] const Dataset& measured_data() const { return test_ ? *test_ : train_; }

  /// A training that fails midway leaves the model that it had last kept.
  TrainingResult train_or_keep(const Knowledge& known) {
    try {
      return train(known);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& exception) {
      const Error error = as_error(exception);
      bar_.clear();
      if (!so_far_ || !so_far_->model.unready().empty()) give_up(error);
      give_up({error.kind(), fmt::format("{}; {}", error.what(), kept_so_far())});
    }
  }

  /// Ends the command with this failure. The log gets it, too, unless it has ended, and where lines are that its file
  /// did not take is told.
  [[noreturn]] void give_up(const Error& error) {
    if (log_) {
      log_->fail(error.what());
      try {
        log_->check(error.what());
      } catch (const Error& both) {
        throw Error(error.kind(), both.what());
      }
    }
    throw error;
  }

  /// The model, once, at the end.
  void save(const TrainingResult& result) {
    if (saved_) return;
    try {
      keep_model(result.model, options_.model, place_);
    } catch (const std::exception& exception) {
      if (log_) end_log(result);
      give_up(as_error(exception));
    }
    saved_ = true;
  }

  /// Saves the model so far, and says where it is.
  std::string kept_so_far() {
    try {
      keep_model(so_far_->model, options_.model, place_);
      return fmt::format("the model so far is kept in {}", options_.model);
    } catch (const std::exception& second) {
      return second.what();
    }
  }

  TrainingResult train(const Knowledge& known) {
    const LeaveInTime leave([this] { return conclude_early(); });
    const TrainingJob job{.train = &train_,
                          .test = test_ ? &*test_ : nullptr,
                          .resume = resumed_ ? &*resumed_ : nullptr,
                          .options = values_,
                          .weights = weights_ ? &*weights_ : nullptr};
    if (!options_.compare) return trainer_.train(*device_, known, job, observer());
    ComparedTraining compared = train_by_turns(trainer_, *device_, known, job, observer());
    const std::scoped_lock lock(so_far_mutex_);
    gain_ = std::move(compared.gain);
    return std::move(compared.result);
  }

  TrainingObserver observer() {
    return {.epoch =
                [this](const EpochReport& report) {
                  if (log_) log_->epoch(report);
                  say(table_.line(report));
                },
            .progress = [this](const TrainingProgress& progress) { show(progress); },
            .notice = [this](const std::string& line) { tell(line); },
            .stop = interrupted,
            .room = [this](std::int64_t bytes) { place_.emplace(options_.model, bytes, interrupted); },
            .keep =
                [this](const TrainingResult& so_far) {
                  TrainingResult copy = so_far;  // whole before it takes the place of the last one
                  const std::scoped_lock lock(so_far_mutex_);
                  so_far_ = std::move(copy);
                },
            .model =
                [this](const Model& model) {
                  if (log_) log_->model(model);
                }};
  }

  void tell(const std::string& notice) {
    bar_.clear();
    if (log_) log_->notice(notice);
    const std::scoped_lock lock(so_far_mutex_);
    notices_.push_back(notice);
    if (!options_.common.quiet) note(notice);
  }

  void say(const std::string& line) {
    if (options_.common.json) return;
    bar_.clear();
    print(line);
    push_output();
  }

  void show(const TrainingProgress& progress) {
    const double part =
        static_cast<double>(progress.position) / static_cast<double>(std::max<std::int64_t>(progress.samples, 1));
    bar_.show((static_cast<double>(progress.epoch) - 1 + part) / static_cast<double>(progress.last_epoch),
              fmt::format("epoch {} of {}, {}", progress.epoch, progress.last_epoch, progress.size));
  }

  /// Called by the helper thread of LeaveInTime, while the training is still at work.
  int conclude_early() {
    const std::scoped_lock lock(so_far_mutex_);
    return conclude(so_far_.value_or(TrainingResult()));
  }

  void begin_log() {
    const TrainingJob job{.train = &train_, .test = test_ ? &*test_ : nullptr, .options = values_};
    log_->begin(*device_, trainer_.name(), job,
                {{"model", options_.model}, {"resumed", options_.resume.empty() ? Json() : Json(options_.resume)}});
    for (const std::string& before : notices_) log_->notice(before);
  }

  void end_log(const TrainingResult& result) {
    log_->end(*device_, result, {{"metrics", metrics_or_null()}, {"comparison", gain_ ? to_json(*gain_) : Json()}});
  }

  [[nodiscard]] Json metrics_or_null() const {
    return measured_ ? metrics_document(*measured_, measured_data().source) : Json();
  }

  /// The model is saved before anything is said.
  int conclude(const TrainingResult& result) {
    if (!result.model.unready().empty()) {
      const std::string why = "interrupted before the first row was learnt; there is no model to save";
      if (log_) end_log(result);
      if (log_) log_->check(why);
      note(why);
      return exit_interrupted;
    }
    save(result);
    if (log_) end_log(result);
    if (options_.common.json) {
      print_document("train", document(options_, *device_, train_, test_, result, gain_,
                                       options_.metrics ? metrics_or_null() : Json(), notices_));
    } else {
      if (!result.message.empty()) print(result.message + "\n");
      print(table_.closing(result));
      print(fmt::format("model: {}\n", options_.model));
      if (measured_ && options_.metrics) print("\n" + metrics_text(*measured_, measured_data().source));
      if (gain_) print("\n" + gain_text(*gain_));
    }
    if (log_) log_->check(fmt::format("the model is kept in {}", options_.model));
    if (result.ending == Ending::diverged) {
      throw Error(ErrorKind::input,
                  fmt::format("{}; the last good model is kept in {}", result.message, options_.model));
    }
    if (result.ending != Ending::stopped) {
      flush_output(fmt::format("the model is kept in {}", options_.model));
      return 0;
    }
    push_output();
    note(fmt::format(
        "interrupted; the model so far is kept in {0}; the same command with --resume {0}{1} goes on from it",
        options_.model, weights_ ? " in place of --weights" : ""));
    return exit_interrupted;
  }

  const Context& context_;
  const TrainOptions& options_;
  const std::optional<Model> resumed_;
  const Trainer& trainer_;
  const OptionValues values_;
  const Dataset train_;
  const std::optional<TrainingJob::Weights> weights_;
  const std::optional<Dataset> test_;
  ProgressBar bar_;
  std::mutex so_far_mutex_;
  std::vector<std::string> notices_;
  std::unique_ptr<TrainingLog> log_;  // with --log, once the device is open
  const std::unique_ptr<Device> device_;
  EpochTable table_;
  std::optional<ReservedFile> place_;  // of the model, from the first epoch on
  bool saved_ = false;
  std::optional<TrainingGain> gain_;  // with --compare
  std::optional<Metrics> measured_;   // with --metrics
  std::optional<TrainingResult> so_far_;
  CrossValidation folds_so_far_;
};

}  // namespace

int train(const Context& context, const TrainOptions& options) {
  if (options.folds > 0) {
    for (const auto& [given, name] :
         {std::pair(!options.test.empty(), "test"), std::pair(!options.resume.empty(), "resume"),
          std::pair(options.compare, "compare"), std::pair(options.model_named, "model"),
          std::pair(!options.log.empty(), "log")}) {
      if (given) {
        throw Error(ErrorKind::usage,
                    fmt::format("option --{}: found it with --folds, which keeps no model and tests each fold "
                                "with rows of its own",
                                name));
      }
    }
    return Run(context, options).run();
  }
  check_destination(options.model);
  // A resumed model may be written over: it goes on there.
  std::vector<std::string> read{options.train, options.test, options.data.label, options.test_label, options.weights};
  claim_result_file("--model", options.model, read, options.profiles.file);
  read.insert(read.end(), {options.resume, options.model});
  claim_result_file("--log", options.log, read, options.profiles.file);
  return Run(context, options).run();
}

}  // namespace heddle::cli
