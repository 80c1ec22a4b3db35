#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/mlp/train.hpp"

namespace heddle {
namespace {

const DeviceIdentity kGpu{"cuda", "any", "9.0", 132, 80, 50 << 20, 227 << 10};

Problem perceptron(std::int64_t inputs, const std::vector<std::int64_t>& hidden, std::int64_t outputs,
                   std::int64_t rows) {
  return mlp::training_problem(mlp::layers(inputs, hidden, outputs), rows, rows, mlp::kByteBits);
}

std::optional<Configuration> named(const DeviceIdentity& device, const std::string& name, const Problem& problem) {
  for (const NamedConfiguration& each : mlp::train_family().named_configurations(device)) {
    if (each.name == name) return each.configuration(problem);
  }
  FAIL("no configuration is called " << name);
  return std::nullopt;
}

TEST_CASE("perceptrons: published mappings are there where the published programs run") {
  const Problem adult = perceptron(14, {10}, 1, 32561), digits = perceptron(784, {25, 15}, 10, 10000);
  CHECK(named(kGpu, "gurgel", adult).has_value());
  CHECK_FALSE(named(kGpu, "gurgel", digits).has_value());                          // weights for threads of a block
  CHECK_FALSE(named(kGpu, "gurgel", perceptron(14, {10}, 1, 65536)).has_value());  // rows for blocks of a grid
  CHECK(named(kGpu, "gurgel-wide", digits).has_value());
  CHECK_FALSE(named(kGpu, "gurgel-wide", perceptron(784, {128}, 10, 60000)).has_value());  // 24 GB of gradients
  CHECK(named(kGpu, "toman", digits).has_value());
  CHECK_FALSE(named(kGpu, "toman", perceptron(14, {128}, 10, 1000)).has_value());  // 1280 weights behind a hidden layer
}

TEST_CASE("perceptrons: published mappings have the published launches") {
  const Problem adult = perceptron(14, {10}, 1, 32561), digits = perceptron(784, {25, 15}, 10, 10000);
  const auto launches = [](const std::string& name, const Problem& problem) {
    const Plan plan = mlp::train_family().plan(*named(kGpu, name, problem), problem, kGpu, problem.at("rows") * 4);
    const std::int64_t steps = plan.samples / problem.at("rows");
    REQUIRE(steps > 0);
    CHECK(plan.captured);
    return (static_cast<std::int64_t>(plan.launches.size()) - 1) / steps;  // one goes before all steps
  };
  CHECK(launches("gurgel", adult) == 7);
  CHECK(launches("toman", digits) == 10);
  const Plan plan = mlp::train_family().plan(*named(kGpu, "gurgel", adult), adult, kGpu, 4 * 32561);
  const auto learns = std::find_if(plan.launches.begin(), plan.launches.end(), [&](const Launch& launch) {
    return plan.kernels[static_cast<std::size_t>(launch.kernel)].text().find("learn_layered") != std::string::npos;
  });
  REQUIRE(learns != plan.launches.end());
  CHECK(learns->grid.x == 1);
}

TEST_CASE("perceptrons: the first layer is divided among blocks where it fits into none") {
  const DeviceIdentity older{"cuda", "any", "8.0", 108, 40, 40 << 20, 163 << 10};
  const Problem digits = mlp::training_problem(mlp::layers(784, std::vector<std::int64_t>{128}, 10), 60000, 64);
  const KernelFamily& family = mlp::train_family();
  for (const DeviceIdentity& device : {kGpu, older}) {
    const SearchSpace space = family.space(device);
    std::size_t spread = 0;
    for (const Configuration& each : space.enumerate(digits)) {
      CHECK(each.word("scheme") != "resident");
      if (each.word("scheme") != "spread") continue;
      ++spread;
      const Plan plan = family.plan(each, digits, device, 1 << 14);
      REQUIRE(plan.launches.size() == 2);
      CHECK(plan.launches.back().shared_bytes <= device.local_bytes);
      CHECK(plan.launches.back().grid.x == static_cast<unsigned>(each.number("blocks")));
    }
    CHECK(spread > 0);
    // Every block has some inputs and neurons of a hidden layer.
    const auto valid = [&](const Problem& problem, const char* text) {
      return !space.violated(space.parse(text), problem).has_value();
    };
    const char* const few = "scheme=spread block_size=256 blocks=4 input_parts=2";
    CHECK(valid(mlp::training_problem(mlp::layers(40, std::vector<std::int64_t>{8}, 3), 500, 50), few));
    CHECK_FALSE(valid(mlp::training_problem(mlp::layers(40, std::vector<std::int64_t>{}, 3), 500, 50), few));
    CHECK_FALSE(valid(mlp::training_problem(mlp::layers(40, std::vector<std::int64_t>{1}, 3), 500, 50), few));
    CHECK_FALSE(valid(mlp::training_problem(mlp::layers(4, std::vector<std::int64_t>{8}, 3), 500, 50), few));
  }
}

TEST_CASE("perceptrons: clusters divide the hidden neurons of a network with one hidden layer") {
  const auto batches = [](int inputs, std::vector<std::int64_t> hidden, int outputs, int batch) {
    return mlp::training_problem(mlp::layers(inputs, hidden, outputs), 60000, batch);
  };
  const DeviceIdentity older{"cuda", "any", "8.0", 108, 40, 40 << 20, 163 << 10};
  const Problem digits = batches(784, {128}, 10, 64);
  const KernelFamily& family = mlp::train_family();
  const SearchSpace space = family.space(kGpu);
  std::size_t neurons = 0;
  for (const Configuration& each : space.enumerate(digits)) {
    if (each.word("scheme") != "neurons") continue;
    ++neurons;
    const Plan plan = family.plan(each, digits, kGpu, 1 << 14);
    REQUIRE(plan.launches.size() == 2);
    const Launch& launch = plan.launches.back();
    CHECK(launch.cluster == static_cast<unsigned>(each.number("input_parts")));
    CHECK(launch.grid.x == static_cast<unsigned>(each.number("blocks")));
    CHECK(launch.shared_bytes <= kGpu.local_bytes);
    CHECK(each.number("blocks") / each.number("input_parts") >= 16);  // 8 neurons at most
  }
  CHECK(neurons > 0);
  const auto valid = [&](const Problem& problem, const char* text) {
    return !space.violated(space.parse(text), problem).has_value();
  };
  const char* const few = "scheme=neurons block_size=256 blocks=64 input_parts=4";
  CHECK(valid(digits, few));
  CHECK_FALSE(valid(batches(784, {129}, 10, 64), few));  // more neurons than slots
  CHECK_FALSE(valid(batches(784, {15}, 10, 64), few));   // a cluster without neurons
  CHECK_FALSE(valid(batches(12, {128}, 10, 64), few));   // a block without inputs
  CHECK_FALSE(valid(batches(784, {128}, 17, 64), few));
  CHECK_FALSE(valid(batches(784, {128, 64}, 10, 64), few));
  CHECK_FALSE(valid(batches(784, {}, 10, 64), few));
  CHECK_FALSE(valid(batches(16, {128}, 10, 129), few));    // more of a block's rows than a warp has lanes
  CHECK_FALSE(valid(batches(1024, {128}, 10, 128), few));  // rows that do not fit
  for (const Configuration& each : family.space(older).enumerate(digits)) CHECK(each.word("scheme") != "neurons");
}

TEST_CASE("perceptrons: clusters divide the inputs where all rows are learnt at once") {
  const DeviceIdentity older{"cuda", "any", "8.0", 108, 40, 40 << 20, 163 << 10};
  const Problem digits = perceptron(784, {25, 15}, 10, 10000);
  const KernelFamily& family = mlp::train_family();
  const SearchSpace space = family.space(kGpu);
  std::size_t clusters = 0;
  for (const Configuration& each : space.enumerate(digits)) {
    if (each.word("scheme") != "cluster") continue;
    ++clusters;
    const Plan plan = family.plan(each, digits, kGpu, 4 * 10000);
    REQUIRE(plan.launches.size() == 2);
    const Launch& launch = plan.launches.back();
    CHECK(launch.cluster == static_cast<unsigned>(each.number("input_parts")));
    CHECK(launch.grid.x % launch.cluster == 0);
    CHECK(launch.resident);
    CHECK(launch.shared_bytes <= kGpu.local_bytes);
  }
  CHECK(clusters > 0);
  CHECK(family.default_configuration(kGpu, digits).word("scheme") == "resident");  // fits on every device
  // Of other numbers neither clusters nor shared memory make bytes.
  const Problem numbers = mlp::training_problem(mlp::layers(784, std::vector<std::int64_t>{25, 15}, 10), 10000, 10000);
  for (const Configuration& each : space.enumerate(numbers)) {
    CHECK(each.word("scheme") != "cluster");
    CHECK((each.word("scheme") != "resident" || each.word("rows_in") != "bytes"));
  }
  const auto valid = [&](const Problem& problem, const char* text) {
    return !space.violated(space.parse(text), problem).has_value();
  };
  const char* const fours = "scheme=cluster block_size=512 blocks=128 input_parts=4 pass_rows=0";
  CHECK(valid(digits, fours));
  CHECK(valid(digits, "scheme=cluster block_size=512 blocks=132 input_parts=2 pass_rows=0"));
  CHECK(
      valid(digits, "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=0"));  // 88 rows, no whole tiles
  CHECK_FALSE(
      valid(digits, "scheme=cluster block_size=512 blocks=132 input_parts=8 pass_rows=0"));  // not whole clusters
  CHECK_FALSE(valid(digits, "scheme=cluster block_size=512 blocks=128 input_parts=1 pass_rows=0"));
  CHECK_FALSE(valid(perceptron(784, {}, 10, 10000), fours));  // no other layers
  const Problem many = perceptron(784, {25, 15}, 10, 60000);
  const char* const passes = "scheme=cluster block_size=512 blocks=128 input_parts=4 pass_rows=48";
  CHECK_FALSE(valid(many, fours));  // rows that do not fit
  CHECK(valid(many, passes));
  CHECK(valid(many, "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=56"));
  CHECK_FALSE(valid(many, "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=64"));  // nor do these
  CHECK(valid(perceptron(720, {25, 15}, 10, 60000),
              "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=64"));
  const Plan plan = family.plan(space.parse(passes), many, kGpu, 4 * 60000);
  // 10 passes of 48 rows for each block of a cluster, in chunks of 32 columns; and a gradient of 32 neurons.
  CHECK(plan.buffers[static_cast<std::size_t>(plan.buffer("padded"))].bytes ==
        128LL * (10 * 192 * 7 * 32 + 4 * 32 * 7 * 32));
  CHECK_FALSE(valid(perceptron(784, {25}, 10, 2000), fours));  // blocks without rows
  CHECK_FALSE(valid(mlp::training_problem(mlp::layers(784, std::vector<std::int64_t>{25}, 10), 10000, 64), fours));
  const char* const small = "scheme=cluster block_size=64 blocks=4 input_parts=4 pass_rows=0";
  CHECK(valid(perceptron(3, {5}, 1, 64), small));
  CHECK_FALSE(valid(perceptron(2, {5}, 1, 64), small));  // no column for one of the blocks
  for (const Configuration& each : family.space(older).enumerate(digits)) CHECK(each.word("scheme") != "cluster");
}

TEST_CASE("perceptrons: the fastest mappings that were measured are among the likely ones") {
  const KernelFamily& family = mlp::train_family();
  const SearchSpace space = family.space(kGpu);
  const auto has = [&](const Problem& problem, const char* text) {
    const std::vector<Configuration> likely = family.likely_configurations(kGpu, problem);
    CHECK(likely.size() <= 16);
    for (const Configuration& each : likely) CHECK_FALSE(space.violated(each, problem).has_value());
    return std::ranges::find(likely, space.parse(text)) != likely.end();
  };
  CHECK(
      has(perceptron(784, {25, 15}, 10, 10000), "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=0"));
  CHECK(
      has(perceptron(784, {25, 15}, 10, 60000), "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=56"));
  // In the order in which they are compiled: a search that has little time should have seen the fastest.
  const std::vector<Configuration> in_order = family.likely_configurations(kGpu, perceptron(784, {25, 15}, 10, 10000));
  CHECK(in_order.front() == space.parse("scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=0"));
  // Without the pixels that are 0 in all digits.
  CHECK(
      has(perceptron(672, {25, 15}, 10, 10000), "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=0"));
  CHECK(
      has(perceptron(720, {25, 15}, 10, 60000), "scheme=cluster block_size=512 blocks=120 input_parts=4 pass_rows=64"));
  CHECK(has(perceptron(256, {256, 256}, 10, 1'000'000), "scheme=layered product=tiles tile=128 pieces=1"));
  CHECK(has(perceptron(14, {10}, 1, 32561), "scheme=warps block_size=512 blocks=132"));
  const auto steps = [](std::int64_t inputs, std::int64_t hidden, std::int64_t outputs, std::int64_t batch) {
    return mlp::training_problem(mlp::layers(inputs, std::vector{hidden}, outputs), 60000, batch);
  };
  CHECK(has(steps(784, 128, 10, 64), "scheme=neurons block_size=512 blocks=64 input_parts=4"));
  CHECK(has(steps(14, 10, 1, 1), "scheme=online block_size=32"));
  // A device of any size, and one without clusters.
  for (const DeviceIdentity& device : {DeviceIdentity{"cuda", "any", "7.5", 1, 4, 1 << 20, 64 << 10},
                                       DeviceIdentity{"cuda", "any", "8.0", 108, 40, 40 << 20, 163 << 10}}) {
    for (const Problem& problem :
         {steps(14, 10, 1, 1), steps(784, 128, 10, 64), perceptron(784, {25, 15}, 10, 10000)}) {
      for (const Configuration& each : family.likely_configurations(device, problem)) {
        CHECK_FALSE(family.space(device).violated(each, problem).has_value());
      }
    }
  }
}

TEST_CASE("perceptrons: one warp learns single rows where the network fits into its registers") {
  const KernelFamily& family = mlp::train_family();
  const SearchSpace space = family.space(kGpu);
  const auto fits = [&](std::int64_t inputs, const std::vector<std::int64_t>& hidden, std::int64_t outputs) {
    const Problem problem = mlp::training_problem(mlp::layers(inputs, hidden, outputs), 1000, 1);
    const Configuration usual = family.default_configuration(kGpu, problem);
    CHECK_FALSE(space.violated(usual, problem).has_value());
    CHECK(usual.word("scheme") == "online");
    const Configuration by_warp = space.parse("scheme=online block_size=32");
    const bool is_allowed = !space.violated(by_warp, problem);
    CHECK((usual == by_warp) == is_allowed);
    if (!is_allowed) return false;
    CHECK(family.plan(by_warp, problem, kGpu, 100).launches.back().block.x == 32);
    return true;
  };
  CHECK(fits(14, {10}, 1));
  CHECK(fits(19, {32}, 4));
  CHECK_FALSE(fits(20, {32}, 4));  // inputs of a lane
  CHECK_FALSE(fits(14, {33}, 1));
  CHECK_FALSE(fits(14, {10}, 5));
  CHECK_FALSE(fits(14, {10, 4}, 1));
  CHECK_FALSE(fits(14, {}, 1));
}

TEST_CASE("perceptrons: untuned, mini-batches share out the neurons of a layer that is worth it") {
  const KernelFamily& family = mlp::train_family();
  const auto usual = [&](const DeviceIdentity& device, std::int64_t inputs, const std::vector<std::int64_t>& hidden,
                         std::int64_t outputs) {
    const Problem problem = mlp::training_problem(mlp::layers(inputs, hidden, outputs), 60000, 64);
    const Configuration configuration = family.default_configuration(device, problem);
    CHECK_FALSE(family.space(device).violated(configuration, problem).has_value());
    return configuration.text();
  };
  CHECK(usual(kGpu, 784, {128}, 10) == "scheme=neurons block_size=512 blocks=64 input_parts=4");
  CHECK(usual(kGpu, 16, {64}, 10) == "scheme=neurons block_size=512 blocks=32 input_parts=4");
  CHECK(usual(kGpu, 16, {64}, 26).find("scheme=resident") == 0);  // more outputs than a tile has
  CHECK(usual(kGpu, 14, {10}, 1).find("scheme=resident") == 0);
  // More clusters than there is certainly room for.
  CHECK(usual(kGpu, 784, {256}, 10) == "scheme=spread block_size=512 blocks=128 input_parts=8");
  CHECK(usual(kGpu, 100, {256}, 10) == "scheme=neurons block_size=512 blocks=64 input_parts=2");
  // Clusters have room on half of the multiprocessors, and there are none before Hopper.
  const DeviceIdentity half{"cuda", "any", "9.0", 66, 40, 50 << 20, 227 << 10};
  CHECK(usual(half, 784, {128}, 10).find("scheme=spread") == 0);
  CHECK(usual(half, 16, {64}, 10) == "scheme=neurons block_size=512 blocks=32 input_parts=4");
  const DeviceIdentity older{"cuda", "any", "8.0", 108, 40, 40 << 20, 163 << 10};
  CHECK(usual(older, 784, {128}, 10).find("scheme=spread") == 0);
  CHECK(usual(older, 16, {64}, 10).find("scheme=resident") == 0);
}

TEST_CASE("perceptrons: warps keep the rows of networks with one small hidden layer") {
  const KernelFamily& family = mlp::train_family();
  const SearchSpace space = family.space(kGpu);
  const auto valid = [&](const Problem& problem, const char* text) {
    return !space.violated(space.parse(text), problem).has_value();
  };
  const char* const all = "scheme=warps block_size=256 blocks=132";
  CHECK(valid(perceptron(14, {10}, 1, 32561), all));
  CHECK(valid(perceptron(108, {10}, 1, 32561), all));
  CHECK_FALSE(valid(perceptron(108, {10}, 1, 32561), "scheme=warps block_size=256 blocks=1"));  // rows that do not fit
  CHECK(valid(perceptron(2, {4}, 1, 4), "scheme=warps block_size=32 blocks=1"));
  CHECK_FALSE(valid(perceptron(2, {4}, 1, 4), "scheme=resident block_size=32 blocks=1 rows_in=shared"));
  CHECK_FALSE(valid(perceptron(14, {16}, 1, 32561), all));
  CHECK_FALSE(valid(perceptron(14, {10, 4}, 1, 32561), all));
  CHECK_FALSE(valid(perceptron(14, {10}, 5, 32561), all));
  CHECK_FALSE(valid(mlp::training_problem(mlp::layers(14, std::vector<std::int64_t>{10}, 1), 32561, 64), all));
  // The untuned default, with as many warps as have all rows of a block in one pass.
  const auto usual = [&](const Problem& problem) { return family.default_configuration(kGpu, problem).text(); };
  CHECK(usual(perceptron(14, {10}, 1, 32561)) == all);
  CHECK(usual(perceptron(4, {8}, 3, 105)) == "scheme=warps block_size=128 blocks=1");
  CHECK(usual(perceptron(2, {4}, 1, 4)) == "scheme=warps block_size=32 blocks=1");
  CHECK(usual(perceptron(14, {16}, 1, 32561)).find("scheme=resident") == 0);
  // The warp that counts the steps comes on top.
  const Problem adult = perceptron(14, {10}, 1, 32561);
  CHECK(family.plan(space.parse(all), adult, kGpu, 4 * 32561).launches.back().block.x == 256 + 32);
}

TEST_CASE("perceptrons: rows that do not fit come in pieces, where all are learnt at once") {
  const DeviceIdentity small{"cuda", "any", "9.0", 132, 2, 50 << 20, 227 << 10};
  const KernelFamily& family = mlp::train_family();
  const auto layers = mlp::layers(64, std::vector<std::int64_t>{32}, 4);
  const Problem all = mlp::training_problem(layers, 10'000'000, 10'000'000);  // 2.7 GB of rows and targets
  const Configuration usual = family.default_configuration(small, all);
  CHECK_FALSE(family.space(small).violated(usual, all).has_value());
  CHECK(usual.number("pieces") == 16);  // two of 4, and what neurons make of one, are 2.1 GB
  const Plan plan = family.plan(usual, all, small, 10'000'000);
  CHECK_FALSE(plan.captured);
  CHECK(plan.buffers[static_cast<std::size_t>(plan.buffer("rows"))].piece_bytes == 625'000LL * 64 * 4);
  CHECK(plan.buffers[static_cast<std::size_t>(plan.buffer("targets"))].piece_bytes == 625'000LL * 4 * 4);
  int last = 0;
  for (const Launch& launch : plan.launches) last = std::max(last, launch.piece);
  CHECK(last == 15);
  CHECK(family.default_configuration(kGpu, all).number("pieces") == 1);
  // Mini-batches are drawn from all rows.
  CHECK(family.default_configuration(small, mlp::training_problem(layers, 10'000'000, 64)).number("pieces") == 1);
  CHECK(family.space(small).violated(usual, mlp::training_problem(layers, 10'000'000, 64)).has_value());
}

TEST_CASE("perceptrons: products by a library are routines of a plan that is not captured, and a CPU has none") {
  const Problem digits = perceptron(784, {25, 15}, 10, 10000);
  const Problem rows = mlp::training_problem(mlp::layers(14, std::vector<std::int64_t>{10}, 1), 32561, 1);
  const auto batch = named(kGpu, "cublas-batch", digits);
  REQUIRE(batch.has_value());
  const Plan plan = mlp::train_family().plan(*batch, digits, kGpu, 4 * 10000);
  CHECK_FALSE(plan.captured);
  const auto routines = std::count_if(plan.launches.begin(), plan.launches.end(),
                                      [](const Launch& launch) { return launch.routine == "matrix_product"; });
  const std::int64_t steps = plan.samples / 10000;
  CHECK(routines == steps * (3 + 2 + 2 * 3));  // values; deltas; gradients, and those of the biases
  CHECK(named(kGpu, "t08", rows).has_value());
  CHECK_FALSE(named(kGpu, "t08", digits).has_value());  // more than one hidden layer, and all rows at once
  const DeviceIdentity cpu{"cpu", "any", "x86-64-v3", 8, 0, 32 << 20, 1 << 20};
  for (const NamedConfiguration& each : mlp::train_family().named_configurations(cpu)) {
    CHECK(each.name == "sequential");
  }
}

TEST_CASE("perceptrons: a CPU has a mapping without threads") {
  const DeviceIdentity cpu{"cpu", "any", "x86-64-v3", 8, 0, 32 << 20, 1 << 20};
  const auto configuration = named(cpu, "sequential", perceptron(14, {10}, 1, 32561));
  REQUIRE(configuration.has_value());
  CHECK(mlp::train_family().host_threads(*configuration, cpu) == 1);
}

}  // namespace
}  // namespace heddle
