#include "heddle/runtime/model/model_file_1.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/model/cbor_map.hpp"
#include "heddle/runtime/model/sonfin_model.hpp"
#include "heddle/runtime/model/tsk_model.hpp"

namespace heddle {

namespace {

/// Moves an entry to another map if it is there.
void move_entry(nlohmann::json& from, const char* name, nlohmann::json& to, const char* new_name) {
  const auto found = from.find(name);
  if (found == from.end()) return;
  nlohmann::json value = std::move(*found);
  from.erase(found);
  to[new_name] = std::move(value);
}

/// The standard deviation for which a TSK system was saved with `width`: format 1 kept the product with sqrt(2),
/// rounded to float32. The quotient, rounded, is off by one at some powers of two; its neighbours are tried for those,
/// so that a prediction, which makes the product again, gives the same bits as ever.
float deviation_of(float width) {
  const float quotient = width / std::numbers::sqrt2_v<float>;
  for (const float candidate : {quotient, std::nextafter(quotient, 2.0F * quotient), std::nextafter(quotient, 0.0F)}) {
    if (candidate * std::numbers::sqrt2_v<float> == width) return candidate;
  }
  return quotient;  // no system was saved with this width
}

void make_system(nlohmann::json& network) {
  if (!network.is_object()) return;
  network.emplace("order", 0);
  const auto found = network.find("widths");
  if (found == network.end()) return;
  if (std::optional<std::vector<float>> widths = unpacked<float>(*found)) {
    for (float& width : *widths) width = deviation_of(width);
    *found = packed(*widths);
  }
  move_entry(network, "widths", network, "standard_deviations");
}

}  // namespace

nlohmann::json from_format_1(nlohmann::json body) {
  const auto network = body.find("network"), training = body.find("training");
  if (network == body.end() || !network->is_object() || training == body.end() || !training->is_object()) return body;
  const bool tsk = training->value("trainer", nlohmann::json()) == TskModel::kName;
  (*network)["kind"] = tsk ? TskModel::kName : SonfinModel::kName;
  move_entry(*training, "last", *network, "last");
  if (tsk) {
    make_system(*network);
    if (const auto last = network->find("last"); last != network->end()) make_system(*last);
    move_entry(*training, "antecedents", *network, "antecedents");
    move_entry(*training, "numbers", *network, "adaptation");
    network->emplace("adaptation", nlohmann::json::object());
  } else {
    move_entry(*training, "log_threshold", *network, "log_threshold");
    move_entry(body, "hyperparameters", *network, "hyperparameters");
  }
  const auto history = training->find("history");
  if (history == training->end() || !history->is_array()) return body;
  for (nlohmann::json& record : *history) {
    if (record.is_object()) move_entry(record, "rules", record["counts"], "rules");
  }
  return body;
}

}  // namespace heddle
