// Times fuzzy-sort over cuts, encodings, types and layouts, as a table of comma-separated values.
//
//   fuzzy_sort [DEVICE [NUMBERS [PROFILES]]] > fuzzy_sort.csv
//
// The configurations are those that the dispatcher chooses with PROFILES, without them the untuned default. Keys are
// random; every sort is checked: positions are a permutation, and keys rise along it, equal ones by their position.
// bench/fuzzy/sort_beside.cu times CUB and Thrust with the same sizes, and bench/evidence/fuzzy_tables.py puts the two
// side by side.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/fuzzy/origin.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"
#include "heddle/kernels/random.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle {
namespace {

constexpr int kRepetitions = 9;

template <class T>
std::vector<T> random_keys(std::int64_t numbers) {
  Random random(7);
  std::vector<T> keys(static_cast<std::size_t>(numbers));
  for (T& key : keys) key = static_cast<T>(random.symmetric());
  return keys;
}

template <class T>
bool is_sorted_by(const std::vector<T>& keys, const std::vector<std::uint32_t>& positions) {
  std::vector<bool> met(keys.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::uint32_t at = positions[i];
    if (at >= keys.size() || met[at]) return false;
    met[at] = true;
    if (i == 0) continue;
    const std::uint32_t before = positions[i - 1];
    if (keys[at] < keys[before] || (keys[at] == keys[before] && at < before)) return false;
  }
  return true;
}

/// Microseconds of the fastest of several sorts.
template <class T>
double time_sort(Device& device, const KernelFamily& family, const Configuration& configuration, const Problem& problem,
                 const std::vector<T>& keys) {
  const Plan plan = family.plan(configuration, problem, device.identity(), 1);
  const CompileOutcome code = compile_one(device, {&family.source(device.identity().backend), plan.kernels});
  if (!code.binary) throw DeviceFailure(Status::compilation, first_complaint(code.log));
  const auto execution = device.prepare(plan, code.binary);
  execution->memory("keys").write(std::as_bytes(std::span(keys)));
  execution->memory("numbers").fill(std::byte{0x3f});  // what they are does not matter
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepetitions; ++i) best = std::min(best, execution->time() * 1e6);
  std::vector<std::uint32_t> positions(keys.size());
  execution->memory("positions").read(std::as_writable_bytes(std::span(positions)));
  if (!is_sorted_by(keys, positions)) throw DeviceFailure(Status::wrong_result, "the keys are not sorted");
  return best;
}

int measure(int count, char** words) {
  if (count > 4) throw Error(ErrorKind::usage, "usage: fuzzy_sort [DEVICE [NUMBERS [PROFILES]]]");
  const auto device = open_device(count > 1 ? words[1] : "cuda:0");
  std::int64_t numbers = 10'000'000;
  if (count > 2) {
    const std::string_view text = words[2];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers);
    if (error != std::errc() || end != text.data() + text.size() || numbers < 1 || numbers > fuzzy::kMostSorted) {
      throw Error(ErrorKind::usage, fmt::format("found '{}', expected 1 to {} numbers", text, fuzzy::kMostSorted));
    }
  }
  const ProfileStore store(count > 3 ? words[3] : ":memory:",
                           count > 3 ? ProfileStore::Access::read : ProfileStore::Access::read_write);
  const std::vector<float> float_keys = random_keys<float>(numbers);
  const std::vector<double> double_keys = random_keys<double>(numbers);
  bench::print_origin(*device);
  for (const fuzzy::Encoding encoding : {fuzzy::Encoding::lower_upper, fuzzy::Encoding::midpoint_radius}) {
    bench::print_kernels(fuzzy::sort_family(encoding), device->identity());
  }
  fmt::print("encoding,bits,cuts,layout,microseconds,configuration\n");
  for (const fuzzy::Encoding encoding : {fuzzy::Encoding::lower_upper, fuzzy::Encoding::midpoint_radius}) {
    const KernelFamily& family = fuzzy::sort_family(encoding);
    const Dispatcher dispatcher(device->identity(), family, store.knowledge(std::string(family.name())));
    for (const std::int64_t bits : {32, 64}) {
      for (const std::int64_t layout : {1, 2}) {
        for (const std::int64_t cuts : {1, 2, 4, 8, 16, 24}) {
          const Problem problem = Problem::from(family.axes(), {numbers, cuts, bits, layout});
          const Configuration configuration = dispatcher.choose(problem).configuration;
          const double time = bits == 32 ? time_sort(*device, family, configuration, problem, float_keys)
                                         : time_sort(*device, family, configuration, problem, double_keys);
          fmt::print("{},{},{},{},{:.1f},{}\n", fuzzy::suffix(encoding), bits, cuts, layout, time,
                     configuration.text());
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** words) {
  return heddle::bench::exit_code("fuzzy_sort", [&] { return heddle::measure(count, words); });
}
