#include "heddle/runtime/train/predictor.hpp"

#include <algorithm>

#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle {

namespace {

/// Rows of one run: enough to fill any device, few enough that wide rows do not fill its memory.
std::int64_t chunk(std::int64_t dim) { return std::clamp<std::int64_t>((std::int64_t{1} << 24) / dim, 16, 4096); }

}  // namespace

struct Predictor::Implementation {
  Implementation(Device& device_, const std::vector<Profile>& profiles, std::int64_t dim_, std::int64_t numbers_,
                 std::int64_t max_rules, const Notice& notice, const Stop& stop)
      : device(device_),
        dim(dim_),
        numbers(numbers_),
        ladder(device, share_dispatcher(device, sonfin::predict_family(), profiles),
               sonfin::problem(max_rules, dim, numbers), "rules", sonfin::rung_capacities(max_rules), notice, stop) {}

  [[nodiscard]] sonfin::Layout layout(const TunedPlan& rung) const {
    return sonfin::predict_layout(rung.configuration(), rung.problem(), device.identity());
  }

  /// An execution with the network's parameters. Where a candidate turns out not to run, the plan has the next.
  Execution& load(TunedPlan& rung, const sonfin::Network& network) {
    const auto write = [&](const TunedPlan& r, Execution& execution) {
      HostImage image;
      sonfin::pack(network, layout(r), image);
      for (const auto& [name, bytes] : image) execution.memory(name).write(bytes);
    };
    if (rung.prepared()) {
      write(rung, rung.execution());
      return rung.execution();
    }
    const auto probe = [&](const TunedPlan& r, Execution& execution) {
      write(r, execution);
      execution.memory("rows").fill(std::byte{0});
      run(execution, network.rules(), 1);
      execution.synchronize();
    };
    return rung.prepare({.samples = chunk(dim), .bind = {}, .probe = probe});
  }

  static void run(Execution& execution, std::int64_t rules, std::int64_t rows) {
    const sonfin::PredictControl control{.rules = static_cast<int>(rules), .rows = static_cast<int>(rows)};
    execution.memory("control").write(std::as_bytes(std::span(&control, 1)));
    execution.launch();
  }

  /// Outputs are linear in the consequents' numbers: a network that puts out each of them averaged over the rules.
  static sonfin::Network constants(const sonfin::Network& network) {
    sonfin::Network same = network;
    same.outputs = network.numbers();
    same.order = 0;
    return same;
  }
  /// y_l = z_0l + sum_j z_jl x_j of those averages z.
  static std::vector<float> combined(const sonfin::Network& network, std::span<const float> rows,
                                     const std::vector<float>& averages) {
    const auto dim = static_cast<std::size_t>(network.dim), outputs = static_cast<std::size_t>(network.outputs);
    std::vector<float> result(rows.size() / dim * outputs);
    for (std::size_t i = 0; i < rows.size() / dim; ++i) {
      const float* z = averages.data() + i * static_cast<std::size_t>(network.numbers());
      for (std::size_t l = 0; l < outputs; ++l) {
        double sum = static_cast<double>(z[l]);
        for (std::size_t j = 0; j < dim; ++j) {
          sum += static_cast<double>(z[(j + 1) * outputs + l]) * static_cast<double>(rows[i * dim + j]);
        }
        result[i * outputs + l] = static_cast<float>(sum);
      }
    }
    return result;
  }

  Device& device;
  std::int64_t dim, numbers;
  TunedLadder ladder;  // a rung is prepared when it is first needed
};

Predictor::Predictor(Device& device, const std::vector<Profile>& profiles, std::int64_t dim, std::int64_t numbers,
                     std::int64_t max_rules, const Notice& notice, const Stop& stop)
    : implementation_(std::make_unique<Implementation>(device, profiles, dim, numbers, max_rules, notice, stop)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

std::vector<float> Predictor::predict(const sonfin::Network& network, std::span<const float> rows) {
  Implementation& self = *implementation_;
  if (network.order != 0) return self.combined(network, rows, predict(self.constants(network), rows));
  TunedPlan& rung = self.ladder[self.ladder.at(network.rules())];
  Execution& execution = self.load(rung, network);
  const sonfin::Layout layout = self.layout(rung);

  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / self.dim;
  std::vector<float> outputs(static_cast<std::size_t>(count * self.numbers));
  for (std::int64_t first = 0; first < count; first += execution.plan().samples) {
    const std::int64_t part = std::min(count - first, execution.plan().samples);
    execution.memory("rows").write(sonfin::pack_rows(rows.data() + first * self.dim, part, self.dim, layout.stride));
    Implementation::run(execution, network.rules(), part);
    execution.synchronize();
    const std::span<float> into(outputs.data() + first * self.numbers, static_cast<std::size_t>(part * self.numbers));
    execution.memory("outputs").read(std::as_writable_bytes(into));
  }
  return outputs;
}

const Candidate& Predictor::candidate(std::int64_t rules) const {
  return implementation_->ladder[implementation_->ladder.at(rules)].candidate();
}

}  // namespace heddle
