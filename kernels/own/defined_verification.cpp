#include "heddle/kernels/own/defined_verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

/// Like kPoison, and no result that kPoison is, too.
constexpr std::byte kOtherPoison{0x7f};
constexpr std::size_t kMostExpected = std::size_t{1} << 30U;  // bytes of expected outputs that are kept

template <class Bits>
bool any_is_poison(const std::vector<std::byte>& bytes) {
  Bits poison{};
  std::memset(&poison, static_cast<int>(kPoison), sizeof poison);
  bool found = false;  // no branch within the loop: millions of elements are looked at in each verification
  for (std::size_t at = 0; at + sizeof poison <= bytes.size(); at += sizeof poison) {
    Bits bits{};
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    found |= bits == poison;
  }
  return found;
}

/// Whether an element of `size` bytes, 1, 2, 4 or 8, is as it was before the launch, or happens to be poison.
bool any_is_poison(const std::vector<std::byte>& bytes, std::size_t size) {
  switch (size) {
    case 1:
      return any_is_poison<std::uint8_t>(bytes);
    case 2:
      return any_is_poison<std::uint16_t>(bytes);
    case 4:
      return any_is_poison<std::uint32_t>(bytes);
    default:
      return any_is_poison<std::uint64_t>(bytes);
  }
}

bool is_checked_output(const KernelArgument& argument) {
  return argument.is_compared() && argument.role == Role::output;
}

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
  Accuracy written = judged_as_written(after, configuration, problem);
  if (!written.accepted) return written;
  if (const auto name = unchanged(after, configuration, problem)) {
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("the output '{}' is as it was before the launch; if that is right, a reference "
                                   "kernel or a file with the expected output shows it",
                                   *name)};
  }
  const double error = family_.difference(after, *expected(problem));
  if (error <= family_.definition().tolerance) {
    return {.accepted = true, .worst_error = error, .message = written.message};
  }
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

Accuracy DefinedVerification::judged_as_written(const HostImage& after, const Configuration& configuration,
                                                const Problem& problem) {
  const auto in_doubt = [&](const KernelArgument& argument) {
    return is_checked_output(argument) &&
           any_is_poison(after.at(argument.name), static_cast<std::size_t>(size_of(argument.type)));
  };
  if (std::ranges::none_of(family_.definition().arguments, in_doubt)) {
    return {.accepted = true, .worst_error = 0.0, .message = {}};
  }
  const Plan plan = family_.measured_plan(configuration, problem, device_, 1);
  const SharedImage contents = before(configuration, problem);
  std::string remarks;
  for (const auto& [name, elements] : unwritten(after, family_.source(device_.backend), plan, *contents)) {
    const auto count = std::ranges::count(elements, true);
    if (count == 0) continue;
    const auto refused = [&](const std::string& why) -> Accuracy {
      return {.accepted = false, .worst_error = std::numeric_limits<double>::infinity(), .message = why};
    };
    if (static_cast<std::size_t>(count) == elements.size()) {
      return refused(fmt::format("the output '{}' was not written: it holds what it held before the launch", name));
    }
    const std::string some =
        fmt::format("{} of {} elements of the output '{}' were never written", count, elements.size(), name);
    const Unwritten& usual = unwritten_by_reference(problem);
    const auto found = usual.find(name);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i] && (found == usual.end() || !found->second[i])) {
        return refused(fmt::format("{}, and {} writes some of them", some, against()));
      }
    }
    remarks += fmt::format("{}{}, nor does {} write them", remarks.empty() ? "" : "; ", some, against());
  }
  return {.accepted = true, .worst_error = 0.0, .message = remarks};
}

const DefinedVerification::Unwritten& DefinedVerification::unwritten_by_reference(const Problem& problem) {
  const auto [place, fresh] = unwritten_by_reference_.try_emplace(problem.text());
  if (!fresh || family_.expected_outputs(problem)) return place->second;  // files say nothing of what is not written
  const DefinedFamily::ReferenceRun reference = family_.reference_run(problem, device_);
  const SharedImage contents = before(family_.default_configuration(device_, problem), problem);
  return place->second = unwritten(*expected(problem), *reference.source, reference.plan, *contents);
}

DefinedVerification::Unwritten DefinedVerification::unwritten(const HostImage& after, const TemplateSource& source,
                                                              const Plan& plan, const HostImage& before) const {
  const auto holds = [](const std::vector<std::byte>& bytes, std::size_t element, std::size_t size, std::byte poison) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(element * size);
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(size),
                       [&](std::byte each) { return each == poison; });
  };
  Unwritten doubtful;
  std::map<std::string, std::size_t> sizes;
  for (const KernelArgument& argument : family_.definition().arguments) {
    if (!is_checked_output(argument)) continue;
    const std::vector<std::byte>& bytes = after.at(argument.name);
    const auto size = static_cast<std::size_t>(size_of(argument.type));
    std::vector<bool> poisoned(bytes.size() / size);
    for (std::size_t i = 0; i < poisoned.size(); ++i) poisoned[i] = holds(bytes, i, size, kPoison);
    if (std::ranges::find(poisoned, true) == poisoned.end()) continue;
    doubtful.emplace(argument.name, std::move(poisoned));
    sizes.emplace(argument.name, size);
  }
  if (doubtful.empty() || !run_) return doubtful;
  HostImage contents = before;
  for (const auto& [name, poisoned] : doubtful) contents[name].assign(after.at(name).size(), kOtherPoison);
  const HostImage again = run_(source, plan, contents, 1);
  for (auto& [name, poisoned] : doubtful) {
    for (std::size_t i = 0; i < poisoned.size(); ++i) {
      poisoned[i] = poisoned[i] && holds(again.at(name), i, sizes.at(name), kOtherPoison);
    }
  }
  return doubtful;
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
