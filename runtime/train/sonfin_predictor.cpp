#include "heddle/runtime/train/sonfin_predictor.hpp"

namespace heddle {

SonfinPredictor::SonfinPredictor(Device& device, const Knowledge& known, const SonfinModel& network,
                                 std::int64_t max_rules, const Notice& notice, const Stop& stop)
    : rules_(device, known, network.dim(), network.outputs(), max_rules, notice, stop) {}

std::vector<float> SonfinPredictor::predict(const AnyNetwork& network, std::span<const float> rows) {
  return rules_.predict(std::get<SonfinModel>(network).network, rows);
}

const Candidate& SonfinPredictor::candidate(const AnyNetwork& network) const {
  return rules_.candidate(std::get<SonfinModel>(network).network.rules());
}

}  // namespace heddle
