// A trained model as Python holds it: what a model file has, and a device that stays open between predictions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "heddle/runtime/model/model.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::python {

/// Rows as the bindings take them: N x D float32, row after row, in host memory.
using Rows = nanobind::ndarray<const float, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using FloatArray = nanobind::ndarray<nanobind::numpy, float>;

/// The rows where they lie. They are not copied; the array must be kept while the result is used.
[[nodiscard]] Dataset borrowed_rows(const Rows& rows, Task task, const std::string& source);

/// Profiles of a database; `file` empty: those of the default one.
[[nodiscard]] Knowledge knowledge_of(const std::string& file);

/// `values` as an array of this shape, which takes them over.
[[nodiscard]] FloatArray to_array(std::vector<float> values, std::vector<std::size_t> shape);

class PythonModel {
 public:
  explicit PythonModel(Model model) : model_(std::move(model)) {}

  [[nodiscard]] const Model& model() const { return model_; }

  /// Outputs N x L of the network: of classes as they are, of numbers in the data's own units. Several threads may
  /// call it; they take turns.
  [[nodiscard]] FloatArray predict(const Rows& rows, const std::string& device, const std::string& profiles,
                                   const std::string& source);

 private:
  /// A device and a predictor on it; belongs to the process that opened it, because threads do not survive a fork.
  struct Session {
    pid_t process = 0;
    std::string label, profiles;
    std::unique_ptr<Device> device;
    std::unique_ptr<Predictor> predictor;
  };

  Model model_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::unique_ptr<Session> session_;
};

void bind_model(nanobind::module_& module);
void bind_training(nanobind::module_& module);

}  // namespace heddle::python
