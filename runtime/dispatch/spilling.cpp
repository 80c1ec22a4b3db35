#include "heddle/runtime/dispatch/spilling.hpp"

#include <fmt/format.h>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

// So many bytes more than where a candidate was measured are not markedly more. Of 1427 mappings that were measured
// with at most 64 bytes 724 are within 5 % of the fastest of their problem, of 20 with 65 to 128 two, and of 42 with
// more none is within 19 % (docs/performance.md).
constexpr std::int64_t kMarkedly = 128;

/// Of the kernels of `configuration`, compiled for `problem`. Nothing where the device does not say, or where this
/// cannot be compiled or loaded: whoever runs it is told why.
std::optional<std::int64_t> local_bytes_at(const KernelFamily& family, const Configuration& configuration,
                                           const Problem& problem, Device& device, const Stop& stop) {
  try {
    const DeviceIdentity& identity = device.identity();
    const auto batch = device.compile(
        {{.source = &family.source(identity.backend), .kernels = family.kernels(configuration, problem, identity)}});
    const auto done = batch->next(stop);
    if (!done || !done->second.binary) return std::nullopt;
    return device.local_bytes(*done->second.binary);
  } catch (const DeviceFailure&) {
    return std::nullopt;
  } catch (const Error&) {  // a family that has no kernels for it here
    return std::nullopt;
  }
}

std::optional<std::int64_t> local_bytes_of(const Binary& binary, const Device& device) {
  try {
    return device.local_bytes(binary);
  } catch (const DeviceFailure&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> spilling(const Dispatcher& dispatcher, const Candidate& candidate, const Problem& problem,
                                    const LocalBytesAt& local_bytes) {
  if (candidate.passed_over || candidate.tier >= Tier::fallback) return std::nullopt;
  const Problem* const origin = candidate.profile != nullptr ? &candidate.profile->key.problem : nullptr;
  if (origin != nullptr && *origin == problem) return std::nullopt;
  if (candidate.configuration == dispatcher.family().default_configuration(dispatcher.device(), problem))
    return std::nullopt;
  const std::int64_t here = local_bytes(problem).value_or(0);
  if (here <= kMarkedly) return std::nullopt;
  const std::int64_t there = origin != nullptr ? local_bytes(*origin).value_or(0) : 0;
  if (here - there <= kMarkedly) return std::nullopt;
  return fmt::format("a thread takes {} bytes of local memory, {}", here,
                     origin != nullptr ? fmt::format("{} for {}", there, origin->text())
                                       : std::string("and this was measured nowhere"));
}

std::optional<std::string> spilling(const Dispatcher& dispatcher, const Candidate& candidate, const Problem& problem,
                                    Device& device, const Binary& binary, const Stop& stop) {
  return spilling(dispatcher, candidate, problem, [&](const Problem& at) {
    return at == problem ? local_bytes_of(binary, device)
                         : local_bytes_at(dispatcher.family(), candidate.configuration, at, device, stop);
  });
}

}  // namespace heddle
