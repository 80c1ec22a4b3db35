// heddle train: trains a network with the mappings that the profiles suggest.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/cli/data_options.hpp"
#include "heddle/cli/epoch_table.hpp"
#include "heddle/cli/interrupt.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::cli {
namespace {

struct TrainOptions {
  Common common;
  std::string network;
  /// What the trainers' options were set to; which trainer it is about is known only after the whole command line.
  std::vector<std::pair<std::string, std::string>> values;
  DataArguments data;
  std::string train, test, test_label, resume, device, profiles;
  std::string model = "model.heddle";
};

const Trainer& chosen_trainer(const TrainOptions& options, const std::optional<Model>& resumed) {
  if (!options.network.empty()) return trainer(options.network);
  return resumed ? trainer(resumed->training.trainer) : *trainers().front();
}

OptionValues trainer_options(const Trainer& trainer, const TrainOptions& options) {
  OptionValues values(trainer.options());
  for (const auto& [name, value] : options.values) {
    if (std::ranges::find(trainer.options(), name, &Option::name) == trainer.options().end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("option --{}: --network {} has none, see 'heddle help train'", name, trainer.name()));
    }
    values.set(name, value);
  }
  return values;
}

/// Whoever trains for an hour wants to know before that the model cannot be written.
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

Dataset load_training_data(const TrainOptions& options, const std::optional<Model>& resumed) {
  DataOptions how{.label = options.data.label, .header = options.data.header};
  how.task = options.data.task.value_or(resumed ? resumed->task : Task::classify);
  if (resumed && how.task != resumed->task) {
    throw Error(ErrorKind::usage, "option --task: the resumed model does the other task");
  }
  if (resumed) how.expected = resumed->expectation();
  return load_dataset(options.train, how);
}

Dataset load_test_data(const TrainOptions& options, const Dataset& train) {
  DataOptions how{.task = train.task, .label = options.test_label, .header = options.data.header};
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
              const std::optional<Dataset>& test, const TrainingResult& result,
              const std::vector<std::string>& notices) {
  Json epochs = Json::array();
  for (const EpochReport& report : result.epochs) epochs.push_back(to_json(report, train.task));
  return {{"device", device.label()},
          {"identity", to_json(device.identity())},
          {"data",
           {{"train", train.source},
            {"train_rows", train.rows()},
            {"test", test ? Json(test->source) : Json()},
            {"test_rows", test ? Json(test->rows()) : Json()},
            {"dim", train.dim},
            {"outputs", train.outputs()},
            {"task", train.task == Task::classify ? "classify" : "regress"}}},
          {"model", options.model},
          {"rules", result.model.network.rules()},
          {"ending", text(result.ending)},
          {"message", result.message},
          {"best_epoch", result.model.training.best_epoch},
          {"compiler_calls", device.compiler_calls()},
          {"microseconds_per_sample", microseconds_per_sample(result.epochs)},
          {"notices", notices},
          {"epochs", epochs}};
}

int run(const TrainOptions& options) {
  check_destination(options.model);
  std::optional<Model> resumed;
  if (!options.resume.empty()) resumed = load_model(options.resume);
  const Trainer& trainer = chosen_trainer(options, resumed);
  const OptionValues values = trainer_options(trainer, options);
  const Dataset train = load_training_data(options, resumed);
  std::optional<Dataset> test;
  if (!options.test.empty()) test = load_test_data(options, train);
  const auto device = open_device(options.device);
  if (!options.common.quiet) note_timing(device->identity().backend);
  const auto profiles = open_profiles(options.profiles, ProfileStore::Access::read).profiles();

  ProgressBar bar(options.common.quiet);
  EpochTable table(train.task, test.has_value(), values.number("validation") > 0);
  const auto say = [&](const std::string& line) {
    if (options.common.json) return;
    bar.clear();
    print(line);
    std::fflush(stdout);
  };
  say(fmt::format("{}: {} rows, {} inputs, {} {}; on {} ({})\n", train.source, train.rows(), train.dim, train.outputs(),
                  train.task == Task::classify ? "classes" : "outputs", device->label(), device->identity().name));
  TrainingObserver observer;
  observer.epoch = [&](const EpochReport& report) { say(table.line(report)); };
  observer.progress = [&](const TrainingProgress& progress) {
    const double part =
        static_cast<double>(progress.position) / static_cast<double>(std::max<std::int64_t>(progress.samples, 1));
    bar.show((static_cast<double>(progress.epoch) - 1 + part) / static_cast<double>(progress.last_epoch),
             fmt::format("epoch {} of {}, {} rules", progress.epoch, progress.last_epoch, progress.rules));
  };
  std::vector<std::string> notices;
  observer.notice = [&](const std::string& line) {
    notices.push_back(line);
    bar.clear();
    if (!options.common.quiet) note(line);
  };
  observer.stop = interrupted;
  catch_interrupts();
  const TrainingJob job{
      .train = &train, .test = test ? &*test : nullptr, .resume = resumed ? &*resumed : nullptr, .options = values};
  const TrainingResult result = trainer.train(*device, profiles, job, observer);
  bar.clear();
  if (result.model.network.rules() == 0) {
    note("interrupted before the first row was learnt; there is no model to keep");
    return exit_interrupted;
  }
  save_model(result.model, options.model);

  if (options.common.json) {
    print_document("train", document(options, *device, train, test, result, notices));
  } else {
    if (!result.message.empty()) say(result.message + "\n");
    say(table.closing(result));
    say(fmt::format("model: {}\n", options.model));
  }
  if (result.ending == Ending::diverged) {
    throw Error(ErrorKind::input, fmt::format("{}; the last good model is kept in {}", result.message, options.model));
  }
  if (result.ending != Ending::stopped) return 0;
  flush_output();
  note(fmt::format("interrupted; the model so far is kept in {0}; the same command with --resume {0} goes on from it",
                   options.model));
  return exit_interrupted;
}

/// Declares an option of one trainer or of several; their defaults may differ.
void add_trainer_option(Command& command, const Option& option, const std::string& defaults, TrainOptions& options) {
  const std::string& name = option.name;
  const auto set = [&options, name](const std::string& value) { options.values.emplace_back(name, value); };
  const std::string meaning = option.meaning + defaults;
  switch (option.kind) {
    case Option::Kind::flag:
      command.toggle(name, meaning, [set](bool on) { set(on ? "true" : "false"); });
      return;
    case Option::Kind::integer:
      command.option("--" + name, "N", meaning, set);
      return;
    case Option::Kind::integers:
      command.option("--" + name, "N,N,...", meaning, set);
      return;
    case Option::Kind::number:
      command.option("--" + name, "F", meaning, set);
      return;
    case Option::Kind::choice:
      command.option(
          "--" + name, "WORD",
          fmt::format("{}{}", fmt::format("{}: {}", option.meaning, fmt::join(option.choices, ", ")), defaults), set);
      return;
  }
}

std::string shown_default(const Option& option) {
  if (option.kind == Option::Kind::flag) return option.default_value == "true" ? "yes" : "no";
  return option.default_value;
}

/// Options that mean the same to all trainers come once, under the first of their meanings; the others under the name
/// of their network.
void add_trainer_options(Command& command, TrainOptions& options) {
  const auto of = [](const Trainer& trainer, const std::string& name) -> const Option* {
    const auto found = std::ranges::find(trainer.options(), name, &Option::name);
    return found == trainer.options().end() ? nullptr : &*found;
  };
  std::vector<std::string> shared;
  command.group("Training, every network");
  for (const Option& option : trainers().front()->options()) {
    std::vector<std::string> defaults;
    bool everywhere = true, alike = true;
    for (const Trainer* trainer : trainers()) {
      const Option* const same = of(*trainer, option.name);
      everywhere &= same != nullptr;
      if (same == nullptr) continue;
      alike &= same->default_value == option.default_value;
      defaults.push_back(fmt::format("{} {}", trainer->name(), shown_default(*same)));
    }
    if (!everywhere) continue;
    shared.push_back(option.name);
    add_trainer_option(command, option,
                       alike ? fmt::format(" [default: {}]", shown_default(option))
                             : fmt::format(" [default: {}]", fmt::join(defaults, ", ")),
                       options);
  }
  std::vector<std::string> declared = shared;
  for (const Trainer* trainer : trainers()) {
    command.group(fmt::format("Training, --network {}", trainer->name()));
    for (const Option& option : trainer->options()) {
      if (std::ranges::find(declared, option.name) != declared.end()) continue;
      declared.push_back(option.name);
      add_trainer_option(
          command, option,
          option.default_value.empty() ? std::string() : fmt::format(" [default: {}]", shown_default(option)), options);
    }
  }
}

}  // namespace

void add_train(Command& program) {
  std::string networks;
  for (const Trainer* trainer : trainers()) {
    networks += fmt::format("{}{}: {}", networks.empty() ? "" : "; ", trainer->name(), trainer->meaning());
  }
  Command command = program.add("train", "Train a network on rows with labels or targets");
  const auto options = std::make_shared<TrainOptions>();
  command.positional("data", "DATA", "Training rows: numeric text, IDX, or gzip of either", options->train);
  command.option("--network", "WORD", fmt::format("{} [default: {}]", networks, trainers().front()->name()),
                 options->network);
  command.option("--test", "DATA", "Rows to score after every epoch", options->test);
  add_data_options(command, options->data);
  command.option("--test-label", "COLUMN", "The same for the test rows [default: as --label]", options->test_label);
  add_task(command, options->data);
  command.option("--resume", "MODEL", "Go on training this model", options->resume);
  command.option("--model", "FILE", fmt::format("Where to keep the model [default: {}]", options->model),
                 options->model);
  add_device(command, options->device);
  add_profile_file(command, options->profiles);
  add_common(command, options->common);
  add_trainer_options(command, *options);
  command.action([options] { return run(*options); });
}

}  // namespace heddle::cli
