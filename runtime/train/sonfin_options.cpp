#include "heddle/runtime/train/sonfin_options.hpp"

#include <utility>

#include "heddle/runtime/train/rule_options.hpp"

namespace heddle {

const std::vector<Option>& sonfin_options() {
  using enum Option::Kind;
  static const std::vector<Option> options = with_common_options(
      {{.name = "max-rules",
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
        .minimum = 1e-9,
        .maximum = 1000},
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
        .maximum = kLargestWidth},
       {.name = "shuffle", .kind = flag, .default_value = "true", .meaning = "a new order of the rows in each epoch"},
       minimum_width_option("0.001")},
      {.epochs = "10",
       .epochs_meaning = "passes over the training rows",
       .seed_meaning = "of the order of the rows",
       .patience = "5"});
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
