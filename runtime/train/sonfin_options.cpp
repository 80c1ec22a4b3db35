#include "heddle/runtime/train/sonfin_options.hpp"

#include <utility>

namespace heddle {

const std::vector<Option>& sonfin_options() {
  using enum Option::Kind;
  constexpr double kLargeNumber = 1e30;
  static const std::vector<Option> options{
      {.name = "epochs",
       .kind = integer,
       .default_value = "10",
       .meaning = "passes over the training rows, those of a resumed model counted",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "max-rules",
       .kind = integer,
       .default_value = "500",
       .meaning = "no more rules than this",
       .minimum = 1,
       .maximum = 1 << 20},
      {.name = "threshold",
       .default_value = "0.5",
       .meaning = "a row whose strongest rule fires no more than this adds a rule",
       .minimum = 0,
       .maximum = 1,
       .exclusive_minimum = true},
      {.name = "threshold-decay",
       .default_value = "1",
       .meaning = "by how much log(threshold) falls each epoch",
       .minimum = 0,
       .maximum = 1000},
      {.name = "overlap",
       .default_value = "0.6",
       .meaning = "width of a new rule over its distance to the nearest",
       .minimum = 0,
       .maximum = 1000,
       .exclusive_minimum = true},
      {.name = "learning-rate",
       .default_value = "0.3",
       .meaning = "step size of the consequents",
       .minimum = 0,
       .maximum = 1000},
      {.name = "antecedent-rate",
       .default_value = "0.15",
       .meaning = "step size of centres and widths",
       .minimum = 0,
       .maximum = 1000},
      {.name = "step",
       .kind = choice,
       .default_value = "scaled",
       .meaning = "antecedent steps times the squared width, or as published",
       .choices = {"scaled", "plain"}},
      {.name = "width",
       .kind = choice,
       .default_value = "distance",
       .meaning = "a new rule's width from the distance to the nearest rule, or from its square",
       .choices = {"distance", "squared"}},
      {.name = "initial-width",
       .default_value = "0",
       .meaning = "width of the first rule; 0: from the inputs' variances",
       .minimum = 0,
       .maximum = kLargeNumber},
      {.name = "minimum-width",
       .default_value = "0.001",
       .meaning = "no width becomes smaller",
       .minimum = 0,
       .maximum = kLargeNumber,
       .exclusive_minimum = true},
      {.name = "scale",
       .kind = choice,
       .default_value = "minmax",
       .meaning = "map of the inputs, made from the training rows",
       .choices = {"none", "minmax", "zscore"}},
      {.name = "shuffle", .kind = flag, .default_value = "true", .meaning = "a new order of the rows in each epoch"},
      {.name = "seed",
       .kind = integer,
       .default_value = "1",
       .meaning = "of the order of the rows",
       .minimum = 0,
       .maximum = 9007199254740992.0},
      {.name = "validation",
       .default_value = "0",
       .meaning = "fraction of the training rows kept back to find the best epoch",
       .minimum = 0,
       .maximum = 0.9},
      {.name = "patience",
       .kind = integer,
       .default_value = "5",
       .meaning = "epochs without a better validation error before training ends",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "target-error",
       .default_value = "0",
       .meaning = "training ends at this mean error; 0: never",
       .minimum = 0,
       .maximum = kLargeNumber}};
  return options;
}

sonfin::Hyperparameters hyperparameters(const OptionValues& options, double spread) {
  sonfin::Hyperparameters h;
  h.consequent_rate = options.number("learning-rate");
  h.antecedent_rate = options.number("antecedent-rate");
  h.threshold = options.number("threshold");
  h.overlap = options.number("overlap");
  h.minimum_width = options.number("minimum-width");
  // The option is the width itself, while first_width is still to be multiplied by the overlap.
  const double initial = options.number("initial-width");
  h.first_width = initial > 0.0 ? initial / h.overlap : spread;
  h.step = options.word("step") == "plain" ? sonfin::Step::plain : sonfin::Step::scaled;
  h.width = options.word("width") == "squared" ? sonfin::Width::squared : sonfin::Width::distance;
  h.max_rules = options.integer("max-rules");
  return h;
}

}  // namespace heddle
