// heddle inspect: the rules of a model in words, and its membership functions as numbers.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <numbers>
#include <sstream>

#include "heddle/cli/command.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/model/model_file.hpp"

namespace heddle::cli {
namespace {

struct InspectOptions {
  Common common;
  std::string model;
};

/// A Gaussian in the data's own units: exp(-((x - mean) / deviation)^2 / 2).
struct Membership {
  double mean = 0.0, deviation = 0.0;
  std::string word;
};

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
  return words[static_cast<std::size_t>(places - 1)][static_cast<std::size_t>(place)];
}

class Rules {
 public:
  explicit Rules(const Model& model) : model_(model), network_(model.network) {
    // As the trainer was told, which is only a text in a file.
    std::vector<std::int64_t> sets;
    if (const auto found = model.training.options.find("sets"); found != model.training.options.end()) {
      std::istringstream texts(found->second);
      for (std::string text; std::getline(texts, text, ',');) {
        std::int64_t count = 1;
        (void)std::from_chars(text.data(), text.data() + text.size(), count);
        sets.push_back(std::clamp<std::int64_t>(count, 1, 1000));
      }
    }
    if (network_.rules() == 0) return;
    for (std::int64_t j = 0; j < network_.dim; ++j) {
      places_.push_back(sets.empty() ? 5 : sets[at(j) % sets.size()]);
      double least = centre(0, j), most = least;
      for (std::int64_t k = 1; k < network_.rules(); ++k) {
        least = std::min(least, centre(k, j));
        most = std::max(most, centre(k, j));
      }
      least_.push_back(least);
      most_.push_back(most);
    }
  }

  [[nodiscard]] Membership membership(std::int64_t rule, std::int64_t input) const {
    const double c = centre(rule, input), range = most_[at(input)] - least_[at(input)];
    const double factor = model_.inputs.factor[at(input)], offset = model_.inputs.offset[at(input)];
    const double deviation =
        static_cast<double>(network_.widths[at(rule * network_.dim + input)]) / std::numbers::sqrt2;
    const std::int64_t places = range > 0.0 ? places_[at(input)] : 1;
    const double place = range > 0.0 ? (c - least_[at(input)]) / range * static_cast<double>(places - 1) : 0.0;
    return {.mean = factor == 0.0 ? offset : c / factor + offset,
            .deviation = factor == 0.0 ? 0.0 : deviation / std::abs(factor),
            .word = word_of(std::llround(place), places)};
  }

  /// The numbers of a rule's consequent for one output, in the data's own units: a constant, and slopes if there are
  /// any.
  [[nodiscard]] std::vector<double> consequent(std::int64_t rule, std::int64_t output) const {
    const bool regress = model_.task == Task::regress;
    const double unit = regress && model_.targets.factor[at(output)] != 0.0 ? 1.0 / model_.targets.factor[at(output)]
                        : regress                                           ? 0.0
                                                                            : 1.0;
    const float* numbers = network_.consequents.data() + rule * network_.numbers();
    std::vector<double> values{static_cast<double>(numbers[output]) * unit +
                               (regress ? model_.targets.offset[at(output)] : 0.0)};
    for (std::int64_t j = 0; network_.order != 0 && j < network_.dim; ++j) {
      const double slope = static_cast<double>(numbers[(j + 1) * network_.outputs + output]) * unit;
      values.push_back(slope * model_.inputs.factor[at(j)]);
      values.front() -= slope * model_.inputs.factor[at(j)] * model_.inputs.offset[at(j)];
    }
    return values;
  }

  [[nodiscard]] std::string input(std::int64_t j) const {
    return model_.input_names.empty() ? fmt::format("input {}", j + 1) : model_.input_names[at(j)];
  }
  [[nodiscard]] std::string output(std::int64_t l) const {
    if (model_.task == Task::classify) return model_.classes[at(l)];
    return model_.target_names.empty() ? fmt::format("output {}", l + 1) : model_.target_names[at(l)];
  }

  /// Long names are shortened in it.
  [[nodiscard]] std::string sentence(std::int64_t rule) const {
    constexpr std::size_t kLongestName = 40;
    std::string text = "IF ";
    for (std::int64_t j = 0; j < network_.dim; ++j) {
      text += fmt::format("{}{} is {}", j == 0 ? "" : " and ", brief(input(j), kLongestName), membership(rule, j).word);
    }
    text += " THEN ";
    for (std::int64_t l = 0; l < network_.outputs; ++l) {
      const std::vector<double> values = consequent(rule, l);
      text += fmt::format("{}{} = {:.4g}", l == 0 ? "" : ", ", brief(output(l), kLongestName), values.front());
      for (std::size_t j = 1; j < values.size(); ++j) {
        text += fmt::format(" {} {:.4g} {}", values[j] < 0 ? "-" : "+", std::abs(values[j]),
                            brief(input(static_cast<std::int64_t>(j) - 1), kLongestName));
      }
    }
    return text;
  }

  [[nodiscard]] Json json(std::int64_t rule) const {
    Json sets = Json::array(), consequents = Json::array();
    for (std::int64_t j = 0; j < network_.dim; ++j) {
      const Membership set = membership(rule, j);
      sets.push_back(
          {{"input", input(j)}, {"word", set.word}, {"mean", set.mean}, {"standard_deviation", set.deviation}});
    }
    for (std::int64_t l = 0; l < network_.outputs; ++l) {
      const std::vector<double> values = consequent(rule, l);
      consequents.push_back({{"output", output(l)},
                             {"constant", values.front()},
                             {"slopes", std::vector<double>(values.begin() + 1, values.end())}});
    }
    return {{"sets", sets}, {"consequents", consequents}, {"words", sentence(rule)}};
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] double centre(std::int64_t rule, std::int64_t input) const {
    return static_cast<double>(network_.centres[at(rule * network_.dim + input)]);
  }

  const Model& model_;
  const sonfin::Network& network_;
  std::vector<std::int64_t> places_;  // of each input
  std::vector<double> least_, most_;  // centres
};

int run(const InspectOptions& options) {
  const Model model = load_model(options.model);
  const Rules rules(model);
  if (options.common.json) {
    Json all = Json::array();
    for (std::int64_t k = 0; k < model.network.rules(); ++k) all.push_back(rules.json(k));
    print_document("inspect", {{"model", options.model},
                               {"network", model.training.trainer},
                               {"task", model.task == Task::classify ? "classify" : "regress"},
                               {"epochs", model.training.epochs},
                               {"rules", all}});
    return 0;
  }
  print(fmt::format("{}: {} rules, {} inputs, {} outputs; {} epochs of {}\n\n", options.model, model.network.rules(),
                    model.network.dim, model.network.outputs, model.training.epochs, model.training.trainer));
  for (std::int64_t k = 0; k < model.network.rules(); ++k) {
    print(fmt::format("{:>4}  {}\n", k + 1, rules.sentence(k)), std::string_view::npos);
  }
  Table table({{.title = "rule", .align = Table::Align::right},
               {.title = "input", .align = Table::Align::left},
               {.title = "set", .align = Table::Align::left},
               {.title = "mean", .align = Table::Align::right},
               {.title = "standard deviation", .align = Table::Align::right}});
  for (std::int64_t k = 0; k < model.network.rules(); ++k) {
    for (std::int64_t j = 0; j < model.network.dim; ++j) {
      const Membership set = rules.membership(k, j);
      table.row({std::to_string(k + 1), rules.input(j), set.word, fmt::format("{:.4g}", set.mean),
                 fmt::format("{:.4g}", set.deviation)});
    }
  }
  print("\n" + table.text());
  return 0;
}

}  // namespace

void add_inspect(Command& program) {
  Command command = program.add("inspect", "Show the rules of a model in words, and its sets as numbers");
  const auto options = std::make_shared<InspectOptions>();
  command.positional("model", "MODEL", "What 'heddle train' wrote", options->model);
  add_common(command, options->common);
  command.action([options] { return run(*options); });
}

}  // namespace heddle::cli
