// heddle.Kernel: a described kernel, called with arrays of any library.
#include "kernel.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "call_parameters.hpp"
#include "call_reader.hpp"
#include "explanation.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "heddle/profiles/goal.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/caller_memory.hpp"
#include "heddle/runtime/kernel/callable_kernel.hpp"
#include "heddle/tuner/objective.hpp"
#include "heddle/tuner/tune_kernel.hpp"
#include "interruption.hpp"

namespace nb = nanobind;

namespace heddle::python {
namespace {

/// How often this process was forked off from another one. A kernel of the parent has threads and a GPU's context that
/// its child has not.
std::atomic<int> forks = 0;
[[maybe_unused]] const int counts_forks = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });

struct Needs {
  std::vector<std::int64_t> bytes;  ///< of each argument's memory
};

/// A family, what was tuned for it, and what runs. Replaced as a whole after tuning.
struct Loaded {
  Loaded(Device& device, const KernelFamily& family, const std::string& profiles, const FamilyRegistry& families,
         const std::vector<CallType>& types, const Goal& goal, TunedKernelOptions options)
      : kernel(device, family,
               ProfileStore(profiles.empty() ? ProfileStore::default_file() : std::filesystem::path(profiles),
                            ProfileStore::Access::read, families)
                   .knowledge(std::string(family.name()), goal),
               types, std::move(options)) {}
  CallableKernel kernel;
};

class PythonKernel {
 public:
  PythonKernel(const std::string& description, const std::string& device, std::string profiles, bool wait,
               bool allow_outside, const std::string& objective)
      : forks_(forks), profiles_(std::move(profiles)), wait_(wait), goal_(Goal::of(objective)) {
    if (!goal_.is_time()) objective_ = std::make_shared<const Objective>(goal_.objective);
    const nb::gil_scoped_release released;
    definition_ = read_kernel_file(description, {.allow_outside = allow_outside, .with = {}});
    family_ = families_.add(describe(definition_)).defined();
    device_ = open_device(device);
    if (!family_->supports(device_->identity().backend)) {
      throw Error(ErrorKind::usage, fmt::format("kernel {} is written for {}, and {} is another kind of device",
                                                family_->name(), definition_.code.begin()->first, device_->label()));
    }
    memory_ = dynamic_cast<const CallerMemory*>(device_.get());
    gpu_ = gpu_number(*device_);
    if (objective_) objective_->check(*family_, device_->identity());
    parameters_.emplace(*family_, device_->identity());
    reader_.emplace(*family_, *parameters_, *device_, gpu_);
    loaded_ = loaded();
  }
  ~PythonKernel() {
    if (forks_ != forks) {  // its threads are the parent's: waiting for them would never end
      static_cast<void>(new std::shared_ptr(std::move(loaded_)));
      static_cast<void>(device_.release());
      return;
    }
    const nb::gil_scoped_release released;
    loaded_.reset();
    device_.reset();
  }
  PythonKernel(const PythonKernel&) = delete;
  PythonKernel& operator=(const PythonKernel&) = delete;

  [[nodiscard]] std::string name() const { return definition_.name; }
  [[nodiscard]] std::string device() const { return device_->label(); }
  [[nodiscard]] std::string profiles() const { return profiles_; }
  [[nodiscard]] std::vector<std::string> argument_names() const { return parameters_->names(); }
  [[nodiscard]] std::vector<std::string> size_names() const { return reader_->size_names(); }

  void call(const nb::args& arguments, const nb::kwargs& named) {
    with_call(arguments, named, [](Call&) {});
  }

  void prepare(const nb::kwargs& named) {
    require_same_process();
    const auto sizes = reader_->sizes_of(named);
    const std::shared_ptr<Loaded> loaded = loaded_;
    const nb::gil_scoped_release released;
    loaded->kernel.prepare(sizes);
  }

  nb::dict explain(const nb::kwargs& named) const {
    require_same_process();
    const auto sizes = reader_->sizes_of(named);
    KernelExplanation explanation;
    const std::shared_ptr<Loaded> loaded = loaded_;
    {
      const nb::gil_scoped_release released;
      explanation = loaded->kernel.explain(sizes);
    }
    return to_dict(explanation);
  }

  void capture(const std::string& file, const nb::args& arguments, const nb::kwargs& named) {
    with_call(
        arguments, named,
        [&](Call& call) {
          std::vector<std::optional<std::int64_t>> lengths(parameters_->all.size());
          for (std::size_t i = 0; i < parameters_->all.size(); ++i) {
            if (call.views[i]) lengths[i] = call.views[i]->bytes;
          }
          const std::vector<AxisValue> sizes(call.sizes.begin(), call.sizes.begin() + axes());
          const Problem problem = Problem::from(family_->axes(), sizes);
          const std::shared_ptr<Loaded> loaded = loaded_;
          const nb::gil_scoped_release released;
          loaded->kernel.capture(problem, call.stream, file, call.values.data(), lengths);
        },
        /*launches=*/false);
  }

  /// Returns a record for each problem.
  nb::list tune(const std::vector<std::map<std::string, std::int64_t>>& problems, double seconds,
                const std::string& strategy, std::uint64_t seed, const std::vector<std::string>& worker,
                const nb::object& on_progress) {
    require_same_process();
    std::vector<Problem> wanted;
    for (const auto& problem : problems) wanted.push_back(problem_of(problem));
    Interruption interruption;
    TuneKernelOptions options;
    options.device = device_->label();
    if (!profiles_.empty()) options.profiles = profiles_;
    if (!strategy.empty()) options.tuner.strategy = strategy;
    options.tuner.seed = seed;
    options.tuner.objective = objective_;
    options.worker = worker;
    options.stop = [&] { return interruption.asked(); };
    if (!on_progress.is_none()) {
      options.callbacks.progress = [&](const TuningProgress& now) {
        interruption.run([&] {
          on_progress(now.problem == nullptr ? std::string() : now.problem->text(), now.evaluations, now.fraction);
        });
      };
    }
    std::vector<TuningResult> results;
    std::shared_ptr<Loaded> fresh;
    bool stopped = false;
    {
      const nb::gil_scoped_release released;
      try {
        results = heddle::tune(definition_, wanted, {}, {}, {.seconds = seconds, .evaluations = {}}, options);
      } catch (const Interrupted&) {
        stopped = true;
      }
      fresh = loaded();
    }
    loaded_.swap(fresh);  // with the GIL, as calls of other threads read it
    {
      const nb::gil_scoped_release released;
      fresh.reset();  // waits for what compiles
    }
    if (const nb::object raised = interruption.raised(); !raised.is_none()) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
      nb::raise_python_error();
    }
    if (stopped) throw Interrupted();
    nb::list all;
    for (const TuningResult& result : results) all.append(record_of(result));
    return all;
  }

  /// The lines about choices that failed or are stale, which came since the last time.
  std::vector<std::string> notices() {
    const std::lock_guard lock(notices_->mutex);
    return std::exchange(notices_->lines, {});
  }

 private:
  struct Notices {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  [[nodiscard]] std::ptrdiff_t axes() const { return static_cast<std::ptrdiff_t>(family_->axes().size()); }

  void require_same_process() const {
    if (forks_ == forks) return;
    throw Error(ErrorKind::usage, fmt::format("kernel {} was made by a process that this one was forked off from, "
                                              "expected one of its own",
                                              definition_.name));
  }

  /// What is known of the kernel now.
  [[nodiscard]] std::shared_ptr<Loaded> loaded() {
    TunedKernelOptions options{.wait = wait_, .notice = [notices = notices_](const std::string& line) {
                                 const std::lock_guard lock(notices->mutex);
                                 notices->lines.push_back(line);
                               }};
    return std::make_shared<Loaded>(*device_, *family_, profiles_, families_, parameters_->types, goal_,
                                    std::move(options));
  }

  [[nodiscard]] Problem problem_of(const std::map<std::string, std::int64_t>& sizes) const {
    std::vector<Problem::Size> all;
    for (const Axis& axis : family_->axes()) {
      if (const auto found = sizes.find(axis.name); found != sizes.end()) {
        all.push_back({.name = axis.name, .value = found->second});
      }
    }
    for (const auto& [name, size] : sizes) {
      if (std::ranges::find(family_->axes(), name, &Axis::name) == family_->axes().end()) reader_->refuse_size(name);
    }
    Problem problem(std::move(all));
    if (const auto why = misfit(problem, family_->axes())) {
      throw Error(ErrorKind::usage, fmt::format("kernel {}: {}", definition_.name, *why));
    }
    return problem;
  }

  /// Calls `use` with what a call of these arguments passes.
  template <class Use>
  void with_call(const nb::args& arguments, const nb::kwargs& keywords, const Use& use, bool launches = true) {
    require_same_process();
    Call call;
    reader_->read(call, arguments, keywords);
    // Another thread may tune meanwhile, and put another one in its place.
    const std::shared_ptr<Loaded> loaded = loaded_;
    const Sizes sizes(call.sizes.data(), family_->axes().size());
    require_lengths(call, sizes);
    use(call);
    if (!launches) return;
    const nb::gil_scoped_release released;
    loaded->kernel.launch(sizes, call.values.data(), call.stream);
    if (call.waits) wait_for(call);
  }

  void require_lengths(const Call& call, Sizes sizes) {
    const Needs* needs = needs_.find(sizes);
    if (needs == nullptr) needs = &needs_.insert(sizes, needs_at(sizes));
    for (std::size_t i = 0; i < parameters_->all.size(); ++i) {
      if (!call.views[i]) continue;
      const ArrayView& view = *call.views[i];
      if (view.bytes < needs->bytes[i]) {
        const std::int64_t element = size_of(parameters_->all[i].type);
        refuse(ErrorKind::input,
               fmt::format("{} has {} numbers, expected {} at {}", reader_->named(i), view.bytes / element,
                           needs->bytes[i] / element, problem_at(sizes).text()));
      }
      if (memory_ == nullptr || view.library != Library::other || view.bytes == 0) continue;
      // Nothing but the driver knows whether an interface tells the truth.
      if (const auto behind = memory_->bytes_behind(view.address); behind && *behind < needs->bytes[i]) {
        refuse(ErrorKind::input,
               fmt::format("{} has {} bytes of memory, expected {}", reader_->named(i), *behind, needs->bytes[i]));
      }
    }
  }

  [[nodiscard]] Problem problem_at(Sizes sizes) const {
    return Problem::from(family_->axes(), {sizes.begin(), sizes.end()});
  }

  [[nodiscard]] std::unique_ptr<Needs> needs_at(Sizes sizes) const {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Axis& axis = family_->axes()[i];
      if (allows(axis, sizes[i])) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("kernel {}: {} is {}, expected {}", definition_.name, axis.name,
                              sizes[i] ? std::to_string(*sizes[i]) : std::string("missing"), range_text(axis)));
    }
    auto needs = std::make_unique<Needs>();
    const std::vector<Buffer> buffers = family_->buffers(problem_at(sizes));
    for (const Parameter& parameter : parameters_->all) {
      const auto found = std::ranges::find(buffers, parameter.name, &Buffer::name);
      needs->bytes.push_back(found == buffers.end() ? 0 : found->bytes);
    }
    return needs;
  }

  /// Until the launch is done: reading any byte that it could have written takes as long.
  void wait_for(const Call& call) const {
    for (const auto& view : call.views) {
      if (!view || view->bytes == 0 || memory_ == nullptr) continue;
      std::array<std::byte, 1> byte{};
      memory_->read_at(view->address, byte, call.stream);
      return;
    }
  }

  [[nodiscard]] nb::dict record_of(const TuningResult& result) const {
    nb::dict entry;
    entry["problem"] = result.problem.text();
    entry["configuration"] = result.profile ? nb::object(nb::str(result.profile->configuration.c_str())) : nb::none();
    entry["microseconds"] = result.profile ? nb::object(nb::float_(result.profile->time)) : nb::none();
    entry["untuned"] = result.untuned.configuration;
    entry["untuned_microseconds"] = result.untuned.time ? nb::object(nb::float_(*result.untuned.time)) : nb::none();
    entry["stored"] = result.was_stored && can_be_timed(device_->identity().backend);
    entry["evaluations"] = result.evaluations();
    nb::dict statuses;
    for (const auto& [status, number] : result.statuses) statuses[std::string(heddle::text(status)).c_str()] = number;
    entry["statuses"] = statuses;
    return entry;
  }

  int forks_;
  std::string profiles_;
  bool wait_;
  Goal goal_;                                   ///< which profiles it runs with, and tunes for
  std::shared_ptr<const Objective> objective_;  ///< of the goal; null for the time
  KernelDefinition definition_;
  FamilyRegistry families_ = builtin_families();
  const DefinedFamily* family_ = nullptr;
  std::unique_ptr<Device> device_;
  const CallerMemory* memory_ = nullptr;      ///< the device, where it has a memory of its own
  int gpu_ = -1;                              ///< its number; -1: it works in the host's memory
  std::optional<CallParameters> parameters_;  ///< set from the constructor on, as the reader is
  std::optional<CallReader> reader_;
  SizeTable<Needs> needs_;
  std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();
  std::shared_ptr<Loaded> loaded_;
};

/// What a look at an array found out; for tests, and for people who wonder why one is refused.
nb::dict describe_array(nb::handle array, bool prefers_gpu) {
  const ArrayView view(array, prefers_gpu, 0);
  nb::dict entry;
  entry["address"] = reinterpret_cast<std::uintptr_t>(view.address);
  entry["bytes"] = view.bytes;
  entry["type"] = text(view.kind);
  entry["contiguous"] = view.contiguous;
  entry["read_only"] = view.read_only;
  entry["place"] = view.place == ArrayView::kHost      ? nb::object(nb::str("host"))
                   : view.place == ArrayView::kSomeGpu ? nb::object(nb::str("gpu"))
                                                       : nb::object(nb::int_(view.place));
  entry["stream"] = view.has_stream ? nb::object(nb::int_(view.stream)) : nb::none();
  return entry;
}

/// Length and stride of each index.
nb::list describe_shape(nb::handle array, bool prefers_gpu) {
  const std::shared_ptr<const ArrayView> view = ArrayView::with_shape(array, prefers_gpu, 0);
  nb::list all;
  for (const Dimension& dimension : view->dimensions) {
    all.append(nb::make_tuple(dimension.length, dimension.stride));
  }
  return all;
}

}  // namespace

void bind_kernel(nb::module_& module) {
  nb::set_leak_warnings(false);  // a kernel in a traceback that Python still holds at its end is no leak of ours
  module.def("describe_array", &describe_array, nb::arg("array"), nb::arg("prefers_gpu") = true);
  module.def("describe_shape", &describe_shape, nb::arg("array"), nb::arg("prefers_gpu") = true);
  nb::class_<PythonKernel>(module, "Kernel")
      .def(nb::init<const std::string&, const std::string&, std::string, bool, bool, const std::string&>(),
           nb::arg("description"), nb::arg("device") = "", nb::arg("profiles") = "", nb::arg("wait") = false,
           nb::arg("allow_outside") = false, nb::arg("objective") = "time")
      .def("__call__", &PythonKernel::call, nb::arg("arguments"), nb::arg("sizes"))
      .def("_prepare", &PythonKernel::prepare, nb::arg("sizes"))
      .def("_explain", &PythonKernel::explain, nb::arg("sizes"))
      .def("_capture", &PythonKernel::capture, nb::arg("file"), nb::arg("arguments"), nb::arg("sizes"))
      .def("_tune", &PythonKernel::tune, nb::arg("problems"), nb::arg("seconds"), nb::arg("strategy"), nb::arg("seed"),
           nb::arg("worker"), nb::arg("on_progress").none())
      .def("_notices", &PythonKernel::notices)
      .def_prop_ro("name", &PythonKernel::name, "str: of the kernel, with a digest of its description and sources.")
      .def_prop_ro("device", &PythonKernel::device, "str: the label of the device, ``\"cuda:0\"``.")
      .def_prop_ro("_profiles", &PythonKernel::profiles)
      .def_prop_ro("arguments", &PythonKernel::argument_names, "list of str: what a call takes, in its order.")
      .def_prop_ro("sizes", &PythonKernel::size_names,
                   "list of str: the sizes by name, as the description calls them.");
}

}  // namespace heddle::python
