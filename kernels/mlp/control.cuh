// Data that the host and the kernels of the perceptron families exchange, and the rules of learning for one weight:
// compiled by the C++ compiler, by NVRTC and by the run-time C++ compiler alike, so no other header is included.
// Formulas: docs/design.md, "Perceptrons".
#pragma once

#ifndef HEDDLE_EVERYWHERE
#ifdef __CUDACC__
#define HEDDLE_EVERYWHERE __device__ __forceinline__
#else
#define HEDDLE_EVERYWHERE [[maybe_unused]] inline
#endif
#endif

namespace heddle::mlp {

constexpr int kMostHidden = 8;
constexpr int kMostLayers = kMostHidden + 1;  ///< of weights

/// A fully connected network: neurons of the inputs, of each hidden layer, and of the outputs.
///
/// All parameters lie in one array. Layer l (from 0) takes sizes[l] values to sizes[l + 1] neurons; it has its weights
/// first, [neuron][input] without padding, and then a bias for each neuron.
struct Layers {
  int count;                   ///< layers of weights, 1 to kMostLayers
  int sizes[kMostLayers + 1];  ///< the first count + 1 have a meaning

  [[nodiscard]] constexpr int inputs() const { return sizes[0]; }
  [[nodiscard]] constexpr int outputs() const { return sizes[count]; }
  /// Weights and biases of a layer.
  [[nodiscard]] constexpr long long parameters_of(int layer) const {
    return (static_cast<long long>(sizes[layer]) + 1) * sizes[layer + 1];
  }
  /// Where the weights of a layer begin; of `count`: how many parameters there are.
  [[nodiscard]] constexpr long long weights_at(int layer) const {
    long long offset = 0;
    for (int l = 0; l < layer; ++l) offset += parameters_of(l);
    return offset;
  }
  [[nodiscard]] constexpr long long biases_at(int layer) const {
    return weights_at(layer) + static_cast<long long>(sizes[layer]) * sizes[layer + 1];
  }
  [[nodiscard]] constexpr long long parameters() const { return weights_at(count); }
};

/// What a neuron makes of its sum. kSoftmax is of the outputs alone; its error is the cross-entropy, and that of all
/// others half the squared error.
enum Activation { kSigmoid = 0, kTanh = 1, kRelu = 2, kLinear = 3, kSoftmax = 4 };

/// How weights follow from gradients.
enum Rule {
  kPlain = 0,     ///< gradient descent: all rows, mini-batches, or row by row
  kAdaptive = 1,  ///< a step for every weight, momentum, robust training (Toman 2011)
  kRprop = 2,     ///< iRPROP- (Igel and Huesken 2003)
  kAdam = 3,      ///< Kingma and Ba 2015
};

/// Arrays of the buffer "state", each as long as the parameters. What a rule does not use is never read or written.
///
///             0             1              2         3
///   plain
///   adaptive  step          D before       V         best weights so far, with robust training
///   rprop     step          gradient before
///   adam      first moment  second moment
constexpr int kStateArrays = 4;
constexpr int kBestArray = 3;

/// Written by the host before a run; the kernels only read it.
struct Control {
  int rows;          ///< learnt: the first rows of the buffer
  int batch;         ///< rows of one step; as many as `rows`: all at once. The last batch of an epoch may be smaller
  int steps;         ///< a run does at most so many, and never more than its plan has
  int end;           ///< epochs to be done: a run that gets there changes nothing more
  int first_epoch;   ///< whose order is the first in the buffer "order"
  int shuffled;      ///< 1: an epoch takes its rows in the order of the buffer "order"; 0: as they come
  int hidden;        ///< an Activation, of all hidden layers
  int output;        ///< an Activation
  int rule;          ///< a Rule
  int gradient_sum;  ///< 1: gradients are sums over the rows of a batch; 0: means
  int robust;        ///< of kAdaptive: 1: goes back to the best weights after an error that has grown too much
  float rate;        ///< of kPlain and kAdam
  float decay;       ///< of weights and biases, decoupled from the gradient: times `rate`, or times a weight's own step
  float momentum;    ///< of kAdaptive
  float step_up, step_down;
  float largest_step, smallest_step;  ///< kAdaptive has no smallest
  float error_growth;                 ///< robust: the relative growth of the error that is too much
  float robust_factor;                ///< robust: of every step after that
  float beta1, beta2, epsilon;        ///< of kAdam
  double target_squares;              ///< halt after an epoch of so small a sum of squared errors; below 0: never
};

/// The input of a prediction.
struct PredictControl {
  int rows;    ///< to predict
  int hidden;  ///< an Activation
  int output;  ///< an Activation
};

/// kLostBlock: a block waited in vain for another.
enum Halt { kGoesOn = 0, kTargetReached = 1, kDiverged = 2, kLostBlock = 3 };

/// Carried by the kernels from step to step; the host reads it after a run.
struct Progress {
  long long steps;                  ///< done, those included that only went back to the best weights
  int epoch;                        ///< whole epochs done
  int position;                     ///< rows learnt of the epoch after them
  int halted;                       ///< a Halt
  int restores;                     ///< steps that went back to the best weights
  double squares;                   ///< sum of squared errors over the outputs of those rows, each before its step
  double best;                      ///< robust: the smallest error so far, sqrt(mean squared error) / 2; kNoError: none
  double beta1_power, beta2_power;  ///< of kAdam: beta to the number of steps done
};

constexpr double kNoError = 1e30;

/// What becomes of a step, once its error is known.
enum Decision {
  kLearn = 0,         ///< weights change
  kKeepAndLearn = 1,  ///< the weights before the change are the best so far
  kRestore = 2,       ///< the best weights come back, steps become smaller, and nothing is learnt
  kLeave = 3,         ///< nothing changes: training has diverged
};

// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

template <class Real>
HEDDLE_EVERYWHERE bool finite_number(Real value) {
  return value - value == Real(0);
}

/// As good as a whole number from 0 to 255: a fraction of 255 that float32 has rounded, times 255.
HEDDLE_EVERYWHERE bool is_byte(float number) {
#ifdef __CUDACC__
  const float whole = floorf(number + 0.5f);
#else
  const float whole = __builtin_floorf(number + 0.5f);
#endif
  const float apart = number - whole;
  return (apart < 0.0f ? -apart : apart) <= 2.4e-7f * whole && whole >= 0.0f && whole <= 255.0f;
}

/// Whether a run that has done `done` steps does another one.
HEDDLE_EVERYWHERE bool goes_on(const Control& control, const Progress& progress, int done, int steps_of_plan) {
  return progress.halted == kGoesOn && progress.epoch < control.end && done < control.steps && done < steps_of_plan;
}

/// Rows of the next step.
HEDDLE_EVERYWHERE int rows_of_step(const Control& control, const Progress& progress) {
  const int left = control.rows - progress.position;
  return left < control.batch ? left : control.batch;
}

/// What counting a step needs beside its squared errors. Those who await the errors find it meanwhile.
struct Upcoming {
  int rows;
  double numbers, share;            ///< robust: rows times outputs, and the reciprocal
  double beta1_power, beta2_power;  ///< after the step
};
HEDDLE_EVERYWHERE Upcoming upcoming_step(const Control& control, int outputs, const Progress& progress) {
  Upcoming next{rows_of_step(control, progress), 0.0, 0.0, progress.beta1_power * static_cast<double>(control.beta1),
                progress.beta2_power * static_cast<double>(control.beta2)};
  if (control.rule == kAdaptive && control.robust != 0) {
    next.numbers = static_cast<double>(next.rows) * outputs;
    next.share = 1.0 / next.numbers;
  }
  return next;
}

/// What becomes of a step whose rows have this sum of squared errors, with the weights before the step. `squares`
/// becomes what end_step() counts.
HEDDLE_EVERYWHERE Decision decide_step(const Control& control, const Upcoming& next, double& squares,
                                       Progress& progress) {
  const bool robust = control.rule == kAdaptive && control.robust != 0;
  Decision decision = kLearn;
  if (robust) {
#ifdef __CUDACC__
    const double root = sqrt(squares * next.share);
#else
    const double root = __builtin_sqrt(squares * next.share);
#endif
    // An error that is no number is larger than any that is one: rows times outputs, as published.
    const double error = finite_number(squares) ? 0.5 * root : next.numbers;
    if (!finite_number(squares)) squares = next.numbers;
    if (error < progress.best) {
      progress.best = error;
      decision = kKeepAndLearn;
    } else if (error >= (1.0 + static_cast<double>(control.error_growth)) * progress.best) {
      progress.restores += 1;
      decision = kRestore;
    }
  } else if (!finite_number(squares)) {
    progress.halted = kDiverged;
    decision = kLeave;
  }
  return decision;
}

/// After decide_step(), unless that leaves all as it is: counts the step. `errors`: where the sum of an epoch goes that
/// ends here, epoch e at place e modulo `slots`; null: nowhere (of all threads that count the step one writes).
HEDDLE_EVERYWHERE void end_step(const Control& control, const Upcoming& next, double squares, Progress& progress,
                                double* errors, int slots) {
  progress.steps += 1;
  progress.beta1_power = next.beta1_power;
  progress.beta2_power = next.beta2_power;
  progress.squares += squares;
  progress.position += next.rows;
  if (progress.position >= control.rows) {
    if (errors != nullptr) errors[progress.epoch % slots] = progress.squares;
    if (progress.squares <= control.target_squares) progress.halted = kTargetReached;
    progress.epoch += 1;
    progress.position = 0;
    progress.squares = 0.0;
  }
}

/// Both.
HEDDLE_EVERYWHERE Decision count_step(const Control& control, const Upcoming& next, double squares, Progress& progress,
                                      double* errors, int slots) {
  const Decision decision = decide_step(control, next, squares, progress);
  if (decision != kLeave) end_step(control, next, squares, progress, errors, slots);
  return decision;
}

/// The same of `outputs` outputs, where nothing is known ahead.
HEDDLE_EVERYWHERE Decision count_step(const Control& control, int outputs, double squares, Progress& progress,
                                      double* errors, int slots) {
  return count_step(control, upcoming_step(control, outputs, progress), squares, progress, errors, slots);
}

/// The numbers that all weights share in one step.
struct Step {
  float gradient_factor;  ///< of the sum of gradients over the rows
  float rate;             ///< of kPlain; of kAdam: with the correction of the first moment
  float root_factor;      ///< of kAdam: the correction of the square root of the second moment
  float kept;             ///< of a weight, after its decay by the rate
};

/// `counted`: the progress after count_step().
HEDDLE_EVERYWHERE Step step_of(const Control& control, const Progress& counted, int rows) {
  Step step{control.gradient_sum != 0 ? 1.0f : 1.0f / static_cast<float>(rows), control.rate, 1.0f,
            1.0f - control.rate * control.decay};
  if (control.rule == kAdam) {
    step.rate = static_cast<float>(static_cast<double>(control.rate) / (1.0 - counted.beta1_power));
#ifdef __CUDACC__
    step.root_factor = static_cast<float>(1.0 / sqrt(1.0 - counted.beta2_power));
#else
    step.root_factor = static_cast<float>(1.0 / __builtin_sqrt(1.0 - counted.beta2_power));
#endif
  }
  return step;
}

/// One weight learns from its gradient (already times Step::gradient_factor). `s0` to `s2`: its states. Without
/// branches, so that compilers make vectors of a loop over weights. `Fast`: on a GPU a root and a quotient are two
/// units in the last place less exact, and have no branch for numbers that are seldom there.
template <int R, bool Fast = false>
HEDDLE_EVERYWHERE void learn(const Control& control, const Step& step, float gradient, float& weight, float& s0,
                             float& s1, float& s2) {
  if constexpr (R == kPlain) {
    weight = weight * step.kept - step.rate * gradient;
  } else if constexpr (R == kAdaptive) {
    const float descent = -gradient;
    const bool same = (s1 > 0.0f && descent > 0.0f) || (s1 < 0.0f && descent < 0.0f);
    const float scaled = s0 * (same ? control.step_up : control.step_down);
    const float eta = scaled < control.largest_step ? scaled : control.largest_step;
    const float velocity = descent + control.momentum * s2;
    const float next = weight + eta * velocity - eta * control.decay * weight;
    const bool usable = finite_number(next);
    s0 = usable || control.robust == 0 ? eta : control.robust_factor * eta;
    s1 = usable ? descent : 0.0f;
    s2 = usable ? velocity : 0.0f;
    weight = usable ? next : weight;
  } else if constexpr (R == kRprop) {
    const float up = s0 * control.step_up, down = s0 * control.step_down;
    const float longer = up < control.largest_step ? up : control.largest_step;
    const float shorter = down > control.smallest_step ? down : control.smallest_step;
    const bool turned = (gradient > 0.0f && s1 < 0.0f) || (gradient < 0.0f && s1 > 0.0f);
    const bool same = (gradient > 0.0f && s1 > 0.0f) || (gradient < 0.0f && s1 < 0.0f);
    const float eta = same ? longer : turned ? shorter : s0;
    const float counted = turned ? 0.0f : gradient;
    const float change = counted > 0.0f ? -eta : counted < 0.0f ? eta : 0.0f;
    weight = weight + change - eta * control.decay * weight;
    s0 = eta;
    s1 = counted;
  } else {
    s0 = control.beta1 * s0 + (1.0f - control.beta1) * gradient;
    s1 = control.beta2 * s1 + (1.0f - control.beta2) * gradient * gradient;
#ifdef __CUDACC__
    if constexpr (Fast) {
      const float inverse = rsqrtf(s1), fast_root = s1 > 0.0f && inverse > 0.0f ? s1 * inverse : s1;
      weight = weight * step.kept - __fdividef(step.rate * s0, fast_root * step.root_factor + control.epsilon);
      return;
    }
    const float root = sqrtf(s1);
#else
    const float root = __builtin_sqrtf(s1);
#endif
    weight = weight * step.kept - step.rate * s0 / (root * step.root_factor + control.epsilon);
  }
}

/// The best weight comes back: Decision::kRestore.
HEDDLE_EVERYWHERE void restore(const Control& control, float best, float& weight, float& s0, float& s1, float& s2) {
  weight = best;
  s0 *= control.robust_factor;
  s1 = 0.0f;
  s2 = 0.0f;
}

}  // namespace
}  // namespace heddle::mlp
