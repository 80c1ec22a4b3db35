#include "heddle/runtime/train/tsk_predictor.hpp"

#include <numbers>

namespace heddle {

namespace {

/// Numbers of one consequent.
std::int64_t averages(const tsk::System& system) { return system.terms() * system.outputs; }

/// The SONFIN network whose outputs are the averages of the consequents' numbers. Its widths are those of
/// exp(-((x - m) / sigma)^2), without the factor 1/2.
sonfin::Network averaging(const tsk::System& system) {
  sonfin::Network network{.dim = system.dim,
                          .outputs = averages(system),
                          .centres = system.centres,
                          .widths = system.widths,
                          .consequents = system.consequents};
  for (float& width : network.widths) width *= std::numbers::sqrt2_v<float>;
  return network;
}

/// y_l = z_0l + sum_j z_jl x_j of those averages z.
std::vector<float> combined(const tsk::System& system, std::span<const float> rows, const std::vector<float>& all) {
  const auto dim = static_cast<std::size_t>(system.dim), outputs = static_cast<std::size_t>(system.outputs);
  std::vector<float> result(rows.size() / dim * outputs);
  for (std::size_t i = 0; i < rows.size() / dim; ++i) {
    const float* z = all.data() + i * static_cast<std::size_t>(averages(system));
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

}  // namespace

TskPredictor::TskPredictor(Device& device, const Knowledge& known, const TskModel& network, const Notice& notice,
                           const Stop& stop)
    : rules_(device, known, network.dim(), averages(network.system), network.system.rules(), notice, stop) {}

std::vector<float> TskPredictor::predict(const AnyNetwork& network, std::span<const float> rows) {
  const tsk::System& system = std::get<TskModel>(network).system;
  std::vector<float> all = rules_.predict(averaging(system), rows);
  return system.order == 0 ? all : combined(system, rows, all);
}

const Candidate& TskPredictor::candidate(const AnyNetwork& network) const {
  return rules_.candidate(std::get<TskModel>(network).system.rules());
}

}  // namespace heddle
