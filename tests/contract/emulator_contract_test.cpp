// The CUDA templates of all families on the emulated device. One test case for every order of threads and blocks, so
// that they can run side by side; what the first has compiled the others find in the cache.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "sample.hpp"

namespace heddle {
namespace {

/// `drawn` configurations by the seed, but one of every family; in a long run as many as `whole` says, at least
/// `least`.
void attempt(const EmulatorOptions& options, ContractSample whole, std::size_t least, std::size_t drawn) {
  whole.seed = static_cast<unsigned>(test::sample_seed() + options.order);
  drawn = std::max(drawn, whole.families.size());
  whole.most = test::long_run() ? whole.most : std::min(whole.most, drawn);
  whole.least = test::long_run() ? least : whole.most;
  run_device_contract(*open_emulator(options), whole);
}

// The order of waiting sees every value. The others see configurations of their own, which the seed draws: other ones
// with every commit.
const ContractSample kEveryValue{.drawn = 1, .every_value = true, .large = false, .repeat = false};
const ContractSample kSome{.drawn = 1, .every_value = true, .large = false, .repeat = false, .most = 50};
constexpr std::size_t kAtLeast = 150, kDrawn = 10, kDrawnOfSlow = 6;

TEST_CASE("the emulator keeps the contract of devices, in the order of waiting") {
  attempt({.order = 0}, kEveryValue, kAtLeast, kDrawn);
}
TEST_CASE("the emulator keeps the contract of devices, in a first drawn order") {
  attempt({.order = 1}, kSome, kSome.most, kDrawn);
}
TEST_CASE("the emulator keeps the contract of devices, in a second drawn order") {
  attempt({.order = 2}, kSome, kSome.most, kDrawn);
}
TEST_CASE("the emulator keeps the contract of devices, in a third drawn order") {
  attempt({.order = 3}, kSome, kSome.most, kDrawn);
}
TEST_CASE("the emulator keeps the contract of devices, with blocks of more inputs than threads") {
  attempt({.order = 4}, {.repeat = false, .most = 30}, 30, kDrawnOfSlow);
}
TEST_CASE("the emulator keeps the contract of devices, of an older architecture") {
  attempt({.capability = 75, .order = 5}, {.large = false, .most = 20}, 20, kDrawnOfSlow);
}

/// All paths() of perceptrons, or some that the seed draws.
TEST_CASE("the emulator keeps the contract of devices, with perceptrons in resident blocks") {
  ContractSample paths{.drawn = 0, .large = false, .repeat = false};
  std::erase_if(paths.families, [](const auto& family) { return family->name() != "mlp-train"; });
  attempt({.order = 6}, paths, 7, 3);
}

/// The paths() of perceptrons whose clusters divide the inputs of rows of bytes.
TEST_CASE("the emulator keeps the contract of devices, with perceptrons in clusters") {
  ContractSample clusters{.drawn = 0, .large = false, .repeat = true, .thorough = true, .only = "scheme=cluster"};
  std::erase_if(clusters.families, [](const auto& family) { return family->name() != "mlp-train"; });
  attempt({.order = 8}, clusters, 6, 1);
}

/// The paths() of perceptrons whose clusters divide the hidden neurons.
TEST_CASE("the emulator keeps the contract of devices, with hidden neurons in clusters") {
  ContractSample neurons{.drawn = 0, .large = false, .repeat = true, .thorough = true, .only = "scheme=neurons"};
  std::erase_if(neurons.families, [](const auto& family) { return family->name() != "mlp-train"; });
  attempt({.order = 9}, neurons, 4, 1);
}

/// The paths() that keep half of the rules in registers.
TEST_CASE("the emulator keeps the contract of devices, with half of a thread's rules in shared memory") {
  ContractSample halves{.drawn = 0, .large = false, .repeat = true, .thorough = true, .only = "storage=halves"};
  std::erase_if(halves.families, [](const auto& family) { return family->name() != "sonfin-train"; });
  attempt({.order = 7}, halves, 3, 3);
}

/// The paths() with what a search chooses last.
TEST_CASE("the emulator keeps the contract of devices, with two rows on their way") {
  ContractSample ahead{.drawn = 0, .large = false, .repeat = true, .thorough = true, .only = "rows_ahead=2"};
  std::erase_if(ahead.families, [](const auto& family) { return family->name() != "sonfin-train"; });
  attempt({.order = 7}, ahead, 3, 3);
}

/// The paths() whose rules are not all on chip.
TEST_CASE("the emulator keeps the contract of devices, with rules that are streamed") {
  ContractSample streams{.drawn = 0, .large = false, .repeat = true, .thorough = true, .only = "storage=stream"};
  std::erase_if(streams.families, [](const auto& family) { return family->name() != "sonfin-train"; });
  attempt({.order = 7}, streams, 5, 3);
}

TEST_CASE("on the emulator rules of several warps learn the same wherever their parameters are, bit for bit") {
  const auto device = open_emulator();
  const auto& families = test::families_with_carving().all();
  const auto family =
      *std::find_if(families.begin(), families.end(), [](const auto& one) { return one->name() == "sonfin-train"; });
  const Problem problem = family->awkward_problem().with("rules", 9).with("dim", 517).with("outputs", 3);
  const SearchSpace space = family->space(device->identity());
  // Of seven rules three are in registers, which by themselves would be few enough for sums in parallel.
  for (const std::string rules : {"coarsen_count=3 vector=4", "coarsen_count=7 vector=2"}) {
    const auto outcome = [&](const std::string& storage) {
      const Configuration configuration = space.parse(
          fmt::format("scheme=grid coarsening=rules block_size=128 threads_per_rule=64 {} storage={}", rules, storage));
      return outcome_of_configuration(*device, *family, problem, configuration, 3);
    };
    const HostImage shared = outcome("shared");
    for (const std::string storage : {"split", "halves", "halves moved_packs=2", "stream kept_rules=0",
                                      "stream kept_rules=1 packs_ahead=8", "stream kept_rules=2 packs_ahead=4"}) {
      CAPTURE(rules);
      CAPTURE(storage);
      CHECK(outcome(storage) == shared);
    }
  }
}

/// The paths() of real matrices, or some of them.
TEST_CASE("the emulator keeps the contract of devices, with matrices in rings of stages") {
  ContractSample paths{.drawn = 0, .large = false, .repeat = false};
  std::erase_if(paths.families, [](const auto& family) { return !family->name().starts_with("fuzzy-matvec"); });
  attempt({.order = 7}, paths, 12, 4);
}

TEST_CASE("on the emulator no family's result depends on the order of threads and blocks") {
  for (const auto& family : test::families_with_carving().all()) {
    if (!family->supports("emulator")) continue;
    INFO(family->name());
    const HostImage first = outcome_of_default(*open_emulator(), *family, 3);
    for (const std::uint64_t order : {1, 2, 3}) {
      INFO("order " << order);
      CHECK(outcome_of_default(*open_emulator({.order = order}), *family, 3) == first);
    }
  }
}

}  // namespace
}  // namespace heddle
