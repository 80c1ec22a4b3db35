#include "heddle/kernels/own/defined_verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

constexpr std::size_t kMostExpected = std::size_t{1} << 30U;  // bytes of expected outputs that are kept

}  // namespace

DefinedVerification::DefinedVerification(const DefinedFamily& family, DeviceIdentity device, std::uint64_t seed,
                                         RunOnDevice run)
    : family_(family), device_(std::move(device)), seed_(seed), run_(std::move(run)), expected_(kMostExpected) {}

Verification::Runs DefinedVerification::runs(const Configuration& configuration, const Problem& problem) {
  Runs all;
  all.plans = {family_.measured_plan(configuration, problem, device_, 1)};
  VerificationRun run{.name = problem.text(), .stages = {}};
  run.stages.push_back(
      {.plan = 0,
       .launches = 1,
       .contents = [this, configuration, problem](const HostImage&) { return before(configuration, problem); },
       .check = [this, configuration,
                 problem](const HostImage& after) { return judged(after, configuration, problem); }});
  all.runs.push_back(std::move(run));
  return all;
}

Accuracy DefinedVerification::judged(const HostImage& after, const Configuration& configuration,
                                     const Problem& problem) {
  if (family_.checked_elsewhere()) return {.accepted = true, .worst_error = 0.0, .message = {}};
  if (const auto name = unwritten(after)) {
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("the output '{}' was not written: every byte is 0x{:02x}, as before the launch",
                                   *name, static_cast<int>(kPoison))};
  }
  if (const auto name = unchanged(after, configuration, problem)) {
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("the output '{}' is as it was before the launch; if that is right, a reference "
                                   "kernel or a file with the expected output shows it",
                                   *name)};
  }
  const double error = family_.difference(after, *expected(problem));
  if (error <= family_.definition().tolerance) return {.accepted = true, .worst_error = error, .message = {}};
  return {.accepted = false,
          .worst_error = error,
          .message = fmt::format("the outputs are not those of {}: relative error {:.3g}, allowed {:.3g}", against(),
                                 error, family_.definition().tolerance)};
}

SharedImage DefinedVerification::before(const Configuration& configuration, const Problem& problem) const {
  return family_.initial(family_.measured_plan(configuration, problem, device_, 1), problem, seed_);
}

/// The reference in a few words, without what follows a colon.
std::string_view DefinedVerification::against() const {
  const std::string_view all = family_.verified_against();
  return all.substr(0, all.find(": "));
}

std::shared_ptr<const HostImage> DefinedVerification::expected(const Problem& problem) {
  std::size_t bytes = 0;
  const DefinedFamily::ReferenceRun reference = family_.reference_run(problem, device_);
  for (const Buffer& buffer : reference.plan.buffers) bytes += static_cast<std::size_t>(buffer.bytes);
  return expected_.get(problem.text(), bytes, [&]() -> HostImage {
    if (auto outputs = family_.expected_outputs(problem)) return std::move(*outputs);
    if (!run_) throw Error(ErrorKind::bug, "nothing can run the reference to compare with");
    const Configuration untuned = family_.default_configuration(device_, problem);
    return run_(*reference.source, reference.plan, *before(untuned, problem), 1);
  });
}

std::optional<std::string> DefinedVerification::unwritten(const HostImage& after) const {
  for (const KernelArgument& argument : family_.definition().arguments) {
    if (!argument.is_compared() || argument.role != Role::output) continue;
    const std::vector<std::byte>& bytes = after.at(argument.name);
    const bool poisoned = !bytes.empty() && std::ranges::all_of(bytes, [](std::byte each) { return each == kPoison; });
    if (poisoned) return argument.name;
  }
  return std::nullopt;
}

std::optional<std::string> DefinedVerification::unchanged(const HostImage& after, const Configuration& configuration,
                                                          const Problem& problem) const {
  const KernelDefinition& kernel = family_.definition();
  if (!kernel.reference.code.empty() || !kernel.reference.files.empty()) return std::nullopt;
  const auto updated = [](const KernelArgument& argument) {
    return argument.is_compared() && argument.role == Role::state;
  };
  if (std::ranges::none_of(kernel.arguments, updated)) return std::nullopt;
  const SharedImage shared = before(configuration, problem);
  for (const KernelArgument& argument : kernel.arguments) {
    if (!updated(argument)) continue;
    const std::vector<std::byte>& bytes = after.at(argument.name);
    if (!bytes.empty() && std::ranges::equal(bytes, shared.views().at(argument.name))) return argument.name;
  }
  return std::nullopt;
}

std::optional<double> DefinedVerification::difference(const Problem&, std::int64_t, const TimedEnd& found,
                                                      const TimedEnd& expected) {
  return family_.difference(found.after, expected.after) / family_.definition().tolerance;
}

}  // namespace heddle
