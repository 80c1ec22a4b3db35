#include "heddle/bench/step/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "bench/card.hpp"
#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/restricted_family.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"

namespace heddle::bench {
namespace {

Configuration gpu_fnn(const Problem& problem) {
  for (const NamedConfiguration& named : sonfin::train_family().named_configurations(kCard)) {
    if (named.name == "gpu-fnn") return *named.configuration(problem);
  }
  FAIL("no gpu-fnn");
  return Configuration();
}

TEST_CASE("GPU-FNN with every combine size, itself among them, and captured in a graph") {
  const SearchSpace space = sonfin::train_family().space(kCard);
  const Problem problem = sonfin::problem(640, 16, 1);
  const Configuration published = gpu_fnn(problem);
  const auto all = with_each(space, published, "combine_size", problem);
  CHECK(all.size() > 1);
  CHECK(std::ranges::count(all, published) == 1);
  for (const std::int64_t size : {256, 1024}) {
    CHECK(std::ranges::count(all, size, [](const Configuration& c) { return c.number("combine_size"); }) == 1);
  }
  for (const Configuration& one : all) {
    CHECK_FALSE(space.violated(one, problem).has_value());
    const auto graphs = captured(space, one, problem);
    REQUIRE(graphs.size() == 2);
    CHECK(graphs[0].word("launch") == "ordered");
    CHECK(graphs[1].word("launch") == "overlapped");
    for (const Configuration& graph : graphs) {
      CHECK(graph.word("scheme") == "graph");
      CHECK(graph.number("combine_size") == one.number("combine_size"));
      // The same programs: what compiles for the one compiles for the other.
      const KernelFamily& family = sonfin::train_family();
      CHECK(family.kernels(graph, problem, kCard) == family.kernels(one, problem, kCard));
    }
  }
  CHECK(with_each(space, published, "no such", problem).empty());
  CHECK(captured(space, sonfin::train_family().default_configuration(kCard, problem), problem).empty());
}

TEST_CASE("GPU-FNN captured in a graph does what it does launched, on the emulator") {
  const auto device = open_device("emulator");
  DeviceEvaluator evaluator(*device, sonfin::train_family(), 1);
  const Problem problem = sonfin::problem(33, 5, 2);
  for (const NamedConfiguration& named : sonfin::train_family().named_configurations(device->identity())) {
    const auto published = named.configuration(problem);
    REQUIRE(published);
    const auto graphs = captured(evaluator.family().space(device->identity()), *published, problem);
    REQUIRE_FALSE(graphs.empty());
    compile(evaluator, graphs, problem);
    for (const Configuration& graph : graphs) {
      const Verdict verdict = evaluator.verify(graph, problem, VerificationExtent::all);
      CAPTURE(verdict.message);
      CHECK(verdict.status == Status::correct);
    }
  }
}

TEST_CASE("the captured schemes are a part of the space with a default") {
  const Problem problem = sonfin::problem(100, 37, 3);
  const auto all = captured_family().space(kCard).enumerate(problem);
  CHECK(all.size() > 100);
  for (const Configuration& one : all) CHECK(one.word("scheme") == "graph");
  CHECK(captured_family().default_configuration(kCard, problem).word("scheme") == "graph");
}

}  // namespace
}  // namespace heddle::bench
