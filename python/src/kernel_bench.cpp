// A described kernel at one problem, whose configurations Python compiles, runs and times one by one: what the drop-in
// for Kernel Tuner stands on. Everything that runs a kernel is in a process of its own, so that no fault of one ends
// Python.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/space/listed_space.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/strategy.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"
#include "heddle/tuner/worker/lent_example.hpp"
#include "heddle/tuner/worker/worker.hpp"
#include "interruption.hpp"
#include "kernel.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

using Entries = std::vector<std::pair<std::string, std::variant<bool, std::int64_t, double, std::string>>>;

Configuration configuration_of(const Entries& entries) {
  std::vector<Configuration::Entry> values;
  values.reserve(entries.size());
  for (const auto& [name, value] : entries) {
    std::visit([&, &name = name](const auto& held) { values.emplace_back(name, Value(held)); }, value);
  }
  return Configuration(std::move(values));
}

/// The bytes of anything with the buffer protocol, where they lie.
class Viewed {
 public:
  explicit Viewed(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
  }
  ~Viewed() { PyBuffer_Release(&buffer_); }
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

/// How an attempt ended, for Python: the status, and a line where it failed.
struct Ending {
  std::string status{text(Status::unverified)};
  std::string message;
  std::vector<double> times;  ///< microseconds a launch
  HostImage after;
};

class KernelBench {
 public:
  KernelBench(const std::string& description, const std::string& device, const std::vector<std::string>& command,
              const std::map<std::string, std::int64_t>& sizes, const nb::dict& numbers, const nb::dict& contents,
              const std::string& profiles) {
    KernelDefinition definition = read_kernel_file(description, {.allow_outside = true, .with = {}});
    std::vector<Problem::Size> all;
    for (const Axis& axis : definition.axes) all.push_back({.name = axis.name, .value = sizes.at(axis.name)});
    problem_ = Problem(std::move(all));
    definition.problems = {problem_};
    definition.awkward = problem_;
    KernelExamples examples{.folder = folder_.path().string(), .checked_elsewhere = true, .calls = {}};
    KernelNumbers& values = examples.calls[problem_.text()];
    for (const auto& [name, value] : numbers) {
      const Viewed viewed(value);
      values[nb::cast<std::string>(name)].assign(viewed.bytes().begin(), viewed.bytes().end());
    }
    family_ = families_.add(describe(definition, examples)).defined();
    std::list<Viewed> viewed;  // until they are copied
    ViewedImage image;
    for (const auto& [name, value] : contents) {
      image.emplace(nb::cast<std::string>(name), viewed.emplace_back(value).bytes());
    }
    guarded([&] {
      // Both take about a second where arrays are large.
      auto lent = std::async(std::launch::async, [&] {
        example_.emplace(folder_.path().string(), problem_, family_->buffers(problem_), image);
      });
      worker_.emplace(
          WorkerOptions{.command = command, .device = device, .families = families_.descriptions(), .stop = [this] {
                          return interruption_ != nullptr && interruption_->asked();
                        }});
      lent.get();
      evaluator_.emplace(*worker_, *family_, kSeed);
      space_.emplace(family_->space(worker_->identity()));
      const bool kept = can_be_timed(worker_->identity().backend);
      store_.emplace(!kept              ? std::filesystem::path(":memory:")
                     : profiles.empty() ? ProfileStore::default_file()
                                        : std::filesystem::path(profiles),
                     ProfileStore::Access::read_write, families_);
    });
  }

  [[nodiscard]] nb::dict device() {
    const DeviceIdentity& identity = worker_->identity();
    Provenance provenance;
    guarded([&] { provenance = evaluator_->provenance(); });
    nb::dict entry;
    entry["label"] = worker_->label();
    entry["backend"] = identity.backend;
    entry["name"] = identity.name;
    entry["architecture"] = identity.architecture;
    entry["units"] = identity.units;
    entry["memory_gib"] = identity.memory_gib;
    entry["cache_bytes"] = identity.cache_bytes;
    entry["local_bytes"] = identity.local_bytes;
    entry["driver"] = provenance.driver;
    entry["compiler"] = provenance.compiler;
    entry["shares_processor"] = worker_->shares_processor();
    entry["compiler_threads"] = evaluator_->compiler_threads();
    return entry;
  }

  /// The constraint that a configuration violates, or None.
  [[nodiscard]] std::optional<std::string> violated(const Entries& entries) const {
    return space_->violated(configuration_of(entries), problem_);
  }

  /// grid, block and bytes of shared memory. Throws Error for a configuration that has none.
  [[nodiscard]] std::vector<std::int64_t> launch(const Entries& entries) const {
    const Plan plan = family_->plan(configuration_of(entries), problem_, worker_->identity(), 1);
    const Launch& launch = plan.launches.front();
    return {launch.grid.x,  launch.grid.y,  launch.grid.z,      launch.block.x,
            launch.block.y, launch.block.z, launch.shared_bytes};
  }

  /// Starts to compile configurations; compiled() tells of them.
  void compile(const std::vector<Entries>& all) {
    std::vector<Configuration> configurations;
    configurations.reserve(all.size());
    for (const Entries& entries : all) configurations.push_back(configuration_of(entries));
    guarded([&] { compilations_.push_back(evaluator_->compile(configurations, problem_)); });
  }
  /// The next one of the oldest batch that is compiled, as its index, whether it compiled, seconds, and the log; None
  /// after the last one of a batch.
  [[nodiscard]] nb::object compiled() {
    std::optional<Compilation::Done> done;
    guarded([&] {
      if (!compilations_.empty()) done = compilations_.front()->next(stop());
    });
    if (!done) {
      if (!compilations_.empty()) compilations_.pop_front();
      return nb::none();
    }
    return nb::make_tuple(done->index, done->compiled, done->seconds, first_complaint(done->log));
  }
  /// Starts no more of what was asked for.
  void wind_up() {
    guarded([&] { compilations_.clear(); });
  }

  /// How many launches make a repetition that is long beside the noise of clocks; by a compiled configuration.
  [[nodiscard]] std::int64_t samples(const Entries& entries) {
    const Configuration configuration = configuration_of(entries);
    std::int64_t count = 1;
    guarded([&] { count = choose_samples(*evaluator_, configuration, problem_, stop()); });
    return count;
  }

  [[nodiscard]] nb::dict time(const Entries& entries, std::int64_t samples, int repetitions) {
    const Configuration configuration = configuration_of(entries);
    return told(attempt([&](Ending& ending) {
      const auto runner = evaluator_->prepare(configuration, problem_, samples);
      static_cast<void>(runner->time(stop()));  // loads code and fills caches
      for (int i = 0; i < repetitions; ++i) ending.times.push_back(runner->time(stop()));
      runner->check_guards();
    }));
  }

  /// What the kernel leaves in the buffers that it writes, or in those of them called `names`.
  [[nodiscard]] nb::dict outcome(const Entries& entries, const BufferNames& names) {
    const Configuration configuration = configuration_of(entries);
    return told(attempt([&](Ending& ending) { ending.after = evaluator_->outcome(configuration, problem_, names); }));
  }

  /// Whether a configuration leaves the same as the first one, within the tolerance of defined kernels.
  [[nodiscard]] nb::dict agrees(const Entries& entries, const Entries& first) {
    const Configuration configuration = configuration_of(entries), reference = configuration_of(first);
    return told(attempt([&](Ending& ending) {
      const double difference = evaluator_->difference(configuration, reference, problem_);
      const bool same = difference <= family_->definition().tolerance;
      ending.status = text(same ? Status::correct : Status::wrong_result);
      if (!same) ending.message = fmt::format("not that of the first configuration: off by {:.3g}", difference);
    }));
  }

  /// Whether a configuration leaves its inputs and the memory behind its buffers alone, and computes the same bits when
  /// a timed run is repeated. Its results are compared elsewhere.
  [[nodiscard]] nb::dict verify(const Entries& entries, std::int64_t samples) {
    const Configuration configuration = configuration_of(entries);
    return told(attempt([&](Ending& ending) {
      const Verdict verdict = evaluator_->verify_timed_run(configuration, problem_, samples, configuration);
      ending.status = text(verdict.status);
      ending.message = verdict.message;
    }));
  }

  /// Writes measurements into the profile database, each as its configuration, status, times (microseconds), seconds of
  /// the compiler, and a message.
  void record(const nb::list& rows, std::int64_t samples, const std::string& strategy) {
    std::vector<Measurement> all;
    for (const nb::handle row : rows) {
      Measurement measurement = blank(nb::cast<Entries>(row[0]), samples, strategy);
      measurement.status = parse_status(nb::cast<std::string>(row[1])).value_or(Status::crash);
      measurement.times = nb::cast<std::vector<double>>(row[2]);
      measurement.compile_seconds = nb::cast<double>(row[3]);
      measurement.message = nb::cast<std::string>(row[4]);
      if (!measurement.times.empty()) measurement.cost = *std::ranges::min_element(measurement.times);
      all.push_back(std::move(measurement));
    }
    guarded([&] { store_->record(all); });
  }

  /// Makes a verified configuration the profile, unless a faster one is there. Returns whether it was kept.
  bool keep(const Entries& entries, const std::vector<double>& times, std::int64_t samples,
            const std::string& strategy) {
    const Measurement measurement = blank(entries, samples, strategy);
    Profile profile;
    profile.key = measurement.key;
    profile.kernels = measurement.kernels;
    profile.configuration = measurement.configuration;
    profile.time = median(times);
    profile.spread = half_interquartile_range(times);
    profile.samples = samples;
    profile.provenance = measurement.provenance;
    bool kept = false;
    guarded([&] { kept = store_->keep_if_better(profile); });
    return kept && can_be_timed(worker_->identity().backend);
  }

  [[nodiscard]] std::string kernel() const { return std::string(family_->name()); }
  [[nodiscard]] std::string problem() const { return problem_.text(); }

 private:
  static constexpr std::uint64_t kSeed = 1;

  [[nodiscard]] Stop stop() const {
    return [this] { return interruption_ != nullptr && interruption_->asked(); };
  }

  /// Does work without the GIL; Ctrl-C ends it.
  template <class WorkToDo>
  void guarded(const WorkToDo& work) {
    Interruption interruption;
    interruption_ = &interruption;
    bool stopped = false;
    try {
      const nb::gil_scoped_release released;
      work();
    } catch (const Interrupted&) {
      stopped = true;
    } catch (...) {
      interruption_ = nullptr;
      throw;
    }
    interruption_ = nullptr;
    if (const nb::object raised = interruption.raised(); !raised.is_none()) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
      nb::raise_python_error();
    }
    if (stopped) throw Interrupted();
  }

  /// A failure of the device becomes an ending.
  template <class WorkToDo>
  Ending attempt(const WorkToDo& work) {
    Ending ending;
    guarded([&] {
      try {
        work(ending);
      } catch (const DeviceFailure& failure) {
        ending = {};
        ending.status = text(failure.status());
        ending.message = failure.what();
        if (takes_device_down(failure.status())) evaluator_->check_device();
      }
    });
    return ending;
  }

  static nb::dict told(const Ending& ending) {
    nb::dict entry;
    entry["status"] = ending.status;
    entry["message"] = ending.message;
    entry["times"] = ending.times;
    nb::dict after;
    for (const auto& [name, bytes] : ending.after) after[name.c_str()] = nb::bytes(bytes.data(), bytes.size());
    entry["after"] = after;
    return entry;
  }

  [[nodiscard]] Measurement blank(const Entries& entries, std::int64_t samples, const std::string& strategy) {
    Measurement measurement;
    measurement.key = {.device = worker_->identity(), .family = kernel(), .problem = problem_};
    measurement.configuration = configuration_of(entries).text();
    measurement.samples = samples;
    guarded([&] {
      measurement.kernels = evaluator_->kernels();
      measurement.provenance = evaluator_->provenance();
    });
    measurement.provenance.seed = static_cast<std::int64_t>(kSeed);
    measurement.provenance.strategy = strategy;
    return measurement;
  }

  const ScratchFolder folder_;
  std::optional<LentExample> example_;  ///< in `folder_`
  FamilyRegistry families_ = builtin_families();
  const DefinedFamily* family_ = nullptr;
  Problem problem_;
  Interruption* interruption_ = nullptr;  ///< of the function that is at work
  std::optional<Worker> worker_;
  std::optional<IsolatedEvaluator> evaluator_;
  std::optional<SearchSpace> space_;
  std::optional<ProfileStore> store_;
  std::deque<std::unique_ptr<Compilation>> compilations_;
};

/// A strategy of heddle's over configurations that Python lists.
class ListedSearch {
 public:
  ListedSearch(const std::string& name, const std::vector<Entries>& all, std::uint64_t seed)
      : space_(configurations(all)), strategy_(strategy(name).make({.space = space_, .seed = seed, .expected = {}})) {}

  [[nodiscard]] std::vector<std::size_t> next(std::size_t at_most) { return strategy_->next(at_most); }
  void observe(std::size_t configuration, std::optional<double> cost) {
    strategy_->observe(configuration, {.status = cost ? Status::unverified : Status::launch, .cost = cost});
  }

 private:
  static std::vector<Configuration> configurations(const std::vector<Entries>& all) {
    std::vector<Configuration> made;
    made.reserve(all.size());
    for (const Entries& entries : all) made.push_back(configuration_of(entries));
    return made;
  }

  ListedSpace space_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace

void bind_bench(nb::module_& module) {
  nb::class_<KernelBench>(module, "KernelBench")
      .def(nb::init<const std::string&, const std::string&, const std::vector<std::string>&,
                    const std::map<std::string, std::int64_t>&, const nb::dict&, const nb::dict&, const std::string&>(),
           nb::arg("description"), nb::arg("device"), nb::arg("worker"), nb::arg("sizes"), nb::arg("numbers"),
           nb::arg("contents"), nb::arg("profiles"))
      .def("device", &KernelBench::device)
      .def("violated", &KernelBench::violated, nb::arg("configuration"))
      .def("launch", &KernelBench::launch, nb::arg("configuration"))
      .def("compile", &KernelBench::compile, nb::arg("configurations"))
      .def("compiled", &KernelBench::compiled)
      .def("wind_up", &KernelBench::wind_up)
      .def("samples", &KernelBench::samples, nb::arg("configuration"))
      .def("time", &KernelBench::time, nb::arg("configuration"), nb::arg("samples"), nb::arg("repetitions"))
      .def("outcome", &KernelBench::outcome, nb::arg("configuration"), nb::arg("names") = BufferNames())
      .def("agrees", &KernelBench::agrees, nb::arg("configuration"), nb::arg("first"))
      .def("verify", &KernelBench::verify, nb::arg("configuration"), nb::arg("samples"))
      .def("record", &KernelBench::record, nb::arg("rows"), nb::arg("samples"), nb::arg("strategy"))
      .def("keep", &KernelBench::keep, nb::arg("configuration"), nb::arg("times"), nb::arg("samples"),
           nb::arg("strategy"))
      .def_prop_ro("kernel", &KernelBench::kernel)
      .def_prop_ro("problem", &KernelBench::problem);
  nb::class_<ListedSearch>(module, "ListedSearch")
      .def(nb::init<const std::string&, const std::vector<Entries>&, std::uint64_t>(), nb::arg("strategy"),
           nb::arg("configurations"), nb::arg("seed"))
      .def("next", &ListedSearch::next, nb::arg("at_most"))
      .def("observe", &ListedSearch::observe, nb::arg("configuration"), nb::arg("cost").none());
}

}  // namespace heddle::python
