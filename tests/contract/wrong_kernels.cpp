#include "contract/wrong_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/replaced_templates.hpp"
#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/tuner/tuner_options.hpp"
#include "heddle/tuner/verifier.hpp"
#include "sample.hpp"
#include "skip.hpp"

namespace heddle {
namespace {

/// A way in which kernels differ from others so much that they have code of their own.
struct Scheme {
  const char* name;
  const char* configuration;  ///< canonical text; other values than these are the first allowed
};

struct Fault {
  const char* name;
  const char* family;
  std::vector<Scheme> schemes;
  std::vector<Replacement> replacements;
  /// Part of what is said of it: of the run that finds it, or of what is wrong.
  const char* said;
  /// Part of the names of runs in which it does no harm; empty: it does in all.
  const char* harmless = "";
  /// A timed run of `of` samples is right up to `right` of them, of a prediction up to so many tiles: the fault does no
  /// harm before. 0: it does from the beginning.
  std::int64_t right = 0, of = 0;
  std::int64_t rows = 0;  ///< of the problem, where its family has that size; 0: as many as the awkward problem has
};

// Kernels of these schemes are those of one sample at a time, in one launch, in two and in three.
const Scheme kGraphOfOne{"graph of 1", "scheme=graph kernels=1"},
    kStepwiseOfOne{"stepwise of 1", "scheme=stepwise kernels=1"};
const Scheme kGraphOfTwo{"graph of 2", "scheme=graph kernels=2"},
    kStepwiseOfTwo{"stepwise of 2", "scheme=stepwise kernels=2"};
const Scheme kGraphOfThree{"graph of 3", "scheme=graph kernels=3 reduction=shuffle"};
const Scheme kPublished{"published", "gpu-fnn"};
const std::vector<Scheme> kOfOne{kGraphOfOne, kStepwiseOfOne};
const std::vector<Scheme> kOfMore{kGraphOfTwo, kStepwiseOfTwo, kGraphOfThree, kPublished};
const std::vector<Scheme> kResident{{"block", "scheme=block"},
                                    {"cluster", "scheme=cluster"},
                                    {"grid", "scheme=grid block_size=32 threads_per_rule=32"},
                                    {"shared", "scheme=block storage=shared"}};

std::vector<Scheme> launched() {
  std::vector<Scheme> all = kOfOne;
  all.insert(all.end(), kOfMore.begin(), kOfMore.end());
  return all;
}

const char* const kTrain = "sonfin-train";
const char* const kPredict = "sonfin-predict";
const char* const kBatch = "tsk-constant";
const char* const kPerceptron = "mlp-train";

const Scheme kBatchResident{"resident", "scheme=resident"}, kBatchPublished{"published", "published-split"},
    kBatchKept{"graph, kept", "scheme=graph storage=kept solver=block"};
const std::vector<Scheme> kBatchRecomputed{{"graph", "scheme=graph storage=recomputed solver=block"},
                                           {"one block", "scheme=block"}};

/// Every scheme of the Takagi-Sugeno-Kang families but the resident one.
std::vector<Scheme> batch_launched() {
  std::vector<Scheme> all = kBatchRecomputed;
  all.insert(all.end(), {kBatchKept, kBatchPublished});
  return all;
}
std::vector<Scheme> batch_all() {
  std::vector<Scheme> all = batch_launched();
  all.push_back(kBatchResident);
  return all;
}

/// Faults in the rules of perceptrons, which all kernels of a backend compile. The runs of mini-batches are with Adam
/// and decay; plain and without decay; plain, with decay, and until a target is reached.
std::vector<Fault> faults_of_rules(const std::vector<Scheme>& schemes) {
  return {{"weights do not decay",
           kPerceptron,
           schemes,
           {{"mlp/control.cuh", "1.0f - control.rate * control.decay", "1.0f"}},
           "decay",
           "bytes"},
          {"the first moment is not corrected",
           kPerceptron,
           schemes,
           {{"mlp/control.cuh", "static_cast<double>(control.rate) / (1.0 - counted.beta1_power)",
             "static_cast<double>(control.rate)"}},
           "adam",
           "plain"},
          {"goes on after the target",
           kPerceptron,
           schemes,
           {{"mlp/control.cuh", "if (progress.squares <= control.target_squares)", "if (false)"}},
           "target reached",
           "bytes"},
          {"the error of the last step for that of an epoch",
           kPerceptron,
           schemes,
           {{"mlp/control.cuh", "progress.squares += squares;", "progress.squares = squares;"}},
           "sum of squared errors"}};
}

std::vector<Fault> cuda_faults() {
  std::vector<Fault> all = faults_of_rules({{"layered", "scheme=layered product=tiles"},
                                            {"resident", "scheme=resident blocks=2 block_size=64"},
                                            {"spread", "scheme=spread blocks=4 block_size=64 input_parts=2"}});
  const std::vector<Fault> others{
      {"always the plain step",
       kTrain,
       launched(),
       {{"cuda/tile.cuh", "control.plain_step ? 1.0f : 0.0f, scaled = 1.0f - plain", "1.0f, scaled = 0.0f"}},
       "scaled step",
       "plain step"},
      {"always the plain step",
       kTrain,
       kResident,
       {{"cuda/cells.cuh", "if (control.plain_step != 0) {", "if (true) {"}},
       "scaled step",
       "plain step"},

      {"the largest log firing is not subtracted",
       kTrain,
       kOfOne,
       {{"cuda/launched.cuh",
         "const float earlier = adds ? exp_below(leader.value, 0.0f) : 1.0f;\n    top = adds ? 0.0f : leader.value;",
         "const float earlier = 1.0f;\n    top = 0.0f;"},
        {"cuda/launched.cuh", "exp_below(records.largest()[b], leader.value) * records.weighted(l)[b]",
         "records.weighted(l)[b]"},
        {"cuda/launched.cuh", "exp_below(memory.log_firing[p], leader.value)", "__expf(memory.log_firing[p])"}},
       ", deep",
       ", shallow"},
      {"the largest log firing is not subtracted",
       kTrain,
       kOfMore,
       {{"cuda/launched.cuh", "adds ? exp_below(leader.value, 0.0f) : 1.0f;\n\n  float sum", "1.0f;\n\n  float sum"},
        {"cuda/launched.cuh", "exp_below(some[i], leader.value)", "__expf(some[i])"}},
       ", deep",
       ", shallow"},
      {"the largest log firing is not subtracted",
       kTrain,
       kResident,
       {{"cuda/resident.cuh",
         "if (lost || rules == 0 || fabsf(sums.largest - shift) <= kFarthestShift || !isfinite(sums.largest)) break;",
         "break;"},
        {"cuda/resident.cuh", "shift = adds ? 0.0f : sums.largest;", ""}},
       ", deep",
       ", shallow"},
      {"the largest log firing is not subtracted",
       kPredict,
       {{"prediction", ""}},
       {{"cuda/predict.cuh", "exp_below(own[k], top)", "__expf(own[k])"}},
       ", deep",
       "firing as in training"},

      {"wrong targets from sample 14 on",
       kTrain,
       kOfOne,
       {{"cuda/launched.cuh", "static_cast<long long>(sample - 1) * target_stride : nullptr",
         "static_cast<long long>((sample < 14 ? sample : 13) - 1) * target_stride : nullptr"}},
       "change of",
       "",
       13,
       33},
      {"wrong targets from sample 14 on",
       kTrain,
       kOfMore,
       {{"cuda/launched.cuh", "const float* target = staged_targets + static_cast<long long>(sample) * target_stride;",
         "const float* target = staged_targets + static_cast<long long>(sample < 13 ? sample : 12) * target_stride;"}},
       "change of",
       "",
       13,
       33},
      {"wrong targets from sample 14 on",
       kTrain,
       kResident,
       {{"cuda/resident.cuh", "request_target(next_target, numbers[0]);",
         "request_target(next_target, sample < 12 ? numbers[0] : order[position]);"}},
       "change of",
       "",
       13,
       33},

      {"rows of the first tile for those of all",
       kPredict,
       {{"prediction", ""}, {"large tiles", "block_rows=128"}},
       {{"cuda/predict.cuh", "first_row + row < last_row ? first_row + row : last_row",
         "row < last_row ? row : last_row"}},
       "outputs are off",
       "",
       1,
       3},

      {"without room, as if at the cap",
       kTrain,
       kOfOne,
       {{"cuda/launched.cuh", "leader.value <= rule_threshold(control, now.rules);",
         "leader.value <= rule_threshold(control, now.rules) && now.rules < capacity;"}},
       "without room for a rule"},
      {"without room, as if at the cap",
       kTrain,
       kOfMore,
       {{"cuda/launched.cuh", "leader.value <= rule_threshold(control, rules);",
         "leader.value <= rule_threshold(control, rules) && rules < capacity;"}},
       "without room for a rule"},
      {"without room, as if at the cap",
       kTrain,
       kResident,
       {{"cuda/resident.cuh", "sums.largest <= threshold;", "sums.largest <= threshold && rules < capacity;"}},
       "without room for a rule"},
      {"goes on after a halt",
       kTrain,
       kOfOne,
       {{"cuda/launched.cuh", "sample > 0 && now.halted == 0 && now.position < control.end",
         "sample > 0 && now.position < control.end"},
        {"cuda/launched.cuh", "sample < samples && now.halted == 0 && !halts", "sample < samples"},
        {"cuda/tile.cuh", "progress->halted == 0 && position < control->end", "position < control->end"}},
       "without room for a rule"},
      {"goes on after a halt",
       kTrain,
       kOfMore,
       {{"cuda/launched.cuh", "const bool active = progress.halted == 0 && progress.position < control.end;",
         "const bool active = progress.position < control.end;"},
        {"cuda/launched.cuh", "fired >= 0 && progress.halted == 0", "fired >= 0"}},
       "without room for a rule"},
      {"learns the sample that halts",
       kTrain,
       kResident,
       {{"cuda/resident.cuh", "halts = rules >= capacity;\n      if (halts) break;",
         "halts = rules >= capacity;\n      if (halts) { ++sample; break; }"}},
       "without room for a rule"},

      {"always the plain step",
       kBatch,
       batch_all(),
       {{"cuda/finish.cuh", "factor_(control.plain_step != 0 ?", "factor_(true ?"}},
       "steps of one length",
       "plain steps"},
      {"the largest log activation is not subtracted",
       kBatch,
       kBatchRecomputed,
       {{"tsk/cuda/tile.cuh", "exp_below(own[k], top)", "__expf(own[k])"}},
       ", far rows",
       ", near rows"},
      {"the largest log activation is not subtracted",
       kBatch,
       {kBatchKept},
       {{"tsk/cuda/kept.cuh", "exp_below(0.5f * own[k], 0.5f * top)", "__expf(0.5f * own[k])"}},
       ", far rows",
       ", near rows"},
      {"the largest log activation is not subtracted",
       kBatch,
       {kBatchPublished},
       {{"tsk/cuda/sample.cuh", "exp_below(log_activation, top)", "__expf(log_activation)"}},
       ", far rows",
       ", near rows"},
      {"a wrong step from iteration 3 on",
       kBatch,
       batch_launched(),
       {{"tsk/cuda/finish.cuh", "forward(control, words[0], before.step)",
         "forward(control, words[0], before.iteration < 2 ? before.step : 2.0 * before.step)"}},
       "change of centres and widths",
       "plain steps",
       2,
       8},
      {"a wrong step from iteration 3 on",
       kBatch,
       {kBatchResident},
       {{"tsk/cuda/resident.cuh", "forward(control_, squares, progress.step)",
         "forward(control_, squares, progress.iteration < 2 ? progress.step : 2.0 * progress.step)"}},
       "change of centres and widths",
       "plain steps",
       2,
       8},
      {"rows of the first tile for those of all",
       kBatch,
       kBatchRecomputed,
       {{"tsk/cuda/tile.cuh", "(there ? first + row : first) * batch.dim", "(there ? row : 0) * batch.dim"}},
       "error of iteration"},
      {"rows of the first tile for those of all",
       kBatch,
       {kBatchKept},
       {{"tsk/cuda/kept.cuh", "rows[static_cast<long long>(row) * stride + j]",
         "rows[static_cast<long long>(row - first_row) * stride + j]"}},
       "error of iteration"},
      {"rows of the first tile for those of all",
       kBatch,
       {kBatchPublished},
       {{"tsk/cuda/sample.cuh", "const float* x = rows + static_cast<long long>(row) * dim;",
         "const float* x = rows;"}},
       "error of iteration"},
      {"rows of the first tile for those of all",
       kBatch,
       {kBatchResident},
       {{"tsk/cuda/resident.cuh", "min(row_of(first, q), end - 1)", "min(row_of(0, q), end - 1)"}},
       "error of iteration"},
      {"goes on after a halt",
       kBatch,
       batch_all(),
       {{"tsk/cuda/tile.cuh", "progress.halted == kGoesOn && progress.iteration < control.end",
         "progress.iteration < control.end"}},
       "expected 1"},
      {"goes on beyond the end",
       kBatch,
       batch_all(),
       {{"tsk/cuda/tile.cuh", "progress.halted == kGoesOn && progress.iteration < control.end",
         "progress.halted == kGoesOn"}},
       "expected 3"},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<Fault> cpu_faults() {
  const std::vector<Scheme> train{{"rules", "coarsening=rules threads=1"},
                                  {"dims", "coarsening=dims threads=1"},
                                  {"rules, a team", "coarsening=rules threads=2"},
                                  {"dims, a team", "coarsening=dims threads=2"}};
  const std::vector<Scheme> predict{{"prediction", "threads=1"}, {"prediction, a team", "threads=2"}};
  const std::vector<Scheme> batch{{"kept", "storage=kept tile_rows=64 threads=1"},
                                  {"recomputed, a team", "storage=recomputed tile_rows=64 threads=2"}};
  constexpr std::int64_t kRowsInFloat32 = 8203;  // of fewer, activations are float64
  const std::vector<Scheme> perceptrons{{"tiles", "scheme=tiles threads=1"},
                                        {"tiles, a team", "scheme=tiles threads=2"}};
  std::vector<Fault> all = faults_of_rules(perceptrons);
  const std::vector<Fault> others{
      {"rows as they come",
       kPerceptron,
       perceptrons,
       {{"mlp/cpu/train.hpp", "order != nullptr ? order[position + b] : position + b", "position + b"}},
       "shuffled",
       "in order"},
      {"gradients of biases without the first row of a tile",
       kPerceptron,
       perceptrons,
       {{"mlp/cpu/train.hpp", "for (int b = 0; b < count; ++b) sum += load<W>(deltas",
         "for (int b = 1; b < count; ++b) sum += load<W>(deltas"}},
       "gradient of the biases of layer 1"},
      {"always the plain step",
       kTrain,
       train,
       {{"cpu/train_bank.hpp", "control_.plain_step != 0 ? kPlain", "true ? kPlain"}},
       "scaled step",
       "plain step"},
      {"the largest log firing is not subtracted",
       kTrain,
       train,
       {{"cpu/train_bank.hpp", "load<W>(notes_.firing + i * W) - top_)", "load<W>(notes_.firing + i * W))"},
        {"cpu/train_bank.hpp", "exp_below(mine.largest, answer.largest) * answer.inverse_sum", "answer.inverse_sum"},
        {"cpu/train.hpp", "exp_below(part.largest, answer_.largest) * part.sum", "part.sum"},
        {"cpu/train.hpp", "exp_below(part.largest, answer_.largest) * load<W>(part.weighted() + l)",
         "load<W>(part.weighted() + l)"}},
       ", deep",
       ", shallow"},
      {"the largest log firing is not subtracted",
       kPredict,
       predict,
       {{"cpu/predict.hpp", "load<W>(firing + tile * W) - top)", "load<W>(firing + tile * W))"}},
       ", deep",
       "firing as in training"},
      {"wrong targets from sample 14 on",
       kTrain,
       train,
       {{"cpu/train.hpp", "a_.targets + row * a_.target_stride;",
         "a_.targets + (sample < 13 ? row : a_.order[now_.position - 1]) * a_.target_stride;"}},
       "change of",
       "",
       13,
       33},
      {"rows of the first tile for those of all",
       kPredict,
       predict,
       {{"cpu/predict.hpp", "rows_ + (first + (b < count ? b : count - 1)) * dim_",
         "rows_ + (context_.thread * B + (b < count ? b : count - 1)) * dim_"}},
       "outputs are off",
       "",
       1,
       3},
      {"without room, as if at the cap",
       kTrain,
       train,
       {{"cpu/train.hpp", "now_.rules < control_.max_rules);",
         "now_.rules < control_.max_rules && now_.rules < a_.rules);"}},
       "without room for a rule"},
      {"goes on after a halt",
       kTrain,
       train,
       {{"cpu/train.hpp", "if (!decide(x, target, sample)) break;",
         "if (!decide(x, target, sample)) { ++now_.position; continue; }"}},
       "without room for a rule"},
      {"learns the sample that halts",
       kTrain,
       train,
       {{"cpu/train.hpp", "if (!decide(x, target, sample)) break;",
         "if (!decide(x, target, sample)) { ++now_.position; break; }"}},
       "without room for a rule"},

      {"always the plain step",
       kBatch,
       batch,
       {{"tsk/cpu/descend.hpp", "control_.plain_step != 0 ?", "true ?"}},
       "steps of one length",
       "plain steps"},
      {"the largest log activation is not subtracted",
       kBatch,
       batch,
       {{"tsk/cpu/activate.hpp", "load_lanes<Real, W>(phi + k * B + b) - best)",
         "load_lanes<Real, W>(phi + k * B + b))"}},
       ", far rows",
       ", near rows",
       0,
       0,
       kRowsInFloat32},
      {"a wrong step from iteration 3 on",
       kBatch,
       batch,
       {{"tsk/cpu/descend.hpp", "progress_.step / length",
         "(progress_.iteration < 2 ? 1.0 : 2.0) * progress_.step / length"}},
       "change of centres and widths",
       "plain steps",
       2,
       8},
      {"rows of the first tile for those of all",
       kBatch,
       batch,
       {{"tsk/cpu/activate.hpp", "rows_ + (first + (b < count ? b : count - 1)) * sizes_.dim",
         "rows_ + (b < count ? b : count - 1) * sizes_.dim"}},
       "error of iteration"},
      {"goes on after a halt",
       kBatch,
       batch,
       {{"tsk/cpu/accumulate.hpp",
         "if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;\n    const long long tasks",
         "if (progress_.iteration >= control_.end) return;\n    const long long tasks"},
        {"tsk/cpu/descend.hpp",
         "if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;\n    const long long numbers",
         "if (progress_.iteration >= control_.end) return;\n    const long long numbers"}},
       "expected 1"},
      {"goes on beyond the end",
       kBatch,
       batch,
       {{"tsk/cpu/accumulate.hpp",
         "if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;\n    const long long tasks",
         "if (progress_.halted != kGoesOn) return;\n    const long long tasks"},
        {"tsk/cpu/descend.hpp",
         "if (progress_.halted != kGoesOn || progress_.iteration >= control_.end) return;\n    const long long numbers",
         "if (progress_.halted != kGoesOn) return;\n    const long long numbers"}},
       "expected 3"},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

bool has_values(const Configuration& configuration, const std::string& values) {
  const std::string text = ' ' + configuration.text() + ' ';
  std::size_t at = 0;
  while (at < values.size()) {
    const std::size_t end = std::min(values.find(' ', at), values.size());
    if (text.find(' ' + values.substr(at, end - at) + ' ') == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

/// The first that the device has. Nothing where there is none: a team on one core, clusters on an old GPU.
std::optional<Configuration> configuration_of(const KernelFamily& family, const DeviceIdentity& device,
                                              const Problem& problem, const Scheme& scheme) {
  for (const NamedConfiguration& named : family.named_configurations(device)) {
    if (named.name == scheme.configuration) return named.configuration(problem);
  }
  for (const Configuration& each : family.space(device).enumerate(problem)) {
    if (has_values(each, scheme.configuration)) return each;
  }
  return std::nullopt;
}

/// The first run whose name says so.
std::optional<std::size_t> run_called(const KernelFamily& family, const DeviceIdentity& device, std::uint64_t seed,
                                      const Configuration& configuration, const Problem& problem,
                                      const std::string& part) {
  const Verification::Runs runs = family.verification(device, seed, {})->runs(configuration, problem);
  for (std::size_t i = 0; i < runs.runs.size(); ++i) {
    if (runs.runs[i].name.find(part) != std::string::npos) return i;
  }
  return std::nullopt;
}

/// Whether a device may do without a scheme: one core makes no team, and GPUs before Hopper have no clusters.
bool is_dispensable(const Scheme& scheme, const DeviceIdentity& device) {
  const std::string values = scheme.configuration;
  if (device.backend == "cpu") return device.units < 2 && values.find("threads=2") != std::string::npos;
  return device.backend == "cuda" && values == "scheme=cluster";
}

/// A fault in the kernels of one scheme.
struct Planted {
  const Fault* fault;
  const Scheme* scheme;
};

/// All of them. Except on a GPU, a short run draws some of those of Takagi-Sugeno-Kang networks and perceptrons.
std::vector<Planted> planted_in(const std::vector<Fault>& faults, const DeviceIdentity& device) {
  const std::size_t count = device.backend == "cpu" ? 3 : 1;  // an emulated one takes many seconds
  std::vector<Planted> all, drawn;
  for (const Fault& fault : faults) {
    std::vector<Planted>& some =
        fault.family != kTrain && fault.family != kPredict && device.backend != "cuda" ? drawn : all;
    for (const Scheme& scheme : fault.schemes) some.push_back({&fault, &scheme});
  }
  REQUIRE(all.size() + drawn.size() >= 30);
  drawn = test::sample(drawn, count);
  all.insert(all.end(), drawn.begin(), drawn.end());
  return all;
}

}  // namespace

void find_wrong_kernels(Device& device) {
  const std::uint64_t seed = TunerOptions().seed;
  const DeviceIdentity& identity = device.identity();
  struct Case {
    const Fault* fault;
    const Scheme* scheme;
    const KernelFamily* family;
    const ReplacedTemplates* planted;
    Problem problem;
    Configuration configuration;
  };
  const std::vector<Fault> faults = identity.backend == "cpu" ? cpu_faults() : cuda_faults();
  std::map<const Fault*, std::unique_ptr<ReplacedTemplates>> planted;
  std::vector<Case> cases;
  std::vector<CompileRequest> requests;
  const std::vector<Planted> wanted = planted_in(faults, identity);
  std::size_t dispensed = 0;
  for (const Planted& each : wanted) {
    const Fault* const fault = each.fault;
    const Scheme* const scheme = each.scheme;
    const KernelFamily& sound = builtin_families().at(fault->family);
    std::unique_ptr<ReplacedTemplates>& wrong = planted[fault];
    if (!wrong) wrong = std::make_unique<ReplacedTemplates>(sound, identity.backend, fault->replacements);
    // Few rules in few inputs, several blocks of threads.
    Problem problem = sound.awkward_problem();
    if (fault->family != kPerceptron) problem = problem.with("rules", 11).with("dim", 5);
    if (fault->rows > 0) problem = problem.with("rows", fault->rows);
    const auto configuration = configuration_of(sound, identity, problem, *scheme);
    if (!configuration) {
      REQUIRE_MESSAGE(is_dispensable(*scheme, identity),
                      "no " << std::string(scheme->name) << ": " << std::string(scheme->configuration));
      test::skip(device.label() + " has no " + scheme->name);
      ++dispensed;
      continue;
    }
    cases.push_back({fault, scheme, &sound, wrong.get(), problem, *configuration});
    requests.push_back({&wrong->source(identity.backend), sound.kernels(*configuration, problem, identity)});
  }

  std::size_t looked_for = 0;
  const auto batch = device.compile(requests);
  while (auto done = batch->next()) {
    const Case& one = cases[done->first];
    INFO(device.label() << ": " << std::string(one.fault->name) << ", " << std::string(one.scheme->name) << ": "
                        << one.configuration.text());
    REQUIRE_MESSAGE(done->second.binary != nullptr, done->second.log);
    const auto& compiled = requests[done->first].kernels;
    Verifier verifier(device, *one.planted, seed, [&](const Kernels& kernels) {
      if (kernels == compiled) return done->second.binary;
      return compile_one(device, {&one.planted->source(identity.backend), kernels}).binary;
    });
    ++looked_for;
    const Verdict verdict = verifier.verify(one.configuration, one.problem);
    CHECK_MESSAGE(verdict.status == Status::wrong_result, text(verdict.status) << " " << verdict.message);
    CHECK_MESSAGE(verdict.message.find(one.fault->said) != std::string::npos, verdict.message);
    if (one.fault->right > 0) {
      // A team may have shrunk: of its tiles only the first thread's is one for certain.
      const std::int64_t threads = one.configuration.has("threads") ? one.configuration.number("threads") : 1;
      const std::int64_t unit =
          one.fault->family == kPredict ? sonfin::predict_tile(one.configuration, identity) / threads : 1;
      const std::int64_t all = one.fault->of * unit;
      const auto distance = [&](std::int64_t end) {
        return verifier.rounding_distance(one.configuration, one.problem, all, end).value_or(-1.0);
      };
      const double before = distance(one.fault->right * unit), after = distance(all);
      CHECK(before >= 0.0);
      CHECK(before < 16.0);
      CHECK(after > 100.0);
    }
    const auto still_works = [&] {  // what breaks a device asynchronously is found here, not by the next case
      std::array<std::byte, 16> some{};
      CHECK_NOTHROW(device.allocate(some.size())->read(some));
    };
    still_works();
    if (*one.fault->harmless == '\0') continue;
    const auto run = run_called(*one.family, identity, seed, one.configuration, one.problem, one.fault->harmless);
    REQUIRE(run.has_value());
    const Verdict passed = verifier.verify_run(one.configuration, one.problem, *run, false);
    CHECK_MESSAGE(passed.status == Status::correct, passed.message);
    still_works();
  }
  CHECK(looked_for + dispensed == wanted.size());
  MESSAGE(device.label() << ": " << looked_for << " wrong kernels looked for");
}

}  // namespace heddle
