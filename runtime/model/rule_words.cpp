#include "heddle/runtime/model/rule_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using Document = nlohmann::ordered_json;

/// Words for places from the lowest to the highest of so many.
std::string word_of(std::int64_t place, std::int64_t places) {
  static const std::array<std::vector<const char*>, 7> words{
      {{"any"},
       {"low", "high"},
       {"low", "medium", "high"},
       {"very low", "low", "high", "very high"},
       {"very low", "low", "medium", "high", "very high"},
       {"lowest", "very low", "low", "high", "very high", "highest"},
       {"lowest", "very low", "low", "medium", "high", "very high", "highest"}}};
  if (places > static_cast<std::int64_t>(words.size())) return fmt::format("set {} of {}", place + 1, places);
  return words[at(places - 1)][at(place)];
}

}  // namespace

RuleWords::RuleWords(const RuleBase& rules, const Model& model, const std::vector<std::int64_t>& sets)
    : rules_(rules), model_(model) {
  if (rules.rules() == 0) return;
  for (std::int64_t j = 0; j < rules.dim; ++j) {
    places_.push_back(sets.empty() ? 5 : sets[at(j) % sets.size()]);
    double least = centre(0, j), most = least;
    for (std::int64_t k = 1; k < rules.rules(); ++k) {
      least = std::min(least, centre(k, j));
      most = std::max(most, centre(k, j));
    }
    least_.push_back(least);
    most_.push_back(most);
  }
}

Description RuleWords::describe() const {
  Description result;
  result.columns = {{.title = "rule", .number = true},
                    {.title = "input"},
                    {.title = "set"},
                    {.title = "mean", .number = true},
                    {.title = "standard deviation", .number = true}};
  result.sentences.reserve(at(rules_.rules()));
  result.cells.reserve(rules_.centres.size());
  for (std::int64_t k = 0; k < rules_.rules(); ++k) {
    result.sentences.push_back(sentence(k));
    for (std::int64_t j = 0; j < rules_.dim; ++j) {
      const Membership set = membership(k, j);
      result.cells.push_back({std::to_string(k + 1), input(j), set.word, fmt::format("{:.4g}", set.mean),
                              fmt::format("{:.4g}", set.deviation)});
    }
  }
  return result;
}

Document RuleWords::document() const {
  Document all = Document::array();
  for (std::int64_t k = 0; k < rules_.rules(); ++k) {
    Document sets = Document::array(), consequents = Document::array();
    for (std::int64_t j = 0; j < rules_.dim; ++j) {
      const Membership set = membership(k, j);
      sets.push_back(
          {{"input", input(j)}, {"word", set.word}, {"mean", set.mean}, {"standard_deviation", set.deviation}});
    }
    for (std::int64_t l = 0; l < rules_.outputs; ++l) {
      const std::vector<double> values = consequent(k, l);
      consequents.push_back({{"output", output(l)},
                             {"constant", values.front()},
                             {"slopes", std::vector<double>(values.begin() + 1, values.end())}});
    }
    all.push_back({{"sets", std::move(sets)}, {"consequents", std::move(consequents)}, {"words", sentence(k)}});
  }
  Document result;
  result["rules"] = std::move(all);
  return result;
}

RuleWords::Membership RuleWords::membership(std::int64_t rule, std::int64_t input) const {
  const double c = centre(rule, input), range = most_[at(input)] - least_[at(input)];
  const double factor = model_.inputs.factor[at(input)], offset = model_.inputs.offset[at(input)];
  const double deviation =
      static_cast<double>(rules_.widths[at(rule * rules_.dim + input)]) / rules_.widths_per_deviation;
  const std::int64_t places = range > 0.0 ? places_[at(input)] : 1;
  const double place = range > 0.0 ? (c - least_[at(input)]) / range * static_cast<double>(places - 1) : 0.0;
  return {.mean = factor == 0.0 ? offset : c / factor + offset,
          .deviation = factor == 0.0 ? 0.0 : deviation / std::abs(factor),
          .word = word_of(std::llround(place), places)};
}

std::vector<double> RuleWords::consequent(std::int64_t rule, std::int64_t output) const {
  const bool regress = model_.task == Task::regress;
  const double unit = regress && model_.targets.factor[at(output)] != 0.0 ? 1.0 / model_.targets.factor[at(output)]
                      : regress                                           ? 0.0
                                                                          : 1.0;
  const std::span<const float> numbers = rules_.consequents.subspan(at(rule * rules_.numbers()));
  std::vector<double> values{static_cast<double>(numbers[at(output)]) * unit +
                             (regress ? model_.targets.offset[at(output)] : 0.0)};
  for (std::int64_t j = 0; rules_.order != 0 && j < rules_.dim; ++j) {
    const double slope = static_cast<double>(numbers[at((j + 1) * rules_.outputs + output)]) * unit;
    values.push_back(slope * model_.inputs.factor[at(j)]);
    values.front() -= slope * model_.inputs.factor[at(j)] * model_.inputs.offset[at(j)];
  }
  return values;
}

std::string RuleWords::input(std::int64_t j) const {
  return model_.input_names.empty() ? fmt::format("input {}", j + 1) : model_.input_names[at(j)];
}

std::string RuleWords::output(std::int64_t l) const {
  if (model_.task == Task::classify) return model_.classes[at(l)];
  return model_.target_names.empty() ? fmt::format("output {}", l + 1) : model_.target_names[at(l)];
}

std::string RuleWords::sentence(std::int64_t rule) const {
  constexpr std::size_t kLongestName = 40;
  std::string text = "IF ";
  for (std::int64_t j = 0; j < rules_.dim; ++j) {
    text += fmt::format("{}{} is {}", j == 0 ? "" : " and ", brief(input(j), kLongestName), membership(rule, j).word);
  }
  text += " THEN ";
  for (std::int64_t l = 0; l < rules_.outputs; ++l) {
    const std::vector<double> values = consequent(rule, l);
    text += fmt::format("{}{} = {:.4g}", l == 0 ? "" : ", ", brief(output(l), kLongestName), values.front());
    for (std::size_t j = 1; j < values.size(); ++j) {
      text += fmt::format(" {} {:.4g} {}", values[j] < 0 ? "-" : "+", std::abs(values[j]),
                          brief(input(static_cast<std::int64_t>(j) - 1), kLongestName));
    }
  }
  return text;
}

double RuleWords::centre(std::int64_t rule, std::int64_t input) const {
  return static_cast<double>(rules_.centres[at(rule * rules_.dim + input)]);
}

}  // namespace heddle
