#include "heddle/kernels/sonfin/train.hpp"

#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "heddle/kernels/sonfin/family.hpp"
#include "heddle/kernels/sonfin/verification.hpp"

namespace heddle::sonfin {

namespace {

const Mapping& train_mapping_of(std::string_view backend) {
  return backend == "cpu" ? cpu_train_mapping() : cuda_train_mapping();
}

class TrainFamily final : public Family {
 public:
  std::string_view name() const override { return "sonfin-train"; }
  std::string_view meaning() const override {
    return "online training step of a self-constructing neural fuzzy network";
  }

  Trial trial(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    const auto work = shared_timing_workload(sizes, samples, seed);
    return {.plan = plan(configuration, sizes, device, samples),
            .initial = train_contents(*work, work->network, train_layout(configuration, sizes, device),
                                      control(work->options, work->samples()), beginning(work->network.rules()))};
  }

  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice run) const override {
    return train_verification(*this, device, seed, std::move(run));
  }

  /// For parameters kept in memory: m and sigma read and written once a sample, w too. Operations: firing 4 and update
  /// 8 per task, 6 per consequent.
  Work work(const Problem& sizes) const override {
    const auto tasks = static_cast<double>(sizes.at("rules")) * static_cast<double>(sizes.at("dim"));
    const auto consequents = static_cast<double>(sizes.at("rules")) * static_cast<double>(sizes.at("outputs"));
    return {.bytes = 16.0 * tasks + 8.0 * consequents, .operations = 12.0 * tasks + 6.0 * consequents};
  }

 private:
  const Mapping& mapping(std::string_view backend) const override { return train_mapping_of(backend); }
};

}  // namespace

const KernelFamily& train_family() {
  static const TrainFamily family;
  return family;
}

Layout train_layout(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device) {
  return train_mapping_of(device.backend).layout(configuration, sizes, device);
}

Progress beginning(std::int64_t rules) {
  return {.rules = static_cast<int>(rules), .position = 0, .halted = 0, .reserved = 0, .loss = 0.0};
}

HostImage train_contents(const Workload& work, const Network& network, const Layout& layout, const Control& control,
                         const Progress& progress) {
  HostImage image;
  pack(network, layout, image);
  image["control"] = bytes_of(control);
  image["progress"] = bytes_of(progress);
  image["rows"] = pack_rows(work.rows.data(), work.samples(), layout.dim, layout.stride);
  image["targets"] = pack_rows(work.targets.data(), work.samples(), layout.outputs, layout.target_stride);
  const auto order = std::as_bytes(std::span(work.order));
  image["order"].assign(order.begin(), order.end());
  return image;
}

}  // namespace heddle::sonfin
