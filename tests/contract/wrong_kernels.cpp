#include "contract/wrong_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/planted_family.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/tuner/tuner_options.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

using test::PlantedFamily;
using test::Replacement;

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

std::vector<Fault> cuda_faults() {
  return {
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
        {"cuda/launched.cuh", "exp_below(log_firing[k], leader.value)", "__expf(log_firing[k])"}},
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
       "change of"},
      {"wrong targets from sample 14 on",
       kTrain,
       kOfMore,
       {{"cuda/launched.cuh", "const float* target = staged_targets + static_cast<long long>(sample) * target_stride;",
         "const float* target = staged_targets + static_cast<long long>(sample < 13 ? sample : 12) * target_stride;"}},
       "change of"},
      {"wrong targets from sample 14 on",
       kTrain,
       kResident,
       {{"cuda/resident.cuh", "request_target(next_target, next);",
         "request_target(next_target, sample < 12 ? next : order[position]);"}},
       "change of"},

      {"rows of the first tile for those of all",
       kPredict,
       {{"prediction", ""}, {"large tiles", "block_rows=128"}},
       {{"cuda/predict.cuh", "first_row + row < last_row ? first_row + row : last_row",
         "row < last_row ? row : last_row"}},
       "outputs are off"},

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
  };
}

std::vector<Fault> cpu_faults() {
  const std::vector<Scheme> train{{"rules", "coarsening=rules threads=1"},
                                  {"dims", "coarsening=dims threads=1"},
                                  {"rules, a team", "coarsening=rules threads=2"},
                                  {"dims, a team", "coarsening=dims threads=2"}};
  const std::vector<Scheme> predict{{"prediction", "threads=1"}, {"prediction, a team", "threads=2"}};
  return {
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
       "change of"},
      {"rows of the first tile for those of all",
       kPredict,
       predict,
       {{"cpu/predict.hpp", "rows_ + (first + (b < count ? b : count - 1)) * dim_",
         "rows_ + (context_.thread * B + (b < count ? b : count - 1)) * dim_"}},
       "outputs are off"},
      {"without room, as if at the cap",
       kTrain,
       train,
       {{"cpu/train.hpp", "now_.rules < control_.max_rules);",
         "now_.rules < control_.max_rules && now_.rules < a_.rules);"}},
       "without room for a rule"},
  };
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

}  // namespace

void find_wrong_kernels(Device& device) {
  const std::uint64_t seed = TunerOptions().seed;
  const DeviceIdentity& identity = device.identity();
  struct Case {
    const Fault* fault;
    const Scheme* scheme;
    const KernelFamily* family;
    const PlantedFamily* planted;
    Problem problem;
    Configuration configuration;
  };
  const std::vector<Fault> faults = identity.backend == "cpu" ? cpu_faults() : cuda_faults();
  std::vector<std::unique_ptr<PlantedFamily>> planted;
  std::vector<Case> cases;
  std::vector<CompileRequest> requests;
  for (const Fault& fault : faults) {
    const KernelFamily& sound = builtin_families().at(fault.family);
    planted.push_back(std::make_unique<PlantedFamily>(sound, identity.backend, fault.replacements));
    // Few rules in few inputs, several blocks of threads.
    const Problem problem = sound.awkward_problem().with("rules", 11).with("dim", 5);
    for (const Scheme& scheme : fault.schemes) {
      const auto configuration = configuration_of(sound, identity, problem, scheme);
      if (!configuration) {
        MESSAGE(device.label() << " has no " << scheme.name);
        continue;
      }
      cases.push_back({&fault, &scheme, &sound, planted.back().get(), problem, *configuration});
      requests.push_back(
          {&planted.back()->source(identity.backend), sound.plan(*configuration, problem, identity, 1).kernels});
    }
  }

  const auto batch = device.compile(requests);
  while (auto done = batch->next()) {
    const Case& one = cases[done->first];
    INFO(device.label() << ": " << one.fault->name << ", " << one.scheme->name << ": " << one.configuration.text());
    REQUIRE_MESSAGE(done->second.binary != nullptr, done->second.log);
    const auto& compiled = requests[done->first].kernels;
    Verifier verifier(device, *one.planted, seed, [&](const std::vector<std::string>& kernels) {
      if (kernels == compiled) return done->second.binary;
      return compile_one(device, {&one.planted->source(identity.backend), kernels}).binary;
    });
    const Verdict verdict = verifier.verify(one.configuration, one.problem);
    CHECK_MESSAGE(verdict.status == Status::wrong_result, text(verdict.status) << " " << verdict.message);
    CHECK_MESSAGE(verdict.message.find(one.fault->said) != std::string::npos, verdict.message);
    if (*one.fault->harmless == '\0') continue;
    const auto run = run_called(*one.family, identity, seed, one.configuration, one.problem, one.fault->harmless);
    REQUIRE(run.has_value());
    const Verdict passed = verifier.verify_run(one.configuration, one.problem, *run, false);
    CHECK_MESSAGE(passed.status == Status::correct, passed.message);
  }
  MESSAGE(device.label() << ": " << cases.size() << " wrong kernels looked for");
}

}  // namespace heddle
