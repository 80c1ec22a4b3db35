#include "heddle/kernels/mlp/cuda/train_layouts.hpp"

#include <algorithm>
#include <string>

namespace heddle::mlp {

bool resides(const Configuration& c) { return c.word("scheme") == "resident"; }
bool is_layered(const Configuration& c) { return c.word("scheme") == "layered"; }
bool is_spread(const Configuration& c) { return c.word("scheme") == "spread"; }
bool by_warps(const Configuration& c) { return c.word("scheme") == "warps"; }
bool in_clusters(const Configuration& c) { return c.word("scheme") == "cluster"; }
bool by_neurons(const Configuration& c) { return c.word("scheme") == "neurons"; }
bool is_online(const Configuration& c) { return c.word("scheme") == "online"; }
bool has_product(const Configuration& c, std::string_view name) { return is_layered(c) && c.word("product") == name; }
bool in_tiles(const Configuration& c) { return has_product(c, "tiles"); }
bool by_thread(const Configuration& c) { return has_product(c, "thread"); }

RowsIn rows_in(const Configuration& c) {
  const std::string& where = c.word("rows_in");
  return where == "shared" ? kRowsShared : where == "bytes" ? kRowsBytes : kRowsGlobal;
}
std::int64_t step_rows(const Problem& problem) { return std::min(problem.at("rows"), problem.at("batch")); }
bool in_batches(const Problem& problem) { return problem.at("batch") < problem.at("rows"); }
LayeredShape layered_shape(const Configuration& c, const DeviceIdentity& device) {
  if (in_tiles(c)) {
    return {.tile = c.number("tile"),
            .pieces = c.number("pieces"),
            .units = device.units,
            .local_bytes = device.local_bytes};
  }
  if (by_thread(c)) return {.product = Product::thread, .alone = c.word("learners") == "one"};
  return {.product = has_product(c, "tree") ? Product::tree : Product::library};
}
ResidentLayout resident_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), step_rows(problem), c.number("blocks"), c.number("block_size"), rows_in(c)};
}

SpreadLayout spread_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), step_rows(problem), c.number("blocks"), c.number("input_parts"), c.number("block_size")};
}

ClusterLayout cluster_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem),      step_rows(problem),     c.number("blocks"),
          c.number("input_parts"), c.number("block_size"), c.number("pass_rows")};
}
NeuronsLayout neurons_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), step_rows(problem), c.number("blocks"), c.number("input_parts"), c.number("block_size")};
}

WarpsLayout warps_layout(const Configuration& c, const Problem& problem) {
  return {layers_of(problem), step_rows(problem), c.number("blocks"), c.number("block_size")};
}

}  // namespace heddle::mlp
