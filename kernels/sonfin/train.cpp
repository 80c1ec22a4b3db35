#include "heddle/kernels/sonfin/train.hpp"

#include <cstring>
#include <memory>
#include <stdexcept>

#include "heddle/kernels/sonfin/family.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

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
              std::int64_t samples, Purpose purpose, std::uint64_t seed) const override {
    const auto work = shared_workload(sizes, samples, purpose, seed);
    const Layout layout = train_layout(configuration, sizes, device);
    Trial trial{.plan = plan(configuration, sizes, device, samples), .initial = {}, .check = {}};
    pack(work->network, layout, trial.initial);
    trial.initial["control"] = bytes_of(control(work->options, work->samples()));
    trial.initial["progress"] = bytes_of(Progress{
        .rules = static_cast<int>(work->network.rules()), .position = 0, .halted = 0, .reserved = 0, .loss = 0.0});
    trial.initial["rows"] = pack_rows(work->rows.data(), work->samples(), layout.dim, layout.stride);
    trial.initial["targets"] = pack_rows(work->targets.data(), work->samples(), layout.outputs, layout.target_stride);
    const auto order = std::as_bytes(std::span(work->order));
    trial.initial["order"].assign(order.begin(), order.end());
    if (purpose == Purpose::verification) {
      trial.check = [work, layout](const HostImage& after) {
        Progress progress{};
        std::memcpy(&progress, after.find("progress")->second.data(), sizeof progress);
        if (progress.rules < 0 || progress.rules > layout.capacity) {
          return Accuracy{.accepted = false, .worst_error = 0.0, .message = "the rule count was overwritten"};
        }
        return compare_training(work->expected(), unpack(after, layout, progress.rules), progress);
      };
    }
    return trial;
  }

  /// For parameters kept in memory: m and sigma read and written once a sample, w too. Operations: firing 4 and update
  /// 8 per task, 6 per consequent.
  Cost cost(const Problem& sizes) const override {
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

}  // namespace heddle::sonfin
