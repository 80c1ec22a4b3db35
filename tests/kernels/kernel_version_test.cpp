#include "heddle/kernels/kernel_version.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "carving_family.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"

namespace heddle {
namespace {

const DeviceIdentity kDevice{.backend = "emulator",
                             .name = "somewhere",
                             .architecture = "9.0",
                             .units = 4,
                             .memory_gib = 1,
                             .cache_bytes = 1 << 20,
                             .local_bytes = 1 << 16};

struct Wide {
  char letter;
  double number;  // after seven bytes of padding
};

/// What a contract consists of, each piece to be changed alone.
struct Knobs {
  CompileOptions options = {};
  std::vector<Value> widths{std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{8}};
  std::string parameter = "width", constraint = "depth <= cuts + 4", meaning = "of a cut";
  std::int64_t margin = 4;
  std::string kernel = "carve";
  unsigned block = 32;
  std::int64_t shared = 0;
  std::int64_t bytes = 4;  ///< of an element of the buffer
  Role role = Role::output;
  float factor = 0.5F;
  std::byte padding{0};
  bool captured = false;
  bool undefined = false;  ///< the constraint has no value for an odd number of cuts
};

class KnobFamily final : public test::CarvingFamily {
 public:
  explicit KnobFamily(Knobs knobs)
      : knobs_(std::move(knobs)), source_({{.name = "carve", .text = "void carve();"}}, knobs_.options) {}

  const TemplateSource& source(std::string_view) const override { return source_; }
  SearchSpace space(const DeviceIdentity& device) const override {
    std::vector<Parameter> parameters{
        {.name = knobs_.parameter, .values = knobs_.widths, .meaning = knobs_.meaning, .active = {}}};
    std::vector<Value> depths;
    for (std::int64_t depth = 1; depth <= 12; ++depth) depths.emplace_back(depth);
    parameters.push_back({.name = "depth", .values = std::move(depths), .meaning = {}, .active = {}});
    Constraint shallow;
    shallow.name = knobs_.constraint;
    shallow.holds = [margin = knobs_.margin, undefined = knobs_.undefined](const Configuration& c, const Problem& p,
                                                                           const DeviceIdentity&) {
      if (undefined && p.at("cuts") % 2 == 1) throw Error(ErrorKind::input, "division by zero");
      return c.number("depth") <= p.at("cuts") + margin;
    };
    std::vector<Constraint> constraints{std::move(shallow)};
    return {device, std::move(parameters), std::move(constraints)};
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    std::vector<std::byte> wide(sizeof(Wide), knobs_.padding);
    Plan plan;
    plan.kernels = {knobs_.kernel};
    plan.buffers = {{"values", knobs_.bytes * problem.at("elements"), knobs_.role}};
    Launch launch;
    launch.grid.x = static_cast<unsigned>(device.units);
    launch.block.x = knobs_.block * static_cast<unsigned>(configuration.number("depth"));
    launch.shared_bytes = knobs_.shared;
    launch.arguments = {BufferArgument{}, knobs_.factor, StructArgument(std::move(wide), alignof(Wide))};
    plan.launches = {std::move(launch)};
    plan.captured = knobs_.captured;
    plan.samples = samples;
    return plan;
  }

 private:
  Knobs knobs_;
  TemplateSource source_;
};

std::string digest_with(const std::function<void(Knobs&)>& change) {
  Knobs knobs;
  change(knobs);
  return contract_digest(KnobFamily(knobs), kDevice);
}

TEST_CASE("the digest of a contract is the same on every machine, for ever") {
  // A constant: another machine, compiler or process makes the same. If it changes, all stored profiles become stale.
  CHECK(digest_with([](Knobs&) {}) == "b83be28468a1dec840eabe9ec8b1ca60");
}

TEST_CASE("the digest of a contract changes with the space, with a launch and with the compile options") {
  const std::vector<std::function<void(Knobs&)>> changes{
      [](Knobs&) {},
      [](Knobs& k) { k.options.contraction = false; },
      [](Knobs& k) { k.options.extra = {"-DX"}; },
      [](Knobs& k) { k.widths.pop_back(); },
      [](Knobs& k) { k.widths.front() = 1.0; },
      [](Knobs& k) { k.parameter = "breadth"; },
      [](Knobs& k) { k.constraint = "shallow"; },
      [](Knobs& k) { k.margin = 5; },
      [](Knobs& k) { k.kernel = "carve<1>"; },
      [](Knobs& k) { k.block = 33; },
      [](Knobs& k) { k.shared = 4; },
      [](Knobs& k) { k.bytes = 8; },
      [](Knobs& k) { k.role = Role::state; },
      [](Knobs& k) { k.factor = 0.25F; },
      [](Knobs& k) { k.captured = true; },
      [](Knobs& k) { k.undefined = true; },
  };
  std::set<std::string> digests;
  for (const auto& change : changes) digests.insert(digest_with(change));
  CHECK(digests.size() == changes.size());
}

TEST_CASE("the digest of a contract does not change with words for people, nor with the padding of a struct") {
  const std::string plain = digest_with([](Knobs&) {});
  CHECK(digest_with([](Knobs& k) { k.meaning = "of any cut"; }) == plain);
  CHECK(digest_with([](Knobs& k) { k.padding = std::byte{0xff}; }) == plain);
}

TEST_CASE("every family of heddle has a contract on every backend, the same each time") {
  const FamilyRegistry families = builtin_families();
  for (const auto& family : families.all()) {
    for (const char* const backend : {"cuda", "cpu", "emulator"}) {
      if (!family->supports(backend)) continue;
      DeviceIdentity device = kDevice;
      device.backend = backend;
      if (device.backend == "cpu") device.architecture = "x86-64-v3";
      CAPTURE(family->name());
      CAPTURE(backend);
      const KernelVersion version = kernel_version(*family, device);
      CHECK(version.source_hash == family->source(backend).hash());
      CHECK(version.contract_digest.size() == 32);
      CHECK(contract_digest(*family, device) == version.contract_digest);
    }
  }
}

TEST_CASE("what may be compared") {
  const KernelVersion old{.source_hash = "a"};
  const KernelVersion now{.source_hash = "a", .contract_digest = "x"};
  CHECK(comparable(old, now));
  CHECK(comparable(now, old));
  CHECK(comparable(now, now));
  CHECK_FALSE(comparable(now, {.source_hash = "a", .contract_digest = "y"}));
  CHECK_FALSE(comparable(now, {.source_hash = "b", .contract_digest = "x"}));
  CHECK_FALSE(comparable(old, {.source_hash = "b"}));
}

}  // namespace
}  // namespace heddle
