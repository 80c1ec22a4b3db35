#include "heddle/runtime/model/tsk_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <sstream>

#include "heddle/runtime/model/cbor_map.hpp"
#include "heddle/runtime/model/checks.hpp"
#include "heddle/runtime/model/rule_base.hpp"
#include "heddle/runtime/model/rule_words.hpp"

namespace heddle {

namespace {

void encode_parameters(const tsk::System& system, nlohmann::json& into) {
  into["dim"] = system.dim;
  into["outputs"] = system.outputs;
  into["order"] = system.order;
  into["rules"] = system.rules();
  into["centres"] = packed(system.centres);
  into["standard_deviations"] = packed(system.widths);
  into["consequents"] = packed(system.consequents);
}

tsk::System decode_tsk(const CborMap& from) {
  tsk::System system;
  system.dim = from.whole("dim", 1, kLargestExtent);
  system.outputs = from.whole("outputs", 1, kLargestExtent);
  system.order = static_cast<int>(from.whole("order", 0, 1));
  // Products stay below 2^63.
  const std::int64_t rules = from.whole("rules", 0, system.order == 0 ? kLargestExtent : 1 << 14);
  system.centres = from.values<float>("centres", rules * system.dim);
  system.widths = from.values<float>("standard_deviations", rules * system.dim);
  system.consequents = from.values<float>("consequents", rules * system.terms() * system.outputs);
  return system;
}

/// Calls visit(name, number) for every number.
template <class Adaptation, class Visit>
void for_each_number(Adaptation& adaptation, const Visit& visit) {
  visit("step", adaptation.step);
  visit("grown", adaptation.grown);
  visit("shrunk", adaptation.shrunk);
  visit("ridges", adaptation.ridges);
  for (std::size_t i = 0; i < adaptation.recent.size(); ++i) visit(fmt::format("recent {}", i), adaptation.recent[i]);
}

void check_antecedents(const std::vector<double>& antecedents, const tsk::System& of, const std::string& source) {
  if (antecedents.empty()) return;
  const std::size_t half = of.centres.size();
  require(source, wrong_count("antecedents", antecedents.size(), 2 * static_cast<std::int64_t>(half)));
  const std::span<const double> all(antecedents);
  require(source, out_of_range("antecedent centre", all.first(half), 0.0, kLargestAntecedent));
  require(source, out_of_range("antecedent width", all.subspan(half), 0.5 * kLeastWidth, kLargestAntecedent));
  if (std::ranges::any_of(all.subspan(half), [](double width) { return width < 0.0; })) {
    refuse_model(source, "an antecedent width below 0", "widths above 0");
  }
}

/// How many words each input has: as many as the trainer was told to make sets, which is only a text in a file.
std::vector<std::int64_t> words_of_inputs(const std::map<std::string, std::string>& options) {
  std::vector<std::int64_t> sets;
  const auto found = options.find("sets");
  if (found == options.end()) return sets;
  std::istringstream texts(found->second);
  for (std::string text; std::getline(texts, text, ',');) {
    std::int64_t count = 1;
    (void)std::from_chars(text.data(), text.data() + text.size(), count);
    sets.push_back(std::clamp<std::int64_t>(count, 1, 1000));
  }
  return sets;
}

}  // namespace

TskModel TskModel::untaught(std::int64_t dim, std::int64_t outputs) {
  TskModel model;
  model.system.dim = dim;
  model.system.outputs = outputs;
  return model;
}

NetworkSize TskModel::size() const { return size_of(system.rules()); }

std::string TskModel::unready() const { return without_rules(rule_base(system)); }

double TskModel::largest_input() const { return heddle::largest_input(rule_base(system)); }

void TskModel::check(const std::string& source) const {
  require(source, fault(rule_base(system)));
  if (last) {
    require(source, fault(rule_base(*last)));
    check_same_sizes(rule_base(*last), rule_base(system), source);
    if (last->rules() != system.rules() || last->order != system.order) {
      refuse_model(source, "a system to go on from with other rules than the model's",
                   "as many, with the same consequents");
    }
    check_antecedents(antecedents, *last, source);
  }
  for_each_number(adaptation, [&](const std::string& name, double number) {
    if (!std::isfinite(number)) refuse_model(source, fmt::format("{} at '{}'", number, name), "a finite number");
  });
}

void TskModel::encode(nlohmann::json& into) const {
  encode_parameters(system, into);
  nlohmann::json& numbers = into["adaptation"] = nlohmann::json::object();
  for_each_number(adaptation, [&](const std::string& name, double number) { numbers[name] = number; });
  if (!last) return;
  encode_parameters(*last, into["last"]);
  if (!antecedents.empty()) into["antecedents"] = packed(antecedents);
}

TskModel TskModel::decode(const CborMap& from) {
  TskModel model;
  model.system = decode_tsk(from);
  const std::map<std::string, double> numbers = from.numbers("adaptation");
  for_each_number(model.adaptation, [&](const std::string& name, double& number) {
    if (const auto found = numbers.find(name); found != numbers.end()) number = found->second;
  });
  if (!from.has("last")) return model;
  model.last = decode_tsk(from.map("last"));
  if (from.has("antecedents")) {
    model.antecedents = from.values<double>("antecedents", 2 * model.last->rules() * model.last->dim);
  }
  return model;
}

Description TskModel::describe(const Model& model) const {
  const RuleBase rules = rule_base(system);
  return RuleWords(rules, model, words_of_inputs(model.training.options)).describe();
}

nlohmann::ordered_json TskModel::document(const Model& model) const {
  const RuleBase rules = rule_base(system);
  return RuleWords(rules, model, words_of_inputs(model.training.options)).document();
}

std::int64_t TskModel::largest_bytes(std::int64_t rules) const {
  constexpr std::int64_t kSystems = 2;  // the best, and the last
  const std::int64_t floats = rules * (2 * dim() + system.terms() * outputs());
  const std::int64_t doubles = 2 * rules * dim();
  return static_cast<std::int64_t>(sizeof(float)) * kSystems * floats +
         static_cast<std::int64_t>(sizeof(double)) * doubles;
}

}  // namespace heddle
