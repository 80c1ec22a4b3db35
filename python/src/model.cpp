#include "model.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

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

/// PythonModel::predict with one line about rows of another form.
FloatArray predict_rows(PythonModel& self, const nb::object& given, const std::string& device,
                        const std::string& profiles, const std::string& source) {
  Rows rows;
  if (!nb::try_cast(given, rows)) {
    throw Error(ErrorKind::input, fmt::format("{}: found {}, expected rows of float32 in host memory, N x D", source,
                                              nb::type_name(given.type()).c_str()));
  }
  return self.predict(rows, device, profiles, source);
}

nb::bytes encoded(const PythonModel& self) {
  const std::string bytes = encode_model(self.model());
  return nb::bytes(bytes.data(), bytes.size());
}

PythonModel decoded(const nb::bytes& bytes) {
  return PythonModel(decode_model(std::string_view(bytes.c_str(), bytes.size()), "pickled model"));
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<PythonModel>(module, "Model")
      .def_static(
          "load", [](const std::string& file) { return PythonModel(load_model(file)); }, nb::arg("file"))
      .def(
          "save", [](const PythonModel& self, const std::string& file) { save_model(self.model(), file); },
          nb::arg("file"))
      .def_static("from_bytes", decoded, nb::arg("data"))
      .def("to_bytes", encoded)
      .def("predict", predict_rows, nb::arg("rows"), nb::arg("device") = "", nb::arg("profiles") = "",
           nb::arg("source") = "X")
      .def("arrays", arrays)
      .def("history", history)
      .def("input_scaling", input_scaling)
      .def("document", [](const PythonModel& self) { return document(self.model()).dump(); })
      .def("sentences", [](const PythonModel& self) { return describe(self.model()).sentences; })
      .def_prop_ro("kind", [](const PythonModel& self) { return std::string(self.model().kind()); })
      .def_prop_ro("task",
                   [](const PythonModel& self) {
                     return std::string(self.model().task == Task::classify ? "classify" : "regress");
                   })
      .def_prop_ro("dim", [](const PythonModel& self) { return self.model().dim(); })
      .def_prop_ro("outputs", [](const PythonModel& self) { return self.model().outputs(); })
      .def_prop_ro("size", [](const PythonModel& self) { return self.model().size().text; })
      .def_prop_ro("unready", [](const PythonModel& self) { return self.model().unready(); })
      .def_prop_ro("classes", [](const PythonModel& self) { return self.model().classes; })
      .def_prop_ro("input_names", [](const PythonModel& self) { return self.model().input_names; })
      .def_prop_ro("target_names", [](const PythonModel& self) { return self.model().target_names; })
      .def_prop_ro("epochs", [](const PythonModel& self) { return self.model().training.epochs; })
      .def_prop_ro("best_epoch", [](const PythonModel& self) { return self.model().training.best_epoch; })
      .def_prop_ro("options", [](const PythonModel& self) { return self.model().training.options; })
      .def_prop_ro("provenance", [](const PythonModel& self) { return self.model().provenance; });
  module.def("ordered_classes", &ordered_classes, nb::arg("words"));
}

}  // namespace heddle::python
