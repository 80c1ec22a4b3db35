#include "heddle/tuner/verify.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace heddle {

namespace {

constexpr std::byte kPoison{0xff};  // every float of it is NaN

bool poisoned(Role role) { return role == Role::output || role == Role::scratch; }

Verdict run_and_compare(Execution& execution, const Trial& trial) {
  for (const Buffer& buffer : trial.plan.buffers) {
    if (poisoned(buffer.role)) {
      execution.memory(buffer.name).fill(kPoison);
    } else {
      execution.memory(buffer.name).write(trial.initial.at(buffer.name));
    }
  }
  execution.launch();
  execution.synchronize();
  if (const auto buffer = execution.overrun()) {
    return {.status = Status::overrun, .message = fmt::format("wrote behind buffer '{}'", *buffer)};
  }
  HostImage after;
  for (const Buffer& buffer : trial.plan.buffers) {
    if (buffer.role == Role::scratch) continue;
    std::vector<std::byte>& bytes = after[buffer.name];
    bytes.resize(static_cast<std::size_t>(buffer.bytes));
    execution.memory(buffer.name).read(bytes);
  }
  const Accuracy accuracy = trial.check(after);
  return {.status = accuracy.accepted ? Status::correct : Status::wrong_result,
          .worst_error = accuracy.worst_error,
          .message = accuracy.message};
}

bool divides_nothing(const Problem::Size& size) { return size.value % 2 != 0 && size.value > 1; }

Problem with_odd_sizes(const Problem& problem, int change) {
  std::vector<Problem::Size> sizes = problem.sizes();
  for (Problem::Size& size : sizes) {
    if (size.value % 2 == 0) size.value = std::max<std::int64_t>(1, size.value + change);
  }
  return Problem(std::move(sizes));
}

/// As many of the even sizes changed by one as `accepts` allows.
template <class Accepts>
Problem with_odd_sizes(const Problem& problem, Accepts accepts) {
  Problem odd = problem;
  for (const Problem::Size& size : problem.sizes()) {
    if (size.value % 2 != 0) continue;
    for (const std::int64_t value : {size.value + 1, size.value - 1}) {
      const Problem candidate = odd.with(size.name, value);
      if (value < 1 || !accepts(candidate)) continue;
      odd = candidate;
      break;
    }
  }
  return odd;
}

}  // namespace

Verdict verify(Device& device, const KernelFamily& family, const Configuration& configuration, const Problem& problem,
               std::shared_ptr<const Binary> binary, std::uint64_t seed) {
  const Trial trial =
      family.trial(configuration, problem, device.identity(), kVerificationSamples, Purpose::verification, seed);
  try {
    const auto execution = device.prepare(trial.plan, std::move(binary));
    return run_and_compare(*execution, trial);
  } catch (const DeviceFailure& failure) {
    return {.status = failure.status(), .message = failure.what()};
  }
}

Verdict verify(Device& device, const KernelFamily& family, const Configuration& configuration, const Problem& problem,
               std::uint64_t seed) {
  const Plan plan = family.plan(configuration, problem, device.identity(), kVerificationSamples);
  std::shared_ptr<const Binary> binary;
  try {
    binary = compile_one(device, {.source = &family.source(device.identity().backend), .kernels = plan.kernels}).binary;
  } catch (const DeviceFailure& failure) {
    return {.status = failure.status(), .message = failure.what()};
  }
  return verify(device, family, configuration, problem, std::move(binary), seed);
}

std::optional<Problem> awkward_problem(const KernelFamily& family, const DeviceIdentity& device,
                                       const Configuration& configuration, const Problem& problem) {
  const SearchSpace space = family.space(device);
  const auto kernels = [&](const Problem& sizes) { return family.plan(configuration, sizes, device, 1).kernels; };
  const std::vector<std::string> own = kernels(problem);
  const auto shares_kernels = [&](const Problem& sizes) {
    return !space.violated(configuration, sizes) && kernels(sizes) == own;
  };
  const Problem usual = family.awkward_problem();
  if (shares_kernels(usual)) return usual;
  if (const Problem odd = with_odd_sizes(problem, shares_kernels); odd != problem) return odd;
  const std::vector<Problem::Size>& sizes = problem.sizes();
  if (std::any_of(sizes.begin(), sizes.end(), divides_nothing)) return std::nullopt;
  for (const Problem& candidate : {usual, with_odd_sizes(problem, 1), with_odd_sizes(problem, -1)}) {
    if (!space.violated(configuration, candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace heddle
