#include "heddle/kernels/tsk/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/tsk/cuda/plans.hpp"
#include "heddle/kernels/tsk/cuda/space.hpp"
#include "heddle/kernels/tsk/cuda/terms.hpp"

namespace heddle::tsk {

namespace {

constexpr std::int64_t kWorthABlock = 32;  // rows: four a warp pay for an exchange with more blocks

struct ResidentPreference {
  int block_size, row_sets;
};

/// Two sets of rows hide more of what one waits for; more warps do, too, but their sums have to be added up, and with
/// few rows that takes longer.
std::vector<ResidentPreference> resident_preferences(std::int64_t rows_of_block) {
  constexpr std::int64_t kMany = 1024, kSeveral = 64;
  std::vector<ResidentPreference> preferences;
  if (rows_of_block >= kMany) preferences.push_back({384, 2});
  if (rows_of_block > kSeveral) preferences.push_back({256, 2});
  preferences.push_back({256, 1});
  return preferences;
}

class CudaMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/tsk/cuda/iterate.cuh", cuda_network_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device, int order) const override { return cuda_space(device, order); }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem, int order) const override {
    const SearchSpace all = space(device, order);
    const std::vector<std::int64_t> counts = resident_blocks(device);
    for (const std::int64_t blocks : counts) {
      if (blocks > problem.at("rows") / kWorthABlock && blocks > 1) continue;
      // Where rows are too few for all multiprocessors: twice as many blocks of half the threads, which add up faster.
      if (std::ranges::find(counts, 2 * blocks) != counts.end()) {
        Configuration halved =
            all.parse(fmt::format("scheme=resident block_size=128 row_sets=1 blocks={}", 2 * blocks));
        if (!all.violated(halved, problem)) return halved;
      }
      for (const ResidentPreference& preference : resident_preferences(problem.at("rows") / blocks)) {
        Configuration configuration = all.parse(fmt::format("scheme=resident block_size={} row_sets={} blocks={}",
                                                            preference.block_size, preference.row_sets, blocks));
        if (!all.violated(configuration, problem)) return configuration;
      }
      break;
    }
    for (const int pieces : {1, 4, 16, 64, 256}) {
      for (const char* text :
           {"scheme=graph storage=recomputed solver=block pieces={} tile_rows=64 lanes=4 side=4 blocks_per_unit=1 "
            "solve_size=256 overlap=0",
            "scheme=graph storage=recomputed solver=block pieces={} tile_rows=32 lanes=4 side=4 blocks_per_unit=1 "
            "solve_size=256 overlap=0",
            "scheme=graph storage=kept solver=block pieces={} solve_size=512 overlap=0",
            "scheme=graph storage=kept solver=library pieces={}"}) {
        Configuration configuration = all.parse(fmt::format(fmt::runtime(text), pieces));
        if (!all.violated(configuration, problem)) return configuration;
      }
    }
    return all.parse("scheme=graph storage=kept solver=library pieces=256");
  }

  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device, int order) const override {
    const SearchSpace all = space(device, order);
    return {{.name = "published-split",
             .meaning = "Ferreira and Cruz: a block for a row, a thread for a rule, least squares by a library",
             .configuration = [all](const Problem& problem) -> std::optional<Configuration> {
               Configuration configuration = all.parse("scheme=sample");
               if (all.violated(configuration, problem)) return std::nullopt;
               return configuration;
             }}};
  }

  std::span<const std::string_view> cost_terms() const override { return cuda_cost_terms(); }
  TermCounts term_counts(const Configuration& configuration, int order) const override {
    return cuda_term_counts(configuration, order);
  }

  /// The launches of one iteration name them all.
  Kernels kernels(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                  int order) const override {
    return cuda_plan(configuration, problem, device, order, 1).kernels;
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
            std::int64_t iterations) const override {
    return cuda_plan(configuration, problem, device, order, iterations);
  }
};

}  // namespace

const Mapping& cuda_mapping() {
  static const CudaMapping mapping;
  return mapping;
}

}  // namespace heddle::tsk
