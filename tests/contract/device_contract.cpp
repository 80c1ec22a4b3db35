#include "contract/device_contract.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/storage.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

constexpr std::int64_t kSamples = 12;
// Operations of one run: what the emulator does in seconds, and the float64 reference.
constexpr double kMostEmulated = 6e6, kMost = 1e9;
// On the emulator, of what is drawn: threads of a launch, more of which only make more of the same, and of all launches
// of a run. In seconds again.
constexpr std::int64_t kMostThreads = 2048, kMostStarts = 100000;
// On the emulator, threads of a launch of a corner (Draw): each may take some 700 KB of memory while it runs.
constexpr std::int64_t kMostThreadsOfCorner = 8192;

bool has_axis(const KernelFamily& family, std::string_view name) {
  return std::any_of(family.axes().begin(), family.axes().end(), [&](const Axis& axis) { return axis.name == name; });
}

/// The family's awkward problem and its default ones. Of the families that have rules instead of these: the awkward one
/// in sizes from one task to more inputs than a block has threads, or to a few warps.
std::vector<Problem> problems(const KernelFamily& family, const DeviceIdentity& device, bool large) {
  const auto has = [&](std::string_view name) { return has_axis(family, name); };
  std::vector<Problem> all{family.awkward_problem()};
  if (!has("rules") || !has("dim") || !has("outputs")) {
    const std::vector<Problem> usual = family.default_problems(device);
    all.insert(all.end(), usual.begin(), usual.end());
    return all;
  }
  for (const auto& [rules, dim] : {std::pair{1, 1}, {3, 5}, {33, 17}, {5, 1025}, {130, 1025}})
    for (const int outputs : {1, 3, 26})
      if (large || rules * dim < 1000 || (rules * dim < 100000 && outputs == 3))
        all.push_back(family.awkward_problem().with("rules", rules).with("dim", dim).with("outputs", outputs));
  // Enough rows for all resident blocks there can be, and for float32, with next to nothing to do for each.
  if (has("rows"))
    all.push_back(family.awkward_problem().with("rules", 2).with("dim", 1).with("outputs", 1).with("rows", 8203));
  return all;
}

/// Of a family of fuzzy arrays: small problems by the form of its arrays, which is type, layout and, of a product, the
/// kind of matrix. Templates differ from form to form; sizes only decide how often they do the same.
std::vector<std::vector<Problem>> problems_by_form(const KernelFamily& family) {
  const Problem awkward = family.awkward_problem();
  const bool matrix = has_axis(family, "matrix");
  std::vector<std::vector<Problem>> forms;
  for (const std::int64_t bits : {64, 32}) {
    for (const std::int64_t layout : {fuzzy::kNumbers, fuzzy::kCuts}) {
      for (const std::int64_t kind : {1, 2}) {
        if (kind == 2 && !matrix) continue;
        Problem of = awkward.with("bits", bits).with("layout", layout);
        if (matrix) of = of.with("matrix", kind);
        // A length and cuts that nothing divides.
        std::vector<Problem>& form = forms.emplace_back(std::vector{of});
        // Vectors of numbers divide this length, which is several blocks of a sum and several tiles of small sorts.
        constexpr std::int64_t kEven = 4108;
        if (has_axis(family, "numbers")) of = of.with("numbers", kEven);
        if (has_axis(family, "terms")) of = of.with("terms", 5);
        // A number that is one pack; slices of any number of cuts.
        form.push_back(of.with("cuts", 1));
        if (matrix) of = of.with("rows", 2);
        form.push_back(of.with("cuts", 48));
      }
    }
  }
  return forms;
}

/// Paths through a kernel that neither a value of a parameter nor the problems above lead to.
struct Path {
  const char* family;
  std::vector<std::pair<const char*, std::int64_t>> sizes;  ///< others are those of the awkward problem
  std::string configuration;
  /// Where it is tried. The space allows some only for problems that fill a GPU: the emulator tries them on small ones.
  enum class On { all, gpu, emulator } on = On::all;
};

/// The exchange of the grid scheme, kernels/sonfin/cuda/exchange_sums.cuh.
Path grid(std::int64_t rules, std::int64_t dim, std::int64_t outputs, const char* configuration) {
  return {"sonfin-train",
          {{"rules", rules}, {"dim", dim}, {"outputs", outputs}},
          std::string("scheme=grid coarsen_count=1 storage=registers ") + configuration};
}
/// Several warps that share a rule: kernels/sonfin/cuda/group_sums.cuh.
Path wide(std::int64_t rules, std::int64_t outputs, const char* configuration) {
  return {"sonfin-train", {{"rules", rules}, {"dim", 517}, {"outputs", outputs}}, configuration};
}
/// Rules that are not on chip, kernels/sonfin/cuda/streamed_rules.cuh.
Path streamed(std::int64_t outputs, const std::string& configuration) {
  return {"sonfin-train",
          {{"rules", 13}, {"dim", 517}, {"outputs", outputs}},
          "scheme=grid coarsening=rules storage=stream " + configuration,
          Path::On::emulator};
}
Path streamed_on_gpu(std::int64_t rules, std::int64_t outputs, const std::string& configuration) {
  return {"sonfin-train",
          {{"rules", rules}, {"dim", 4997}, {"outputs", outputs}},
          "scheme=grid coarsening=rules storage=stream block_size=256 vector=4 " + configuration,
          Path::On::gpu};
}

/// A perceptron of one or two hidden layers that learns from `batch` rows at a time.
Path perceptron(std::int64_t inputs, std::int64_t hidden1, std::int64_t hidden2, std::int64_t outputs,
                std::int64_t rows, std::int64_t batch, const std::string& configuration) {
  return {"mlp-train",
          {{"inputs", inputs},
           {"hidden1", hidden1},
           {"hidden2", hidden2},
           {"outputs", outputs},
           {"rows", rows},
           {"batch", batch}},
          configuration};
}
/// All rows at once, in resident blocks: kernels/mlp/cuda/resident.cuh.
Path resident(std::int64_t inputs, std::int64_t hidden1, std::int64_t hidden2, std::int64_t outputs, std::int64_t rows,
              const std::string& configuration) {
  return perceptron(inputs, hidden1, hidden2, outputs, rows, rows, "scheme=resident " + configuration);
}

/// Matrices that go through rings of stages, kernels/fuzzy/cuda/ring_matvec.cuh.
Path matrix_in_ring(std::string_view encoding, std::int64_t matrix, std::int64_t columns, std::int64_t cuts,
                    std::int64_t bits, fuzzy::Layout layout, const char* configuration) {
  return {encoding == "lu" ? "fuzzy-matvec-lu" : "fuzzy-matvec-mr",
          {{"rows", 5}, {"columns", columns}, {"matrix", matrix}, {"cuts", cuts}, {"bits", bits}, {"layout", layout}},
          configuration};
}
Path real_matrix(std::string_view encoding, std::int64_t columns, std::int64_t cuts, std::int64_t bits,
                 fuzzy::Layout layout, const char* configuration) {
  return matrix_in_ring(encoding, 1, columns, cuts, bits, layout, configuration);
}
Path fuzzy_matrix(std::string_view encoding, std::int64_t columns, std::int64_t cuts, std::int64_t bits,
                  const char* configuration) {
  return matrix_in_ring(encoding, 2, columns, cuts, bits, fuzzy::kNumbers, configuration);
}

/// Packets of a record: 10 of 26 outputs, 14 of 40, 34 of 100.
const std::vector<Path>& paths() {
  static const std::vector<Path> all{
      // 16, 8, 4 lanes take one.
      grid(33, 17, 26, "block_size=256 threads_per_rule=32 vector=1"),
      grid(33, 17, 26, "block_size=128 threads_per_rule=32 vector=1"),
      grid(33, 17, 26, "block_size=64 threads_per_rule=32 vector=1"),
      // More blocks than 2 lanes await at a time; where the parameters leave few registers, that is fewer.
      grid(19, 17, 40, "block_size=32 threads_per_rule=32 vector=1"),
      grid(9, 1025, 26, "block_size=32 threads_per_rule=32 vector=4"),
      // Fewer lanes than warps; more packets than threads, and more blocks than one lane awaits at a time.
      grid(33, 17, 100, "block_size=256 threads_per_rule=32 vector=1"),
      grid(9, 17, 100, "block_size=32 threads_per_rule=32 vector=1"),
      // Two rules in a block, one, and none in the end of the last; on every link; sums that every lane reads, and sums
      // that lanes share out.
      wide(3, 3, "scheme=grid coarsen_count=1 storage=split block_size=128 threads_per_rule=64 vector=4"),
      wide(3, 26, "scheme=grid coarsen_count=1 storage=registers block_size=128 threads_per_rule=128 vector=4"),
      wide(5, 1,
           "scheme=cluster coarsen_count=2 coarsening=rules storage=shared block_size=64 threads_per_rule=64 vector=4"),
      wide(6, 3,
           "scheme=block coarsen_count=3 coarsening=rules storage=registers block_size=128 threads_per_rule=64 "
           "vector=2"),
      wide(
          6, 1,
          "scheme=cluster coarsen_count=5 coarsening=rules storage=split block_size=256 threads_per_rule=256 vector=2"),
      // Half of a thread's rules in registers, the others in shared memory: as many, and one more; packs that are no
      // multiple of those of a turn.
      wide(9, 1,
           "scheme=grid coarsen_count=2 coarsening=rules storage=halves block_size=128 threads_per_rule=64 vector=1"),
      wide(6, 1,
           "scheme=grid coarsen_count=4 coarsening=rules storage=halves block_size=64 threads_per_rule=64 vector=4"),
      wide(7, 3,
           "scheme=cluster coarsen_count=3 coarsening=rules storage=halves block_size=256 threads_per_rule=128 "
           "vector=2"),
      // Two rows on their way, and other numbers of packets.
      wide(9, 1,
           "scheme=grid coarsen_count=2 coarsening=rules storage=halves block_size=128 threads_per_rule=64 vector=1 "
           "rows_ahead=2"),
      wide(6, 3,
           "scheme=grid coarsen_count=2 coarsening=rules storage=shared block_size=128 threads_per_rule=128 vector=4 "
           "first_look=250 replicas=4 rows_ahead=2"),
      wide(5, 1,
           "scheme=grid coarsen_count=1 storage=split block_size=64 threads_per_rule=64 vector=2 packets_per_cycle=10 "
           "replicas=16 rows_ahead=2"),
      // Rules in registers, in shared memory and streamed; two rows on their way, a long ring, and rules in registers
      // and streamed; more rules on chip; as many places of the ring as packs; all rules streamed.
      streamed(1, "coarsen_count=7 block_size=64 threads_per_rule=64 vector=4 kept_rules=2"),
      streamed(3,
               "coarsen_count=4 block_size=128 threads_per_rule=64 vector=1 kept_rules=1 rows_ahead=2 packs_ahead=8"),
      streamed(1, "coarsen_count=7 block_size=128 threads_per_rule=128 vector=2 kept_rules=3 packs_ahead=4"),
      streamed(1, "coarsen_count=2 block_size=256 threads_per_rule=64 vector=2 kept_rules=1 packs_ahead=8"),
      streamed(3, "coarsen_count=4 block_size=128 threads_per_rule=64 vector=4 kept_rules=0"),
      streamed_on_gpu(1203, 1, "coarsen_count=3 threads_per_rule=64 kept_rules=2"),
      streamed_on_gpu(1203, 3, "coarsen_count=5 threads_per_rule=128 kept_rules=4"),
      streamed_on_gpu(1603, 1, "coarsen_count=4 threads_per_rule=64 kept_rules=1 packs_ahead=8"),
      // One block; more warps than tiles, so that they share rows and a layer's items.
      resident(4, 8, 0, 3, 37, "block_size=128 blocks=1 rows_in=shared"),
      // Layers beyond one tile of neurons; rows that are bytes or not.
      resident(20, 40, 5, 3, 50, "block_size=64 blocks=4 rows_in=bytes"),
      // Inputs that warps share, and a block without rows.
      resident(250, 5, 0, 2, 43, "block_size=128 blocks=2 rows_in=bytes"),
      resident(250, 5, 0, 2, 33, "block_size=64 blocks=2 rows_in=global"),
      // More packets of an owner than threads.
      resident(80, 9, 0, 1, 20, "block_size=64 blocks=2 rows_in=shared"),
      // More blocks than parameters have packets.
      resident(2, 1, 0, 1, 130, "block_size=64 blocks=8 rows_in=shared"),
      // Mini-batches in one block, and in several, one of which has no rows of the smaller batch at the end of an
      // epoch.
      perceptron(5, 9, 0, 3, 37, 14, "scheme=resident block_size=64 blocks=1 rows_in=shared"),
      perceptron(20, 7, 5, 3, 51, 50, "scheme=resident block_size=64 blocks=2 rows_in=shared"),
      // The first layer divided among the blocks, kernels/mlp/cuda/spread.cuh: more rows than blocks, and several
      // layers
      // behind it; blocks without rows; rows that are copied in packs, and the last part with fewer inputs and neurons;
      // more neurons of a block than a packet holds, with all rows at once.
      perceptron(13, 17, 5, 3, 211, 70, "scheme=spread block_size=64 blocks=4 input_parts=2"),
      perceptron(20, 24, 0, 3, 40, 6, "scheme=spread block_size=64 blocks=8 input_parts=1"),
      perceptron(60, 9, 0, 3, 40, 17, "scheme=spread block_size=128 blocks=16 input_parts=8"),
      perceptron(150, 40, 0, 10, 37, 37, "scheme=spread block_size=64 blocks=4 input_parts=1"),
      // The inputs divided among the blocks of clusters, kernels/mlp/cuda/cluster.cuh: several layers behind the first
      // one; one layer, and a block without rows; a half with one quad of neurons, more columns than a chunk has, and a
      // part with padding; two passes over the rows, the second of fewer.
      perceptron(13, 17, 5, 3, 211, 211, "scheme=cluster block_size=64 blocks=4 input_parts=2 pass_rows=0"),
      perceptron(20, 9, 0, 3, 50, 50, "scheme=cluster block_size=128 blocks=4 input_parts=4 pass_rows=0"),
      perceptron(70, 20, 0, 2, 97, 97, "scheme=cluster block_size=64 blocks=4 input_parts=2 pass_rows=0"),
      perceptron(13, 17, 5, 3, 211, 211, "scheme=cluster block_size=64 blocks=4 input_parts=2 pass_rows=32"),
      // Row after row, kernels/mlp/cuda/online.cuh: lanes that share a neuron, more neurons than threads, no hidden
      // layer.
      perceptron(14, 10, 0, 1, 211, 1, "scheme=online block_size=64"),
      perceptron(33, 70, 5, 3, 211, 1, "scheme=online block_size=64"),
      perceptron(9, 0, 0, 3, 211, 1, "scheme=online block_size=128"),
      // The same by one warp, kernels/mlp/cuda/online_warp.cuh: two lanes for a neuron, and four; more outputs than
      // one;
      // a chunk of rows that has all, and fewer.
      perceptron(14, 10, 0, 1, 211, 1, "scheme=online block_size=32"),
      perceptron(4, 8, 0, 3, 37, 1, "scheme=online block_size=32"),
      perceptron(11, 32, 0, 2, 5, 1, "scheme=online block_size=32"),
      // Rows in registers of warps, kernels/mlp/cuda/warps.cuh: four tiles of a warp, two, and one of a warp that is
      // alone; neurons in one half of a tile; more outputs than one. Rows in shared memory, because a warp has many
      // inputs or many rows, with as many neurons as there can be.
      perceptron(14, 10, 0, 1, 211, 211, "scheme=warps block_size=64 blocks=4"),
      perceptron(4, 8, 0, 3, 37, 37, "scheme=warps block_size=128 blocks=1"),
      perceptron(2, 4, 0, 1, 4, 4, "scheme=warps block_size=32 blocks=1"),
      perceptron(7, 7, 0, 2, 133, 133, "scheme=warps block_size=64 blocks=8"),
      perceptron(108, 10, 0, 1, 150, 150, "scheme=warps block_size=64 blocks=2"),
      perceptron(9, 15, 0, 4, 333, 333, "scheme=warps block_size=64 blocks=2"),
      // Rows that come in pieces, the last of which has fewer.
      perceptron(13, 17, 5, 3, 211, 211, "scheme=layered product=tiles tile=32 parts=4 pieces=4"),
      // Sums of the published mappings, kernels/mlp/cuda/layered_sums.cuh: more neurons than a block has room for
      // beside
      // the addends, and more weights of a row than threads.
      perceptron(60, 17, 0, 3, 37, 14, "scheme=layered product=tree"),
      perceptron(60, 17, 0, 3, 37, 37, "scheme=layered product=thread learners=one"),
      // Rows that begin on a multiple of 16 bytes, and rows that do not; a ring as long as a tile, and longer ones;
      // bounds chosen by selections, by products, and by both.
      real_matrix("lu", 4100, 2, 32, fuzzy::kNumbers,
                  "coarsen_cuts=2 coarsen_rows=4 ahead=16 block_size=64 product_cuts=1"),
      real_matrix("lu", 4101, 2, 32, fuzzy::kCuts,
                  "coarsen_cuts=1 coarsen_rows=2 ahead=8 block_size=64 product_cuts=0"),
      real_matrix("lu", 2048, 4, 64, fuzzy::kCuts,
                  "coarsen_cuts=4 coarsen_rows=1 ahead=8 block_size=64 product_cuts=4"),
      real_matrix("lu", 2203, 2, 64, fuzzy::kNumbers,
                  "coarsen_cuts=2 coarsen_rows=2 ahead=32 block_size=64 product_cuts=2"),
      // All 12 cuts at once; a matrix that is read as far ahead as can be, for one cut.
      real_matrix("lu", 2103, 12, 64, fuzzy::kCuts,
                  "coarsen_cuts=12 coarsen_rows=1 ahead=8 block_size=64 product_cuts=4"),
      real_matrix("lu", 4104, 1, 32, fuzzy::kNumbers,
                  "coarsen_cuts=1 coarsen_rows=2 ahead=32 block_size=256 product_cuts=0"),
      real_matrix("mr", 4100, 3, 64, fuzzy::kNumbers, "coarsen_cuts=3 coarsen_rows=2 ahead=16 block_size=64"),
      real_matrix("mr", 2051, 2, 32, fuzzy::kCuts, "coarsen_cuts=2 coarsen_rows=4 ahead=32 block_size=64"),
      // Numbers of as many components as fit into copies, and of others; rows that begin between copies.
      fuzzy_matrix("mr", 2052, 4, 64, "coarsen_cuts=4 coarsen_rows=1 ahead=16 block_size=64"),
      fuzzy_matrix("mr", 4099, 2, 32, "coarsen_cuts=2 coarsen_rows=2 ahead=32 block_size=64"),
      fuzzy_matrix("lu", 2051, 2, 32, "coarsen_cuts=2 coarsen_rows=1 ahead=16 block_size=64 product_cuts=0"),
      fuzzy_matrix("lu", 4097, 3, 64, "coarsen_cuts=3 coarsen_rows=1 ahead=16 block_size=64 product_cuts=0"),
  };
  return all;
}

struct Threads {
  std::int64_t most = 0;  ///< in one launch
  std::int64_t all = 0;
};

Threads threads(const Plan& plan) {
  Threads result;
  for (const Launch& launch : plan.launches) {
    if (!launch.routine.empty()) continue;
    const auto count = [](const Extent& extent) { return std::int64_t{extent.x} * extent.y * extent.z; };
    const std::int64_t here = count(launch.grid) * count(launch.block);
    result.most = std::max(result.most, here);
    result.all += here;
  }
  return result;
}

/// Draws configurations of one family: as few as it takes for every value of every parameter, of those that the device
/// runs in seconds. Corners, which are the least and the largest number of each parameter and all words, have to occur
/// even so, where that takes the fewest threads, if not more than kMostThreadsOfCorner.
class Draw {
 public:
  Draw(const KernelFamily& family, const DeviceIdentity& device) : family_(family), device_(device) {}

  [[nodiscard]] bool affordable(const Configuration& configuration, const Problem& problem) const {
    const Threads needed = cost(configuration, problem);
    return needed.most <= kMostThreads && needed.all <= kMostStarts;
  }

  /// From `all`, what comes first preferred: those with values not seen before.
  std::vector<Configuration> covering(const std::vector<Configuration>& all, const Problem& problem) {
    constexpr int kTries = 4;  // to find one that is affordable
    std::vector<Configuration> chosen;
    std::map<std::string, int> tries;
    for (const Configuration& candidate : all) {
      std::vector<std::string> fresh = unseen(candidate);
      std::erase_if(fresh, [&](const std::string& value) { return ++tries[value] > kTries; });
      if (fresh.empty()) continue;
      if (affordable(candidate, problem)) {
        seen_.insert(fresh.begin(), fresh.end());
        chosen.push_back(candidate);
        continue;
      }
      const auto [most, needed] = cost(candidate, problem);
      if (most > kMostThreadsOfCorner) continue;
      for (const std::string& value : fresh) {
        const auto [known, inserted] = dear_.try_emplace(value, Dear{needed, {&family_, problem, candidate}});
        if (!inserted && needed < known->second.threads) known->second = {needed, {&family_, problem, candidate}};
      }
    }
    return chosen;
  }

  /// The same with fewer of them: of the first `of` of `all`, always the one that has the most values not seen before.
  std::vector<Configuration> covering_with_few(const std::vector<Configuration>& all, const Problem& problem,
                                               std::size_t of = 500) {
    std::vector<Configuration> chosen;
    const std::size_t count = std::min(of, all.size());
    while (true) {
      std::size_t best = 0, most = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t fresh = unseen(all[i]).size();
        if (fresh > most) std::tie(best, most) = std::pair(i, fresh);
      }
      if (most == 0) break;
      for (const std::string& value : unseen(all[best])) seen_.insert(value);
      chosen.push_back(all[best]);
    }
    for (Configuration& rare : covering(all, problem)) chosen.push_back(std::move(rare));
    return chosen;
  }

  /// The corners that are still missing.
  std::vector<ContractCase> corners() {
    std::vector<ContractCase> chosen;
    for (const auto& [value, dear] : dear_) {
      if (seen_.contains(value) || !is_corner(value)) continue;
      const std::vector<std::string> fresh = unseen(dear.where.configuration);
      seen_.insert(fresh.begin(), fresh.end());
      chosen.push_back(dear.where);
    }
    return chosen;
  }

  /// The first `count` of `all` that are affordable.
  [[nodiscard]] std::vector<Configuration> first(const std::vector<Configuration>& all, const Problem& problem,
                                                 std::size_t count) const {
    std::vector<Configuration> chosen;
    for (auto candidate = all.begin(); candidate != all.end() && chosen.size() < count; ++candidate)
      if (affordable(*candidate, problem)) chosen.push_back(*candidate);
    return chosen;
  }

 private:
  struct Dear {
    std::int64_t threads;
    ContractCase where;
  };

  /// Threads count on the emulator alone.
  [[nodiscard]] Threads cost(const Configuration& configuration, const Problem& problem) const {
    if (device_.backend != "emulator") return {};
    return threads(family_.plan(configuration, problem, device_, kSamples));
  }

  [[nodiscard]] std::vector<std::string> unseen(const Configuration& configuration) const {
    std::vector<std::string> fresh;
    std::istringstream values(configuration.text());
    for (std::string value; values >> value;)
      if (!seen_.contains(value)) fresh.push_back(value);
    return fresh;
  }

  [[nodiscard]] bool is_corner(const std::string& value) const {
    const auto split = value.find('=') + 1;
    const std::string name = value.substr(0, split);
    const auto number = [&](const std::string& text) { return std::strtoll(text.c_str() + split, nullptr, 10); };
    if (value.find_first_not_of("0123456789", split) != std::string::npos) return true;
    std::int64_t least = number(value), largest = least;
    const auto widen = [&](const std::string& other) {
      if (!other.starts_with(name)) return;
      least = std::min<std::int64_t>(least, number(other));
      largest = std::max<std::int64_t>(largest, number(other));
    };
    for (const std::string& other : seen_) widen(other);
    for (const auto& [other, dear] : dear_) widen(other);
    return number(value) == least || number(value) == largest;
  }

  const KernelFamily& family_;
  const DeviceIdentity& device_;
  std::set<std::string> seen_;        ///< "block_size=128"
  std::map<std::string, Dear> dear_;  ///< by value: the cheapest that has it and is not affordable
};

/// A family of fuzzy arrays: the default configuration and every value of every parameter in each form, on problems
/// that take the host milliseconds; and of the default problems, which it fills and compares for seconds, the default
/// configuration and some others, for what only many blocks show. What default problems are too many operations for is
/// left out, as it is of other families.
std::vector<ContractCase> cases_by_form(const KernelFamily& family, const DeviceIdentity& device,
                                        const ContractSample& sample, std::mt19937& generator) {
  constexpr std::size_t kDrawnOfLarge = 2;
  const SearchSpace space = family.space(device);
  std::vector<ContractCase> all;
  const auto add = [&](const Problem& problem, std::vector<Configuration> some) {
    for (Configuration& one : some) all.push_back({&family, problem, std::move(one)});
  };
  const auto shuffled = [&](const Problem& problem) {
    auto configurations = space.enumerate(problem);
    std::shuffle(configurations.begin(), configurations.end(), generator);
    return configurations;
  };
  for (const std::vector<Problem>& form : problems_by_form(family)) {
    Draw draw(family, device);
    for (const Problem& problem : form) {
      const Configuration usual = family.default_configuration(device, problem);
      if (space.violated(usual, problem)) continue;
      add(problem, draw.covering({usual}, problem));
      add(problem, draw.covering_with_few(shuffled(problem), problem));
    }
  }
  if (!sample.large) return all;
  for (Problem problem : family.default_problems(device)) {
    // Enough for more blocks than are resident, and no more.
    constexpr std::int64_t kMostNumbers = 1 << 20;
    if (has_axis(family, "numbers")) problem = problem.with("numbers", std::min(problem.at("numbers"), kMostNumbers));
    if (family.work(problem).operations * kSamples > kMost) continue;
    add(problem, {family.default_configuration(device, problem)});
    add(problem, Draw(family, device).first(shuffled(problem), problem, kDrawnOfLarge));
  }
  return all;
}

}  // namespace

std::vector<ContractCase> contract_cases(const DeviceIdentity& device, const ContractSample& sample) {
  std::mt19937 generator(sample.seed);
  std::vector<ContractCase> all;
  for (const auto& family : sample.families) {
    if (!family->supports(device.backend)) continue;
    const SearchSpace space = family->space(device);
    const bool by_form = sample.forms && has_axis(*family, "layout");
    if (by_form) {
      for (ContractCase& one : cases_by_form(*family, device, sample, generator)) all.push_back(std::move(one));
    }
    Draw draw(*family, device);
    for (const Problem& problem : by_form ? std::vector<Problem>() : problems(*family, device, sample.large)) {
      const Configuration usual = family->default_configuration(device, problem);
      if (space.violated(usual, problem)) continue;  // sizes that the family does not do
      const Plan plan = family->plan(usual, problem, device, kSamples);
      const double operations = family->work(problem).operations * static_cast<double>(plan.samples);
      if (operations > (device.backend == "emulator" ? kMostEmulated : kMost)) continue;
      const auto add = [&](std::vector<Configuration> some) {
        for (Configuration& one : some) all.push_back({family.get(), problem, std::move(one)});
      };
      if (problem == family->awkward_problem() || draw.affordable(usual, problem)) add({usual});
      for (const NamedConfiguration& named : family->named_configurations(device)) {
        const auto configuration = named.configuration(problem);
        if (configuration && !space.violated(*configuration, problem) && draw.affordable(*configuration, problem))
          add({*configuration});
      }
      auto others = space.enumerate(problem);
      std::shuffle(others.begin(), others.end(), generator);
      if (sample.every_value) add(draw.covering(others, problem));
      add(draw.first(others, problem, sample.drawn));
    }
    for (ContractCase& corner : draw.corners()) all.push_back(std::move(corner));
    for (const Path& path : paths()) {
      if (family->name() != path.family || device.backend == "cpu") continue;
      if (path.on == Path::On::gpu && device.backend == "emulator") continue;
      if (path.on == Path::On::emulator && device.backend != "emulator") continue;
      const bool clusters = path.configuration.find("scheme=cluster") != std::string::npos;
      if (clusters && device.compute_capability() < 90) continue;  // its space has no such scheme
      Problem problem = family->awkward_problem();
      for (const auto& [name, size] : path.sizes) problem = problem.with(name, size);
      Configuration configuration = space.parse(path.configuration);
      if (path.on != Path::On::emulator &&
          space.violated(configuration, problem)) {  // a GPU of few multiprocessors, or of little shared memory
        CHECK_MESSAGE((device.backend != "emulator" || device.compute_capability() < 90),
                      problem.text() << ": " << configuration.text());
        continue;
      }
      all.push_back({family.get(), problem, std::move(configuration)});
    }
  }
  if (!sample.only.empty()) {
    std::erase_if(all, [&](const ContractCase& what) {
      return what.configuration.text().find(sample.only) == std::string::npos;
    });
  }
  if (!sample.except.empty()) {
    std::erase_if(all, [&](const ContractCase& what) {
      return what.configuration.text().find(sample.except) != std::string::npos;
    });
  }
  if (all.size() > sample.most) {
    std::shuffle(all.begin(), all.end(), generator);
    // One of every family comes first.
    std::size_t first = 0;
    for (const auto& family : sample.families) {
      const auto own = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                                    [&](const ContractCase& one) { return one.family == family.get(); });
      if (own != all.end()) std::swap(all[first++], *own);
    }
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(sample.most), all.end());
  }
  return all;
}

namespace {

/// "scheme=graph": the first parameter of a configuration, which says most about the code that it runs.
std::string scheme_of(const Configuration& configuration) {
  const std::string text = configuration.text();
  return text.substr(0, text.find(' '));
}

/// A verifier for each family, which finds the kernels that were compiled already.
class Verifiers {
 public:
  Verifiers(Device& device, std::uint64_t seed) : device_(device), seed_(seed) {}

  Verifier& of(const KernelFamily& family, const Kernels& kernels, std::shared_ptr<const Binary> binary) {
    Entry& entry = entries_[family.name()];
    entry.binaries[kernels] = std::move(binary);
    if (!entry.verifier) {
      const auto find = [this, &family, &entry](const Kernels& wanted) {
        std::shared_ptr<const Binary>& found = entry.binaries[wanted];
        if (!found) found = compile_one(device_, {&family.source(device_.identity().backend), wanted}).binary;
        return found;
      };
      entry.verifier = std::make_unique<Verifier>(device_, family, seed_, find);
    }
    return *entry.verifier;
  }

 private:
  struct Entry {
    std::map<Kernels, std::shared_ptr<const Binary>> binaries;
    std::unique_ptr<Verifier> verifier;
  };
  Device& device_;
  std::uint64_t seed_;
  std::map<std::string_view, Entry> entries_;
};

void check_memory(Device& device) {
  const auto memory = device.allocate(1003);
  CHECK(memory->bytes() >= 1003);
  memory->fill(std::byte{0xa5});
  const std::vector<std::byte> written{std::byte{1}, std::byte{2}, std::byte{3}};
  memory->write(written, 1000);
  std::vector<std::byte> read(1003);
  memory->read(read);
  CHECK(std::count(read.begin(), read.begin() + 1000, std::byte{0xa5}) == 1000);
  CHECK(std::equal(written.begin(), written.end(), read.begin() + 1000));
  std::vector<std::byte> end(1);
  memory->read(end, 1002);
  CHECK(end.front() == std::byte{3});
}

/// Memory of the caller's, larger than the plan asks for, in place of a buffer: what comes out is the same.
void check_bindings(Device& device, const KernelFamily& family) {
  const Problem problem = family.awkward_problem();
  const Configuration configuration = family.default_configuration(device.identity(), problem);
  const Trial trial = family.trial(configuration, problem, device.identity(), kSamples, 7);
  const auto compiled = compile_one(device, {&family.source(device.identity().backend), trial.plan.kernels});
  Bindings bindings;
  for (const Buffer& buffer : trial.plan.buffers)
    if (buffer.role == Role::input) bindings[buffer.name] = device.allocate(buffer.bytes + 1024);
  const auto execution = device.prepare(trial.plan, compiled.binary, bindings);
  for (const auto& [name, memory] : bindings) CHECK(&execution->memory(name) == memory.get());
  const auto own = device.prepare(trial.plan, compiled.binary);
  const HostImage bound = outcome_of(*execution, trial.initial, 1);
  CHECK(bound == outcome_of(*own, trial.initial, 1));
}

void check_bad_instantiation(Device& device, const KernelFamily& family) {
  const Kernels unknown{"heddle::there_is_no_such_kernel<1>"};
  try {
    static_cast<void>(compile_one(device, {&family.source(device.identity().backend), unknown}));
    FAIL_CHECK("compiled what does not exist");
  } catch (const DeviceFailure& failure) {
    CHECK(failure.status() == Status::compilation);
    CHECK(std::string(failure.what()).find('\n') == std::string::npos);
  }
}

}  // namespace

HostImage outcome_of_default(Device& device, const KernelFamily& family, std::uint64_t seed) {
  const Problem problem = family.awkward_problem();
  return outcome_of_configuration(device, family, problem, family.default_configuration(device.identity(), problem),
                                  seed);
}

HostImage outcome_of_configuration(Device& device, const KernelFamily& family, const Problem& problem,
                                   const Configuration& configuration, std::uint64_t seed) {
  const Trial trial = family.trial(configuration, problem, device.identity(), kSamples, seed);
  const auto compiled = compile_one(device, {&family.source(device.identity().backend), trial.plan.kernels});
  return outcome_of(*device.prepare(trial.plan, compiled.binary), trial.initial, 1);
}

ContractResult try_configurations(Device& device, const ContractSample& sample) {
  const std::vector<ContractCase> all = contract_cases(device.identity(), sample);
  std::vector<CompileRequest> requests;
  requests.reserve(all.size());
  for (const ContractCase& what : all)
    requests.push_back({&what.family->source(device.identity().backend),
                        what.family->kernels(what.configuration, what.problem, device.identity())});
  Verifiers verifiers(device, sample.seed);
  const auto batch = device.compile(requests);
  ContractResult result;
  result.drawn = all.size();
  std::set<std::string> schemes;
  while (auto done = batch->next()) {
    const ContractCase& what = all[done->first];
    const std::string family(what.family->name());
    const auto complain = [&](const std::string& about) {
      result.complaints.push_back(
          fmt::format("{}, {}: {}: {}", family, what.problem.text(), what.configuration.text(), about));
    };
    if (!done->second.binary) {
      complain(done->second.log);
      continue;
    }
    ++result.tried[family];
    Verifier& verifier = verifiers.of(*what.family, requests[done->first].kernels, std::move(done->second.binary));
    const auto judge = [&](const Verdict& verdict) {
      if (verdict.status != Status::correct) complain(std::string(text(verdict.status)) + ": " + verdict.message);
      return verdict.status;
    };
    // In turn, so that every option set comes to every scheme; and where a scheme is drawn once, more than one.
    const auto run = [&](std::size_t check) {
      return judge(verifier.verify_run(what.configuration, what.problem, check, sample.repeat));
    };
    Status status = Status::correct;
    if (schemes.insert(family + ' ' + scheme_of(what.configuration)).second) {
      const auto verification = what.family->verification(device.identity(), sample.seed, {});
      const std::size_t essential = verification->runs(what.configuration, what.problem).essential;
      for (std::size_t i = 0; i < essential && status == Status::correct; ++i) status = run(i);
    } else {
      status = run(done->first);
    }
    if (status == Status::illegal_access) return result;
    if (sample.thorough) judge(verifier.verify(what.configuration, what.problem));
  }
  return result;
}

void run_device_contract(Device& device, const ContractSample& sample) {
  check_memory(device);
  for (const auto& family : sample.families) {
    if (!family->supports(device.identity().backend)) continue;
    INFO(device.label() << ": " << family->name());
    check_bindings(device, *family);
    check_bad_instantiation(device, *family);
  }

  const ContractResult result = try_configurations(device, sample);
  for (const std::string& complaint : result.complaints) FAIL_CHECK(device.label() << ": " << complaint);
  std::size_t tried = 0;
  for (const auto& family : sample.families) {
    if (!family->supports(device.identity().backend)) continue;
    INFO(device.label() << ": " << family->name());
    const auto own = result.tried.find(family->name());
    REQUIRE(own != result.tried.end());
    tried += own->second;
  }
  MESSAGE(device.label() << " (" << device.identity().name << "): " << tried << " of " << result.drawn
                         << " configurations tried");
  CHECK(tried == result.drawn);
  CHECK(tried >= sample.least);
}

}  // namespace heddle
