#include "model.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/model/description.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/scoring.hpp"

namespace nb = nanobind;

namespace heddle::python {

Dataset borrowed_rows(const Rows& rows, Task task, const std::string& source) {
  Dataset data;
  data.source = source;
  data.task = task;
  data.dim = static_cast<std::int64_t>(rows.shape(1));
  data.borrowed = {rows.data(), rows.size()};
  return data;
}

Knowledge knowledge_of(const std::string& file) {
  const ProfileStore store(file.empty() ? ProfileStore::default_file() : std::filesystem::path(file),
                           ProfileStore::Access::read);
  return store.knowledge();
}

FloatArray to_array(std::vector<float> values, std::vector<std::size_t> shape) {
  auto* const kept = new std::vector<float>(std::move(values));
  const nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<std::vector<float>*>(pointer); });
  return {kept->data(), shape.size(), shape.data(), owner};
}

FloatArray PythonModel::predict(const Rows& rows, const std::string& device, const std::string& profiles,
                                const std::string& source) {
  std::vector<float> outputs;
  {
    const nb::gil_scoped_release released;
    const std::scoped_lock lock(*mutex_);
    if (const std::string why = model_.unready(); !why.empty()) {
      throw Error(ErrorKind::input, fmt::format("the model is {}", why));
    }
    if (session_ && session_->process != ::getpid()) (void)session_.release();  // its threads are another process's
    if (!session_ || session_->label != device || session_->profiles != profiles) {
      session_.reset();
      const Trainer& trainer = heddle::trainer(model_.kind());
      auto opened = std::make_unique<Session>();
      opened->process = ::getpid();
      opened->label = device;
      opened->profiles = profiles;
      opened->device = open_device_for(trainer, device);
      opened->predictor = trainer.predictor(*opened->device, knowledge_of(profiles), model_.network, {});
      session_ = std::move(opened);
    }
    const Dataset data = borrowed_rows(rows, model_.task, source);
    if (data.dim != model_.dim()) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: found {} inputs, expected {} as in training", source, data.dim, model_.dim()));
    }
    try {
      outputs = heddle::predict(*session_->predictor, model_, data);
    } catch (...) {
      session_.reset();  // a device that failed is opened anew the next time
      throw;
    }
    if (model_.task == Task::regress) outputs = model_.targets.invert(outputs);
  }
  return to_array(std::move(outputs), {rows.shape(0), static_cast<std::size_t>(model_.outputs())});
}

namespace {

/// The arrays of a network by name, as float32 keeps them: in scaled units.
nb::dict arrays(const PythonModel& self) {
  nb::dict all;
  const auto put = [&all](const char* name, const std::vector<float>& values, std::vector<std::size_t> shape) {
    all[name] = to_array(values, std::move(shape));
  };
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  const auto rules = [&](std::int64_t count, std::int64_t dim, std::int64_t outputs, std::int64_t terms,
                         const auto& network) {
    put("centres", network.centres, {size(count), size(dim)});
    put("widths", network.widths, {size(count), size(dim)});
    put("consequents", network.consequents, {size(count), size(terms), size(outputs)});
  };
  if (const auto* sonfin = std::get_if<SonfinModel>(&self.model().network)) {
    rules(sonfin->network.rules(), sonfin->network.dim, sonfin->network.outputs, 1, sonfin->network);
  } else if (const auto* tsk = std::get_if<TskModel>(&self.model().network)) {
    rules(tsk->system.rules(), tsk->system.dim, tsk->system.outputs, tsk->system.terms(), tsk->system);
  } else if (const auto* mlp = std::get_if<MlpModel>(&self.model().network)) {
    put("parameters", mlp->parameters, {mlp->parameters.size()});
  }
  return all;
}

nb::list history(const PythonModel& self) {
  nb::list all;
  const auto number = [](const std::optional<double>& value) -> nb::object {
    return value ? nb::object(nb::float_(*value)) : nb::none();
  };
  for (const EpochRecord& record : self.model().training.history) {
    nb::dict entry;
    entry["epoch"] = record.epoch;
    for (const auto& [name, count] : record.counts) entry[name.c_str()] = count;
    entry["samples"] = record.samples;
    entry["train_error"] = record.train_error;
    entry["validation_error"] = number(record.validation_error);
    entry["validation_value"] = number(record.validation_value);
    entry["test_error"] = number(record.test_error);
    entry["test_value"] = number(record.test_value);
    entry["microseconds_per_sample"] = record.microseconds_per_sample;
    all.append(entry);
  }
  return all;
}

/// How inputs are scaled: (value - offset) * factor of each.
nb::dict input_scaling(const PythonModel& self) {
  const Scaling& scaling = self.model().inputs;
  nb::dict all;
  all["kind"] = std::string(text(scaling.kind));
  all["offset"] = scaling.offset;
  all["factor"] = scaling.factor;
  return all;
}

/// A text that C++ can take. Throws Error(usage): it is something else, or no UTF-8.
std::string text_in(const nb::object& given, const char* name, const char* expected) {
  std::string text;
  if (nb::try_cast(given, text)) return text;
  throw Error(ErrorKind::usage, fmt::format("{}: found {}, expected {}", name,
                                            nb::isinstance<nb::str>(given) ? std::string("a text that is no UTF-8")
                                                                           : nb::type_name(given.type()).c_str(),
                                            expected));
}

/// A path as Python has them: a text, bytes or anything with __fspath__.
std::string path_in(const nb::object& given, const char* name) {
  const nb::object path = nb::steal(PyOS_FSPath(given.ptr()));
  if (!path.is_valid()) {
    PyErr_Clear();
    return text_in(given, name, "a path");
  }
  if (!nb::isinstance<nb::bytes>(path)) return text_in(path, name, "a path");
  const auto bytes = nb::cast<nb::bytes>(path);
  return {bytes.c_str(), bytes.size()};
}

/// Throws Error(input) with the place of the first number that is not finite.
void require_finite(const Rows& rows, const std::string& source) {
  const std::size_t columns = rows.shape(1);
  const float* const end = rows.data() + rows.size();
  const float* const bad = std::find_if(rows.data(), end, [](float number) { return !std::isfinite(number); });
  if (bad == end) return;
  const auto at = static_cast<std::size_t>(bad - rows.data());
  throw Error(ErrorKind::input, fmt::format("{}: found {} in row {}, column {}, expected finite numbers", source, *bad,
                                            at / columns, at % columns));
}

/// PythonModel::predict with one line about rows of another form.
FloatArray predict_rows(PythonModel& self, const nb::object& given, const nb::object& device,
                        const nb::object& profiles, const nb::object& named) {
  const std::string source = text_in(named, "source", "a text");
  Rows rows;
  if (!nb::try_cast(given, rows)) {
    throw Error(ErrorKind::input, fmt::format("{}: found {}, expected rows of float32 in host memory, N x D", source,
                                              nb::type_name(given.type()).c_str()));
  }
  require_finite(rows, source);
  return self.predict(rows, text_in(device, "device", "a label such as 'cuda:0' or 'cpu'"),
                      path_in(profiles, "profiles"), source);
}

nb::bytes encoded(const PythonModel& self) {
  const std::string bytes = encode_model(self.model());
  return nb::bytes(bytes.data(), bytes.size());
}

PythonModel decoded(const nb::object& given) {
  if (!nb::isinstance<nb::bytes>(given)) {
    throw Error(ErrorKind::usage, fmt::format("data: found {}, expected bytes", nb::type_name(given.type()).c_str()));
  }
  const auto bytes = nb::cast<nb::bytes>(given);
  return PythonModel(decode_model(std::string_view(bytes.c_str(), bytes.size()), "pickled model"));
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<PythonModel>(module, "Model",
                          "A trained model: what a model file has. It keeps a device open between predictions.")
      .def_static(
          "load", [](const nb::object& file) { return PythonModel(load_model(path_in(file, "file"))); },
          nb::arg("file").none(), nb::sig("def load(file: str | bytes | os.PathLike) -> Model"),
          R"(Reads a model file.

Parameters
----------
file : path
    Of ``save``, of an estimator, or of ``heddle train``.

Returns
-------
Model

Raises
------
InputError
    There is no such file, or it is damaged.)")
      .def(
          "save",
          [](const PythonModel& self, const nb::object& file) { save_model(self.model(), path_in(file, "file")); },
          nb::arg("file").none(), nb::sig("def save(self, file: str | bytes | os.PathLike) -> None"),
          R"(Writes a model file.

Parameters
----------
file : path
    Is written whole, or not at all.

Raises
------
InputError
    It cannot be written.)")
      .def_static("from_bytes", decoded, nb::arg("data").none(), nb::sig("def from_bytes(data: bytes) -> Model"),
                  "A model of the bytes of a model file. Raises InputError where they are damaged.")
      .def("to_bytes", encoded, "The bytes of a model file.")
      .def(
          "predict", predict_rows, nb::arg("rows").none(), nb::arg("device").none() = "",
          nb::arg("profiles").none() = "", nb::arg("source").none() = "X",
          nb::sig("def predict(self, rows: NDArray[numpy.float32], device: str = '', profiles: str | os.PathLike = '', "
                  "source: str = 'X') -> NDArray[numpy.float32]"),
          R"(Outputs of the network.

Parameters
----------
rows : ndarray of shape (n_samples, n_features)
    float32 in host memory; not copied if it lies row after row.
device : str
    ``"cuda:0"``, ``"cpu"``; empty: the best one here.
profiles : str
    Database of ``heddle tune``; empty: the default one.
source : str
    What the rows are called in messages.

Returns
-------
ndarray of shape (n_samples, n_outputs)
    float32: of classes as the network gives them, in the order of ``classes``; of numbers in the units of the data.

Raises
------
InputError
    Rows of another form, with another number of features than in training, or with numbers that are not finite.
UsageError
    Words of another type.
DeviceError
    No such device, or it failed.)")
      .def("arrays", arrays,
           "The network's numbers by name, float32. Rules: centres and widths (n_rules, n_features) in scaled inputs, "
           "consequents (n_rules, n_terms, n_outputs). Perceptrons: parameters, of one axis.")
      .def("history", history,
           "One dict an epoch: epoch, train_error (mean E of a row), validation_error and test_error with "
           "validation_value and test_value (accuracy, 0 to 1, or RMSE in the units of the data), which are None where "
           "there are no such rows, and microseconds_per_sample (learning alone).")
      .def("input_scaling", input_scaling,
           "How inputs are scaled, (value - offset) * factor of each: a dict with kind, offset and factor.")
      .def(
          "document", [](const PythonModel& self) { return document(self.model()).dump(); },
          "What ``heddle inspect --json`` says of the network, as JSON.")
      .def(
          "sentences", [](const PythonModel& self) { return describe(self.model()).sentences; },
          "The rules in words, one for each.")
      .def_prop_ro(
          "kind", [](const PythonModel& self) { return std::string(self.model().kind()); },
          "str: the network: ``\"sonfin\"``, ``\"tsk\"`` or ``\"mlp\"``.")
      .def_prop_ro(
          "task",
          [](const PythonModel& self) {
            return std::string(self.model().task == Task::classify ? "classify" : "regress");
          },
          "str: ``\"classify\"`` or ``\"regress\"``.")
      .def_prop_ro(
          "dim", [](const PythonModel& self) { return self.model().dim(); }, "int: inputs, as many as features.")
      .def_prop_ro(
          "outputs", [](const PythonModel& self) { return self.model().outputs(); },
          "int: outputs: one for each class, or for each column of targets.")
      .def_prop_ro(
          "size", [](const PythonModel& self) { return self.model().size().text; },
          "str: what the network has, in words: its rules or layers.")
      .def_prop_ro(
          "unready", [](const PythonModel& self) { return self.model().unready(); },
          "str: why it cannot predict yet; empty where it can.")
      .def_prop_ro(
          "classes", [](const PythonModel& self) { return self.model().classes; },
          "list of str: the classes as words, in the order of the outputs; empty for regression.")
      .def_prop_ro(
          "input_names", [](const PythonModel& self) { return self.model().input_names; },
          "list of str: names of the features; empty where the data had none.")
      .def_prop_ro(
          "target_names", [](const PythonModel& self) { return self.model().target_names; },
          "list of str: names of the targets; empty where the data had none.")
      .def_prop_ro(
          "epochs", [](const PythonModel& self) { return self.model().training.epochs; },
          "int: epochs of training so far.")
      .def_prop_ro(
          "best_epoch", [](const PythonModel& self) { return self.model().training.best_epoch; },
          "int: the epoch with the least validation error; 0 without validation.")
      .def_prop_ro(
          "options", [](const PythonModel& self) { return self.model().training.options; },
          "dict of str: options of ``heddle train`` that it was trained with, by their names.")
      .def_prop_ro(
          "provenance", [](const PythonModel& self) { return self.model().provenance; },
          "dict of str: for people: what made it, from which data, when and on which device.");
  module.def("ordered_classes", &ordered_classes, nb::arg("words"));
}

}  // namespace heddle::python
