#include "heddle/runtime/train/training_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/provenance.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/subset.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kValidationStream = 0;  // of permutation(); epochs count from 1

void check_fits(const Dataset& data, Task task, std::int64_t dim, std::int64_t outputs,
                const std::vector<std::string>& classes, std::string_view other) {
  const auto wrong = [&](const std::string& found, const std::string& expected) {
    throw Error(ErrorKind::input,
                fmt::format("{}: found {}, expected {} as in {}", data.source, found, expected, other));
  };
  const auto word = [](Task t) { return t == Task::classify ? "classes" : "numbers to predict"; };
  const auto counted_outputs = [task](std::int64_t count) {
    return task == Task::classify ? counted(count, "class", "classes")
                                  : counted(count, "number to predict", "numbers to predict");
  };
  if (data.task != task) wrong(word(data.task), word(task));
  if (data.dim != dim) wrong(counted(data.dim, "input") + " a row", std::to_string(dim));
  if (data.outputs() != outputs) wrong(counted_outputs(data.outputs()), std::to_string(outputs));
  if (data.classes != classes) wrong("other class names", "those");
}

}  // namespace

const Dataset& checked_data(const TrainingJob& job) {
  if (job.train == nullptr) throw Error(ErrorKind::usage, "found no training data, expected some");
  const Dataset& data = *job.train;
  const auto refuse = [](const Dataset& set, std::string_view found, std::string_view expected) {
    throw Error(ErrorKind::input, fmt::format("{}: found {}, expected {}", set.source, found, expected));
  };
  if (data.rows() < 1) refuse(data, "no rows", "at least one");
  if (data.rows() > (std::int64_t{1} << 31) - 1) refuse(data, "2^31 rows or more", "fewer");
  if (!data.labelled()) refuse(data, "no labels", "one for each row");
  // A model with such classes could be trained, and not be saved.
  if (const std::string* const name = doubled(data.classes)) {
    refuse(data, fmt::format("the class {} twice", in_quotes(*name)), "each class once");
  }
  constexpr std::int64_t kMostInputs = 1 << 16, kMostOutputs = 1 << 14;
  if (data.dim > kMostInputs) refuse(data, fmt::format("{} inputs", data.dim), "at most 65536");
  if (data.outputs() > kMostOutputs) refuse(data, fmt::format("{} outputs", data.outputs()), "at most 16384");
  if (job.test != nullptr) {
    if (job.test->rows() < 1) refuse(*job.test, "no rows", "at least one");
    if (!job.test->labelled()) refuse(*job.test, "no labels", "one for each row");
    check_fits(*job.test, data.task, data.dim, data.outputs(), data.classes, data.source);
  }
  if (job.resume != nullptr) {
    const Model& model = *job.resume;
    check_fits(data, model.task, model.dim(), model.outputs(), model.classes, "the model");
  }
  return data;
}

DataParts part_data(const Dataset& data, double fraction, std::uint64_t seed) {
  if (fraction == 0.0) return {.whole = &data, .subset = {}, .validation = {}};
  const auto kept_back = static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(data.rows())));
  if (kept_back < 1) {
    throw Error(ErrorKind::usage, fmt::format("--validation: found {}, expected a fraction that is at least one of the "
                                              "{}",
                                              fraction, counted(data.rows(), "row")));
  }
  std::vector<std::int32_t> order = permutation(data.rows(), seed, kValidationStream);
  std::sort(order.begin() + kept_back, order.end());
  const std::span<const std::int32_t> all(order);
  return {.whole = nullptr,
          .subset = select(data, all.subspan(static_cast<std::size_t>(kept_back))),
          .validation = select(data, all.first(static_cast<std::size_t>(kept_back)))};
}

std::string digest(const DataParts& parts) {
  std::string all;
  for (const Dataset* part : {&parts.learn(), &parts.validation}) {
    const auto add = [&all](const auto& numbers) {
      const auto bytes = std::as_bytes(std::span(numbers));
      all += digest(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    };
    add(part->values());
    add(part->labels);
    add(part->targets);
  }
  return digest(all);
}

LearningRows learning_rows(const Model& model, const Dataset& data) {
  return {.dim = data.dim,
          .outputs = data.outputs(),
          .rows = model.inputs.apply(data.values(), data.source, std::numeric_limits<float>::max(), data.numbers),
          .targets = network_targets(model, data)};
}

Model model_for(const Dataset& learn, const OptionValues& options, AnyNetwork network, Scale targets) {
  Model model;
  model.task = learn.task;
  model.network = std::move(network);
  const auto fit = [](Scale scale, std::span<const float> values, std::int64_t columns,
                      const std::vector<Range>& declared) {
    return scale == Scale::minmax && !declared.empty() ? declared_scaling(declared)
                                                       : fit_scaling(scale, values, columns);
  };
  model.coding = learn.coding;
  model.inputs = fit(parse_scale(options.word("scale")), learn.values(), learn.dim, learn.input_ranges);
  if (learn.task == Task::regress) {
    model.targets = fit(targets, learn.targets, learn.targets_per_row, learn.target_ranges);
  }
  model.classes = learn.classes;
  model.input_names = learn.input_names;
  model.target_names = learn.target_names;
  return model;
}

void sign(Model& model, const OptionValues& options, const Device& device, const Dataset& learn) {
  model.training.seed = static_cast<std::uint64_t>(options.integer("seed"));
  for (const Option& option : options.declared()) model.training.options[option.name] = options.word(option.name);
  model.provenance = {{"tool", host_provenance().tool},
                      {"device", fmt::format("{} ({})", device.label(), device.identity().name)},
                      {"date", utc_now()},
                      {"data", learn.source}};
}

OptionValues training_options(const TrainingJob& job, std::string_view trainer) {
  OptionValues options = job.options;
  // Of another trainer's model not even the options have a meaning.
  if (job.resume != nullptr && job.resume->kind() == trainer) {
    try {
      for (const auto& [name, value] : job.resume->training.options) {
        if (!options.is_set(name)) options.set(name, value);
      }
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("the model to go on from was taught with {}", error.what()));
    }
  }
  // A file that declares the ranges of its columns means them to be used.
  if (!options.is_set("scale") && job.train != nullptr && !job.train->input_ranges.empty())
    options.set("scale", "minmax");
  if (job.options.is_set("patience") && options.number("validation") == 0.0) {
    throw Error(ErrorKind::usage, "--patience: found it without --validation, expected both or none");
  }
  if (job.weights != nullptr && trainer != MlpModel::kName) {
    throw Error(ErrorKind::usage,
                fmt::format("--weights: found it with --network {}, expected --network {}", trainer, MlpModel::kName));
  }
  if (job.weights != nullptr && job.resume != nullptr) {
    throw Error(ErrorKind::usage, "--weights: found it with --resume, expected one of them");
  }
  if (job.resume == nullptr) return options;
  const Model& model = *job.resume;
  const auto contradicts = [](std::string_view option, std::string_view found, std::string_view expected) {
    throw Error(ErrorKind::usage, fmt::format("--{}: found {}, expected {} as in the model", option, found, expected));
  };
  if (model.kind() != trainer) contradicts("network", trainer, model.kind());
  if (parse_scale(options.word("scale")) != model.inputs.kind) {
    contradicts("scale", options.word("scale"), text(model.inputs.kind));
  }
  if (options.integer("epochs") <= model.training.epochs) {
    contradicts("epochs", options.word("epochs"), fmt::format("more than the {} done already,", model.training.epochs));
  }
  return options;
}

}  // namespace heddle
