// Training for Python: the GIL is free while C++ learns, and is taken for callbacks and to look for Ctrl-C.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

using Clock = std::chrono::steady_clock;
using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Asks Python now and then whether a signal came, or whether a callback failed.
class Interruption {
 public:
  /// Whether training is to stop. Called often, so that the GIL is taken a few times a second only.
  bool asked() {
    constexpr auto kPause = std::chrono::milliseconds(50);
    if (raised_) return true;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + kPause;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) catch_pending();
    return raised_.has_value();
  }
  /// Runs a callback; what it raises ends the training.
  template <class Call>
  void run(const Call& call) {
    if (raised_) return;
    const nb::gil_scoped_acquire held;
    try {
      call();
    } catch (nb::python_error& error) {
      error.restore();
      catch_pending();
    }
  }
  /// What Python raised, or None. With the GIL.
  [[nodiscard]] nb::object raised() const { return raised_ ? *raised_ : nb::none(); }

 private:
  void catch_pending() {
    const nb::python_error error;
    raised_ = nb::borrow(error.value());
  }

  Clock::time_point next_;
  std::optional<nb::object> raised_;
};

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

/// Trains, and returns the model with how it ended. `labels` are indices into `classes`, `targets` is N x L; one of
/// them is given. `on_progress(epoch, last_epoch, part, size)` and `on_notice(line)` may be None.
nb::dict train(const std::string& network, const Rows& rows, const std::optional<Labels>& labels,
               const std::vector<std::string>& classes, const std::optional<Rows>& targets,
               const std::vector<std::string>& input_names, const std::map<std::string, std::string>& options,
               const std::string& device_label, const std::string& profiles, const PythonModel* resume,
               const nb::object& on_epoch, const nb::object& on_progress, const nb::object& on_notice) {
  const Task task = labels ? Task::classify : Task::regress;
  Dataset data = borrowed_rows(rows, task, "X");
  data.input_names = input_names;
  data.classes = classes;
  if (labels) {
    data.labels.assign(labels->data(), labels->data() + labels->size());
    for (const std::int32_t label : data.labels) {
      if (label < 0 || static_cast<std::size_t>(label) >= classes.size()) {
        throw Error(ErrorKind::input, fmt::format("y: found the class number {}, expected less than {}", label,
                                                  classes.size()));
      }
    }
  } else if (targets) {
    data.targets.assign(targets->data(), targets->data() + targets->size());
    data.targets_per_row = static_cast<std::int64_t>(targets->shape(1));
  }
  const std::size_t answers = labels ? labels->size() : targets ? targets->shape(0) : 0;
  if (answers != rows.shape(0)) {
    throw Error(ErrorKind::input, fmt::format("y: found {} rows, expected {} as in X", answers, rows.shape(0)));
  }

  const Trainer& trainer = heddle::trainer(network);
  TrainingJob job{.train = &data, .test = nullptr, .resume = nullptr, .options = OptionValues(trainer.options())};
  for (const auto& [name, value] : options) job.options.set(name, value);
  std::optional<Model> resumed;
  if (resume != nullptr) {
    resumed = resume->model();
    data.input_names = resumed->input_names;
    job.resume = &*resumed;
  }

  Interruption interruption;
  TrainingObserver observer;
  observer.stop = [&] { return interruption.asked(); };
  if (!on_epoch.is_none()) {
    observer.epoch = [&](const EpochReport& report) { interruption.run([&] { on_epoch(to_dict(report)); }); };
  }
  if (!on_progress.is_none()) {
    observer.progress = [&](const TrainingProgress& now) {
      const double part = now.samples > 0 ? static_cast<double>(now.position) / static_cast<double>(now.samples) : 0.0;
      interruption.run([&] { on_progress(now.epoch, now.last_epoch, part, now.size); });
    };
  }
  if (!on_notice.is_none()) {
    observer.notice = [&](const std::string& line) { interruption.run([&] { on_notice(line); }); };
  }
  TrainingResult result;
  std::string used;
  {
    const nb::gil_scoped_release released;
    const auto device = open_device_for(trainer, device_label, observer.notice);
    used = device->label();
    result = trainer.train(*device, knowledge_of(profiles), job, observer);
  }
  nb::dict answer;
  answer["ending"] = std::string(text(result.ending));
  answer["message"] = result.message;
  answer["device"] = used;
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
             nb::arg("profiles"), nb::arg("resume").none(), nb::arg("on_epoch").none(), nb::arg("on_progress").none(),
             nb::arg("on_notice").none());
  module.def("options", &options, nb::arg("network"));
}

}  // namespace heddle::python
