#include "heddle/kernels/fuzzy/matvec_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/fuzzy/cpu_space.hpp"
#include "heddle/kernels/fuzzy/sum_space.hpp"
#include "heddle/kernels/fuzzy/sum_workload.hpp"

namespace heddle::fuzzy {
namespace {

/// Rows of matrices for tests repeat; a row and its neighbours differ.
constexpr std::int64_t kPeriodOfRows = 61;
constexpr std::int64_t kTilePadding = 4;  // as in vector_tile.cuh
constexpr std::int64_t kTileSteps = 8;    // of a matrix that goes through registers, as in register_matvec.cuh
constexpr std::int64_t kStageSteps = 4;   // of a ring, as in ring_matvec.cuh

class MatvecFamily final : public ArrayFamily {
 public:
  explicit MatvecFamily(Encoding encoding)
      : ArrayFamily(fmt::format("fuzzy-matvec-{}", suffix(encoding)), "a matrix times a vector of fuzzy numbers",
                    encoding,
                    with_form_axes({{.name = "rows"},
                                    {.name = "columns"},
                                    {.name = "matrix", .maximum = 2, .spacing = Spacing::equal, .values = {1, 2}}})) {}

  std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    const std::int64_t size = device.backend == "cuda" ? 8192 : 128;
    return {problem_of(size, size, MatrixKind::crisp, 4, 32, kNumbers),
            problem_of(size, size, MatrixKind::crisp, 4, 64, kCuts),
            problem_of(size / 4, size, MatrixKind::fuzzy, 4, 64, kCuts)};
  }
  Problem awkward_problem() const override { return problem_of(5, 2101, MatrixKind::fuzzy, 2, 64, kNumbers); }

  const TemplateSource& source(std::string_view backend) const override {
    static const TemplateSource cpu("heddle/kernels/fuzzy/cpu/matvec.hpp", cpu_exact_options());
    static const TemplateSource cuda("heddle/kernels/fuzzy/cuda/matvec.cuh", compile_options());
    return backend == "cpu" ? cpu : cuda;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    std::vector<Constraint> constraints = form_constraints();
    if (device.backend == "cpu") return {device, {threads_parameter(device)}, std::move(constraints)};
    constraints.push_back(cuts_constraint());
    constraints.push_back(
        {.name = "a real matrix is read at least two stages ahead",
         .last = "ahead",
         .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
           return matrix_of(problem) == MatrixKind::fuzzy || configuration.number("ahead") >= 2 * kStageSteps;
         }});
    constraints.push_back(
        {.name = fmt::format("tile_steps is {} where the matrix goes through registers", kTileSteps),
         .last = {},
         .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
           return has_ring(configuration, problem) || configuration.number("tile_steps") == kTileSteps;
         }});
    constraints.push_back(
        {.name =
             "a fuzzy matrix is read more than a tile ahead only if numbers lie together, and all cuts are added up",
         .last = {},
         .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
           return matrix_of(problem) == MatrixKind::crisp || !has_ring(configuration, problem) ||
                  (problem.at("layout") == kNumbers && configuration.number("coarsen_cuts") == problem.at("cuts"));
         }});
    constraints.push_back({.name = "fuzzy elements that are loaded ahead fit into registers",
                           .last = {},
                           .holds = [form = encoding()](const Configuration& configuration, const Problem& problem,
                                                        const DeviceIdentity&) {
                             constexpr std::int64_t kMost = 256;  // bytes of a thread, a quarter of its registers
                             return has_ring(configuration, problem) ||
                                    components(form, configuration.number("coarsen_cuts")) *
                                            configuration.number("coarsen_rows") * configuration.number("ahead") *
                                            (problem.at("bits") / 8) <=
                                        kMost;
                           }});
    constexpr std::int64_t kMostSums = 32;  // cuts, of which one in lower-upper form of double takes 4 registers
    constraints.push_back({.name = fmt::format("at most {} cuts are added up at a time", kMostSums),
                           .last = "coarsen_rows",
                           .holds = [](const Configuration& configuration, const Problem&, const DeviceIdentity&) {
                             return configuration.number("coarsen_cuts") * configuration.number("coarsen_rows") <=
                                    kMostSums;
                           }});
    constraints.push_back(
        {.name = "tiles of the vector, and what is read ahead of the matrix through shared memory, fit there",
         .last = {},
         .holds = [this](const Configuration& configuration, const Problem& problem, const DeviceIdentity& on) {
           return shared_bytes(configuration, problem) <= on.local_bytes;
         }});
    Parameter rows{.name = "coarsen_rows",
                   .values = {std::int64_t{4}, std::int64_t{2}, std::int64_t{1}, std::int64_t{8}},
                   .meaning = "rows that a warp takes",
                   .active = {}};
    Parameter ahead = ahead_parameter();
    ahead.meaning = "steps of 32 columns that a warp reads the matrix ahead, more than 8 through shared memory";
    ahead.values.emplace_back(std::int64_t{32});
    // All 12 cuts of a number at once, since each group of cuts reads the whole matrix.
    Parameter cuts = cuts_parameter();
    cuts.values.emplace_back(std::int64_t{12});
    Parameter tile{.name = "tile_steps",
                   .values = {std::int64_t{8}, std::int64_t{16}},
                   .meaning = "steps of 32 columns after which the warps of a block go on to a next tile of the vector",
                   .active = {}};
    std::vector<Parameter> parameters{std::move(cuts), std::move(rows), std::move(ahead), block_size_parameter(),
                                      std::move(tile)};
    if (encoding() == Encoding::lower_upper) {
      parameters.push_back(
          {.name = "product_cuts",
           .values = {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{4}},
           .meaning = "cuts with a product for either sign of an element, in place of a selected bound",
           .active = {}});
      constraints.push_back(
          {.name = "product_cuts is at most coarsen_cuts, and 0 for a fuzzy matrix",
           .last = {},
           .holds = [](const Configuration& configuration, const Problem& problem, const DeviceIdentity&) {
             const std::int64_t products = configuration.number("product_cuts");
             return products == 0 ||
                    (matrix_of(problem) == MatrixKind::crisp && products <= configuration.number("coarsen_cuts"));
           }});
    }
    return {device, std::move(parameters), std::move(constraints)};
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    if (device.backend == "cpu") return space(device).parse(fmt::format("threads={}", cores_of(device)));
    const std::int64_t cuts = untuned_cuts(problem.at("cuts"), 4);
    std::vector<Mapping> mappings = matrix_of(problem) == MatrixKind::fuzzy ? for_fuzzy_matrix(problem, cuts)
                                                                            : for_real_matrix(problem, cuts, device);
    mappings.push_back({.cuts = cuts, .block = 64});
    mappings.push_back({.block = 64});
    // The first that the card has room for.
    const SearchSpace all = space(device);
    for (const Mapping& mapping : mappings) {
      Configuration configuration = all.parse(text_of(mapping, problem));
      if (!all.violated(configuration, problem)) return configuration;
    }
    return all.parse(text_of(mappings.back(), problem));
  }

  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    const ArrayShape shape = vector_of(problem);
    const bool crisp = matrix_of(problem) == MatrixKind::crisp;
    if (device.backend == "cpu") {
      return {fmt::format("heddle::fuzzy::cpu::matvec<{}, {}, {}>", floats_in_vector(device.architecture),
                          shape.encoding == Encoding::lower_upper, !crisp)};
    }
    const std::string array = array_name(shape);
    const std::int64_t cuts = configuration.number("coarsen_cuts");
    const std::string sizes = fmt::format("{}, {}, {}, {}", cuts, configuration.number("coarsen_rows"),
                                          configuration.number("ahead"), configuration.number("block_size"));
    if (!has_ring(configuration, problem)) return {fmt::format("heddle::fuzzy::register_matvec<{}, {}>", array, sizes)};
    const std::int64_t products = encoding() == Encoding::lower_upper ? configuration.number("product_cuts") : 0;
    // Where rows begin on a multiple of 16 bytes, a lane copies so many at once.
    const std::int64_t of_copy = 128 / problem.at("bits"), of_row = problem.at("columns") * of_element(problem);
    return {fmt::format("heddle::fuzzy::ring_matvec<{}, heddle::fuzzy::{}, {}, {}, {}>", array,
                        crisp ? fmt::format("RealElements<{}, {}, {}>", array, cuts, products)
                              : fmt::format("FuzzyRowElements<{}>", array),
                        sizes, of_row % of_copy == 0 ? of_copy : 1, configuration.number("tile_steps"))};
  }
  Plan once(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device) const override {
    const ArrayShape shape = vector_of(problem);
    ArrayShape outputs = shape;
    outputs.numbers = problem.at("rows");
    Plan plan;
    plan.kernels = kernels(configuration, problem, device);
    plan.buffers = {{"matrix", matrix_bytes(problem), Role::input},
                    {"vector", shape.bytes(), Role::input},
                    {"result", outputs.bytes(), Role::output}};
    Launch launch;
    if (device.backend == "cpu") {
      launch.grid.x = static_cast<unsigned>(configuration.number("threads"));
    } else {
      const std::int64_t block = configuration.number("block_size");
      const std::int64_t rows = configuration.number("coarsen_rows") * (block / cuda::kWarp);
      const std::int64_t groups = shape.cuts / configuration.number("coarsen_cuts");
      launch.grid.x = static_cast<unsigned>((problem.at("rows") + rows - 1) / rows * groups);
      launch.block.x = static_cast<unsigned>(block);
      launch.shared_bytes = shared_bytes(configuration, problem);
    }
    launch.arguments = {BufferArgument{0, 0}, BufferArgument{1, 0}, BufferArgument{2, 0}, problem.at("rows"),
                        StructArgument(shape.form())};
    plan.launches = {std::move(launch)};
    plan.samples = 1;
    return plan;
  }

  HostImage contents(const Problem& problem, std::uint64_t seed, NumberKind kind) const override {
    const ArrayShape shape = vector_of(problem);
    const std::int64_t rows = problem.at("rows");
    HostImage image;
    image["vector"] = random_terms(shape, seed, kind, shape.numbers);
    if (matrix_of(problem) == MatrixKind::crisp) {
      image["matrix"] = random_matrix(rows, shape.numbers, shape.is_double(), ~seed, kind, kPeriodOfRows);
    } else {
      image["matrix"] = random_terms(elements_of(problem), ~seed, kind, kPeriodOfRows * shape.numbers);
    }
    return image;
  }
  HostImage expected(const Problem& problem, const HostImage& contents) const override {
    return {{"result", matrix_vector_product(matrix_of(problem), problem.at("rows"), contents.find("matrix")->second,
                                             vector_of(problem), contents.find("vector")->second)}};
  }

  /// The matrix is read once, and the vector.
  Work work(const Problem& problem) const override {
    const auto elements = static_cast<double>(problem.at("rows") * problem.at("columns"));
    const auto cuts = static_cast<double>(problem.at("cuts"));
    const bool crisp = matrix_of(problem) == MatrixKind::crisp;
    const double operations =
        encoding() == Encoding::lower_upper ? (crisp ? 2.0 : 14.0) * cuts : 2.0 + (crisp ? 2.0 : 4.0) * cuts;
    return {.bytes = static_cast<double>(matrix_bytes(problem) + vector_of(problem).bytes()),
            .operations = operations * elements};
  }

 private:
  struct Mapping {
    std::int64_t cuts = 1, rows = 1, ahead = 8, block = 128, tile = 8;
    std::optional<std::int64_t> products = {};  ///< nothing: as is usual
  };

  [[nodiscard]] std::string text_of(const Mapping& of, const Problem& problem) const {
    std::string text = fmt::format("coarsen_cuts={} coarsen_rows={} ahead={} block_size={} tile_steps={}", of.cuts,
                                   of.rows, of.ahead, of.block, of.tile);
    if (encoding() == Encoding::lower_upper) {
      // In double a selection takes two instructions of the units that select, a product one of others: half of 4 cuts
      // each way.
      const bool selects = matrix_of(problem) == MatrixKind::fuzzy || problem.at("bits") == 32;
      text += fmt::format(" product_cuts={}", of.products.value_or(selects ? 0 : std::min<std::int64_t>(2, of.cuts)));
    }
    return text;
  }

  // What to try first, the best first. Figures of these choices: "Fuzzy numbers" in docs/performance.md.

  [[nodiscard]] std::vector<Mapping> for_fuzzy_matrix(const Problem& problem, std::int64_t cuts) const {
    const bool lower_upper = encoding() == Encoding::lower_upper, apart = problem.at("layout") == kCuts;
    const std::int64_t bits = problem.at("bits");
    if (problem.at("cuts") == 1) return {Mapping{}};
    if (apart && lower_upper && bits == 32) return {Mapping{.ahead = 4, .block = 256}};
    std::vector<Mapping> mappings;
    if (!apart && !lower_upper && cuts == problem.at("cuts")) {
      mappings.push_back({.cuts = cuts, .rows = bits == 32 ? 2 : 1, .ahead = 16, .block = bits == 32 ? 256 : 128});
    }
    mappings.push_back({.cuts = cuts, .ahead = apart ? 4 : 128 / bits, .block = 256});
    return mappings;
  }

  [[nodiscard]] std::vector<Mapping> for_real_matrix(const Problem& problem, std::int64_t cuts,
                                                     const DeviceIdentity& device) const {
    const bool lower_upper = encoding() == Encoding::lower_upper;
    const std::int64_t of_number = problem.at("cuts"), rows = problem.at("rows"), bits = problem.at("bits");
    std::vector<Mapping> mappings;
    // Each group of cuts reads the whole matrix: of many cuts as many at a time as registers hold sums of. That was
    // measured with 8 warps for each multiprocessor; what far fewer would do is not known.
    constexpr std::int64_t kWarpsOfMultiprocessor = 7;
    const bool few_sums = lower_upper || (bits == 64 && problem.at("layout") == kNumbers);
    Mapping wide{.cuts = 12, .rows = 2, .ahead = 16, .block = 256};
    if (few_sums) wide = {.cuts = 6, .rows = 4, .block = 256, .products = 4};
    if (of_number % wide.cuts == 0 &&
        rows * (of_number / wide.cuts) >= kWarpsOfMultiprocessor * wide.rows * device.units) {
      mappings.push_back(wide);
    }
    // Where there are enough rows for all multiprocessors, several rows make up for each part of the vector. Bounds in
    // double take more registers.
    constexpr std::int64_t kRowsOfMultiprocessor = 32;
    if (rows * (of_number / cuts) >= kRowsOfMultiprocessor * device.units) {
      Mapping many{.cuts = cuts, .rows = 4, .ahead = 16, .block = 256};
      if (bits == 32) many.block = 512, many.tile = 16;
      if (bits == 32 && cuts == 4) many.products = 4;
      mappings.push_back(many);
      mappings.push_back({.cuts = cuts, .rows = 4});
    } else if (of_number == 1) {
      // With one cut there is little to do for an element, and nothing but bytes on their way keeps memory busy: 32
      // steps ahead reach 80 to 90 % of a copy where 8 reach 47 to 76 (bench/results/nvidia-h100/fuzzy_table.csv).
      mappings.push_back({.rows = bits == 32 ? 2 : 1, .ahead = 32, .block = 256});
    }
    mappings.push_back({.cuts = cuts});
    return mappings;
  }

  [[nodiscard]] Problem problem_of(std::int64_t rows, std::int64_t columns, MatrixKind matrix, std::int64_t cuts,
                                   std::int64_t bits, Layout layout) const {
    return Problem::from(axes(), {rows, columns, static_cast<std::int64_t>(matrix), cuts, bits, layout});
  }
  [[nodiscard]] static MatrixKind matrix_of(const Problem& problem) {
    return problem.at("matrix") == 1 ? MatrixKind::crisp : MatrixKind::fuzzy;
  }
  /// Whether the matrix goes through shared memory, not through registers.
  [[nodiscard]] static bool has_ring(const Configuration& configuration, const Problem& problem) {
    return matrix_of(problem) == MatrixKind::crisp || configuration.number("ahead") > kTileSteps;
  }
  /// Reals of an element of the matrix.
  [[nodiscard]] std::int64_t of_element(const Problem& problem) const {
    return matrix_of(problem) == MatrixKind::crisp ? 1 : components(encoding(), problem.at("cuts"));
  }
  /// Of tiles of the vector, and of rings: what all warps read ahead of the matrix.
  [[nodiscard]] std::int64_t shared_bytes(const Configuration& configuration, const Problem& problem) const {
    const bool ring = has_ring(configuration, problem);
    const std::int64_t steps = configuration.number("tile_steps"), ahead = configuration.number("ahead");
    const std::int64_t columns = steps * cuda::kWarp;
    // What a ring requests at the same time as a tile is used after it.
    const std::int64_t tiles = 1 + (ring ? (ahead - kStageSteps + steps - 1) / steps : 1);
    const std::int64_t rows = configuration.number("coarsen_rows") * (configuration.number("block_size") / cuda::kWarp);
    const std::int64_t of_number = components(encoding(), configuration.number("coarsen_cuts"));
    const std::int64_t pack = 128 / problem.at("bits"), packs = of_number / pack;
    return (tiles * (columns * of_number + (packs + packs % 2) * kTilePadding * pack) +
            (ring ? rows * ahead * cuda::kWarp * of_element(problem) : 0)) *
           (problem.at("bits") / 8);
  }
  [[nodiscard]] ArrayShape vector_of(const Problem& problem) const {
    return shape_of(problem, encoding(), problem.at("columns"));
  }
  [[nodiscard]] ArrayShape elements_of(const Problem& problem) const {
    return shape_of(problem, encoding(), problem.at("rows") * problem.at("columns"));
  }
  [[nodiscard]] std::int64_t matrix_bytes(const Problem& problem) const {
    const ArrayShape elements = elements_of(problem);
    return matrix_of(problem) == MatrixKind::fuzzy ? elements.bytes() : elements.bytes() / elements.components();
  }
};

}  // namespace

const KernelFamily& matvec_family(Encoding encoding) {
  static const MatvecFamily lower_upper(Encoding::lower_upper), midpoint_radius(Encoding::midpoint_radius);
  return encoding == Encoding::lower_upper ? lower_upper : midpoint_radius;
}

}  // namespace heddle::fuzzy
