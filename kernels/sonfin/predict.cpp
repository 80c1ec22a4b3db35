#include "heddle/kernels/sonfin/predict.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "heddle/kernels/sonfin/family.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle::sonfin {

namespace {

const Mapping& predict_mapping_of(std::string_view backend) {
  return backend == "cpu" ? cpu_predict_mapping() : cuda_predict_mapping();
}

class PredictFamily final : public Family {
 public:
  std::string_view name() const override { return "sonfin-predict"; }
  std::string_view meaning() const override {
    return "outputs of a self-constructing neural fuzzy network for many rows";
  }

  Trial trial(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device,
              std::int64_t samples, Purpose purpose, std::uint64_t seed) const override {
    // The timing workload has all rules of the problem from the start, which is what a prediction needs.
    const auto work = shared_workload(sizes, samples, Purpose::timing, seed);
    const Layout layout = predict_layout(configuration, sizes, device);
    Trial trial{.plan = plan(configuration, sizes, device, samples), .initial = {}, .check = {}};
    pack(work->network, layout, trial.initial);
    trial.initial["control"] = bytes_of(
        PredictControl{.rules = static_cast<int>(work->network.rules()), .rows = static_cast<int>(work->samples())});
    trial.initial["rows"] = pack_rows(work->rows.data(), work->samples(), layout.dim, layout.stride);
    if (purpose == Purpose::verification) {
      trial.check = [work](const HostImage& after) {
        std::vector<float> outputs(work->targets.size());
        std::memcpy(outputs.data(), after.find("outputs")->second.data(), outputs.size() * sizeof(float));
        return compare_prediction(*work, outputs);
      };
    }
    return trial;
  }

  /// Parameters come from cache; a row is read and its outputs written. Two multiply-adds a task.
  Cost cost(const Problem& sizes) const override {
    const auto rules = static_cast<double>(sizes.at("rules"));
    const auto dim = static_cast<double>(sizes.at("dim"));
    const auto outputs = static_cast<double>(sizes.at("outputs"));
    return {.bytes = 4.0 * (dim + outputs), .operations = 4.0 * rules * dim + 2.0 * rules * outputs};
  }

 private:
  const Mapping& mapping(std::string_view backend) const override { return predict_mapping_of(backend); }
};

}  // namespace

const KernelFamily& predict_family() {
  static const PredictFamily family;
  return family;
}

Layout predict_layout(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device) {
  return predict_mapping_of(device.backend).layout(configuration, sizes, device);
}

}  // namespace heddle::sonfin
