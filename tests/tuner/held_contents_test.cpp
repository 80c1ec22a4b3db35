#include "heddle/tuner/held_contents.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "fake_device.hpp"

using namespace heddle;

namespace {

std::vector<std::byte> content(const Memory& memory) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(memory.bytes()));
  memory.read(bytes);
  return bytes;
}

/// An execution of a plan with the parameter "values", the input "table", and what it writes.
struct Run {
  fake::FakeDevice device;
  fake::Family family{{"good"}};
  Configuration configuration = fake::Family::configuration("good", 1, 1);
  Trial trial = family.trial(configuration, fake::problem(4), device.identity(), 2, 7);
  std::shared_ptr<const Binary> binary =
      compile_one(device, {.source = &family.source("fake"), .kernels = trial.plan.kernels}).binary;
  std::unique_ptr<Execution> execution = device.prepare(trial.plan, binary, {});

  HeldContents on_device() {
    KeptContents kept(device, 1 << 20);
    kept.keep(fake::problem(4), trial.initial.views());
    return HeldContents(*kept.find(fake::problem(4)));
  }
};

void check_contents(Run& run, const HeldContents& contents) {
  Execution& execution = *run.execution;
  contents.write(execution);
  contents.save(execution);
  const std::vector<std::byte> values = run.trial.initial->at("values");
  CHECK(content(execution.memory("values")) == values);
  CHECK(contents.same(run.device, execution, "values"));
  CHECK(contents.same(run.device, execution, "table"));
  CHECK(contents.bytes("table") == run.trial.initial->at("table"));
  CHECK(contents.names() == BufferNames{"table", "values"});

  execution.launch();
  const std::vector<std::byte> one{content(execution.memory("table")).back() ^ std::byte{1}};
  execution.memory("table").write(one, execution.memory("table").bytes() - 1);
  CHECK_FALSE(contents.same(run.device, execution, "values"));
  CHECK_FALSE(contents.same(run.device, execution, "table"));
  contents.restore(execution);
  CHECK(content(execution.memory("values")) == values);
  CHECK(contents.same(run.device, execution, "values"));
  CHECK_FALSE(contents.same(run.device, execution, "table"));  // what is only read is not brought back
}

}  // namespace

TEST_CASE("contents on the host and on the device do the same for an execution") {
  Run on_host, on_device;
  check_contents(on_host, HeldContents(on_host.trial.initial));
  check_contents(on_device, on_device.on_device());
}

TEST_CASE("large buffers that a run has left alone need not be brought back") {
  Run run;
  const HeldContents contents = run.on_device();
  contents.write(*run.execution);
  const std::int64_t bytes = run.execution->memory("values").bytes();
  REQUIRE(run.device.identity().cache_bytes < bytes);
  CHECK(contents.large_and_unwritten(run.device, *run.execution) == BufferNames{"values"});  // no run so far
  run.execution->launch();
  CHECK(contents.large_and_unwritten(run.device, *run.execution).empty());
  const std::vector<std::byte> left = content(run.execution->memory("values"));
  contents.restore(*run.execution, {"values"});
  CHECK(content(run.execution->memory("values")) == left);
  contents.restore(*run.execution);
  CHECK(contents.large_and_unwritten(run.device, *run.execution) == BufferNames{"values"});
  CHECK(HeldContents(run.trial.initial).large_and_unwritten(run.device, *run.execution).empty());
}

TEST_CASE("what a run left is copied on the device, or to the host where there is no room") {
  for (const bool room : {true, false}) {
    CAPTURE(room);
    Run run;
    run.on_device().write(*run.execution);
    run.execution->launch();
    const std::vector<std::byte> left = content(run.execution->memory("result"));
    run.device.state.dead = !room;  // nothing can be allocated
    const HeldContents copy = HeldContents::copied(run.device, *run.execution, {"result"});
    run.device.state.dead = false;
    CHECK(copy.bytes("result") == left);
    CHECK(copy.same(run.device, *run.execution, "result"));
    run.execution->launch();
    CHECK_FALSE(copy.same(run.device, *run.execution, "result"));
    CHECK(copy.bytes("result") == left);
  }
}
