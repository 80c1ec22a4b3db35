// Rules in words, "IF x is low THEN z = 3", and their sets as numbers, in the units of the data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "heddle/runtime/model/description.hpp"
#include "heddle/runtime/model/model.hpp"
#include "heddle/runtime/model/rule_base.hpp"

namespace heddle {

class RuleWords {
 public:
  /// `rules`: of `model`, which gives names and units; both must outlive this. `sets`: how many words each input has,
  /// or one number for all of them; none: 5.
  RuleWords(const RuleBase& rules, const Model& model, const std::vector<std::int64_t>& sets = {});

  /// A sentence for each rule, and a table with a row for each set.
  [[nodiscard]] Description describe() const;
  /// "rules": an array.
  [[nodiscard]] nlohmann::ordered_json document() const;

 private:
  /// A Gaussian in the data's own units: exp(-((x - mean) / deviation)^2 / 2).
  struct Membership {
    double mean = 0.0, deviation = 0.0;
    std::string word;
  };
  [[nodiscard]] Membership membership(std::int64_t rule, std::int64_t input) const;
  /// The numbers of a rule's consequent for one output, in the data's own units: a constant, and slopes if there are
  /// any.
  [[nodiscard]] std::vector<double> consequent(std::int64_t rule, std::int64_t output) const;
  [[nodiscard]] std::string input(std::int64_t j) const;
  [[nodiscard]] std::string output(std::int64_t l) const;
  /// Long names are shortened in it.
  [[nodiscard]] std::string sentence(std::int64_t rule) const;
  [[nodiscard]] double centre(std::int64_t rule, std::int64_t input) const;

  const RuleBase& rules_;
  const Model& model_;
  std::vector<std::int64_t> places_;  // words of each input
  std::vector<double> least_, most_;  // centres
};

}  // namespace heddle
