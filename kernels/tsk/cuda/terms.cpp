#include "heddle/kernels/tsk/cuda/terms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "heddle/kernels/tsk/cuda/shapes.hpp"

namespace heddle::tsk {

namespace {

constexpr double kSchedulers = 4.0;  // of a multiprocessor

/// The numbers of an iteration that its time depends on.
struct Iteration {
  Iteration(const Configuration& configuration, const Problem& problem, int order) {
    const HostSizes sizes = sizes_of(problem, order);
    const ResidentShape shape(configuration, sizes, problem.at("rows"));
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };
    blocks = real(shape.blocks);
    warps = real(shape.threads / kWarp);
    issued = std::max(1.0, warps / kSchedulers);
    sets = real(shape.sets);
    turns = std::ceil(real(problem.at("rows")) / (blocks * real(ResidentShape::rows_at_once(configuration))));
    products = real(triangle(shape.column_tiles));
    rule_tiles = real(shape.rule_tiles);
    dim = real(sizes.dim);
    in_double = shape.real == static_cast<std::int64_t>(sizeof(double)) ? 1.0 : 0.0;
    columns = real(sizes.columns());
    const double side = real(resident_side(shape.column_tiles));
    elements = side * side / real(shape.threads);
    const double squares = 64.0;  // elements of a product of two tiles
    parts = (warps * products * squares + warps * real(kRowsOfSet) * real(sizes.slopes())) / real(shape.threads);
    const auto of_exchanges = [&](auto count) { return count(sizes.gram_elements()) + count(sizes.slopes()); };
    posted = of_exchanges([&](std::int64_t sums) { return std::ceil(real(sums) / real(shape.threads)); });
    owned = of_exchanges([&](std::int64_t sums) { return std::ceil(std::ceil(real(sums) / blocks) / warps); });
    several = shape.blocks > 1 ? 1.0 : 0.0;
  }
  double blocks, warps, issued, sets, turns, products, rule_tiles, dim, in_double, columns;
  double elements;  ///< of the matrix that a thread eliminates
  double parts;     ///< sums of warps that a thread adds up, in both passes
  double posted;    ///< packets that a thread posts, in both exchanges
  double owned;     ///< elements of the block that a warp adds up, one after the other
  double several;   ///< 1: there are other blocks
};

struct Term {
  std::string_view name;
  double (*count)(const Iteration&);
};

constexpr std::array kResident{
    Term{"resident: the iteration itself", [](const Iteration&) { return 1.0; }},
    Term{"resident: turns of rows", [](const Iteration& i) { return i.turns; }},
    Term{"resident: products of tiles of columns, of a scheduler",
         [](const Iteration& i) { return i.turns * i.sets * i.products * i.issued; }},
    Term{"resident: tiles of rules, of a scheduler",
         [](const Iteration& i) { return i.turns * i.sets * i.rule_tiles * i.issued; }},
    Term{"resident: inputs of tiles of rules, of a scheduler",
         [](const Iteration& i) { return i.turns * i.sets * i.rule_tiles * i.dim * i.issued; }},
    Term{"resident: those in float64",
         [](const Iteration& i) { return i.in_double * i.turns * i.sets * i.rule_tiles * i.dim * i.issued; }},
    Term{"resident: sums of warps", [](const Iteration& i) { return i.parts; }},
    Term{"resident: warps", [](const Iteration& i) { return i.warps; }},
    Term{"resident: pivots", [](const Iteration& i) { return i.columns; }},
    Term{"resident: elements of pivots", [](const Iteration& i) { return i.columns * i.elements; }},
    Term{"resident: pivots of warps", [](const Iteration& i) { return i.columns * i.warps; }},
    Term{"resident: exchanges", [](const Iteration& i) { return i.several; }},
    Term{"resident: doublings of blocks", [](const Iteration& i) { return std::log2(i.blocks); }},
    Term{"resident: packets of a thread", [](const Iteration& i) { return i.several * i.posted; }},
    Term{"resident: sums of blocks", [](const Iteration& i) { return i.several * i.owned; }},
};

}  // namespace

std::span<const std::string_view> cuda_cost_terms() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    all.reserve(kResident.size());
    for (const Term& term : kResident) all.push_back(term.name);
    return all;
  }();
  return names;
}

TermCounts cuda_term_counts(const Configuration& configuration, int order) {
  if (!is_resident(configuration)) return {};
  return {.first = 0,
          .size = kResident.size(),
          .count = [configuration, order](const Problem& problem, std::span<double> counts) {
            const Iteration iteration(configuration, problem, order);
            const auto rows = static_cast<double>(problem.at("rows"));
            for (std::size_t i = 0; i < kResident.size(); ++i) counts[i] = kResident[i].count(iteration) / rows;
          }};
}

}  // namespace heddle::tsk
