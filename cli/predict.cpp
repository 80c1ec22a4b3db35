// heddle predict: what a model says about rows.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <optional>

#include "heddle/cli/command.hpp"
#include "heddle/cli/data_options.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/metrics_table.hpp"
#include "heddle/cli/network_profiles.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/result_file.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/mlp_layers.hpp"
#include "heddle/runtime/train/scoring.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/training_document.hpp"

namespace heddle::cli {
namespace {

struct PredictOptions {
  Common common;
  DataArguments data;
  std::string model, rows, output, device;
  NetworkProfiles profiles;
  bool metrics = false;
  std::int64_t layer = 0;  ///< of a perceptron, whose neurons are told; 0: what the model says
  bool threshold = false;
};

/// What the model says about each row, in the words and units of its training data.
class Predictions {
 public:
  Predictions(const Model& model, const std::vector<float>& outputs) : model_(model) {
    if (model.task == Task::classify) {
      classes_ = predicted_classes(outputs, model.outputs());
    } else {
      values_ = model.targets.invert(outputs);
    }
  }

  [[nodiscard]] std::string table() const {
    std::string text;
    if (model_.task == Task::classify) {
      text = "class\n";
      for (const std::int32_t index : classes_)
        text += csv_field(model_.classes[static_cast<std::size_t>(index)]) + "\n";
      return text;
    }
    const auto outputs = static_cast<std::size_t>(model_.outputs());
    for (std::size_t l = 0; l < outputs; ++l) {
      text += l > 0 ? "," : "";
      text += model_.target_names.empty() ? fmt::format("output_{}", l + 1) : csv_field(model_.target_names[l]);
    }
    for (std::size_t i = 0; i < values_.size(); ++i)
      text += fmt::format("{}{}", i % outputs == 0 ? "\n" : ",", values_[i]);
    return text + "\n";
  }

  [[nodiscard]] Json json() const {
    Json rows = Json::array();
    for (const std::int32_t index : classes_) rows.push_back(model_.classes[static_cast<std::size_t>(index)]);
    const auto outputs = static_cast<std::size_t>(model_.outputs());
    for (std::size_t begin = 0; begin < values_.size(); begin += outputs) {
      rows.push_back(std::vector<float>(values_.begin() + static_cast<std::ptrdiff_t>(begin),
                                        values_.begin() + static_cast<std::ptrdiff_t>(begin + outputs)));
    }
    return rows;
  }

 private:
  const Model& model_;
  std::vector<std::int32_t> classes_;
  std::vector<float> values_;
};

int run(const Context& context, const PredictOptions& options) {
  if (options.metrics && options.output.empty() && !options.common.json) {
    throw Error(ErrorKind::usage,
                "option --metrics: found it without --output and --json, expected one of them, as "
                "standard output takes the predictions");
  }
  claim_result_file("--output", options.output, {options.model, options.rows, options.data.label},
                    options.profiles.file);
  if (options.layer != 0 && options.metrics) {
    throw Error(ErrorKind::usage,
                "option --metrics: found it with --layer, whose neurons have no labels to be compared with");
  }
  const Model whole = load_model(options.model);
  if (const std::string why = whole.unready(); !why.empty()) {
    throw Error(ErrorKind::input, fmt::format("{}: found {}", options.model, why));
  }
  const Model model = options.layer != 0 ? first_layers(whole, options.layer, options.model) : whole;
  const Dataset data = load_dataset(options.rows, {.task = whole.task,
                                                   .label = options.data.label,
                                                   .header = options.data.header,
                                                   .expected = whole.expectation(),
                                                   .labels_optional = true,
                                                   .format = options.data.format});
  if (!options.common.quiet) {
    for (const std::string& remark : data.remarks) note(remark);
  }
  if (!options.output.empty()) check_writable(options.output);
  const Notice notice = [&](const std::string& line) {
    if (!options.common.quiet) note(line);
  };
  const Trainer& trainer = heddle::trainer(model.kind());
  const auto device = open_device_for(trainer, options.device, notice);
  if (!options.common.quiet) note_timing(device->identity().backend);
  const Knowledge known = knowledge_for(context, options.profiles, trainer, *device, options.common, notice);
  const auto predictor = trainer.predictor(*device, known, model.network, notice);

  const auto begin = std::chrono::steady_clock::now();
  const std::vector<float> outputs = options.threshold
                                         ? threshold_outputs(*device, known, model, data, notice, options.model)
                                         : predict(*predictor, model, data);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double per_row = 1e6 * seconds / static_cast<double>(data.rows());
  std::optional<double> quality;
  if (data.labelled() && options.layer == 0) quality = score(model, data, outputs).value;
  std::optional<Metrics> measured;
  if (options.metrics) {
    if (!data.labelled()) {
      throw Error(ErrorKind::usage, fmt::format("option --metrics: {} has no labels to compare with", data.source));
    }
    measured = metrics(model, data, outputs);
  }
  const Predictions predictions(model, outputs);

  if (!options.output.empty()) write_file(options.output, predictions.table());
  const bool classify = whole.task == Task::classify;
  if (options.common.json) {
    const Candidate& candidate = predictor->candidate(model.network);
    print_document("predict", {{"device", device->label()},
                               {"model", options.model},
                               {"data", data.source},
                               {"rows", data.rows()},
                               {"task", classify ? "classify" : "regress"},
                               {classify ? "accuracy" : "rmse", number_or_null(quality)},
                               {"metrics", measured ? metrics_document(*measured, data.source) : Json()},
                               {"microseconds_per_row", per_row},
                               {"layer", options.layer != 0 ? Json(options.layer) : Json()},
                               {"configuration", candidate.configuration.text()},
                               {"tier", text(candidate.tier)},
                               {"compiler_calls", device->compiler_calls()},
                               {"output", options.output.empty() ? Json() : Json(options.output)},
                               {"predictions", options.output.empty() ? predictions.json() : Json()}});
    return 0;
  }
  std::string summary = counted(data.rows(), "row");
  if (quality && classify) summary += fmt::format(", accuracy {:.2f} %", 100 * *quality);
  if (quality && !classify) summary += fmt::format(", RMSE {:.5g}", *quality);
  summary += fmt::format(", {} us per row on {}", short_number(per_row), device->label());
  if (options.output.empty()) {
    // A terminal shows the words of the classes; anything else gets them as they are.
    const std::string table = predictions.table();
    output_is_terminal() ? print(table) : print_bytes(table);
    flush_output();
    if (!options.common.quiet) note(summary);
  } else {
    print(fmt::format("{}\npredictions: {}\n", summary, options.output));
    if (measured) print("\n" + metrics_text(*measured, data.source));
  }
  return 0;
}

}  // namespace

void add_predict(Command& program) {
  Command command = program.add("predict", "Apply a model to rows");
  const auto options = std::make_shared<PredictOptions>();
  command.positional("model", "MODEL", "What 'heddle train' wrote", options->model);
  command.positional("data", "DATA", "Rows, with or without labels", options->rows);
  add_data_options(command, options->data);
  command.option("--output", "FILE", "Write the predictions as CSV to this file [default: standard output]",
                 options->output);
  command.flag("--metrics",
               "With --output or --json, of rows with labels: confusion matrix, precision, recall and F1 of every "
               "class, or RMSE and R2 of every output",
               options->metrics);
  command.option("--layer", "K",
                 "Of a multilayer perceptron: write what the neurons of layer K give, from 1 for the first hidden one "
                 "to the outputs, instead of classes or targets",
                 [options](const std::string& text) {
                   const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options->layer);
                   if (error != std::errc() || end != text.data() + text.size() || options->layer < 1) {
                     throw Error(ErrorKind::usage,
                                 "option --layer: found " + in_quotes(text) + ", expected a whole number from 1");
                   }
                 });
  command.flag("--threshold",
               "Of a multilayer perceptron: every neuron gives 1 where its sum is above 0, and else 0, instead of its "
               "activation",
               options->threshold);
  add_device(command, options->device);
  add_network_profiles(command, options->profiles);
  add_common(command, options->common);
  command.action([options, &context = program.context()] { return run(context, *options); });
}

}  // namespace heddle::cli
