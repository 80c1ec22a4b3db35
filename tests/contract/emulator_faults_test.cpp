// The families' own templates with a fault planted in a copy: the emulator, or the comparison with the reference, says
// so.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "contract/planted_family.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "heddle/tuner/verifier.hpp"
#include "sample.hpp"

namespace heddle {
namespace {

constexpr std::int64_t kFaultySamples = 12;

struct Fault {
  const char* name;
  const char* family;
  std::vector<std::string> values;  ///< that the configuration has
  const char* file;                 ///< the end of its name
  const char* find;
  const char* replace;
  const char* finding;                             ///< part of what has to be said: its own reason
  std::map<std::string, std::int64_t> sizes = {};  ///< other than the awkward problem's
};

const std::vector<Fault> kFaults{
    {"a missing barrier",
     "sonfin-train",
     {"scheme=block"},
     "exchange_sums.cuh",
     "if constexpr (Link == kBlockLink) __syncthreads();",
     "",
     "nobody wrote"},
    {"a wrong mask",
     "sonfin-train",
     {"scheme=graph", "kernels=2"},
     "reduce.cuh",
     "kAllLanes = 0xffffffffu",
     "kAllLanes = 0x7fffffffu",
     "does not name its own lane"},
    {"an unwritten output",
     "sonfin-predict",
     {},
     "predict.cuh",
     "outputs_at[static_cast<long long>(row) * outputs",
     "if (row != 1) outputs_at[static_cast<long long>(row) * outputs",
     "the outputs are off by"},
    {"an index off by one",
     "sonfin-predict",
     {},
     "predict.cuh",
     "stage.x + (my_row +",
     "stage.x + (my_row + 1 +",
     "the outputs are off by"},
    {"a row that is read beyond its end",
     "sonfin-train",
     {"scheme=graph", "kernels=3"},
     "tile.cuh",
     "j < stride; j += static_cast<int>(blockDim.x)",
     "j <= stride; j += static_cast<int>(blockDim.x)",
     "of buffer 'staged_rows'"},
    {"a launch that does not wait for the one before",
     "sonfin-train",
     {"kernels=1", "launch=overlapped"},
     "launched.cuh",
     "2 * Work::kReduceWords);\n  wait_for_previous_launch();",
     "2 * Work::kReduceWords);",
     "wait_for_previous_launch"},
    {"a copy that nobody waits for",
     "sonfin-train",
     {"kernels=1", "scheme=graph"},
     "launched.cuh",
     "  copies_arrived();\n  __syncthreads();\n\n  bool learns",
     "  __syncthreads();\n\n  bool learns",
     "before the copy"},
    {"a missing release",
     "sonfin-train",
     {"scheme=cluster"},
     "exchange_sums.cuh",
     ".open();\n      cluster_barrier();",
     ".open();",
     "race: writes"},
    {"a missing acquire",
     "sonfin-train",
     {"scheme=cluster"},
     "exchange_sums.cuh",
     "box(round_ & 1).wait(round_ >> 1);",
     "",
     "nobody wrote"},
    {"a wrong cluster rank",
     "sonfin-train",
     {"scheme=cluster"},
     "exchange_sums.cuh",
     "cluster_rank() * Records",
     "0 * Records",
     "its message race: writes"},
    {"a stale stamp",
     "sonfin-train",
     {"scheme=grid"},
     "exchange_sums.cuh",
     "static_cast<unsigned>(round_ + 1)",
     "static_cast<unsigned>(round_ / 4 + 1)",
     "poll a packet"},
    {"a block that posts nothing",
     "sonfin-train",
     {"scheme=grid"},
     "exchange_sums.cuh",
     "if (replica < Replicas && is_there(column)) post",
     "if (replica < Replicas && is_there(column) && blockIdx.x != 0) post",
     "deadlock"},
    {"packets of further blocks left out",
     "sonfin-train",
     {"scheme=grid", "block_size=32", "threads_per_rule=32"},
     "exchange_sums.cuh",
     "first += kTogether) {",
     "first += 2 * kTogether) {",
     "without room for a rule wanted at position 24: halted 1 at position 7",
     {{"rules", 9}, {"outputs", 100}}},
    {"packets of a column that is not there",
     "sonfin-train",
     {"scheme=grid", "block_size=32", "threads_per_rule=32"},
     "exchange_sums.cuh",
     "return kColumnLanes == kWarp || column < kColumns;",
     "return true;",
     "out of bounds",
     {{"rules", 9}, {"outputs", 26}}},
    {"a largest value that is added up",
     "sonfin-train",
     {"scheme=grid", "block_size=32", "threads_per_rule=32"},
     "exchange_sums.cuh",
     "column == 0 ? fmaxf(b, other) : b + other",
     "b + other",
     "overflow of a signed difference, resident.cuh",
     {{"rules", 9}, {"outputs", 26}}},
    {"columns beyond the threads of a block left out",
     "sonfin-train",
     {"scheme=grid", "block_size=32", "threads_per_rule=32"},
     "exchange_sums.cuh",
     "column < kColumns; column += kGroups",
     "column < kGroups; column += kGroups",
     "nobody wrote",
     {{"rules", 9}, {"outputs", 100}}},
    {"records beyond the lanes of a column left out",
     "sonfin-train",
     {"scheme=grid", "block_size=64", "threads_per_rule=32"},
     "exchange_sums.cuh",
     "record < Records; record += kColumnLanes",
     "record < 0; record += kColumnLanes",
     "the change of all parameters",
     {{"rules", 9}, {"outputs", 100}}},
    {"sums that the other warps of a rule have not left yet",
     "sonfin-train",
     {"scheme=grid", "block_size=64", "threads_per_rule=64"},
     "group_sums.cuh",
     "__syncthreads();",
     "",
     "nobody wrote",
     {{"rules", 3}, {"dim", 517}}},
    {"sums of a rule without its other warp",
     "sonfin-train",
     {"scheme=grid", "block_size=64", "threads_per_rule=64"},
     "group_sums.cuh",
     "parts[i] = some.value[0] + some.value[1];",
     "parts[i] = some.value[0];",
     "without room for a rule",
     {{"rules", 3}, {"dim", 517}}},
    {"a second round while a warp of the rule is at the first",
     "sonfin-train",
     {"scheme=grid", "block_size=64", "threads_per_rule=64"},
     "exchange_sums.cuh",
     "if constexpr (Records < kWarps) __syncthreads();",
     "",
     "race",
     {{"rules", 3}, {"dim", 517}}},
    {"a record that two warps of a rule leave",
     "sonfin-train",
     {"scheme=grid", "block_size=128", "threads_per_rule=64"},
     "exchange_sums.cuh",
     "warp() % kWarpsOfRecord == 0",
     "true",
     "race",
     {{"rules", 3}, {"dim", 517}}},
    {"packets that nobody emptied",
     "sonfin-train",
     {"scheme=grid"},
     "resident.cuh",
     "packets[i] = {0.0f, 0.0f, 0.0f, 0}",
     "packets[0] = {0.0f, 0.0f, 0.0f, 0}",
     "of buffer 'packets'"},
    {"rows that are another launch's piece",
     "tsk-constant",
     {"storage=recomputed", "pieces=4"},
     "tsk/cuda/tile.cuh",
     "return control.rows < end ? control.rows : end;",
     "return control.rows;",
     "nobody wrote"},
    {"the sums of the pieces before forgotten",
     "tsk-constant",
     {"storage=recomputed", "pieces=4"},
     "passes.cuh",
     "*to = batch.adds == 0 ? sum : *to + sum;",
     "*to = sum;",
     "error of iteration 3"},
    {"widths that change while others read them",
     "tsk-constant",
     {"scheme=resident"},
     "tsk/cuda/resident.cuh",
     "__syncthreads();  // all have the widths that were before they change",
     "",
     "race"},
    {"a sum that leaves a block out",
     "tsk-constant",
     {"scheme=resident", "blocks=4"},
     "grid_sums.cuh",
     "double sum = value[i];",
     "double sum = lane == 1 ? 0.0 : value[i];",
     "error of iteration 3"},
    {"a pivot that is no reciprocal",
     "tsk-constant",
     {"scheme=resident"},
     "tsk/cuda/small_factors.cuh",
     "const double inverse = 1.0 / scaled_[q][q];",
     "const double inverse = 0.98 / scaled_[q][q];",
     "change of centres and widths"},
    {"values that other warps have not finished",
     "mlp-train",
     {"scheme=resident", "blocks=2", "block_size=64", "rows_in=shared"},
     "resident_tile.cuh",
     "    __syncthreads();\n    if constexpr (L + 1 < kLayers) forward<L + 1>();",
     "    if constexpr (L + 1 < kLayers) forward<L + 1>();",
     "race"},
    {"rows of the next step in place of this one's",
     "mlp-train",
     {"scheme=spread", "block_size=64", "blocks=4", "input_parts=2"},
     "spread.cuh",
     "start_rows(after(now, rows), !even_);",
     "start_rows(after(now, rows), even_);",
     "before the copy"},
    {"new weights that nobody fetches",
     "mlp-train",
     {"scheme=spread", "block_size=64", "blocks=4", "input_parts=2"},
     "spread.cuh",
     "} else if (learnt_) {",
     "} else if (false) {",
     "parameters after several steps in one run"},
    {"rows of the next step in place of this one's, in clusters",
     "mlp-train",
     {"scheme=neurons", "block_size=64", "blocks=4", "input_parts=2"},
     "mlp/cuda/neurons.cuh",
     "start_rows(next, !even_);",
     "start_rows(next, even_);",
     "race",
     {{"hidden1", 9}, {"hidden2", 0}, {"batch", 30}}},
    {"sums of the neurons that nobody awaits",
     "mlp-train",
     {"scheme=neurons", "block_size=64", "blocks=4", "input_parts=2"},
     "mlp/cuda/neurons.cuh",
     "    sums_box().wait(round_);\n",
     "",
     "of shared memory",
     {{"hidden1", 9}, {"hidden2", 0}, {"batch", 30}}},
    {"deltas of the cluster's first block alone",
     "mlp-train",
     {"scheme=neurons", "block_size=64", "blocks=4", "input_parts=2"},
     "mlp/cuda/neurons.cuh",
     "const bool there = part_ * kRowsEach + row < rows;",
     "const bool there = part_ == 0 && row < rows;",
     "sum of squared errors",
     {{"hidden1", 9}, {"hidden2", 0}, {"batch", 30}}},
    {"digits in place of sums that other blocks still load",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=0"},
     "mlp/cuda/cluster.cuh",
     "it will be posted soon\n    cluster_wait();",
     "it will be posted soon\n    __syncthreads();",
     "of shared memory",
     {{"batch", 211}}},
    {"digits of deltas that other warps have not left",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=0"},
     "mlp/cuda/cluster.cuh",
     "      __syncthreads();\n      if (last) {",
     "      if (last) {",
     "of shared memory",
     {{"batch", 211}}},
    {"a gradient of the last pass alone",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=32"},
     "cluster_layer.cuh",
     "pass > 0 ? load<kQuad>(kept + i * kWarp * kQuad)",
     "pass < 0 ? load<kQuad>(kept + i * kWarp * kQuad)",
     "gradient of the weights of layer 1",
     {{"batch", 211}}},
    {"a gradient of the other layers of the last pass alone",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=32"},
     "mlp/cuda/cluster.cuh",
     "number, pass > 0,",
     "number, pass < 0,",
     "gradient of the weights of layer 2",
     {{"batch", 211}}},
    {"rows in the order in which lanes load them",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=32"},
     "cluster_layer.cuh",
     "      transpose_words(words);\n",
     "",
     "sum of squared errors",
     {{"batch", 211}}},
    {"digits that lose their carry",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=0"},
     "cluster_memory.cuh",
     "return (whole + 0x808080u) ^ 0x808080u;",
     "return whole;",
     "sum of squared errors",
     {{"batch", 211}}},
    {"deltas of too few rows",
     "mlp-train",
     {"scheme=cluster", "block_size=64", "blocks=4", "input_parts=2", "pass_rows=0"},
     "cluster_layer.cuh",
     "if (row < Tile) store<Count>(memory_.deltas",
     "if (row < Tile && row != 3) store<Count>(memory_.deltas",
     "nobody wrote",
     {{"batch", 211}}},
    {"a gradient without the last row",
     "mlp-train",
     {"scheme=layered", "product=tiles", "tile=64"},
     "layered.cuh",
     "min(first + each_part, step.rows)};",
     "min(first + each_part, step.rows - 1)};",
     "gradient of the weights of layer 1"},
    {"gradients of rows that are not there",
     "mlp-train",
     {"scheme=layered", "product=thread"},
     "layered_sums.cuh",
     "const float delta = there ? own[n] : 0.0f;",
     "const float delta = own[n];",
     "nobody wrote"},
    {"a sum without half of its addends",
     "mlp-train",
     {"scheme=layered", "product=tree"},
     "layered_sums.cuh",
     "half = count / 2; half >= kWarp;",
     "half = count / 4; half >= kWarp;",
     "gradient of the"},
    {"a gradient that other warps have not left",
     "mlp-train",
     {"scheme=warps", "block_size=64", "blocks=1"},
     "mlp/cuda/warps.cuh",
     "    __syncthreads();\n    if (alone) {",
     "    if (alone) {",
     "nobody wrote",
     {{"hidden1", 9}, {"hidden2", 0}, {"batch", 211}}},
    {"pairs of columns where a row has one slice",
     "mlp-train",
     {"scheme=warps", "block_size=32", "blocks=1"},
     "warps_tile.cuh",
     "kTogether = kSlices == 1 ? 1 : 2;",
     "kTogether = 2;",
     "misaligned",
     {{"inputs", 4}, {"hidden1", 8}, {"hidden2", 0}, {"batch", 211}}},
    {"a row that counts twice",
     "mlp-train",
     {"scheme=warps", "block_size=256", "blocks=2"},  // two lanes for a row
     "warps_tile.cuh",
     "if (first) squares_ +=",
     "squares_ +=",
     "sum of squared errors",
     {{"hidden1", 9}, {"hidden2", 0}, {"batch", 211}}},
    {"a weight that does not decay",
     "mlp-train",
     {"scheme=online", "block_size=64"},
     "mlp/control.cuh",
     "1.0f - control.rate * control.decay",
     "1.0f",
     "of layer 1",
     {{"batch", 1}}},
    {"deltas before the outputs are there",
     "mlp-train",
     {"scheme=online", "block_size=64"},
     "online.cuh",
     "    if (warp() == 0) find_output_deltas();\n    __syncthreads();",
     "    if (warp() == 0) find_output_deltas();",
     "nobody wrote",
     {{"batch", 1}}},
};

bool has_values(const Configuration& configuration, const std::vector<std::string>& values) {
  const std::string text = ' ' + configuration.text() + ' ';
  return std::all_of(values.begin(), values.end(),
                     [&](const std::string& value) { return text.find(' ' + value + ' ') != std::string::npos; });
}

/// Of several blocks, if there is one.
Configuration configuration_with(const KernelFamily& family, const Problem& problem, const DeviceIdentity& device,
                                 const std::vector<std::string>& values) {
  const std::vector<Configuration> all = family.space(device).enumerate(problem);
  const Configuration* found = nullptr;
  for (const Configuration& each : all) {
    if (!has_values(each, values)) continue;
    if (found == nullptr) found = &each;
    const Plan plan = family.plan(each, problem, device, kFaultySamples);
    if (std::any_of(plan.launches.begin() + 1, plan.launches.end(),
                    [](const Launch& launch) { return launch.grid.x > 1 && launch.block.x >= 64; })) {
      return each;
    }
  }
  REQUIRE(found != nullptr);
  return *found;
}

/// What is wrong; empty if nothing is.
std::string complaint(const Fault& fault, const KernelFamily& family, std::uint64_t order) {
  const auto device = open_emulator({.order = order});
  Problem problem = family.awkward_problem();
  for (const auto& [name, size] : fault.sizes) problem = problem.with(name, size);
  const Configuration configuration = configuration_with(family, problem, device->identity(), fault.values);
  INFO(configuration.text());
  return Verifier(*device, family, 1).verify_run(configuration, problem, order, false).message;
}

TEST_CASE("emulator: faults planted in the families' templates are found") {
  std::set<std::string> sound;
  for (const Fault& fault : test::sample(kFaults, 7)) {
    INFO(std::string(fault.name));
    REQUIRE(!std::string(fault.finding).empty());  // any complaint would do
    std::string key = fault.family;
    for (const std::string& value : fault.values) key += ' ' + value;
    for (const auto& [name, size] : fault.sizes) key += ' ' + name + '=' + std::to_string(size);
    const KernelFamily& family = builtin_families().at(fault.family);
    if (sound.insert(key).second) CHECK(complaint(fault, family, 1) == "");

    const test::PlantedFamily planted(family, "emulator", {{fault.file, fault.find, fault.replace}});
    std::string found;
    for (const std::uint64_t order : {1, 0, 2}) {
      found = complaint(fault, planted, order);
      if (!found.empty()) break;
    }
    CHECK_MESSAGE(!found.empty(), "not found");
    CHECK_MESSAGE(found.find(fault.finding) != std::string::npos, found);
  }
}

}  // namespace
}  // namespace heddle
