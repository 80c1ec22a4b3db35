// heddle train: trains a network with the mappings that the profiles suggest.

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <system_error>

#include "heddle/cli/command.hpp"
#include "heddle/cli/train_run.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::cli {

void add_train(Command& program) {
  std::string networks;
  for (const Trainer* trainer : trainers()) {
    networks += fmt::format("{}{}: {}", networks.empty() ? "" : "; ", trainer->name(), trainer->meaning());
  }
  Command command = program.add("train", "Train a network on rows with labels or targets");
  const auto options = std::make_shared<TrainOptions>();
  command.positional("data", "DATA", "Training rows: text, FANN, Toman or IDX, or gzip of one", options->train);
  command.option("--network", "WORD", fmt::format("{} [default: {}]", networks, trainers().front()->name()),
                 options->network);
  command.option("--test", "DATA", "Rows to score after every epoch", options->test);
  add_data_options(command, options->data);
  command.option("--test-label", "COLUMN", "The same for the test rows [default: as --label]", options->test_label);
  add_task(command, options->data, "classify, or what a resumed model does");
  command.option("--resume", "MODEL", "Go on training this model", options->resume);
  command.option("--weights", "FILE",
                 "Weights to begin with, as 'heddle inspect --weights' prints them, for --network mlp",
                 options->weights);
  command.option("--model", "FILE", fmt::format("Where to keep the model [default: {}]", options->model),
                 [options](const std::string& file) {
                   options->model = file;
                   options->model_named = true;
                 });
  command.option("--log", "FILE",
                 "Append a line for every epoch and what else a report of the training needs: JSON lines",
                 options->log);
  add_row_options(command, options->data);
  command.option(
      "--folds", "N",
      "Cross-validation: train N networks, each without one of N parts of the rows, and test it with that part; no "
      "model is kept",
      [options](const std::string& text) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options->folds);
        if (error != std::errc() || end != text.data() + text.size() || options->folds < 2) {
          throw Error(ErrorKind::usage,
                      "option --folds: found " + in_quotes(text) + ", expected a whole number from 2");
        }
      });
  command.flag("--metrics",
               "Confusion matrix, precision, recall and F1 of every class, or RMSE and R2 of every output; of the test "
               "rows, or of the training rows where there are none",
               options->metrics);
  command.flag("--compare", "Train without profiles too, by turns, and say what the profiles gain", options->compare);
  add_device(command, options->device);
  add_network_profiles(command, options->profiles);
  add_common(command, options->common);
  add_trainer_options(command, options->values);
  command.action([options, &context = program.context()] { return train(context, *options); });
}

}  // namespace heddle::cli
