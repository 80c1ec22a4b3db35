#include "heddle/runtime/train/tsk_options.hpp"

#include "heddle/runtime/train/rule_options.hpp"

namespace heddle {

const std::vector<Option>& tsk_options() {
  using enum Option::Kind;
  static const std::vector<Option> options = with_common_options(
      {{.name = "sets",
        .kind = integers,
        .default_value = "",
        .meaning = "fuzzy sets of each input, evenly spread, all combinations as rules: 5,7; one number is for every "
                   "input; default: 5 for 1 or 2 inputs, 2 for 3 or 4",
        .minimum = 1,
        .maximum = 1000},
       {.name = "rules",
        .kind = integer,
        .default_value = "0",
        .meaning = "rules at the centres of clusters of rows instead; default: 16 for more than 4 inputs",
        .minimum = 0,
        .maximum = 8192},
       {.name = "consequents",
        .kind = choice,
        .default_value = "constant",
        .meaning = "what a rule says",
        .choices = {"constant", "linear"}},
       {.name = "step-size",
        .default_value = "0.02",
        .meaning = "length of the first step of all centres and widths together, in scaled inputs; later ones adapt",
        .minimum = 0,
        .maximum = kLargestStep},
       {.name = "rate",
        .default_value = "0",
        .meaning = "step as the gradient times this instead; 0: of adapted length",
        .minimum = 0,
        .maximum = kLargestStep},
       {.name = "ridge",
        .default_value = "0",
        .meaning = "weight of small consequents, times the largest sum of squared activations",
        .minimum = 0,
        .maximum = kLargeNumber},
       {.name = "report",
        .kind = integer,
        .default_value = "0",
        .meaning = "epochs between two lines of the report; 0: a tenth of all",
        .minimum = 0,
        .maximum = 1e6},
       minimum_width_option("0.01")},
      {.epochs = "100",
       .epochs_meaning = "iterations over all training rows",
       .seed_meaning = "of the clusters and the rows kept back",
       .patience = "20"});
  return options;
}

tsk::Control tsk_control(const OptionValues& options) {
  const auto number = [&](const char* name) { return static_cast<float>(options.number(name)); };
  // Errors are half the squared error elsewhere in heddle, as docs/design.md says.
  return {.all = {},
          .rows = 0,
          .held_back = 0,
          .end = 0,
          .patience = static_cast<int>(options.integer("patience")),
          .plain_step = options.number("rate") > 0.0 ? 1 : 0,
          .rate = number("rate"),
          .minimum_width = number("minimum-width"),
          .ridge = number("ridge"),
          .target_error = 2.0F * number("target-error")};
}

}  // namespace heddle
