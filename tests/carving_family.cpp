#include "carving_family.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle::test {
namespace {

/// What both backends compile: HEDDLE_FUNCTION is empty on a CPU.
constexpr const char* kCarve = R"(
namespace carving {
using int64 = long long;

/// The elements [first, first + Width) of one launch.
template <int Width, int Depth, class Real>
HEDDLE_FUNCTION void carve_some(const Real* values, Real* result, Real* totals, int64 first, int64 elements, int cuts,
                                int64 halo, double scale_given, double shift_given, double fine_given) {
  const Real scale = static_cast<Real>(scale_given), shift = static_cast<Real>(shift_given);
  const Real fine = static_cast<Real>(fine_given);
  for (int64 i = first; i < first + Width && i < elements; ++i) {
    Real sum = values[i];
    for (int64 away = 1; away <= halo; ++away) {
      sum += values[i < away ? 0 : i - away];
      sum += values[i + away < elements ? i + away : elements - 1];
    }
    int cut = 0;
    for (; cut + Depth <= cuts; cut += Depth) {
      for (int d = 0; d < Depth; ++d) sum = sum * scale + shift;
    }
    for (; cut < cuts; ++cut) sum = sum * scale + shift;
    totals[i] += sum;
    result[i] = i % 2 == 0 ? sum : sum * fine;
  }
}
}
)";

constexpr const char* kOnCpu = R"(
#define HEDDLE_FUNCTION
#include "carving/carve.hpp"
namespace heddle::cpu {
struct LaunchContext;
}
namespace carving {
template <class T>
const T& at(const void* argument) { return *static_cast<const T*>(argument); }

template <int Width, int Depth, class Real>
void carve_all(void* const* a) {
  for (int64 first = 0; first < at<int64>(a[4]); first += Width) {
    carve_some<Width, Depth>(static_cast<const Real*>(a[0]), static_cast<Real*>(a[1]), static_cast<Real*>(a[2]), first,
                             at<int64>(a[4]), at<int>(a[5]), at<int64>(a[6]), at<double>(a[7]), at<double>(a[8]),
                             at<double>(a[9]));
  }
}
template <int Width, int Depth>
void carve(const heddle::cpu::LaunchContext&, void* const* a) {
  at<unsigned>(a[3]) <= 4 ? carve_all<Width, Depth, float>(a) : carve_all<Width, Depth, double>(a);
}
}
)";

constexpr const char* kOnGpu = R"(
#define HEDDLE_FUNCTION __device__
#include "carving/carve.hpp"
namespace carving {
template <int Width, int Depth>
__global__ void carve(void* values, void* result, void* totals, unsigned bytes, int64 elements, int cuts, int64 halo,
                      double scale, double shift, double fine) {
  const int64 first = (static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x) * Width;
  if (bytes <= 4) {
    carve_some<Width, Depth>(static_cast<const float*>(values), static_cast<float*>(result),
                             static_cast<float*>(totals), first, elements, cuts, halo, scale, shift, fine);
  } else {
    carve_some<Width, Depth>(static_cast<const double*>(values), static_cast<double*>(result),
                             static_cast<double*>(totals), first, elements, cuts, halo, scale, shift, fine);
  }
}
}
)";

constexpr unsigned kThreads = 64;  // of a block
constexpr double kScale = 0.7853981633974483, kShift = 0.1234567890123;

bool is_float(const Problem& problem) { return problem.at("bytes") <= 4; }
std::int64_t real_bytes(const Problem& problem) { return is_float(problem) ? 4 : 8; }
/// Brings a number of about 1 below the smallest normal one.
double fine(const Problem& problem) { return std::ldexp(1.0, is_float(problem) ? -130 : -1030); }

template <class Real>
std::vector<Real> reals(const std::vector<std::byte>& bytes) {
  std::vector<Real> values(bytes.size() / sizeof(Real));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class Real>
std::vector<std::byte> bytes_of(const std::vector<Real>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Real));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class Real>
std::vector<std::byte> drawn(const Problem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Real> values(static_cast<std::size_t>(problem.at("elements")));
  for (Real& value : values) value = static_cast<Real>(static_cast<double>(random() >> 11U) * 0x1p-53 - 0.5);
  return bytes_of(values);
}

HostImage contents(const Problem& problem, std::uint64_t seed) {
  const auto draw = [&](std::uint64_t number) {
    return is_float(problem) ? drawn<float>(problem, number) : drawn<double>(problem, number);
  };
  return {{"values", draw(seed)}, {"totals", draw(~seed)}};
}

/// What `launches` launches make of `image`. A volatile product: this file may be compiled with fused operations.
template <class Real>
void carve_on_host(HostImage& image, const Problem& problem, std::int64_t launches) {
  const std::vector<Real> values = reals<Real>(image.at("values"));
  std::vector<Real> totals = reals<Real>(image.at("totals")), result(values.size());
  const auto scale = static_cast<Real>(kScale), shift = static_cast<Real>(kShift);
  const auto last = static_cast<std::int64_t>(values.size()) - 1;
  const auto value = [&](std::int64_t i) {
    return values[static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, last))];
  };
  for (std::int64_t i = 0; i <= last; ++i) {
    Real sum = value(i);
    for (std::int64_t away = 1; away <= problem.find("halo").value_or(0); ++away) {
      sum += value(i - away);
      sum += value(i + away);
    }
    for (std::int64_t cut = 0; cut < problem.at("cuts"); ++cut) {
      const volatile Real product = sum * scale;
      sum = product + shift;
    }
    const auto place = static_cast<std::size_t>(i);
    for (std::int64_t launch = 0; launch < launches; ++launch) totals[place] += sum;
    result[place] = i % 2 == 0 ? sum : sum * static_cast<Real>(fine(problem));
  }
  image["totals"] = bytes_of(totals);
  image["result"] = bytes_of(result);
}

HostImage carved(const HostImage& before, const Problem& problem, std::int64_t launches) {
  HostImage after = before;
  if (is_float(problem)) {
    carve_on_host<float>(after, problem, launches);
  } else {
    carve_on_host<double>(after, problem, launches);
  }
  return after;
}

/// Relative; infinite for what is no number.
template <class Real>
double error_of(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) {
  const std::vector<Real> a = reals<Real>(found), b = reals<Real>(expected);
  double worst = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double error = std::abs(double{a[i]} - double{b[i]}) / std::max(std::abs(double{b[i]}), 1e-300);
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

/// Bit for bit.
Accuracy judged(const HostImage& found, const HostImage& expected, const Problem& problem) {
  Accuracy accuracy{.accepted = true, .worst_error = 0.0, .message = {}};
  for (const char* const name : {"totals", "result"}) {
    if (found.at(name) == expected.at(name)) continue;
    accuracy.accepted = false;
    accuracy.message = std::string(name) + " differ from those that are rounded after every operation";
    accuracy.worst_error =
        std::max(accuracy.worst_error, is_float(problem) ? error_of<float>(found.at(name), expected.at(name))
                                                         : error_of<double>(found.at(name), expected.at(name)));
  }
  return accuracy;
}

/// Three runs of different contents, one of them essential, in two stages: one run of the plan, then two more that go
/// on from its totals.
class CarvingVerification final : public Verification {
 public:
  CarvingVerification(const CarvingFamily& family, DeviceIdentity device, std::uint64_t seed)
      : family_(family), device_(std::move(device)), seed_(seed) {}

  Runs runs(const Configuration& configuration, const Problem& problem) override {
    constexpr std::int64_t kLaunches = 3;
    Runs all;
    all.plans = {family_.plan(configuration, problem, device_, kLaunches)};
    for (std::uint64_t number = 0; number < 3; ++number) {
      const HostImage before = contents(problem, seed_ + number);
      VerificationRun run{.name = problem.text() + ", contents " + std::to_string(number), .stages = {}};
      run.stages.push_back({.plan = 0,
                            .launches = 1,
                            .contents = [before](const HostImage&) { return HostImage(before); },
                            .check =
                                [before, problem](const HostImage& after) {
                                  return judged(after, carved(before, problem, kLaunches), problem);
                                }});
      run.stages.push_back({.plan = 0,
                            .launches = 2,
                            .contents =
                                [before](const HostImage& left) {
                                  return HostImage{{"values", before.at("values")}, {"totals", left.at("totals")}};
                                },
                            .check =
                                [before, problem](const HostImage& after) {
                                  return judged(after, carved(before, problem, 3 * kLaunches), problem);
                                }});
      all.runs.push_back(std::move(run));
    }
    return all;
  }

  std::optional<TimedRun> timed_run(const Configuration&, const Problem& problem, std::int64_t launches,
                                    std::int64_t end) override {
    if (end != launches) return std::nullopt;  // nothing in a buffer says how many launches there are
    const HostImage expected = carved(contents(problem, seed_), problem, launches);
    return TimedRun{.overwrites = {},
                    .distance =
                        [expected, problem](const HostImage& after) {
                          return judged(after, expected, problem).accepted ? 0.0
                                                                           : std::numeric_limits<double>::infinity();
                        },
                    .rounding = {}};
  }

 private:
  const CarvingFamily& family_;
  DeviceIdentity device_;
  std::uint64_t seed_;
};

std::vector<Value> one_to(std::int64_t last) {
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(last));
  for (std::int64_t value = 1; value <= last; ++value) values.emplace_back(value);
  return values;
}

}  // namespace

const std::vector<Axis>& carving_axes() {
  static const std::vector<Axis> axes{
      {.name = "elements"},
      {.name = "cuts", .weight = 0.25, .maximum = 64, .spacing = Spacing::difference, .zero_means_none = true},
      {.name = "halo", .weight = 0.5, .maximum = 1 << 10, .zero_means_none = true, .optional = true},
      {.name = "bytes", .maximum = 16, .spacing = Spacing::equal}};
  return axes;
}

Problem carving(std::int64_t elements, std::int64_t cuts, AxisValue halo, std::int64_t bytes) {
  return Problem::from(carving_axes(), {elements, cuts, halo, bytes});
}

Problem any_problem(const std::vector<Axis>& axes, std::mt19937_64& random) {
  std::vector<AxisValue> values;
  for (const Axis& axis : axes) {
    const double part = static_cast<double>(random() % 1001) / 1000.0;
    AxisValue& value = values.emplace_back(between(axis, smallest(axis), axis.maximum, part));
    if (axis.spacing == Spacing::equal) value = 1 + static_cast<std::int64_t>(random() % 3);
    if (random() % 8 == 0) value = random() % 2 == 0 ? smallest(axis) : axis.maximum;
    if (axis.optional && random() % 3 == 0) value.reset();
  }
  return Problem::from(axes, values);
}

std::vector<Problem> CarvingFamily::default_problems(const DeviceIdentity&) const {
  std::vector<Problem> grid;
  for (const std::int64_t bytes : {4, 8}) {
    for (const AxisValue halo : {AxisValue(), AxisValue(0), AxisValue(16)}) {
      for (const std::int64_t elements : {64, 1024, 65536}) {
        for (const std::int64_t cuts : {0, 12}) grid.push_back(carving(elements, cuts, halo, bytes));
      }
    }
  }
  return grid;
}

const TemplateSource& CarvingFamily::source(std::string_view backend) const {
  const CompileOptions options{.flush_denormals = false, .contraction = false};
  static const TemplateSource on_cpu(
      std::vector<SourceFile>{{"carving/cpu.hpp", kOnCpu}, {"carving/carve.hpp", kCarve}}, options);
  static const TemplateSource on_gpu(
      std::vector<SourceFile>{{"carving/cuda.cuh", kOnGpu}, {"carving/carve.hpp", kCarve}}, options);
  return backend == "cpu" ? on_cpu : on_gpu;
}

SearchSpace CarvingFamily::space(const DeviceIdentity& device) const {
  std::vector<Parameter> parameters{
      {.name = "width", .values = one_to(20), .meaning = "elements that a thread does", .active = {}},
      {.name = "depth", .values = one_to(10), .meaning = "cuts that are unrolled", .active = {}}};
  Constraint shallow;
  shallow.name = "depth <= cuts + 4";
  shallow.holds = [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
    return c.number("depth") <= p.at("cuts") + 4;
  };
  std::vector<Constraint> constraints{shallow};
  return {device, std::move(parameters), std::move(constraints)};
}

Plan CarvingFamily::plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                         std::int64_t launches) const {
  const std::int64_t elements = problem.at("elements"), bytes = elements * real_bytes(problem);
  const std::int64_t width = configuration.number("width");
  Plan plan;
  plan.kernels = {"carving::carve<" + text(width) + ", " + text(configuration.number("depth")) + ">"};
  plan.buffers = {{"values", bytes, Role::input}, {"result", bytes, Role::output}, {"totals", bytes, Role::state}};
  Launch launch;
  if (device.backend != "cpu") {
    const std::int64_t of_block = width * kThreads;
    launch.grid.x = static_cast<unsigned>((elements + of_block - 1) / of_block);
    launch.block.x = kThreads;
  }
  launch.arguments = {BufferArgument{0},
                      BufferArgument{1},
                      BufferArgument{2},
                      static_cast<std::uint32_t>(problem.at("bytes")),
                      elements,
                      static_cast<std::int32_t>(problem.at("cuts")),
                      std::int64_t{problem.find("halo").value_or(0)},
                      kScale,
                      kShift,
                      fine(problem)};
  plan.launches.assign(static_cast<std::size_t>(launches), launch);
  plan.samples = launches;
  return plan;
}

Trial CarvingFamily::trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                           std::int64_t launches, std::uint64_t seed) const {
  return {.plan = plan(configuration, problem, device, launches), .initial = contents(problem, seed)};
}

std::unique_ptr<Verification> CarvingFamily::verification(const DeviceIdentity& device, std::uint64_t seed,
                                                          RunOnDevice) const {
  return std::make_unique<CarvingVerification>(*this, device, seed);
}

Work CarvingFamily::work(const Problem& problem) const {
  const auto elements = static_cast<double>(problem.at("elements"));
  const auto operations = static_cast<double>(2 + 2 * problem.at("cuts") + 2 * problem.find("halo").value_or(0));
  return {.bytes = 4.0 * static_cast<double>(real_bytes(problem)) * elements, .operations = operations * elements};
}

std::shared_ptr<const KernelFamily> make_carving_family(const std::string& text) {
  if (text.empty()) throw Error(ErrorKind::input, "a carving family without a name");
  return std::make_shared<CarvingFamily>(text);
}

FamilyRegistry families_with_carving() {
  FamilyRegistry families = builtin_families();
  families.add_maker("carving", make_carving_family);
  families.add({.maker = "carving", .text = "carving"});
  return families;
}

}  // namespace heddle::test
