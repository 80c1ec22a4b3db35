#include "heddle/kernels/mlp/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/mlp/reference.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/random.hpp"

namespace heddle::mlp {
namespace {

/// Rows that differ. More repeat them, so that the workload of a large problem is made in a moment.
constexpr std::int64_t kDistinctRows = 4093;
/// Multiply-adds of one reference step that a host does in some hundredths of a second.
constexpr std::int64_t kOperationsOfReference = std::int64_t{1} << 24;
constexpr std::int64_t kFewestRows = 37;
/// Squared errors of a step that may all be next to nothing.
constexpr int kFewErrors = 16;

/// `rows` rows, each with one target of 1 (with one output: 1 and 0 by turns, else the error would vanish within some
/// steps), and weights such that neurons are neither idle nor saturated. `bytes`: the numbers of the rows are fractions
/// of 255.
Workload endless_workload(const Layers& layers, std::int64_t rows, std::int64_t epochs, Rule rule, bool bytes,
                          std::uint64_t seed) {
  Random random(seed);
  const std::int64_t inputs = layers.inputs(), outputs = layers.outputs();
  Workload work;
  work.layers = layers;
  work.epochs = epochs;
  work.parameters.reserve(at(layers.parameters()));
  for (int l = 0; l < layers.count; ++l) {
    const double range = std::sqrt(3.0 / static_cast<double>(layers.sizes[l]));
    for (std::int64_t i = 0; i < layers.parameters_of(l); ++i) {
      work.parameters.push_back(static_cast<float>(range * random.symmetric()));
    }
  }
  const std::int64_t distinct = std::min(rows, kDistinctRows);
  work.rows.resize(at(rows * inputs));
  work.targets.resize(at(rows * outputs));
  for (std::int64_t i = 0; i < distinct * inputs; ++i) {
    const double value = bytes ? static_cast<double>(random.below(256)) / 255.0 : random.unit();
    work.rows[at(i)] = random.sign() > 0.0 ? static_cast<float>(value) : 0.0F;
  }
  for (std::int64_t i = 0; i < distinct; ++i) {
    const std::int64_t right = random.below(outputs);
    work.targets[at(i * outputs + right)] = outputs > 1 || i % 2 == 0 ? 1.0F : 0.0F;
  }
  for (std::int64_t i = distinct; i < rows; ++i) {
    const std::int64_t same = random.below(distinct);
    std::copy_n(work.rows.begin() + same * inputs, inputs, work.rows.begin() + i * inputs);
    std::copy_n(work.targets.begin() + same * outputs, outputs, work.targets.begin() + i * outputs);
  }
  std::vector<std::int32_t> order(at(rows));
  std::iota(order.begin(), order.end(), 0);
  work.order.reserve(at(epochs * rows));
  for (std::int64_t e = 0; e < epochs; ++e) {
    random.shuffle(order);
    work.order.insert(work.order.end(), order.begin(), order.end());
  }
  work.control = published_control(rule, rows);
  work.progress = first_progress();
  work.state = first_state(rule, layers.parameters(), published_first_step(rule));
  return work;
}

/// States as they are in the middle of a training, so that every term of a rule counts.
void warm_up(Workload& work, Random& random) {
  const auto count = at(work.layers.parameters());
  const auto rule = static_cast<Rule>(work.control.rule);
  for (std::size_t i = 0; i < count; ++i) {
    float* const own = work.state.data() + i;
    const double small = 1e-3 * random.symmetric();
    switch (rule) {
      case kPlain:
        break;
      case kAdaptive:
        own[0] = static_cast<float>(0.1 + random.unit());
        own[count] = static_cast<float>(small);
        own[2 * count] = static_cast<float>(1e-3 * random.symmetric());
        break;
      case kRprop:
        own[0] = static_cast<float>(1e-3 + 1e-2 * random.unit());
        own[count] = static_cast<float>(small);
        break;
      case kAdam:
        own[0] = static_cast<float>(small);
        own[count] = static_cast<float>(1e-6 * random.unit());
        break;
    }
  }
  if (rule == kAdam) {
    constexpr int kSteps = 11;
    work.progress.steps = kSteps;
    work.progress.beta1_power = std::pow(static_cast<double>(work.control.beta1), kSteps);
    work.progress.beta2_power = std::pow(static_cast<double>(work.control.beta2), kSteps);
  }
}

void prepare_event(Workload& work, OptionSet::Event event, Random& random) {
  const auto count = at(work.layers.parameters());
  switch (event) {
    case OptionSet::Event::none:
      return;
    case OptionSet::Event::grown_error:
      work.progress.best = 1e-3;
      for (std::size_t i = 0; i < count; ++i) {
        work.state[kBestArray * count + i] = work.parameters[i] + static_cast<float>(0.1 * random.symmetric());
      }
      return;
    case OptionSet::Event::lost_weights:
      for (std::size_t i = 0; i < count; i += 7) work.state[2 * count + i] = std::numeric_limits<float>::infinity();
      return;
    case OptionSet::Event::target:
      work.control.target_squares = std::numeric_limits<double>::max();
      return;
  }
}

}  // namespace

Batch Workload::batch(int epoch) const {
  const std::size_t count = at(control.rows), slot = at(epoch - control.first_epoch) % at(epochs);
  Batch all{.rows = rows, .targets = targets};
  if (control.shuffled != 0) all.order = std::span(order).subspan(slot * count, count);
  return all;
}

Workload timing_workload(const Problem& problem, std::int64_t epochs, std::uint64_t seed) {
  const std::int64_t rows = problem.at("rows"), batch = problem.at("batch");
  const bool whole = batch >= rows;
  const bool bytes = problem.at("input_bits") == kByteBits;
  Workload work = endless_workload(layers_of(problem), rows, epochs, whole ? kAdaptive : kAdam, bytes, seed);
  work.control.batch = static_cast<int>(std::min(rows, batch));
  work.control.shuffled = whole ? 0 : 1;
  if (!whole) {
    work.control.hidden = kRelu;
    if (work.layers.outputs() > 1) work.control.output = kSoftmax;  // one output alone would be 1 and learn nothing
  }
  return work;
}

std::shared_ptr<const Workload> shared_timing_workload(const Problem& problem, std::int64_t epochs,
                                                       std::uint64_t seed) {
  using Key = std::tuple<std::string, std::int64_t, std::uint64_t>;
  static std::mutex guard;
  static Key last;
  static std::shared_ptr<const Workload> kept;
  Key key{problem.text(), epochs, seed};
  const std::lock_guard lock(guard);
  if (!kept || key != last) {
    kept = std::make_shared<const Workload>(timing_workload(problem, epochs, seed));
    last = std::move(key);
  }
  return kept;
}

std::string OptionSet::text() const {
  static constexpr const char* kRules[] = {"plain", "adaptive", "rprop", "adam"};
  static constexpr const char* kActivations[] = {"sigmoid", "tanh", "relu", "linear", "softmax"};
  static constexpr const char* kEvents[] = {"", ", error grown", ", weights lost", ", target reached"};
  return fmt::format("{}, {}, {}, {}, {}{}{}{}", kRules[rule], kActivations[hidden], kActivations[output],
                     sum ? "sums" : "means", shuffled ? "shuffled" : "in order", decays ? ", decay" : "",
                     whole   ? ", whole bytes"
                     : bytes ? ", bytes"
                             : "",
                     kEvents[static_cast<int>(event)]);
}

std::vector<OptionSet> option_sets(bool mini_batches, bool single_rows) {
  using enum OptionSet::Event;
  if (mini_batches) {
    std::vector<OptionSet> sets{
        {.rule = kAdam, .hidden = kRelu, .output = kSoftmax, .shuffled = true, .decays = true},
        {.rule = kPlain, .hidden = kTanh, .output = kLinear, .sum = true, .bytes = true},
        {.rule = kPlain, .hidden = kSigmoid, .output = kSigmoid, .shuffled = true, .decays = true, .event = target}};
    if (single_rows) {
      sets.push_back({.rule = kAdaptive, .output = kTanh, .event = grown_error});
      sets.push_back({.rule = kAdaptive, .hidden = kTanh, .shuffled = true, .decays = true, .event = lost_weights});
      sets.push_back({.rule = kRprop, .hidden = kLinear, .output = kTanh, .shuffled = true});
    }
    return sets;
  }
  return {{.rule = kAdaptive, .hidden = kSigmoid, .output = kSigmoid},
          {.rule = kPlain, .hidden = kTanh, .output = kLinear, .sum = true, .decays = true, .bytes = true},
          {.rule = kAdaptive, .hidden = kTanh, .output = kSigmoid, .bytes = true, .event = grown_error},
          {.rule = kRprop, .hidden = kRelu, .output = kSoftmax, .shuffled = true, .decays = true},
          {.rule = kAdam, .hidden = kLinear, .output = kTanh, .decays = true},
          {.rule = kAdaptive, .hidden = kRelu, .output = kLinear, .decays = true, .bytes = true, .event = lost_weights},
          {.rule = kPlain, .hidden = kSigmoid, .output = kSoftmax, .bytes = true, .whole = true, .event = target}};
}

namespace {

/// `attempt`: from 0. In later ones sums make smaller steps: what takes one row to its target in a step does so with
/// every draw.
Workload drawn_workload(const Problem& problem, const OptionSet& set, std::uint64_t seed, int attempt) {
  const Layers layers = layers_of(problem);
  const std::int64_t most = problem.at("rows"), batch = problem.at("batch");
  const std::int64_t affordable = std::max<std::int64_t>(kFewestRows, kOperationsOfReference / layers.parameters());
  std::int64_t rows = std::min(most, affordable), of_step = rows;
  if (batch < most) {
    of_step = std::max<std::int64_t>(1, std::min(batch, rows / 3));
    rows = std::min(most, 2 * of_step + std::max<std::int64_t>(1, of_step / 3));
  }
  Workload work = endless_workload(layers, rows, kVerifiedSteps, set.rule, set.bytes, seed);
  if (set.whole) {  // weights that neurons get the same sums with
    for (float& value : work.rows) value = std::round(255.0F * value);
    const std::int64_t weights = std::int64_t{layers.inputs()} * layers.sizes[1];
    for (std::int64_t i = 0; i < weights; ++i) work.parameters[at(i)] /= 255.0F;
  }
  Control& control = work.control;
  control.batch = static_cast<int>(of_step);
  control.shuffled = set.shuffled ? 1 : 0;
  control.hidden = set.hidden;
  control.output = set.output;
  control.gradient_sum = set.sum ? 1 : 0;
  if (set.sum) control.rate = static_cast<float>(0.1 / static_cast<double>(of_step * (1 + attempt)));
  if (set.decays) control.decay = 0.01F;
  control.largest_step = std::min(control.largest_step, 1.5F);  // some steps reach it
  Random random(seed + 1);
  warm_up(work, random);
  prepare_event(work, set.event, random);
  return work;
}

/// Whether rounding may hide a hundredth of a layer's gradient: behind saturated or idle neurons, of which narrow
/// networks may have nothing else.
bool is_hidden(const Gradient& found, const Layers& layers) {
  constexpr double kMost = 0.01;
  for (int l = 0; l < layers.count; ++l) {
    double squares = 0.0;
    for (std::int64_t i = layers.weights_at(l); i < layers.weights_at(l) + layers.parameters_of(l); ++i) {
      squares += square(found.values[at(i)]);
    }
    if (found.unsure[at(l)] >= kMost * std::sqrt(squares)) return true;
  }
  return false;
}

/// Whether the outputs of these rows are so close to the targets that the rounding of outputs of about 1 changes their
/// squared errors by more than is accepted. Only few can all be so close.
bool is_nearly_right(const Gradient& found, int errors) {
  constexpr double kLeast = 0.1;
  return errors <= kFewErrors && found.squares < square(kLeast) * errors;
}

/// What the steps that are verified would show, from little to much.
enum class Shows { no_errors, no_gradients, all };

/// Gradients of large networks are not looked at: they show, and take long.
Shows shows(const Workload& work) {
  constexpr std::int64_t kLarge = 1 << 18;
  constexpr int kAny = std::numeric_limits<int>::max();
  const Control& control = work.control;
  Shows least = Shows::all;
  Reference reference(work.layers, work.parameters, work.state, work.progress);
  for (int step = 0; step < kVerifiedSteps && goes_on(control, reference.progress(), 0, kAny); ++step) {
    const Progress before = reference.progress();
    const int rows = rows_of_step(control, before), errors = rows * work.layers.outputs();
    const bool large = rows * work.layers.parameters() > kLarge;
    if (large && errors > kFewErrors) return least;
    const Batch batch = work.batch(before.epoch);
    const Gradient found = reference.gradient(batch, before.position, rows, static_cast<Activation>(control.hidden),
                                              static_cast<Activation>(control.output));
    if (is_nearly_right(found, errors)) return Shows::no_errors;
    if (!large && is_hidden(found, work.layers)) least = Shows::no_gradients;
    reference.step(batch, control);
  }
  return least;
}

}  // namespace

Workload verification_workload(const Problem& problem, const OptionSet& set, std::uint64_t seed) {
  constexpr int kAttempts = 16;  // six layers of one ReLU are mostly idle
  constexpr std::uint64_t kNext = 0x9e3779b97f4a7c15;
  Workload best = drawn_workload(problem, set, seed, 0);
  if (set.output == kSoftmax && problem.at("outputs") == 1) return best;  // is always right, whatever is drawn
  Shows most = shows(best);
  for (int attempt = 1; attempt < kAttempts && most != Shows::all; ++attempt) {
    Workload other = drawn_workload(problem, set, seed + static_cast<std::uint64_t>(attempt) * kNext, attempt);
    const Shows found = shows(other);
    if (found <= most) continue;
    best = std::move(other);
    most = found;
  }
  return best;
}

HostImage contents_of(const Workload& work, const Plan& plan) {
  HostImage image;
  image["parameters"] = bytes_of(work.parameters);
  image["state"] = bytes_of(work.state);
  image["progress"] = bytes_of(std::vector<Progress>{work.progress});
  image["control"] = bytes_of(std::vector<Control>{work.control});
  image["rows"] = bytes_of(work.rows);
  image["targets"] = bytes_of(work.targets);
  image["order"] = bytes_of(work.order);
  // Written before they are read.
  for (const char* name : {"gradient", "errors"}) image[name].resize(at(plan.buffers[at(plan.buffer(name))].bytes));
  return image;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of(const HostImage& image, std::string_view name) {
  const std::vector<std::byte>& bytes = image.find(name)->second;
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template std::vector<std::byte> bytes_of(const std::vector<float>&);
template std::vector<std::byte> bytes_of(const std::vector<std::int32_t>&);
template std::vector<std::byte> bytes_of(const std::vector<Progress>&);
template std::vector<std::byte> bytes_of(const std::vector<Control>&);
template std::vector<std::byte> bytes_of(const std::vector<PredictControl>&);
template std::vector<float> values_of(const HostImage&, std::string_view);
template std::vector<double> values_of(const HostImage&, std::string_view);
template std::vector<Progress> values_of(const HostImage&, std::string_view);

}  // namespace heddle::mlp
