// Training for Python: the GIL is free while C++ learns, and is taken for callbacks and to look for Ctrl-C.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/train/metrics.hpp"
#include "heddle/runtime/train/training_document.hpp"
#include "heddle/runtime/train/training_log.hpp"
#include "interruption.hpp"
#include "model.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict to_dict(const EpochReport& report) {
  nb::dict entry;
  entry["epoch"] = report.epoch;
  entry["size"] = report.size.text;
  entry["train_error"] = report.train_error;
  entry["validation_error"] = report.validation ? nb::object(nb::float_(report.validation->error)) : nb::none();
  entry["validation_value"] = report.validation ? nb::object(nb::float_(report.validation->value)) : nb::none();
  entry["microseconds_per_sample"] = report.microseconds_per_sample;
  return entry;
}

/// Rows with their answers, as Python gives them: `labels` are indices into the classes, `targets` is N x L; one of
/// them.
struct Answered {
  const Rows& rows;
  const std::optional<Labels>& labels;
  const std::optional<Rows>& targets;
};

/// Without a copy of the rows. `source` names the rows in messages, `answers` what belongs to them.
Dataset to_dataset(const Answered& given, const std::vector<std::string>& classes,
                   const std::vector<std::string>& input_names, const char* source, const char* answers) {
  Dataset data = borrowed_rows(given.rows, given.labels ? Task::classify : Task::regress, source);
  data.input_names = input_names;
  data.classes = classes;
  std::size_t count = 0;
  if (given.labels) {
    count = given.labels->size();
    data.labels.assign(given.labels->data(), given.labels->data() + count);
    for (const std::int32_t label : data.labels) {
      if (label < 0 || static_cast<std::size_t>(label) >= classes.size()) {
        throw Error(ErrorKind::input, fmt::format("{}: found the class number {}, expected less than {}", answers,
                                                  label, classes.size()));
      }
    }
  } else if (given.targets) {
    count = given.targets->shape(0);
    data.targets.assign(given.targets->data(), given.targets->data() + given.targets->size());
    data.targets_per_row = static_cast<std::int64_t>(given.targets->shape(1));
  }
  if (count != given.rows.shape(0)) {
    throw Error(ErrorKind::input,
                fmt::format("{}: found {} rows, expected {} as in {}", answers, count, given.rows.shape(0), source));
  }
  return data;
}

/// What Python is told while C++ learns; each may be None.
struct Callbacks {
  nb::object epoch, progress, notice;
};

TrainingObserver observer_of(const Callbacks& call, Interruption& interruption, TrainingLog* log) {
  TrainingObserver observer;
  observer.stop = [&] { return interruption.asked(); };
  if (!call.epoch.is_none() || log != nullptr) {
    observer.epoch = [&, log](const EpochReport& report) {
      if (log != nullptr) log->epoch(report);
      if (!call.epoch.is_none()) interruption.run([&] { call.epoch(to_dict(report)); });
    };
  }
  if (!call.progress.is_none()) {
    observer.progress = [&](const TrainingProgress& now) {
      const double part = now.samples > 0 ? static_cast<double>(now.position) / static_cast<double>(now.samples) : 0.0;
      interruption.run([&] { call.progress(now.epoch, now.last_epoch, part, now.size); });
    };
  }
  if (!call.notice.is_none() || log != nullptr) {
    observer.notice = [&, log](const std::string& line) {
      if (log != nullptr) log->notice(line);
      if (!call.notice.is_none()) interruption.run([&] { call.notice(line); });
    };
  }
  if (log != nullptr) observer.model = [log](const Model& model) { log->model(model); };
  return observer;
}

/// A training with a log, from its first line to its last.
TrainingResult train_logged(const Trainer& trainer, Device& device, const Knowledge& known, const TrainingJob& job,
                            const TrainingObserver& observer, TrainingLog& log) {
  using Json = TrainingLog::Json;
  log.begin(device, trainer.name(), job,
            {{"model", Json()}, {"resumed", job.resume != nullptr ? Json("the estimator") : Json()}});
  try {
    TrainingResult result = trainer.train(device, known, job, observer);
    Json measured;
    if (result.ending != Ending::stopped && result.ending != Ending::diverged) {
      const Dataset& data = job.test != nullptr ? *job.test : *job.train;
      const auto predictor = trainer.predictor(device, known, result.model.network, observer.notice);
      measured = metrics_document(metrics(result.model, data, predict(*predictor, result.model, data)), data.source);
    }
    log.end(device, result, {{"metrics", measured}, {"comparison", Json()}});
    return result;
  } catch (const std::exception& exception) {
    log.fail(exception.what());
    throw;
  }
}

/// Trains, and returns the model with how it ended. `labels` are indices into `classes`, `targets` is N x L; one of
/// them is given. `on_progress(epoch, last_epoch, part, size)` and `on_notice(line)` may be None. `log`: a file, or
/// empty; what it did not take is the member `log` of the answer, one line.
nb::dict train(const std::string& network, const Rows& rows, const std::optional<Labels>& labels,
               const std::vector<std::string>& classes, const std::optional<Rows>& targets,
               const std::vector<std::string>& input_names, const std::map<std::string, std::string>& options,
               const std::string& device_label, const std::string& profiles, const PythonModel* resume,
               const std::string& log_file, const std::optional<Rows>& test_rows,
               const std::optional<Labels>& test_labels, const std::optional<Rows>& test_targets,
               const nb::object& on_epoch, const nb::object& on_progress, const nb::object& on_notice) {
  Dataset data = to_dataset({rows, labels, targets}, classes, input_names, "X", "y");
  std::optional<Dataset> test;
  if (test_rows) {
    test = to_dataset({*test_rows, test_labels, test_targets}, classes, input_names, "eval_set X", "eval_set y");
  }
  const Trainer& trainer = heddle::trainer(network);
  TrainingJob job{
      .train = &data, .test = test ? &*test : nullptr, .resume = nullptr, .options = OptionValues(trainer.options())};
  for (const auto& [name, value] : options) job.options.set(name, value);
  std::optional<Model> resumed;
  if (resume != nullptr) {
    resumed = resume->model();
    data.input_names = resumed->input_names;
    if (test) test->input_names = resumed->input_names;
    job.resume = &*resumed;
  }

  Interruption interruption;
  const Callbacks callbacks{on_epoch, on_progress, on_notice};
  std::optional<TrainingLog> log;
  TrainingResult result;
  std::string used, not_logged;
  {
    const nb::gil_scoped_release released;
    if (!log_file.empty()) log.emplace(log_file, data.task, [&] { return interruption.asked(); });
    const TrainingObserver observer = observer_of(callbacks, interruption, log ? &*log : nullptr);
    const auto device = open_device_for(trainer, device_label, observer.notice);
    used = device->label();
    const Knowledge known = knowledge_of(profiles);
    result =
        log ? train_logged(trainer, *device, known, job, observer, *log) : trainer.train(*device, known, job, observer);
    try {
      if (log) log->check("the model is kept in the estimator");
    } catch (const Error& error) {
      not_logged = error.what();
    }
  }
  nb::dict answer;
  answer["ending"] = std::string(text(result.ending));
  answer["message"] = result.message;
  answer["device"] = used;
  answer["log"] = not_logged;
  answer["raised"] = interruption.raised();
  answer["model"] = nb::cast(PythonModel(std::move(result.model)), nb::rv_policy::move);
  return answer;
}

nb::list options(const std::string& network) {
  nb::list all;
  for (const Option& option : trainer(network).options()) {
    nb::dict entry;
    static constexpr const char* kKinds[] = {"integer", "number", "choice", "flag", "integers"};
    entry["name"] = option.name;
    entry["kind"] = kKinds[static_cast<int>(option.kind)];
    entry["default"] = option.default_value;
    entry["meaning"] = option.meaning;
    entry["expected"] = option.expected();
    all.append(entry);
  }
  return all;
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("train", &train, nb::arg("network"), nb::arg("rows"), nb::arg("labels").none(), nb::arg("classes"),
             nb::arg("targets").none(), nb::arg("input_names"), nb::arg("options"), nb::arg("device"),
             nb::arg("profiles"), nb::arg("resume").none(), nb::arg("log"), nb::arg("test_rows").none(),
             nb::arg("test_labels").none(), nb::arg("test_targets").none(), nb::arg("on_epoch").none(),
             nb::arg("on_progress").none(), nb::arg("on_notice").none());
  module.def("options", &options, nb::arg("network"));
}

}  // namespace heddle::python
