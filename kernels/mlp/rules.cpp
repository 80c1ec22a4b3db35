#include "heddle/kernels/mlp/rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::mlp {

int state_arrays(Rule rule, bool robust) {
  switch (rule) {
    case kPlain:
      return 0;
    case kAdaptive:
      return robust ? kStateArrays : kBestArray;
    case kRprop:
    case kAdam:
      return 2;
  }
  return 0;
}

Control published_control(Rule rule, std::int64_t rows) {
  constexpr int kForever = std::numeric_limits<int>::max();
  Control control{};
  control.rows = control.batch = static_cast<int>(rows);
  control.steps = control.end = kForever;
  control.hidden = control.output = kSigmoid;
  control.rule = rule;
  control.rate = rule == kAdam ? 0.001F : 0.1F;
  control.momentum = 0.7F;
  control.step_up = rule == kRprop ? 1.2F : 1.9F;
  control.step_down = rule == kRprop ? 0.5F : 0.1F;
  control.largest_step = rule == kRprop ? 50.0F : 10.0F;
  control.smallest_step = rule == kRprop ? 1e-6F : 0.0F;
  control.robust = rule == kAdaptive ? 1 : 0;
  control.error_growth = 0.02F;
  control.robust_factor = 0.5F;
  control.beta1 = 0.9F;
  control.beta2 = 0.999F;
  control.epsilon = 1e-8F;
  control.target_squares = -1.0;
  return control;
}

Progress first_progress() {
  Progress progress{};
  progress.best = kNoError;
  progress.beta1_power = progress.beta2_power = 1.0;
  return progress;
}

std::vector<float> first_state(Rule rule, std::int64_t parameters, double first_step) {
  std::vector<float> state(at(kStateArrays * parameters), 0.0F);
  if (rule == kAdaptive || rule == kRprop) {
    std::fill_n(state.begin(), parameters, static_cast<float>(first_step));
  }
  return state;
}

double published_first_step(Rule rule) { return rule == kAdaptive ? 0.5 : rule == kRprop ? 0.0125 : 0.0; }

double published_error(double mean_square) { return 0.5 * std::sqrt(mean_square); }

}  // namespace heddle::mlp
