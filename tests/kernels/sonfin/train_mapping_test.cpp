#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/cuda/resident_shape.hpp"
#include "heddle/kernels/sonfin/train.hpp"

using namespace heddle;
using namespace heddle::sonfin;

namespace {

const DeviceIdentity kHopper{.backend = "cuda",
                             .name = "card",
                             .architecture = "9.0",
                             .units = 132,
                             .memory_gib = 140,
                             .cache_bytes = 50 << 20,
                             .local_bytes = 227 << 10};

}  // namespace

TEST_CASE("where rules have many inputs, the default gives one 256 threads, and a thread as few rules as fit") {
  for (const Problem& sizes : {problem(2, 1536, 1), problem(96, 2000, 1), problem(152, 2048, 10), problem(600, 2000, 3),
                               problem(600, 5000, 1), problem(924, 5000, 1)}) {
    const Configuration chosen = train_family().default_configuration(kHopper, sizes);
    CAPTURE(sizes.text());
    CAPTURE(chosen.text());
    CHECK(chosen.word("scheme") == "grid");
    CHECK(chosen.number("threads_per_rule") == 256);
    const ResidentShape shape(chosen, sizes);
    CHECK(shape.blocks <= kHopper.units);
    const std::int64_t groups = shape.block / shape.lanes;
    CHECK((shape.rules == 1 || groups * (shape.rules - 1) * kHopper.units < sizes.at("rules")));
  }
  for (const Problem& sizes : {problem(949, 5000, 1), problem(1024, 5000, 10)}) {
    const Configuration many = train_family().default_configuration(kHopper, sizes);
    CAPTURE(many.text());
    CHECK(many.word("storage") == "halves");
    CHECK(many.number("moved_packs") == 2);
    CHECK(ResidentShape(many, sizes).blocks <= kHopper.units);
    CHECK(ResidentShape(many, sizes).shared_bytes() <= kHopper.local_bytes);
  }
  const Configuration few = train_family().default_configuration(kHopper, problem(96, 1024, 1));
  CHECK(few.number("threads_per_rule") <= 32);
  // Longer rows leave no room for two more packs of each thread.
  const Configuration long_rows = train_family().default_configuration(kHopper, problem(949, 5500, 1));
  CAPTURE(long_rows.text());
  CHECK(long_rows.word("storage") == "halves");
  CHECK(!long_rows.has("moved_packs"));
}

TEST_CASE("half of the rules in registers and half in shared memory: both take their share") {
  const SearchSpace space = train_family().space(kHopper);
  const auto shape = [&](const std::string& storage, int rules) {
    return ResidentShape(space.parse(fmt::format("scheme=grid coarsen_count={} coarsening=rules block_size=256 "
                                                 "threads_per_rule=256 vector=4 storage={}",
                                                 rules, storage)),
                         problem(949, 5000, 1));
  };
  // Five packs of four inputs of a rule are 20 words of centres and 20 of widths in a thread.
  CHECK(shape("halves", 8).kept_registers() == 4 * 40);
  CHECK(shape("halves", 7).kept_registers() == 3 * 40);
  CHECK(shape("halves", 7).shared_bytes() - shape("split", 7).shared_bytes() == (4 * 40 - 7 * 20) * 256 * 4);
  CHECK(shape("halves", 8).shared_bytes() == shape("split", 8).shared_bytes());
  CHECK(shape("halves", 8).shared_bytes() <= kHopper.local_bytes);
  // Of each rule in registers some packs may be in shared memory as well, but not all.
  const ResidentShape moved = shape("halves moved_packs=2", 7);
  CHECK(moved.kept_registers() == 3 * (40 - 2 * 8));
  CHECK(moved.shared_bytes() - shape("halves", 7).shared_bytes() == 3 * 2 * 8 * 256 * 4);
  CHECK(moved.kernels().front().text() == "heddle::sonfin::resident<256, 256, 5, 7, 4, 1, 3, 2, 440, 5, 8, 1, 2, 2>");
  const auto allowed = [&](const std::string& shape_text, std::int64_t dim) {
    return !space.violated(space.parse("scheme=grid coarsen_count=2 coarsening=rules block_size=256 vector=4 "
                                       "storage=halves " +
                                       shape_text),
                           problem(200, dim, 1));
  };
  CHECK(allowed("threads_per_rule=256 moved_packs=4", 5000));
  CHECK(allowed("threads_per_rule=256 moved_packs=3", 4096));
  CHECK(!allowed("threads_per_rule=256 moved_packs=4", 4096));  // four packs in all
}

TEST_CASE("rules that do not fit on chip stream from global memory, requested ahead") {
  const KernelFamily& family = train_family();
  const SearchSpace space = family.space(kHopper);
  const Problem large = problem(2000, 5000, 1);
  const auto streams = [&](const std::string& shape) {
    return space.parse("scheme=grid coarsening=rules block_size=256 vector=4 storage=stream " + shape);
  };
  const auto allowed = [&](const std::string& shape, const Problem& sizes) {
    return !space.violated(streams(shape), sizes);
  };
  // Four groups of 64 threads with four rules each, of which one is in registers, one in shared memory and two are
  // streamed: 20 packs of 4 inputs of a rule in each thread.
  const std::string some = "coarsen_count=4 threads_per_rule=64 kept_rules=2";
  const ResidentShape shape(streams(some), large);
  CHECK(shape.blocks == 125);
  CHECK(shape.streamed_rules() == 2);
  CHECK(shape.kept_registers() == 2 * 80);
  CHECK(shape.streamed_bytes() == 125 * 256 * 2 * 2 * 80 * 4);
  CHECK(shape.kernels().front().text() == "heddle::sonfin::resident<256, 64, 20, 4, 4, 1, 6, 2>");
  const Plan plan = family.plan(streams(some), large, kHopper, 4);
  CHECK(plan.buffers[static_cast<std::size_t>(plan.buffer("streamed"))].bytes == shape.streamed_bytes());
  CHECK(plan.buffers[static_cast<std::size_t>(plan.buffer("streamed"))].role == Role::scratch);
  CHECK(allowed(some, large));
  // The ring: a pack of each kind and thread more for every pack that is requested ahead, but for no more than there
  // are.
  const ResidentShape ahead(streams(some + " packs_ahead=4"), large);
  CHECK(ahead.shared_bytes() == shape.shared_bytes() + 2 * 2 * 16 * 256);
  CHECK(ahead.kernels().front().text() == "heddle::sonfin::resident<256, 64, 20, 4, 4, 1, 6, 2, 440, 5, 8, 1, 4>");
  const std::string one = "coarsen_count=2 threads_per_rule=256 kept_rules=1 packs_ahead=";
  CHECK(ResidentShape(streams(one + "8"), large).shared_bytes() ==
        ResidentShape(streams(one + "4"), large).shared_bytes() + 2 * 16 * 256);  // five packs
  // Neither where the chip holds the rules, nor where none is left to stream, nor where a warp has a rule.
  CHECK(allowed("coarsen_count=3 threads_per_rule=64 kept_rules=2", problem(1057, 5000, 1)));
  CHECK(!allowed("coarsen_count=3 threads_per_rule=64 kept_rules=2", problem(1056, 5000, 1)));
  CHECK(!allowed("coarsen_count=2 threads_per_rule=128 kept_rules=2", problem(1057, 5000, 1)));
  const std::string many = "coarsen_count=8 threads_per_rule=64 kept_rules=";
  CHECK(allowed(many + "4", problem(4000, 2048, 1)));
  CHECK(allowed(many + "3", problem(4000, 2048, 1)));
  CHECK(!allowed(many + "2", problem(4000, 2048, 1)));  // four fit
  CHECK(!allowed("coarsen_count=8 threads_per_rule=32 kept_rules=4", problem(4000, 2048, 1)));
  CHECK(space.violated(space.parse("scheme=block coarsen_count=8 coarsening=rules block_size=256 threads_per_rule=64 "
                                   "vector=4 storage=stream kept_rules=0"),
                       problem(32, 200000, 1)));
}

TEST_CASE(
    "where rules do not fit on chip, the default is the grid that streams the fewest bytes, before the launched") {
  const KernelFamily& family = train_family();
  const SearchSpace space = family.space(kHopper);
  const auto level_of = [&](std::size_t parameter, const Value& value) {
    const auto& values = space.parameters()[parameter].values;
    return static_cast<SearchSpace::Level>(std::ranges::find(values, value) - values.begin());
  };
  const SearchSpace::Order streaming = [&](std::size_t parameter, std::vector<SearchSpace::Level>& levels) {
    const std::string& name = space.parameters()[parameter].name;
    if (name == "storage") levels = {level_of(parameter, std::string("stream"))};
    if (name == "scheme") levels = {level_of(parameter, std::string("grid"))};
    if (name == "vector") levels = {level_of(parameter, std::int64_t{4})};
  };
  for (const Problem& sizes : {problem(1057, 5000, 1), problem(1200, 5000, 10), problem(2000, 5000, 1),
                               problem(4000, 5000, 1), problem(1000, 10000, 1), problem(4000, 2048, 26)}) {
    const Configuration chosen = family.default_configuration(kHopper, sizes);
    CAPTURE(sizes.text());
    CAPTURE(chosen.text());
    REQUIRE(is_resident(chosen));
    CHECK(!space.violated(chosen, sizes));
    const std::int64_t bytes = ResidentShape(chosen, sizes).streamed_bytes();
    CHECK(bytes > 0);
    space.walk(sizes, streaming, [&](const Configuration& other, const std::vector<SearchSpace::Level>&) {
      CAPTURE(other.text());
      CHECK(ResidentShape(other, sizes).streamed_bytes() >= bytes);
      return true;
    });
    // Behind it comes a launched scheme, of another kind: it needs neither the room nor that all blocks run at once.
    const std::vector<Configuration> likely = family.likely_configurations(kHopper, sizes);
    REQUIRE(likely.size() == 1);
    CHECK(!is_resident(likely.front()));
    CHECK(!space.violated(likely.front(), sizes));
  }
  // Nothing streams where all fits, nor where rules have few inputs or are more than the card has threads for.
  CHECK(family.likely_configurations(kHopper, problem(1056, 5000, 1)).empty());
  for (const Problem& sizes : {problem(200000, 64, 1), problem(100000, 5000, 1)}) {
    CAPTURE(sizes.text());
    CHECK(!is_resident(family.default_configuration(kHopper, sizes)));
    CHECK(family.likely_configurations(kHopper, sizes).empty());
  }
}

TEST_CASE("how blocks look for packets: what the templates have of themselves is not named, other values are") {
  const DeviceIdentity& device = kHopper;
  const Problem problem = sonfin::problem(512, 512, 1);
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(device);
  const std::string usual = "scheme=grid coarsen_count=1 block_size=256 threads_per_rule=32 vector=4 storage=registers";
  const auto kernel = [&](const std::string& more) {
    return family.kernels(space.parse(usual + more), problem, device).front().text();
  };
  const auto packets = [&](const std::string& more) {
    const Plan plan = family.plan(space.parse(usual + more), problem, device, 4);
    return plan.buffers[static_cast<std::size_t>(plan.buffer("packets"))].bytes;
  };
  const std::string plain = kernel("");
  CHECK(plain == "heddle::sonfin::resident<256, 32, 4, 1, 4, 1, 0, 2>");
  CHECK(kernel(" first_look=440 replicas=8") == plain);
  CHECK(kernel(" first_look=250") == "heddle::sonfin::resident<256, 32, 4, 1, 4, 1, 0, 2, 250, 5, 8, 1>");
  CHECK(kernel(" packets_per_cycle=10 replicas=4") ==
        "heddle::sonfin::resident<256, 32, 4, 1, 4, 1, 0, 2, 440, 10, 4, 1>");
  CHECK(packets(" replicas=16") == 2 * packets(""));
  CHECK_THROWS_AS((void)space.parse("scheme=block coarsen_count=1 block_size=256 threads_per_rule=32 vector=4 "
                                    "storage=registers first_look=250"),
                  Error);
  CHECK(space.refinements(space.parse(usual), problem).size() == 8);
  // Another row in shared memory, where there is room for it.
  const std::string wide =
      "scheme=grid coarsen_count=2 coarsening=rules block_size=256 threads_per_rule=64 vector=4 storage=halves";
  const Problem largest = sonfin::problem(949, 5000, 1);
  const ResidentShape one(space.parse(wide), largest), two(space.parse(wide + " rows_ahead=2"), largest);
  CHECK(two.shared_bytes() == one.shared_bytes() + 4 * 64 * 20 * 4);
  CHECK(two.kernels().front().text() == "heddle::sonfin::resident<256, 64, 20, 2, 4, 1, 3, 2, 440, 5, 8, 2>");
  CHECK(!space.violated(space.parse(wide + " rows_ahead=2"), largest));
  CHECK(space.violated(space.parse(wide + " rows_ahead=2"), sonfin::problem(949, 5200, 1)));
}

TEST_CASE("a resident rule has several warps only where each thread has inputs for them") {
  const SearchSpace space = train_family().space(kHopper);
  const auto allowed = [&](const std::string& shape, const Problem& sizes) {
    return !space.violated(space.parse(shape + " vector=4 storage=split"), sizes);
  };
  const std::string two = "scheme=grid coarsen_count=1 block_size=128 threads_per_rule=64";
  CHECK(allowed(two, problem(100, 256, 1)));
  CHECK(!allowed(two, problem(100, 255, 1)));
  const std::string four = "scheme=grid coarsen_count=1 block_size=128 threads_per_rule=128";
  CHECK(allowed(four, problem(100, 260, 1)));
  CHECK(!allowed(four, problem(100, 256, 1)));
  const std::string all = "scheme=grid coarsen_count=1 block_size=1024 threads_per_rule=1024";
  CHECK(allowed(all, problem(100, 2052, 1)));
  CHECK(!allowed(all, problem(100, 2048, 1)));
  CHECK(!allowed("scheme=grid coarsen_count=1 block_size=64 threads_per_rule=128", problem(100, 2048, 1)));
  // Two rules at least, so that each half has one.
  const auto halved = [&](const std::string& shape) {
    return !space.violated(space.parse("scheme=grid " + shape + " vector=4 storage=halves"), problem(100, 512, 1));
  };
  CHECK(halved("coarsen_count=2 coarsening=rules block_size=128 threads_per_rule=64"));
  CHECK(!halved("coarsen_count=1 block_size=128 threads_per_rule=64"));
  CHECK(!halved("coarsen_count=2 coarsening=rules block_size=128 threads_per_rule=32"));
  // Counts that only rules of several warps have.
  CHECK(
      allowed("scheme=grid coarsen_count=5 coarsening=rules block_size=64 threads_per_rule=64", problem(100, 512, 1)));
  CHECK(
      !allowed("scheme=grid coarsen_count=5 coarsening=rules block_size=64 threads_per_rule=32", problem(100, 512, 1)));
}
