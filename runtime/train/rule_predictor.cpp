#include "heddle/runtime/train/rule_predictor.hpp"

#include <algorithm>

#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/train/sonfin_parameters.hpp"

namespace heddle {

namespace {

/// Rows of one run: enough to fill any device, few enough that wide rows do not fill its memory.
std::int64_t chunk(std::int64_t dim) { return std::clamp<std::int64_t>((std::int64_t{1} << 24) / dim, 16, 4096); }

}  // namespace

struct RulePredictor::Implementation {
  Implementation(Device& device_, const Knowledge& known, std::int64_t dim_, std::int64_t outputs_,
                 std::int64_t max_rules, const Notice& notice, const Stop& stop)
      : device(device_),
        dim(dim_),
        outputs(outputs_),
        ladder(device, share_dispatcher(device, sonfin::predict_family(), known),
               sonfin::problem(max_rules, dim, outputs), "rules", sonfin::rung_capacities(max_rules), notice, stop) {}

  [[nodiscard]] sonfin::Layout layout(const TunedPlan& rung) const {
    return sonfin::predict_layout(rung.configuration(), rung.problem(), device.identity());
  }

  /// An execution with the network's parameters. Where a candidate turns out not to run, the plan has the next.
  Execution& load(TunedPlan& rung, const sonfin::Network& network) {
    const auto write = [&](const TunedPlan& r, Execution& execution) {
      for (const sonfin::RuleParameter& parameter : sonfin::kRuleParameters) {
        write_packed(execution.memory(parameter.buffer), parameter, network.*parameter.values, layout(r), packed);
      }
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

  Device& device;
  std::int64_t dim, outputs;
  TunedLadder ladder;         // a rung is prepared when it is first needed
  std::vector<float> packed;  // room for a parameter's buffer
};

RulePredictor::RulePredictor(Device& device, const Knowledge& known, std::int64_t dim, std::int64_t outputs,
                             std::int64_t max_rules, const Notice& notice, const Stop& stop)
    : implementation_(std::make_unique<Implementation>(device, known, dim, outputs, max_rules, notice, stop)) {}
RulePredictor::~RulePredictor() = default;
RulePredictor::RulePredictor(RulePredictor&&) noexcept = default;

std::vector<float> RulePredictor::predict(const sonfin::Network& network, std::span<const float> rows) {
  Implementation& self = *implementation_;
  TunedPlan& rung = self.ladder[self.ladder.at(network.rules())];
  Execution& execution = self.load(rung, network);
  const sonfin::Layout layout = self.layout(rung);

  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / self.dim;
  std::vector<float> outputs(static_cast<std::size_t>(count * self.outputs));
  for (std::int64_t first = 0; first < count; first += execution.plan().samples) {
    const std::int64_t part = std::min(count - first, execution.plan().samples);
    execution.memory("rows").write(sonfin::pack_rows(rows.data() + first * self.dim, part, self.dim, layout.stride));
    Implementation::run(execution, network.rules(), part);
    execution.synchronize();
    const std::span<float> into(outputs.data() + first * self.outputs, static_cast<std::size_t>(part * self.outputs));
    execution.memory("outputs").read(std::as_writable_bytes(into));
  }
  return outputs;
}

const Candidate& RulePredictor::candidate(std::int64_t rules) const {
  return implementation_->ladder[implementation_->ladder.at(rules)].candidate();
}

}  // namespace heddle
