#include "heddle/kernels/sonfin/predict.hpp"

#include <memory>
#include <utility>

#include "heddle/kernels/sonfin/family.hpp"
#include "heddle/kernels/sonfin/verification.hpp"
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
              std::int64_t samples, std::uint64_t seed) const override {
    // The timing workload has all rules of the problem from the start, which is what a prediction needs.
    const auto work = shared_timing_workload(sizes, samples, seed);
    return {
        .plan = plan(configuration, sizes, device, samples),
        .initial = predict_contents(work->network, work->rows, samples, predict_layout(configuration, sizes, device))};
  }

  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice run) const override {
    return predict_verification(*this, device, seed, std::move(run));
  }

  /// Parameters come from cache; a row is read and its outputs written. Two multiply-adds a task.
  Work work(const Problem& sizes) const override {
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

std::int64_t predict_tile(const Configuration& configuration, const DeviceIdentity& device) {
  return predict_mapping_of(device.backend).rows_of_tile(configuration);
}

HostImage predict_contents(const Network& network, const std::vector<float>& rows, std::int64_t count,
                           const Layout& layout) {
  HostImage image;
  pack(network, layout, image);
  image["control"] =
      bytes_of(PredictControl{.rules = static_cast<int>(network.rules()), .rows = static_cast<int>(count)});
  image["rows"] =
      pack_rows(rows.data(), static_cast<std::int64_t>(rows.size()) / layout.dim, layout.dim, layout.stride);
  return image;
}

}  // namespace heddle::sonfin
