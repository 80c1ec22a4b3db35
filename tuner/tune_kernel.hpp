// Tuning of a program's own kernel.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/verification.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle {

/// Contents of a buffer as HostImage holds them, and back.
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<std::byte> image_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Makes the data that a kernel is tuned with: the contents of every buffer that is neither output nor scratch, by the
/// names of the arguments, as large as the definition says. The same problem gives the same data. May be empty: seeded
/// random numbers then (KernelExamples).
using MakeExample = std::function<HostImage(const Problem& problem)>;

/// One launch of the kernel on the example for a problem.
struct KernelRun {
  const Problem& problem;
  const Configuration& configuration;
  const HostImage& before;  ///< what MakeExample made; without one, what the definition says
  const HostImage& after;   ///< the buffers that the kernel writes, but for scratch
};
/// Decides in this process whether the kernel computed the right thing. It sees every configuration that is about to
/// win, the untuned one too, on the problem and on one of awkward sizes. May be empty: outputs are compared with those
/// of the untuned configuration then (KernelDefinition::tolerance).
using CheckRun = std::function<Accuracy(const KernelRun& run)>;

/// Computes on the host what outputs of the kernel have to be, by their names, from the contents before the launch.
using HostReference = std::function<HostImage(const Problem& problem, const HostImage& before)>;
/// A check that compares what `reference` computes, within the tolerances of `kernel`; whole numbers have to be equal.
[[nodiscard]] CheckRun agrees_with(const KernelDefinition& kernel, HostReference reference);

struct TuneKernelOptions {
  std::string device;  ///< label, as open_device() takes it; empty: the best one
  /// The database that the profiles go to. Times on the emulator mean nothing: nothing is kept of them.
  std::filesystem::path profiles = ProfileStore::default_file();
  TunerOptions tuner = {};
  TunerCallbacks callbacks = {};
  /// The program that measures (WorkerOptions::command). Usually this one, whose main() has to begin with run_worker();
  /// {"heddle", "worker"} works for every program.
  std::vector<std::string> worker{"/proc/self/exe", "worker"};
  Stop stop = {};  ///< ends the tuning as soon as it says so
};

/// Tunes a kernel for some problems, all within one budget, and stores the profiles. A worker process compiles and
/// measures, as for the families that heddle is built with; whatever a configuration does there, this process goes on.
/// `problems`: if empty, those of the definition.
///
/// A configuration wins only if it left its inputs and the memory behind its buffers as they were, if it computes the
/// same bits when it is repeated, and if `check` accepts it.
///
/// Throws Error(input) for a definition or an example that makes no sense, Error(usage) for problems that are not of
/// its axes and if there is no worker program, Error(device), Error(profiles), and what `example` and `check` throw.
/// Everything that was measured until then is kept.
std::vector<TuningResult> tune(const KernelDefinition& kernel, std::vector<Problem> problems,
                               const MakeExample& example, const CheckRun& check, const Budget& budget,
                               const TuneKernelOptions& options = {});

}  // namespace heddle
