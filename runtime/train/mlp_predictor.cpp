#include "heddle/runtime/train/mlp_predictor.hpp"

#include <algorithm>

#include "heddle/kernels/mlp/predict.hpp"
#include "heddle/runtime/device/bytes.hpp"

namespace heddle {

namespace {

/// Rows of one run: enough to fill any device, few enough that wide rows do not fill its memory.
std::int64_t rows_of_run(std::int64_t dim) { return std::clamp<std::int64_t>((std::int64_t{1} << 24) / dim, 16, 4096); }

void run_rows(Execution& execution, const MlpModel& network, std::int64_t rows) {
  const mlp::PredictControl control{.rows = static_cast<int>(rows), .hidden = network.hidden, .output = network.output};
  execution.memory("control").write(bytes(control));
  execution.launch();
  execution.synchronize();
}

}  // namespace

MlpPredictor::MlpPredictor(Device& device, const Knowledge& known, const MlpModel& network, const Notice& notice,
                           const Stop& stop)
    : plan_(TunedPlan::choose(device, share_dispatcher(device, mlp::predict_family(), known),
                              mlp::network_problem(network.layers), notice, stop)) {
  const auto probe = [&](const TunedPlan&, Execution& execution) {
    execution.memory("parameters").fill(std::byte{0});
    execution.memory("rows").fill(std::byte{0});
    run_rows(execution, network, 1);
  };
  plan_.prepare({.samples = rows_of_run(network.dim()), .bind = {}, .probe = probe});
}

std::vector<float> MlpPredictor::predict(const AnyNetwork& network, std::span<const float> rows) {
  const auto& own = std::get<MlpModel>(network);
  Execution& execution = plan_.execution();
  execution.memory("parameters").write(bytes(own.parameters));
  const std::size_t inputs = static_cast<std::size_t>(own.dim()), answers = static_cast<std::size_t>(own.outputs());
  const std::size_t count = rows.size() / inputs, most = static_cast<std::size_t>(execution.plan().samples);
  std::vector<float> outputs(count * answers);
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t part = std::min(count - first, most);
    execution.memory("rows").write(std::as_bytes(rows.subspan(first * inputs, part * inputs)));
    run_rows(execution, own, static_cast<std::int64_t>(part));
    execution.memory("outputs").read(
        std::as_writable_bytes(std::span(outputs).subspan(first * answers, part * answers)));
  }
  return outputs;
}

}  // namespace heddle
