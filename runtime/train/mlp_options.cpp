#include "heddle/runtime/train/mlp_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/random.hpp"
#include "heddle/runtime/model/mlp_model.hpp"

namespace heddle {

namespace {

constexpr std::string_view kAuto = "auto";

struct RuleOption {
  std::string_view option;
  std::array<bool, 4> rules;  ///< plain, adaptive, rprop, adam: whether it has a meaning there
};
constexpr std::array kRuleOptions{
    RuleOption{"rate", {true, false, false, true}},           RuleOption{"gradient", {true, false, false, false}},
    RuleOption{"first-step", {false, true, true, false}},     RuleOption{"step-up", {false, true, true, false}},
    RuleOption{"step-down", {false, true, true, false}},      RuleOption{"largest-step", {false, true, true, false}},
    RuleOption{"smallest-step", {false, false, true, false}}, RuleOption{"momentum", {false, true, false, false}},
    RuleOption{"robust", {false, true, false, false}},        RuleOption{"error-growth", {false, true, false, false}},
    RuleOption{"robust-factor", {false, true, false, false}}, RuleOption{"beta1", {false, false, false, true}},
    RuleOption{"beta2", {false, false, false, true}}};

[[noreturn]] void refuse_option(std::string_view option, std::string_view found, const std::string& expected) {
  throw Error(ErrorKind::usage, fmt::format("--{}: found {}, expected {}", option, found, expected));
}

/// An option whose default, 0, stands for the published constant of the rule.
void set_if_zero(OptionValues& options, const char* name, float published) {
  if (options.number(name) == 0.0) options.set(name, fmt::format("{}", published));
}

/// Of resolved options: a step that only shrinks, or cannot be as its bounds say, is a mistake.
void check_steps(const OptionValues& options, mlp::Rule rule) {
  if (options.number("step-up") < 1.0) refuse_option("step-up", options.word("step-up"), "0 or a number from 1");
  const auto check_below_largest = [&](const char* step) {
    if (options.number(step) <= options.number("largest-step")) return;
    refuse_option(step, options.word(step), fmt::format("at most --largest-step {}", options.word("largest-step")));
  };
  check_below_largest("first-step");
  if (rule == mlp::kRprop) check_below_largest("smallest-step");
}

}  // namespace

const std::vector<Option>& mlp_options() {
  using enum Option::Kind;
  constexpr double kLargestRate = 1e6;
  static const std::vector<Option> options = with_common_options(
      {{.name = "layers",
        .kind = integers,
        .default_value = "64",
        .meaning = "neurons of each hidden layer, up to 8 layers; '': none, a linear or logistic model",
        .minimum = 1,
        .maximum = static_cast<double>(mlp::kMostNeurons)},
       {.name = "hidden",
        .kind = choice,
        .default_value = "relu",
        .meaning = "activation of the hidden layers",
        .choices = {"relu", "sigmoid", "tanh", "linear"}},
       {.name = "output",
        .kind = choice,
        .default_value = "auto",
        .meaning = "activation of the outputs; softmax has the cross-entropy as its error, others half the squared "
                   "error; auto: softmax for classes, linear for numbers",
        .choices = {"auto", "softmax", "sigmoid", "linear"}},
       {.name = "target-scale",
        .kind = choice,
        .default_value = "auto",
        .meaning = "map of the numbers to be predicted; auto: minmax with --output sigmoid, else zscore",
        .choices = {"auto", "none", "minmax", "zscore"}},
       {.name = "rule",
        .kind = choice,
        .default_value = "adam",
        .meaning =
            "how weights follow from gradients; adaptive: a step for every weight, with momentum (Toman); rprop: "
            "iRPROP-",
        .choices = {"adam", "plain", "adaptive", "rprop"}},
       {.name = "batch",
        .kind = integer,
        .default_value = "64",
        .meaning = "rows of one step; 1: online; 0: all, which is the default of all rules but adam",
        .minimum = 0,
        .maximum = static_cast<double>(mlp::kMostRows)},
       {.name = "shuffle", .kind = flag, .default_value = "true", .meaning = "a new order of the rows in each epoch"},
       {.name = "rate",
        .default_value = "0",
        .meaning = "step size of the rules adam and plain; 0: 0.001 for adam, 0.1 for plain",
        .minimum = 0,
        .maximum = kLargestRate},
       {.name = "gradient",
        .kind = choice,
        .default_value = "mean",
        .meaning = "of the rule plain: mean or sum over the rows of a step",
        .choices = {"mean", "sum"}},
       {.name = "weight-decay",
        .default_value = "0",
        .meaning = "part of every weight that a step takes away, times the rate or the weight's own step",
        .minimum = 0,
        .maximum = 1000},
       {.name = "initial-weights",
        .default_value = "0",
        .meaning = "weights and biases begin uniformly from minus this to this; 0: by the number of inputs (Glorot; He "
                   "for relu), biases 0",
        .minimum = 0,
        .maximum = 1000},
       {.name = "first-step",
        .default_value = "0",
        .meaning = "of every weight, rules adaptive and rprop; 0: as published, 0.5 or 0.0125",
        .minimum = 0,
        .maximum = kLargestRate},
       {.name = "step-up",
        .default_value = "0",
        .meaning = "factor of a step whose gradient keeps its sign, from 1; 0: as published, 1.9 or 1.2",
        .minimum = 0,
        .maximum = 1000},
       {.name = "step-down",
        .default_value = "0",
        .meaning = "factor of a step whose gradient changes its sign; 0: as published, 0.1 or 0.5",
        .minimum = 0,
        .maximum = 1},
       {.name = "largest-step",
        .default_value = "0",
        .meaning = "no step grows beyond it; 0: as published, 10 or 50",
        .minimum = 0,
        .maximum = kLargestRate},
       {.name = "smallest-step",
        .default_value = "1e-06",
        .meaning = "no step of the rule rprop shrinks below it; at most the largest",
        .minimum = 0,
        .maximum = kLargestRate},
       {.name = "momentum",
        .default_value = "0.7",
        .meaning = "of the rule adaptive: part of the last velocity that is kept",
        .minimum = 0,
        .maximum = 1},
       {.name = "robust",
        .kind = flag,
        .default_value = "true",
        .meaning = "of the rule adaptive: go back to the best weights when the error has grown"},
       {.name = "error-growth",
        .default_value = "0.02",
        .meaning = "of robust training: part by which the error may grow",
        .minimum = 0,
        .maximum = 1000},
       {.name = "robust-factor",
        .default_value = "0.5",
        .meaning = "of robust training: of every step after going back",
        .minimum = 0,
        .maximum = 1},
       {.name = "beta1",
        .default_value = "0.9",
        .meaning = "of the rule adam: decay of the mean of gradients",
        .minimum = 0,
        .maximum = 0.999999},
       {.name = "beta2",
        .default_value = "0.999",
        .meaning = "of the rule adam: decay of the mean of squared gradients",
        .minimum = 0,
        .maximum = 0.999999},
       {.name = "target-rms",
        .default_value = "0",
        .meaning = "training ends when half the root of the mean squared error of the outputs (Toman) falls to this; "
                   "0: never",
        .minimum = 0,
        .maximum = kLargeNumber},
       {.name = "report",
        .kind = integer,
        .default_value = "0",
        .meaning = "epochs between two lines of the report and two looks at the validation rows; 0: a tenth of all, or "
                   "1 with --validation",
        .minimum = 0,
        .maximum = 1e6}},
      {.epochs = "100",
       .epochs_meaning = "passes over the training rows",
       .seed_meaning = "of first weights, the order of the rows and the rows kept back",
       .patience = "20",
       .scale = "zscore"});
  return options;
}

mlp::Rule rule_of(const OptionValues& options) {
  const std::string& word = options.word("rule");
  return word == "plain"      ? mlp::kPlain
         : word == "adaptive" ? mlp::kAdaptive
         : word == "rprop"    ? mlp::kRprop
                              : mlp::kAdam;
}

void resolve_mlp_options(OptionValues& options, const OptionValues& asked, Task task, bool ranges_declared) {
  const mlp::Rule rule = rule_of(options);
  for (const RuleOption& option : kRuleOptions) {
    if (asked.is_set(option.option) && !option.rules[rule]) {
      throw Error(ErrorKind::usage,
                  fmt::format("--{}: it has no meaning with --rule {}", option.option, options.word("rule")));
    }
  }
  if (!options.is_set("batch") && rule != mlp::kAdam) options.set("batch", "0");
  if (options.integer("batch") != 0 && (rule == mlp::kAdaptive || rule == mlp::kRprop)) {
    refuse_option("batch", options.word("batch"),
                  fmt::format("0 with --rule {}: all rows at once", options.word("rule")));
  }
  if (options.word("output") == kAuto) options.set("output", task == Task::classify ? "softmax" : "linear");
  if (task == Task::regress && options.word("output") == "softmax") {
    refuse_option("output", "softmax", "sigmoid or linear for numbers");
  }
  if (asked.is_set("target-scale") && task == Task::classify) {
    throw Error(ErrorKind::usage, "--target-scale: it has no meaning for classes");
  }
  if (options.word("target-scale") == kAuto) {
    options.set("target-scale", options.word("output") == "sigmoid" || ranges_declared ? "minmax" : "zscore");
  }
  const mlp::Control published = mlp::published_control(rule, 1);
  set_if_zero(options, "rate", published.rate);
  if (rule == mlp::kAdaptive || rule == mlp::kRprop) {
    if (options.number("first-step") == 0.0) {
      options.set("first-step", fmt::format("{}", mlp::published_first_step(rule)));
    }
    set_if_zero(options, "step-up", published.step_up);
    set_if_zero(options, "step-down", published.step_down);
    set_if_zero(options, "largest-step", published.largest_step);
    check_steps(options, rule);
  }
}

mlp::Control mlp_control(const OptionValues& options, std::int64_t rows, std::int64_t outputs) {
  const auto number = [&](const char* name) { return static_cast<float>(options.number(name)); };
  mlp::Control control = mlp::published_control(rule_of(options), rows);
  const std::int64_t batch = options.integer("batch");
  if (batch > 0) control.batch = static_cast<int>(std::min(rows, batch));
  // With all rows at once their order changes nothing but the rounding of sums.
  control.shuffled = control.batch < control.rows && options.flag("shuffle") ? 1 : 0;
  control.hidden = activation_of(options.word("hidden")).value_or(mlp::kRelu);
  control.output = activation_of(options.word("output")).value_or(mlp::kLinear);
  control.gradient_sum = options.word("gradient") == "sum" ? 1 : 0;
  control.robust = control.rule == mlp::kAdaptive && options.flag("robust") ? 1 : 0;
  control.rate = number("rate");
  control.decay = number("weight-decay");
  control.momentum = number("momentum");
  control.step_up = number("step-up");
  control.step_down = number("step-down");
  control.largest_step = number("largest-step");
  control.smallest_step = number("smallest-step");
  control.error_growth = number("error-growth");
  control.robust_factor = number("robust-factor");
  control.beta1 = number("beta1");
  control.beta2 = number("beta2");
  // Errors are half the squared error elsewhere in heddle, and half the root of the mean square in Toman's publication.
  const auto count = static_cast<double>(rows);
  const double error = options.number("target-error"), rms = 2.0 * options.number("target-rms");
  if (error > 0.0) control.target_squares = 2.0 * error * count;
  if (rms > 0.0) {
    control.target_squares = std::max(control.target_squares, rms * rms * count * static_cast<double>(outputs));
  }
  return control;
}

mlp::Layers mlp_layers(const OptionValues& options, std::int64_t dim, std::int64_t outputs) {
  const std::vector<std::int64_t> hidden = options.integers("layers");
  if (hidden.size() > mlp::kMostHidden) {
    refuse_option("layers", fmt::format("{} hidden layers", hidden.size()),
                  fmt::format("at most {}", mlp::kMostHidden));
  }
  const mlp::Layers layers = mlp::layers(dim, hidden, outputs);
  if (layers.parameters() > mlp::kMostParameters) {
    refuse_option("layers", fmt::format("{}, which has {} weights", mlp::text(layers), layers.parameters()),
                  fmt::format("at most {}", mlp::kMostParameters));
  }
  return layers;
}

std::vector<float> first_weights(const OptionValues& options, const mlp::Layers& layers) {
  Random random(static_cast<std::uint64_t>(options.integer("seed")));
  const double range = options.number("initial-weights");
  std::vector<float> weights(static_cast<std::size_t>(layers.parameters()), 0.0F);
  for (int l = 0; l < layers.count; ++l) {
    const bool rectified = l + 1 < layers.count && options.word("hidden") == "relu";
    const double fan = rectified ? layers.sizes[l] : layers.sizes[l] + layers.sizes[l + 1];
    const double reach = range > 0.0 ? range : std::sqrt(6.0 / fan);
    const std::int64_t end = range > 0.0 ? layers.weights_at(l + 1) : layers.biases_at(l);
    for (std::int64_t i = layers.weights_at(l); i < end; ++i) {
      weights[static_cast<std::size_t>(i)] = static_cast<float>(reach * random.symmetric());
    }
  }
  return weights;
}

}  // namespace heddle
