// Batches of a compiler that hangs, fails or is stopped; what it makes is its programs' names.
#include "heddle/runtime/device/program_batch.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "temporary_folder.hpp"

namespace heddle {
namespace {

const TemplateSource& source() {
  static const TemplateSource text(std::vector<SourceFile>{{"test/any.hpp", "any"}});
  return text;
}

std::vector<CompileRequest> requests(const std::vector<std::string>& kernels) {
  std::vector<CompileRequest> all;
  all.reserve(kernels.size());
  for (const std::string& kernel : kernels) all.push_back({.source = &source(), .kernels = {kernel}});
  return all;
}

class Compiled final : public Binary {};

/// Compiles one kernel at a time: "hangs..." until it is stopped or released, "bad..." not at all.
struct FakeCompiler {
  struct State {
    std::atomic<int> hanging{0}, stopped{0};
    std::atomic<bool> released = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  TemporaryFolder folder;
  std::shared_ptr<CompileCache> cache = std::make_shared<CompileCache>(folder.path() / "cache");

  [[nodiscard]] std::unique_ptr<CompileBatch> start(const std::vector<std::string>& kernels, unsigned threads = 2,
                                                    bool has_version = true) const {
    const auto hang = [state = state](const std::stop_token& stop) {
      ++state->hanging;
      while (!stop.stop_requested() && !state->released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (stop.stop_requested()) ++state->stopped;
      if (stop.stop_requested()) throw Interrupted();
    };
    ProgramCompiler compiler;
    compiler.words = [](const CompileOptions& options) { return options.extra; };
    compiler.compile = [hang](const ProgramInput& input, const std::stop_token& stop) {
      ProgramResult result;
      for (const std::string& kernel : input.expressions) {
        if (kernel.starts_with("hangs")) hang(stop);
        if (kernel.starts_with("bad")) result.log = "error: bad";
        result.bytes += kernel;
        result.symbols.push_back(kernel);
      }
      result.compiled = result.log.empty();
      return result;
    };
    compiler.built_in = [](const TemplateSource&, const KernelInstance& kernel) {
      return kernel.name.starts_with("built");
    };
    compiler.binary = [](const std::vector<CompiledKernel>&) { return std::make_shared<const Compiled>(); };
    compiler.fingerprint = [has_version](const std::stop_token&) -> std::string {
      if (!has_version) throw Error(ErrorKind::device, "the compiler does not say its version");
      return "1.0";
    };
    compiler.threads = threads;
    return start_batch(std::move(compiler), cache, requests(kernels));
  }

  void wait_until_it_hangs(int times = 1) const {
    while (state->hanging < times) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

/// The indices that are still delivered.
std::set<std::size_t> rest(CompileBatch& batch) {
  std::set<std::size_t> indices;
  while (const auto done = batch.next()) CHECK(indices.insert(done->first).second);
  return indices;
}

TEST_CASE("a wait ends when somebody wants it to, and goes on when he asks again") {
  const FakeCompiler compiler;
  const auto batch = compiler.start({"hangs", "built in", "good"});
  std::set<std::size_t> done;
  for (int i = 0; i < 2; ++i) done.insert(batch->next()->first);
  CHECK(done == std::set<std::size_t>{1, 2});
  int asked = 0;
  CHECK_THROWS_AS((void)batch->next([&] { return ++asked == 3; }), Interrupted);
  CHECK(asked == 3);
  CHECK_THROWS_AS((void)batch->next([] { return true; }), Interrupted);
  compiler.state->released = true;
  const auto last = batch->next([] { return false; });
  REQUIRE(last);
  CHECK(last->first == 0);
  CHECK(last->second.binary);
  CHECK(!batch->next([] { return true; }));
}

TEST_CASE("a batch that nobody needs any more stops its compiler") {
  const FakeCompiler compiler;
  auto batch = compiler.start({"hangs 1", "hangs 2", "hangs 3", "hangs 4"});
  compiler.wait_until_it_hangs(2);
  batch.reset();
  CHECK(compiler.state->stopped == 2);
  CHECK(compiler.state->hanging == 2);  // no other was started
}

TEST_CASE("a batch that winds up delivers what is under way, and starts nothing more") {
  const FakeCompiler compiler;
  const auto batch = compiler.start({"hangs 1", "hangs 2", "good", "bad"}, 1);
  compiler.wait_until_it_hangs();
  batch->wind_up();
  compiler.state->released = true;
  CHECK(rest(*batch) == std::set<std::size_t>{0});
  CHECK(compiler.state->hanging == 1);
  // What it made is in the cache, the rest is not.
  const auto again = compiler.start({"good", "hangs 1"}, 1);
  CHECK(again->next()->second.cached);
  CHECK(!again->next()->second.cached);
}

TEST_CASE("a batch that winds up before it has begun ends") {
  for (int times = 0; times < 50; ++times) {
    const FakeCompiler compiler;
    const auto batch = compiler.start({"good 1", "good 2", "built in"});
    batch->wind_up();
    CHECK(rest(*batch).contains(2));
  }
}

TEST_CASE("with a compiler that does not work, what is built in is there and the rest fails") {
  const FakeCompiler compiler;
  const auto batch = compiler.start({"good 1", "built in", "good 2"}, 2, false);
  std::set<std::size_t> failed;
  std::size_t count = 0;
  for (; const auto done = batch->next(); ++count) {
    if (done->second.binary) continue;
    failed.insert(done->first);
    CHECK(done->second.log == "error: the compiler: the compiler does not say its version");
  }
  CHECK(count == 3);
  CHECK(failed == std::set<std::size_t>{0, 2});
}

TEST_CASE("a program has kernels of one source with the same options and definitions alone") {
  const TemplateSource usual(std::vector<SourceFile>{{"test/any.hpp", "any"}}, {.extra = {"-usual"}});
  const TemplateSource other(std::vector<SourceFile>{{"test/any.hpp", "any"}}, {.extra = {"-other"}});
  const auto entry = [](const char* width) { return KernelInstance("entry", {{"WIDTH", width}, {"TYPE", "float"}}); };
  const std::vector<CompileRequest> wanted{{.source = &usual, .kernels = {entry("1"), "plain"}},
                                           {.source = &usual, .kernels = {entry("2")}},
                                           {.source = &other, .kernels = {entry("1"), "plain"}},
                                           {.source = &usual, .kernels = {entry("1"), "built in"}}};
  const TemporaryFolder temporary;
  const auto cache = std::make_shared<CompileCache>(temporary.path() / "cache");
  std::mutex mutex;
  std::map<std::vector<std::string>, std::vector<std::string>> programs;  // kernels by words
  const auto start = [&] {
    ProgramCompiler compiler;
    compiler.words = [](const CompileOptions& options) { return options.extra; };
    compiler.compile = [&](const ProgramInput& input, const std::stop_token&) {
      const std::lock_guard lock(mutex);
      std::vector<std::string>& kernels = programs[input.words];
      kernels.insert(kernels.end(), input.expressions.begin(), input.expressions.end());
      return ProgramResult{.compiled = true, .bytes = "code", .symbols = input.expressions, .log = {}};
    };
    compiler.built_in = [](const TemplateSource&, const KernelInstance& kernel) { return kernel.name == "built in"; };
    compiler.binary = [](const std::vector<CompiledKernel>&) { return std::make_shared<const Compiled>(); };
    compiler.fingerprint = [](const std::stop_token&) { return std::string("1.0"); };
    compiler.program_size = 16;
    return start_batch(std::move(compiler), cache, wanted);
  };
  CHECK(rest(*start()).size() == wanted.size());
  const std::vector<std::string> entries{"entry"}, plain{"plain"};
  CHECK(programs == std::map<std::vector<std::string>, std::vector<std::string>>{
                        {{"-usual"}, plain},
                        {{"-other"}, plain},
                        {{"-usual", "-DWIDTH=1", "-DTYPE=float"}, entries},
                        {{"-usual", "-DWIDTH=2", "-DTYPE=float"}, entries},
                        {{"-other", "-DWIDTH=1", "-DTYPE=float"}, entries}});
  programs.clear();
  CHECK(rest(*start()).size() == wanted.size());
  CHECK(programs.empty());  // all of them in the cache
}

TEST_CASE("bad kernels fail alone, in any number of threads") {
  for (const unsigned threads : {1U, 2U, 5U}) {
    const FakeCompiler compiler;
    const auto batch = compiler.start({"good 1", "bad 1", "good 2", "bad 2", "good 3", "built in"}, threads);
    std::set<std::size_t> failed;
    std::size_t count = 0;
    while (const auto done = batch->next()) {
      ++count;
      if (!done->second.binary) failed.insert(done->first);
    }
    CHECK(count == 6);
    CHECK(failed == std::set<std::size_t>{1, 3});
  }
}

}  // namespace
}  // namespace heddle
