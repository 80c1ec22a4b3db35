#include "contract/contract_paths.hpp"

#include <string_view>

#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::contract {

namespace {

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
  return {.family = "sonfin-train",
          .sizes = {{"rules", 13}, {"dim", 517}, {"outputs", outputs}},
          .configuration = "scheme=grid coarsening=rules storage=stream " + configuration,
          .too_small = true};
}
Path streamed_on_gpu(std::int64_t rules, std::int64_t outputs, const std::string& configuration) {
  return {.family = "sonfin-train",
          .sizes = {{"rules", rules}, {"dim", 4997}, {"outputs", outputs}},
          .configuration = "scheme=grid coarsening=rules storage=stream block_size=256 vector=4 " + configuration,
          .gpu_only = true};
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
/// Too many threads for the emulator, where it takes minutes.
Path on_gpu(Path path) {
  path.gpu_only = true;
  return path;
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

}  // namespace

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
      // The block that combines takes two, three and four rules of a thread at a time, and more than that in turn,
      // kernels/sonfin/cuda/launched.cuh.
      {"sonfin-train",
       {{"rules", 301}, {"dim", 3}, {"outputs", 1}},
       "scheme=graph coarsen_count=1 block_size=64 threads_per_rule=4 vector=1 kernels=3 reduction=shuffle "
       "combine_size=256 launch=overlapped"},
      {"sonfin-train",
       {{"rules", 701}, {"dim", 3}, {"outputs", 3}},
       "scheme=stepwise coarsen_count=1 block_size=64 threads_per_rule=4 vector=1 kernels=2 combine_size=256 "
       "launch=ordered"},
      {"sonfin-train",
       {{"rules", 1029}, {"dim", 3}, {"outputs", 2}},
       "scheme=graph coarsen_count=4 coarsening=rules block_size=128 threads_per_rule=1 vector=1 kernels=3 "
       "reduction=shuffle combine_size=256 launch=overlapped"},
      {"sonfin-train",
       {{"rules", 1029}, {"dim", 3}, {"outputs", 1}},
       "scheme=stepwise coarsen_count=4 coarsening=rules block_size=128 threads_per_rule=1 vector=1 kernels=2 "
       "combine_size=256 launch=ordered"},
      // The fewest inputs that two warps share, one pack a thread, and half of the threads without one.
      {"sonfin-train",
       {{"rules", 9}, {"dim", 256}, {"outputs", 3}},
       "scheme=grid coarsen_count=2 coarsening=rules storage=halves block_size=128 threads_per_rule=64 vector=4"},
      {"sonfin-train",
       {{"rules", 5}, {"dim", 261}, {"outputs", 1}},
       "scheme=cluster coarsen_count=1 storage=registers block_size=128 threads_per_rule=128 vector=4"},
      // Half of a thread's rules in registers, the others in shared memory: as many, and one more; packs that are no
      // multiple of those of a turn.
      wide(9, 1,
           "scheme=grid coarsen_count=2 coarsening=rules storage=halves block_size=128 threads_per_rule=64 vector=1"),
      wide(6, 1,
           "scheme=grid coarsen_count=4 coarsening=rules storage=halves block_size=64 threads_per_rule=64 vector=4"),
      wide(7, 3,
           "scheme=cluster coarsen_count=3 coarsening=rules storage=halves block_size=256 threads_per_rule=128 "
           "vector=2"),
      // Some packs of the rules in registers in shared memory too: of one rule, of one beside two, of two, and all but
      // one.
      wide(9, 1,
           "scheme=grid coarsen_count=2 coarsening=rules storage=halves block_size=128 threads_per_rule=64 vector=1 "
           "moved_packs=3"),
      wide(7, 3,
           "scheme=cluster coarsen_count=3 coarsening=rules storage=halves block_size=256 threads_per_rule=128 "
           "vector=2 moved_packs=2"),
      wide(6, 1,
           "scheme=grid coarsen_count=4 coarsening=rules storage=halves block_size=64 threads_per_rule=64 vector=2 "
           "moved_packs=4"),
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
      // layers behind it; blocks without rows; rows that are copied in packs, and the last part with fewer inputs and
      // neurons; more neurons of a block than a packet holds, with all rows at once.
      perceptron(13, 17, 5, 3, 211, 70, "scheme=spread block_size=64 blocks=4 input_parts=2"),
      perceptron(20, 24, 0, 3, 40, 6, "scheme=spread block_size=64 blocks=8 input_parts=1"),
      perceptron(60, 9, 0, 3, 40, 17, "scheme=spread block_size=128 blocks=16 input_parts=8"),
      perceptron(150, 40, 0, 10, 37, 37, "scheme=spread block_size=64 blocks=4 input_parts=1"),
      // Hidden neurons divided among clusters, and their inputs in them, kernels/mlp/cuda/neurons.cuh: a step of one
      // row, which some blocks do not have, and clusters of fewer neurons than slots; rows that are copied in packs, a
      // last part with fewer inputs, and as many outputs as there can be; all rows at once;
      // one output.
      perceptron(13, 17, 0, 3, 211, 30, "scheme=neurons block_size=64 blocks=8 input_parts=2"),
      perceptron(60, 14, 0, 16, 80, 40, "scheme=neurons block_size=128 blocks=16 input_parts=8"),
      perceptron(20, 9, 0, 10, 29, 29, "scheme=neurons block_size=256 blocks=4 input_parts=2"),
      perceptron(45, 32, 0, 1, 97, 50, "scheme=neurons block_size=128 blocks=16 input_parts=4"),
      on_gpu(perceptron(60, 30, 0, 16, 80, 40, "scheme=neurons block_size=256 blocks=32 input_parts=8")),
      on_gpu(perceptron(45, 64, 0, 1, 97, 50, "scheme=neurons block_size=128 blocks=32 input_parts=4")),
      // The inputs divided among the blocks of clusters, kernels/mlp/cuda/cluster.cuh: several layers behind the first
      // one; one layer, and a block without rows; a half with one quad of neurons, more columns than a chunk has, and a
      // part with padding; two passes over the rows, the second of fewer; blocks whose rows are no whole tiles; three
      // passes, of teams of two warps.
      perceptron(13, 17, 5, 3, 211, 211, "scheme=cluster block_size=64 blocks=4 input_parts=2 pass_rows=0"),
      perceptron(20, 9, 0, 3, 50, 50, "scheme=cluster block_size=128 blocks=4 input_parts=4 pass_rows=0"),
      perceptron(70, 20, 0, 2, 97, 97, "scheme=cluster block_size=64 blocks=4 input_parts=2 pass_rows=0"),
      perceptron(13, 17, 5, 3, 211, 211, "scheme=cluster block_size=64 blocks=4 input_parts=2 pass_rows=32"),
      perceptron(33, 9, 0, 3, 90, 90, "scheme=cluster block_size=128 blocks=4 input_parts=4 pass_rows=0"),
      perceptron(70, 20, 6, 4, 300, 300, "scheme=cluster block_size=128 blocks=4 input_parts=2 pass_rows=32"),
      // Row after row, kernels/mlp/cuda/online.cuh: lanes that share a neuron, more neurons than threads, no hidden
      // layer.
      perceptron(14, 10, 0, 1, 211, 1, "scheme=online block_size=64"),
      perceptron(33, 70, 5, 3, 211, 1, "scheme=online block_size=64"),
      perceptron(9, 0, 0, 3, 211, 1, "scheme=online block_size=128"),
      // The same by one warp, kernels/mlp/cuda/online_warp.cuh: two lanes for a neuron, and four; more outputs than
      // one; a chunk of rows that has all, and fewer.
      perceptron(14, 10, 0, 1, 211, 1, "scheme=online block_size=32"),
      perceptron(4, 8, 0, 3, 37, 1, "scheme=online block_size=32"),
      perceptron(11, 32, 0, 2, 5, 1, "scheme=online block_size=32"),
      // Rows in registers of warps, kernels/mlp/cuda/warps.cuh: four tiles of a warp, two, and one of a warp that is
      // alone; neurons in one half of a tile; more outputs than one. Rows in shared memory, because a warp has many
      // inputs or many rows, with as many neurons as there can be; more rows than one pass has and one slice of
      // columns, in
      // one block and in several.
      perceptron(14, 10, 0, 1, 211, 211, "scheme=warps block_size=64 blocks=4"),
      perceptron(4, 8, 0, 3, 37, 37, "scheme=warps block_size=128 blocks=1"),
      perceptron(2, 4, 0, 1, 4, 4, "scheme=warps block_size=32 blocks=1"),
      perceptron(7, 7, 0, 2, 133, 133, "scheme=warps block_size=64 blocks=8"),
      perceptron(108, 10, 0, 1, 150, 150, "scheme=warps block_size=64 blocks=2"),
      perceptron(9, 15, 0, 4, 333, 333, "scheme=warps block_size=64 blocks=2"),
      perceptron(4, 8, 0, 3, 105, 105, "scheme=warps block_size=32 blocks=1"),
      perceptron(6, 5, 0, 2, 150, 150, "scheme=warps block_size=64 blocks=2"),
      // Rows that come in pieces, the last of which has fewer.
      perceptron(13, 17, 5, 3, 211, 211, "scheme=layered product=tiles tile=64 pieces=4"),
      // Tiles of every width, rows in an order, weights that are shared out either way; outputs that no tile has all
      // of.
      perceptron(20, 140, 0, 18, 150, 70, "scheme=layered product=tiles tile=128 pieces=1"),
      perceptron(50, 9, 0, 40, 97, 97, "scheme=layered product=tiles tile=64 pieces=1"),
      // Sums of the published mappings, kernels/mlp/cuda/layered_sums.cuh: more neurons than a block has room for
      // beside the addends, and more weights of a row than threads.
      perceptron(60, 17, 0, 3, 37, 14, "scheme=layered product=tree"),
      perceptron(60, 17, 0, 3, 37, 37, "scheme=layered product=thread learners=one"),
      // Rows that begin on a multiple of 16 bytes, and rows that do not; rings shorter than a tile of the vector, as
      // long as one, and longer;
      // bounds selected, two products of which one is kept, and both.
      real_matrix("lu", 4100, 2, 32, fuzzy::kNumbers,
                  "coarsen_cuts=2 coarsen_rows=8 ahead=16 block_size=64 tile_steps=8 product_cuts=1"),
      real_matrix("lu", 4101, 2, 32, fuzzy::kCuts,
                  "coarsen_cuts=1 coarsen_rows=2 ahead=8 block_size=64 tile_steps=16 product_cuts=0"),
      real_matrix("lu", 2048, 4, 64, fuzzy::kCuts,
                  "coarsen_cuts=4 coarsen_rows=1 ahead=8 block_size=64 tile_steps=8 product_cuts=4"),
      real_matrix("lu", 2203, 2, 64, fuzzy::kNumbers,
                  "coarsen_cuts=2 coarsen_rows=2 ahead=32 block_size=64 tile_steps=16 product_cuts=2"),
      // All 12 cuts at once; a matrix that is read as far ahead as can be, for one cut.
      real_matrix("lu", 2103, 12, 64, fuzzy::kCuts,
                  "coarsen_cuts=12 coarsen_rows=1 ahead=8 block_size=64 tile_steps=8 product_cuts=4"),
      real_matrix("lu", 4104, 1, 32, fuzzy::kNumbers,
                  "coarsen_cuts=1 coarsen_rows=2 ahead=32 block_size=256 tile_steps=16 product_cuts=0"),
      real_matrix("mr", 4100, 3, 64, fuzzy::kNumbers,
                  "coarsen_cuts=3 coarsen_rows=2 ahead=16 block_size=64 tile_steps=16"),
      real_matrix("mr", 2051, 2, 32, fuzzy::kCuts,
                  "coarsen_cuts=2 coarsen_rows=4 ahead=32 block_size=64 tile_steps=16"),
      // Numbers of as many components as fit into copies, and of others; rows that begin between copies.
      fuzzy_matrix("mr", 2052, 4, 64, "coarsen_cuts=4 coarsen_rows=1 ahead=16 block_size=64 tile_steps=8"),
      fuzzy_matrix("mr", 4099, 2, 32, "coarsen_cuts=2 coarsen_rows=2 ahead=32 block_size=64 tile_steps=16"),
      fuzzy_matrix("lu", 2051, 2, 32,
                   "coarsen_cuts=2 coarsen_rows=1 ahead=16 block_size=64 tile_steps=16 product_cuts=0"),
      fuzzy_matrix("lu", 4097, 3, 64,
                   "coarsen_cuts=3 coarsen_rows=1 ahead=16 block_size=64 tile_steps=8 product_cuts=0"),
  };
  return all;
}

}  // namespace heddle::contract
