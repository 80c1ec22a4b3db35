// heddle.Kernel: a described kernel, called with arrays of any library.
#include "kernel.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "array_view.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "heddle/kernels/own/number_types.hpp"
#include "heddle/kernels/text.hpp"
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

constexpr std::size_t kMostAxes = 32;  // of a description

/// How often this process was forked off from another one. A kernel of the parent has threads and a GPU's context that
/// its child has not.
std::atomic<int> forks = 0;
[[maybe_unused]] const int counts_forks = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });

[[noreturn]] void refuse(ErrorKind kind, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  throw Error(kind, line);
}

/// One argument of a call.
struct Parameter {
  std::string name;
  bool is_buffer = false;
  Role role = Role::input;
  ElementType type = ElementType::float32;
  int lanes = 1;
  std::size_t bytes = 0;   ///< of a value; of a buffer an address
  std::size_t offset = 0;  ///< of the value among all
  bool is_number = false;  ///< of a value: one number, no struct or vector
};

/// What decides the size on an axis where the call does not name it: the value of an argument, or the elements of one.
struct SizeSource {
  std::optional<std::size_t> argument;
};

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
    if (const std::string label = device_->label(); label.starts_with("cuda:")) {
      const std::string_view number = std::string_view(label).substr(5);
      std::from_chars(number.data(), number.data() + number.size(), gpu_);
    }
    if (objective_) objective_->check(*family_, device_->identity());
    read_parameters();
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
  [[nodiscard]] std::vector<std::string> argument_names() const {
    std::vector<std::string> names;
    for (const Parameter& each : parameters_) names.push_back(each.name);
    return names;
  }
  [[nodiscard]] std::vector<std::string> size_names() const {
    std::vector<std::string> names;
    for (const Axis& axis : family_->axes()) names.push_back(axis.name);
    return names;
  }

  void call(const nb::args& arguments, const nb::kwargs& named) {
    with_call(arguments, named, [](Call&) {});
  }

  void prepare(const nb::kwargs& named) {
    require_same_process();
    const auto sizes = sizes_of(named, nullptr);
    const std::shared_ptr<Loaded> loaded = loaded_;
    const nb::gil_scoped_release released;
    loaded->kernel.prepare(sizes);
  }

  nb::dict explain(const nb::kwargs& named) const {
    require_same_process();
    const auto sizes = sizes_of(named, nullptr);
    KernelExplanation explanation;
    const std::shared_ptr<Loaded> loaded = loaded_;
    {
      const nb::gil_scoped_release released;
      explanation = loaded->kernel.explain(sizes);
    }
    const auto candidate = [](const std::optional<Candidate>& of) -> nb::object {
      if (!of) return nb::none();
      nb::dict entry;
      entry["configuration"] = of->configuration.text();
      entry["tier"] = std::string(heddle::text(of->tier));
      entry["reason"] = of->reason;
      return entry;
    };
    nb::dict entry;
    entry["kernel"] = explanation.family;
    entry["device"] = explanation.device.name;
    entry["problem"] = explanation.problem.text();
    entry["running"] = candidate(explanation.running);
    entry["awaited"] = candidate(explanation.awaited);
    entry["failures"] = explanation.failures;
    entry["text"] = explanation.text();
    return entry;
  }

  void capture(const std::string& file, const nb::args& arguments, const nb::kwargs& named) {
    with_call(
        arguments, named,
        [&](Call& call) {
          std::vector<std::optional<std::int64_t>> lengths(parameters_.size());
          for (std::size_t i = 0; i < parameters_.size(); ++i) {
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
  /// All that one call holds.
  struct Call {
    std::array<AxisValue, kMostAxes> sizes;
    std::array<std::optional<ArrayView>, LoadedKernel::kMostArguments> views;
    std::array<void*, LoadedKernel::kMostArguments + 1> values;
    alignas(16) std::array<std::byte, 1024> few;
    std::vector<std::max_align_t> many;
    std::byte* bytes = few.data();
    Stream stream;
    bool waits = false;  ///< the library has no stream of its own to wait for the launch
  };

  [[nodiscard]] std::ptrdiff_t axes() const { return static_cast<std::ptrdiff_t>(family_->axes().size()); }

  void require_same_process() const {
    if (forks_ == forks) return;
    throw Error(ErrorKind::usage, fmt::format("kernel {} was made by a process that this one was forked off from, "
                                              "expected one of its own",
                                              definition_.name));
  }

  void read_parameters() {
    const DeviceIdentity& identity = device_->identity();
    const Problem problem = family_->awkward_problem();
    const Plan plan = family_->plan(family_->default_configuration(identity, problem), problem, identity, 1);
    require_one_kernel(plan);
    const std::vector<Argument>& values = plan.launches.front().arguments;
    std::vector<const KernelArgument*> constants;
    for (const KernelArgument& each : definition_.arguments) {
      if (each.is_buffer() && !each.passed) {
        constants.push_back(&each);
        continue;
      }
      const std::size_t i = parameters_.size();
      if (i >= values.size() || i >= LoadedKernel::kMostArguments) break;  // the kernel is refused when it is loaded
      Parameter parameter{
          .name = each.name, .is_buffer = each.is_buffer(), .role = each.role, .type = each.type, .lanes = each.lanes};
      CallType type{.kind = values[i].index(), .read_only = false, .bytes = 0, .alignment = 1};
      if (const auto* const bytes = std::get_if<StructArgument>(&values[i])) {
        type.bytes = bytes->bytes.size();
        type.alignment = bytes->alignment;
      }
      parameter.bytes = each.is_buffer() ? sizeof(void*) : heddle::bytes_of(values[i]).size();
      parameter.is_number = !each.is_buffer() && !each.is_struct() && each.lanes == 1;
      add(std::move(parameter), type);
    }
    // What goes to constant memory alone comes behind what the kernel takes, as an address like other arrays.
    for (const KernelArgument* const each : constants) {
      if (parameters_.size() >= LoadedKernel::kMostArguments) break;
      add({.name = each->name,
           .is_buffer = true,
           .role = each->role,
           .type = each->type,
           .lanes = each->lanes,
           .bytes = sizeof(void*)},
          {.kind = Argument(BufferArgument{}).index(), .read_only = true});
    }
    for (const Axis& axis : family_->axes()) {
      SizeSource source;
      for (const bool of_buffer : {false, true}) {
        for (std::size_t i = 0; i < parameters_.size() && !source.argument; ++i) {
          const auto& argument = *std::ranges::find(definition_.arguments, parameters_[i].name, &KernelArgument::name);
          if (argument.is_buffer() != of_buffer) continue;
          const bool says = of_buffer
                                ? argument.elements == axis.name
                                : parameters_[i].is_number && !is_real(argument.type) && argument.value == axis.name;
          if (says) source.argument = i;
        }
      }
      size_sources_.push_back(source);
    }
  }

  void add(Parameter parameter, const CallType& type) {
    constexpr std::size_t kAlignment = 16;
    parameter.offset = bytes_;
    bytes_ += (parameter.bytes + kAlignment - 1) / kAlignment * kAlignment;
    parameters_.push_back(std::move(parameter));
    types_.push_back(type);
  }

  /// What is known of the kernel now.
  [[nodiscard]] std::shared_ptr<Loaded> loaded() {
    TunedKernelOptions options{.wait = wait_, .notice = [notices = notices_](const std::string& line) {
                                 const std::lock_guard lock(notices->mutex);
                                 notices->lines.push_back(line);
                               }};
    return std::make_shared<Loaded>(*device_, *family_, profiles_, families_, types_, goal_, std::move(options));
  }

  [[nodiscard]] Problem problem_of(const std::map<std::string, std::int64_t>& sizes) const {
    std::vector<Problem::Size> all;
    for (const Axis& axis : family_->axes()) {
      if (const auto found = sizes.find(axis.name); found != sizes.end()) {
        all.push_back({.name = axis.name, .value = found->second});
      }
    }
    for (const auto& [name, size] : sizes) {
      if (std::ranges::find(family_->axes(), name, &Axis::name) == family_->axes().end()) refuse_size(name);
    }
    Problem problem(std::move(all));
    if (const auto why = misfit(problem, family_->axes())) {
      throw Error(ErrorKind::usage, fmt::format("kernel {}: {}", definition_.name, *why));
    }
    return problem;
  }

  [[noreturn]] void refuse_size(const std::string& name) const {
    throw Error(ErrorKind::usage, fmt::format("kernel {} has no size {}, expected {}", definition_.name,
                                              in_quotes(name), fmt::join(size_names(), ", ")));
  }

  /// `call`: from whose arguments sizes that are not named follow; null: all have to be named.
  [[nodiscard]] std::vector<AxisValue> sizes_of(const nb::kwargs& named, Call* call) const {
    std::vector<AxisValue> sizes(family_->axes().size());
    fill_sizes(named, call, sizes.data());
    return sizes;
  }

  void fill_sizes(const nb::kwargs& named, const Call* call, AxisValue* sizes) const {
    const std::vector<Axis>& all = family_->axes();
    std::size_t used = 0;
    const std::size_t given = named.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (given > 0 && named.contains(all[i].name.c_str())) {
        ++used;
        sizes[i] = whole(nb::object(named[all[i].name.c_str()]), fmt::format("size {}", all[i].name));
      } else if (call != nullptr && size_sources_[i].argument) {
        sizes[i] = size_from(*size_sources_[i].argument, *call);
      } else if (!all[i].optional) {
        throw Error(ErrorKind::usage, fmt::format("kernel {}: the size {} is missing, expected {}=NUMBER",
                                                  definition_.name, all[i].name, all[i].name));
      }
    }
    if (used < given) {
      for (const auto& [name, value] : named) {
        const auto text = nb::cast<std::string>(nb::str(name));
        if (text != "stream" && std::ranges::find(all, text, &Axis::name) == all.end()) refuse_size(text);
      }
    }
  }

  [[nodiscard]] std::int64_t size_from(std::size_t argument, const Call& call) const {
    const Parameter& parameter = parameters_[argument];
    if (parameter.is_buffer) {
      return call.views[argument]->bytes / (size_of(parameter.type) * parameter.lanes);
    }
    return with_number(parameter.type, [&](auto sample) -> std::int64_t {
      if constexpr (std::is_integral_v<decltype(sample)>) {
        std::memcpy(&sample, call.bytes + parameter.offset, sizeof sample);
        return std::in_range<std::int64_t>(sample) ? static_cast<std::int64_t>(sample)
                                                   : std::numeric_limits<std::int64_t>::max();
      } else {
        return 0;
      }
    });
  }

  /// A whole number of any library.
  [[nodiscard]] std::int64_t whole(nb::handle number, const std::string& what) const {
    const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
    if (!index.is_valid()) refuse_pending(ErrorKind::usage, what);
    const std::int64_t value = PyLong_AsLongLong(index.ptr());
    if (PyErr_Occurred() != nullptr) refuse_pending(ErrorKind::usage, what);
    return value;
  }

  /// What Python has raised, as an error of ours.
  [[noreturn]] void refuse_pending(ErrorKind kind, const std::string& what) const {
    const nb::python_error error;
    if (!error.matches(PyExc_Exception)) nb::raise_python_error();
    refuse(kind,
           fmt::format("kernel {}: {}: {}", definition_.name, what, nb::cast<std::string>(nb::str(error.value()))));
  }

  [[nodiscard]] std::string named(std::size_t argument) const {
    return fmt::format("kernel {}: argument {} ({})", definition_.name, argument + 1, parameters_[argument].name);
  }

  /// Calls `use` with what a call of these arguments passes.
  template <class Use>
  void with_call(const nb::args& arguments, const nb::kwargs& keywords, const Use& use, bool launches = true) {
    require_same_process();
    const std::size_t count = arguments.size();
    if (count != parameters_.size()) {
      throw Error(ErrorKind::usage, fmt::format("kernel {} takes {} arguments ({}), found {}", definition_.name,
                                                parameters_.size(), fmt::join(argument_names(), ", "), count));
    }
    Call call;
    if (bytes_ > call.few.size()) {
      call.many.resize(bytes_ / sizeof(std::max_align_t) + 1);
      call.bytes = reinterpret_cast<std::byte*>(call.many.data());
    }
    std::optional<std::uintptr_t> stream;
    if (keywords.size() > 0 && keywords.contains("stream")) stream = stream_in(nb::object(keywords["stream"]));
    for (std::size_t i = 0; i < count; ++i) {
      call.values[i] = call.bytes + parameters_[i].offset;
      if (parameters_[i].is_buffer) {
        take_array(call, i, arguments[i], stream.value_or(0));
      } else {
        take_value(call.bytes + parameters_[i].offset, i, arguments[i]);
      }
    }
    if (gpu_ >= 0) choose_stream(call, stream);
    fill_sizes(keywords, &call, call.sizes.data());
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

  void take_array(Call& call, std::size_t i, nb::handle array, std::uintptr_t stream) {
    const Parameter& parameter = parameters_[i];
    try {
      call.views[i].emplace(array, gpu_ >= 0, stream);
    } catch (const Error& error) {
      refuse(ErrorKind::input, fmt::format("{} {}", named(i), error.what()));
    }
    const ArrayView& view = *call.views[i];
    const bool on_gpu = view.place != ArrayView::kHost;
    if (on_gpu != (gpu_ >= 0) || (view.place >= 0 && view.place != gpu_)) {
      const std::string where = view.place == ArrayView::kHost      ? "in the host's memory"
                                : view.place == ArrayView::kSomeGpu ? "on a GPU"
                                                                    : fmt::format("on GPU {}", view.place);
      refuse(ErrorKind::input, fmt::format("{} lies {}, the kernel runs on {}", named(i), where, device_->label()));
    }
    const NumberKind expected = kind_of(parameter.type);
    const bool truth = view.kind == NumberKind{'?', 1} && parameter.type == ElementType::uint8;
    if (view.kind != expected && !truth) {
      refuse(ErrorKind::input,
             fmt::format("{} has elements of {}, expected {}", named(i), text(view.kind), text(expected)));
    }
    if (!view.contiguous) {
      refuse(ErrorKind::input, fmt::format("{} is not contiguous, expected rows one after the other", named(i)));
    }
    if (view.read_only && parameter.role != Role::input) {
      refuse(ErrorKind::input, fmt::format("{} can only be read, and the kernel writes it", named(i)));
    }
    std::memcpy(call.bytes + parameter.offset, &view.address, sizeof view.address);
  }

  void take_value(std::byte* to, std::size_t i, nb::handle value) const {
    const Parameter& parameter = parameters_[i];
    if (!parameter.is_number) return take_bytes(to, i, value);
    with_number(parameter.type, [&](auto sample) {
      using Number = decltype(sample);
      if constexpr (std::is_integral_v<Number>) {
        const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
        if (!index.is_valid()) refuse_pending(ErrorKind::input, fmt::format("argument {} ({})", i + 1, parameter.name));
        if constexpr (std::is_same_v<Number, std::uint64_t>) {
          sample = PyLong_AsUnsignedLongLong(index.ptr());
          if (PyErr_Occurred() != nullptr) refuse_pending(ErrorKind::input, fmt::format("argument {}", i + 1));
        } else {
          const std::int64_t number = PyLong_AsLongLong(index.ptr());
          const bool fails = PyErr_Occurred() != nullptr;
          if (fails) PyErr_Clear();
          if (fails || !std::in_range<Number>(number)) {
            refuse(ErrorKind::input, fmt::format("{} is {}, which is no {}", named(i),
                                                 nb::cast<std::string>(nb::str(index)), name_of(parameter.type)));
          }
          sample = static_cast<Number>(number);
        }
      } else {
        const double number = PyFloat_AsDouble(value.ptr());
        if (PyErr_Occurred() != nullptr) refuse_pending(ErrorKind::input, fmt::format("argument {}", i + 1));
        sample = static_cast<Number>(number);
      }
      std::memcpy(to, &sample, sizeof sample);
    });
  }

  /// A struct, or a vector of numbers: anything whose memory has as many bytes.
  void take_bytes(std::byte* to, std::size_t i, nb::handle value) const {
    Py_buffer buffer{};
    if (PyObject_CheckBuffer(value.ptr()) == 0 || PyObject_GetBuffer(value.ptr(), &buffer, PyBUF_SIMPLE) != 0) {
      PyErr_Clear();
      refuse(ErrorKind::input,
             fmt::format("{} is a struct or a vector, expected its {} bytes", named(i), parameters_[i].bytes));
    }
    const auto found = static_cast<std::size_t>(buffer.len);
    if (found == parameters_[i].bytes) std::memcpy(to, buffer.buf, found);
    PyBuffer_Release(&buffer);
    if (found != parameters_[i].bytes) {
      refuse(ErrorKind::input, fmt::format("{} has {} bytes, expected {}", named(i), found, parameters_[i].bytes));
    }
  }

  /// An address, or an object of CuPy (`ptr`), PyTorch (`cuda_stream`), Numba (`handle`), or with `__cuda_stream__`.
  static std::optional<std::uintptr_t> stream_in(const nb::object& given) {
    if (given.is_none()) return std::nullopt;
    try {
      if (PyIndex_Check(given.ptr()) != 0) return nb::cast<std::uintptr_t>(given);
      for (const char* const name : {"ptr", "cuda_stream"}) {
        if (nb::hasattr(given, name)) return nb::cast<std::uintptr_t>(given.attr(name));
      }
      if (nb::hasattr(given, "__cuda_stream__")) {
        const nb::object pair = given.attr("__cuda_stream__")();
        return nb::cast<std::uintptr_t>(pair[1]);
      }
      if (nb::hasattr(given, "handle")) return nb::cast<std::uintptr_t>(nb::object(given.attr("handle").attr("value")));
    } catch (const nb::cast_error&) {
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
    }
    throw Error(ErrorKind::usage, "stream: found no stream, expected one of CuPy, PyTorch or Numba, or its address");
  }

  /// The stream of the arrays' library, unless the caller named one.
  void choose_stream(Call& call, std::optional<std::uintptr_t> stream) const {
    const ArrayView* said = nullptr;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!call.views[i]) continue;
      const ArrayView& view = *call.views[i];
      call.waits = call.waits || view.library == Library::jax;
      if (stream && said == nullptr) continue;
      const bool says = view.has_stream || view.library == Library::cupy || view.library == Library::torch;
      if (!says || (said != nullptr && said->library == view.library && !view.has_stream)) continue;
      const std::uintptr_t own = view.has_stream ? view.stream : current_stream(view.library, gpu_);
      if (said != nullptr && own != *stream) {
        throw Error(ErrorKind::usage,
                    fmt::format("{} belongs to another stream than an argument before it; stream= says "
                                "which to use",
                                named(i)));
      }
      stream = own;
      said = &view;
    }
    call.stream.handle = reinterpret_cast<void*>(stream.value_or(0));  // NOLINT(performance-no-int-to-ptr)
  }

  void require_lengths(const Call& call, Sizes sizes) {
    const Needs* needs = needs_.find(sizes);
    if (needs == nullptr) needs = &needs_.insert(sizes, needs_at(sizes));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!call.views[i]) continue;
      const ArrayView& view = *call.views[i];
      if (view.bytes < needs->bytes[i]) {
        const std::int64_t element = size_of(parameters_[i].type);
        refuse(ErrorKind::input, fmt::format("{} has {} numbers, expected {} at {}", named(i), view.bytes / element,
                                             needs->bytes[i] / element, problem_at(sizes).text()));
      }
      if (memory_ == nullptr || view.library != Library::other || view.bytes == 0) continue;
      // Nothing but the driver knows whether an interface tells the truth.
      if (const auto behind = memory_->bytes_behind(view.address); behind && *behind < needs->bytes[i]) {
        refuse(ErrorKind::input,
               fmt::format("{} has {} bytes of memory, expected {}", named(i), *behind, needs->bytes[i]));
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
    for (const Parameter& parameter : parameters_) {
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
  const CallerMemory* memory_ = nullptr;  ///< the device, where it has a memory of its own
  int gpu_ = -1;                          ///< its number; -1: it works in the host's memory
  std::vector<Parameter> parameters_;
  std::vector<CallType> types_;
  std::vector<SizeSource> size_sources_;  ///< by axis
  std::size_t bytes_ = 0;                 ///< of all values
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

}  // namespace

void bind_kernel(nb::module_& module) {
  nb::set_leak_warnings(false);  // a kernel in a traceback that Python still holds at its end is no leak of ours
  module.def("describe_array", &describe_array, nb::arg("array"), nb::arg("prefers_gpu") = true);
  nb::class_<PythonKernel>(module, "Kernel")
      .def(nb::init<const std::string&, const std::string&, std::string, bool, bool, const std::string&>(),
           nb::arg("description"), nb::arg("device") = "", nb::arg("profiles") = "", nb::arg("wait") = false,
           nb::arg("allow_outside") = false, nb::arg("objective") = "time")
      .def("__call__", &PythonKernel::call, nb::arg("arguments"), nb::arg("sizes"))
      .def("prepare", &PythonKernel::prepare, nb::arg("sizes"))
      .def("explain", &PythonKernel::explain, nb::arg("sizes"))
      .def("_capture", &PythonKernel::capture, nb::arg("file"), nb::arg("arguments"), nb::arg("sizes"))
      .def("_tune", &PythonKernel::tune, nb::arg("problems"), nb::arg("seconds"), nb::arg("strategy"), nb::arg("seed"),
           nb::arg("worker"), nb::arg("on_progress").none())
      .def("_notices", &PythonKernel::notices)
      .def_prop_ro("name", &PythonKernel::name)
      .def_prop_ro("device", &PythonKernel::device)
      .def_prop_ro("_profiles", &PythonKernel::profiles)
      .def_prop_ro("arguments", &PythonKernel::argument_names)
      .def_prop_ro("sizes", &PythonKernel::size_names);
}

}  // namespace heddle::python
