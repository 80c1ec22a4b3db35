#include "heddle/runtime/model/sonfin_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heddle/runtime/model/cbor_map.hpp"
#include "heddle/runtime/model/checks.hpp"
#include "heddle/runtime/model/rule_base.hpp"
#include "heddle/runtime/model/rule_words.hpp"

namespace heddle {

namespace {

void encode_parameters(const sonfin::Network& network, nlohmann::json& into) {
  into["dim"] = network.dim;
  into["outputs"] = network.outputs;
  into["rules"] = network.rules();
  into["centres"] = packed(network.centres);
  into["widths"] = packed(network.widths);
  into["consequents"] = packed(network.consequents);
}

sonfin::Network decode_sonfin(const CborMap& from) {
  sonfin::Network network;
  network.dim = from.whole("dim", 1, kLargestExtent);
  network.outputs = from.whole("outputs", 1, kLargestExtent);
  const std::int64_t rules = from.whole("rules", 0, kLargestExtent);
  network.centres = from.values<float>("centres", rules * network.dim);
  network.widths = from.values<float>("widths", rules * network.dim);
  network.consequents = from.values<float>("consequents", rules * network.outputs);
  return network;
}

nlohmann::json encode_hyperparameters(const sonfin::Hyperparameters& h) {
  return {{"consequent_rate", h.consequent_rate},
          {"antecedent_rate", h.antecedent_rate},
          {"threshold", h.threshold},
          {"overlap", h.overlap},
          {"minimum_width", h.minimum_width},
          {"first_width", h.first_width},
          {"step", h.step == sonfin::Step::plain ? "plain" : "scaled"},
          {"width", h.width == sonfin::Width::squared ? "squared" : "distance"},
          {"max_rules", h.max_rules}};
}

sonfin::Hyperparameters decode_hyperparameters(const CborMap& from) {
  return {.consequent_rate = from.number("consequent_rate"),
          .antecedent_rate = from.number("antecedent_rate"),
          .threshold = from.number("threshold"),
          .overlap = from.number("overlap"),
          .minimum_width = from.number("minimum_width"),
          .first_width = from.number("first_width"),
          .step = from.second("step", "scaled", "plain") ? sonfin::Step::plain : sonfin::Step::scaled,
          .width = from.second("width", "distance", "squared") ? sonfin::Width::squared : sonfin::Width::distance,
          .max_rules = from.whole("max_rules", 1, kLargestExtent)};
}

void check_hyperparameters(const sonfin::Hyperparameters& h, const std::string& source) {
  constexpr double kLarge = 1e30;
  check_range(source, "consequent rate", h.consequent_rate, 0.0, kLarge);
  check_range(source, "antecedent rate", h.antecedent_rate, 0.0, kLarge);
  check_range(source, "threshold", h.threshold, 0.0, 1.0);
  check_range(source, "overlap", h.overlap, 0.0, kLarge);
  check_range(source, "minimum width", h.minimum_width, 0.0, kLarge);
  check_range(source, "first width", h.first_width, 0.0, kLarge);
  if (h.max_rules < 1) refuse_model(source, fmt::format("a cap of {} rules", h.max_rules), "at least 1");
}

}  // namespace

SonfinModel SonfinModel::untaught(std::int64_t dim, std::int64_t outputs) {
  SonfinModel model;
  model.network.dim = dim;
  model.network.outputs = outputs;
  return model;
}

NetworkSize SonfinModel::size() const { return size_of(network.rules()); }

std::string SonfinModel::unready() const { return without_rules(rule_base(network)); }

double SonfinModel::largest_input() const { return heddle::largest_input(rule_base(network)); }

void SonfinModel::check(const std::string& source) const {
  require(source, fault(rule_base(network)));
  if (last) {
    require(source, fault(rule_base(*last)));
    check_same_sizes(rule_base(*last), rule_base(network), source);
  }
  check_hyperparameters(hyperparameters, source);
  if (std::isnan(log_threshold) || log_threshold > 0.0) {
    refuse_model(source, fmt::format("a log threshold of {}", log_threshold), "at most 0");
  }
}

void SonfinModel::encode(nlohmann::json& into) const {
  encode_parameters(network, into);
  into["hyperparameters"] = encode_hyperparameters(hyperparameters);
  into["log_threshold"] = log_threshold;
  if (last) encode_parameters(*last, into["last"]);
}

SonfinModel SonfinModel::decode(const CborMap& from) {
  SonfinModel model;
  model.network = decode_sonfin(from);
  model.hyperparameters = decode_hyperparameters(from.map("hyperparameters"));
  model.log_threshold = from.number("log_threshold");
  if (from.has("last")) model.last = decode_sonfin(from.map("last"));
  return model;
}

Description SonfinModel::describe(const Model& model) const {
  const RuleBase rules = rule_base(network);
  return RuleWords(rules, model).describe();
}

nlohmann::ordered_json SonfinModel::document(const Model& model) const {
  const RuleBase rules = rule_base(network);
  return RuleWords(rules, model).document();
}

std::int64_t SonfinModel::largest_bytes(std::int64_t rules) const {
  constexpr std::int64_t kNetworks = 2;  // the best, and the last
  return kNetworks * static_cast<std::int64_t>(sizeof(float)) * rules * (2 * dim() + outputs());
}

}  // namespace heddle
