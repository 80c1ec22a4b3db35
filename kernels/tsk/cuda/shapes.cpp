#include "heddle/kernels/tsk/cuda/shapes.hpp"

#include <algorithm>

#include "heddle/kernels/tsk/mapping.hpp"

namespace heddle::tsk {

bool is(const Configuration& c, const char* parameter, std::string_view word) {
  return c.has(parameter) && c.word(parameter) == word;
}
bool recomputes(const Configuration& c) { return is(c, "scheme", "block") || is(c, "storage", "recomputed"); }
bool is_resident(const Configuration& c) { return is(c, "scheme", "resident"); }
bool solves_in_block(const Configuration& c) { return is(c, "scheme", "block") || is(c, "solver", "block"); }
std::int64_t pieces_of(const Configuration& c) { return c.has("pieces") ? c.number("pieces") : 1; }

HostSizes sizes_of(const Problem& problem, int order) {
  const std::int64_t dim = problem.at("dim");
  return {
      .dim = dim, .outputs = problem.at("outputs"), .rules = problem.at("rules"), .terms = order == 0 ? 1 : dim + 1};
}

std::int64_t gram_pitch(const HostSizes& sizes) { return ceil_div(sizes.columns(), 2) * 2; }
std::int64_t solve_bytes(const HostSizes& sizes) { return kWord * SolvePieces(sizes).words(); }

TileShape::TileShape(const Configuration& c)
    : rows(c.number("tile_rows")), lanes(c.number("lanes")), side(c.number("side")) {}

std::int64_t TileShape::pitch(const HostSizes& sizes) const {
  std::int64_t pitch = sizes.sides(side) * side;
  while (pitch % 4 != 2) ++pitch;
  return pitch;
}

std::int64_t TileShape::accumulate_bytes(const HostSizes& sizes) const {
  return kWord * AccumulatePieces(sizes, rows, lanes, side, pitch(sizes), phi_pitch(sizes)).words();
}

std::int64_t TileShape::descend_bytes(const HostSizes& sizes) const {
  return kWord * DescendPieces(sizes, rows, lanes, phi_pitch(sizes)).words();
}

std::int64_t compare_bytes(const HostSizes& sizes) {
  return kWord * ComparePieces(kCompareBlock / kWarp, sizes.outputs).words();
}

ResidentShape::ResidentShape(const Configuration& c, const HostSizes& sizes, std::int64_t rows)
    : real(rows <= kFewRows ? sizeof(double) : sizeof(float)),
      threads(c.number("block_size")),
      sets(c.number("row_sets")),
      blocks(c.number("blocks")),
      column_tiles(resident_tiles(sizes.columns())),
      rule_tiles(resident_tiles(sizes.rules)) {
  const ResidentPieces pieces(sizes, threads / kWarp, sets, column_tiles);
  most = pieces.sums;
  packets = GridPackets<std::int64_t>{blocks, most}.count();
  shared_bytes = kWord * pieces.words(real / kWord);
}

std::int64_t ResidentShape::rows_at_once(const Configuration& c) {
  return c.number("block_size") / kWarp * c.number("row_sets") * kRowsOfSet;
}

std::int64_t ResidentShape::registers(std::int64_t dim) const {
  const std::int64_t of_set = 2 * column_tiles + real / kWord * (rule_tiles + 2 * dim);
  return 56 + std::max(4 * triangle(column_tiles) + real / 2 * rule_tiles * dim, 8 * rule_tiles * dim) +
         (sets - 1) * of_set;
}

}  // namespace heddle::tsk
