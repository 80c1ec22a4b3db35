// Seeded rows, networks and controls like those of a training run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/kernels/mlp/reference.hpp"
#include "heddle/kernels/plan.hpp"

namespace heddle::mlp {

/// What a run of training begins with, and reads.
struct Workload {
  Layers layers{};
  std::vector<float> parameters;
  std::vector<float> state;  ///< kStateArrays x parameters
  Progress progress{};
  Control control{};
  std::vector<float> rows;          ///< N x inputs
  std::vector<float> targets;       ///< N x outputs
  std::vector<std::int32_t> order;  ///< of `epochs` epochs, each a permutation of the N rows
  std::int64_t epochs = 1;

  /// The rows, in the order of an epoch.
  [[nodiscard]] Batch batch(int epoch) const;
};

/// Rows of random numbers, every second of which is 0, with a random class each; weights scaled by fan-in. Training
/// does not end. Everything at once: logistic neurons and the adaptive rule; mini-batches: ReLU, softmax and Adam.
[[nodiscard]] Workload timing_workload(const Problem& problem, std::int64_t epochs, std::uint64_t seed);
/// The same, kept until other arguments come. Thread-safe.
[[nodiscard]] std::shared_ptr<const Workload> shared_timing_workload(const Problem& problem, std::int64_t epochs,
                                                                     std::uint64_t seed);

/// Options that choose paths through the kernels.
struct OptionSet {
  Rule rule = kPlain;
  Activation hidden = kSigmoid, output = kSigmoid;
  bool sum = false;       ///< gradients are not divided by the rows
  bool shuffled = false;  ///< rows come in another order in every epoch
  bool decays = false;
  bool bytes = false;  ///< the numbers of the rows are fractions of 255, as pixels are
  bool whole = false;  ///< those times 255
  enum class Event {
    none,
    grown_error,   ///< robust training goes back to the best weights in the first step
    lost_weights,  ///< some weights would become infinite
    target,        ///< training ends after the first epoch
  } event = Event::none;

  [[nodiscard]] std::string text() const;  ///< "adaptive, tanh, softmax, means, shuffled"
};
/// What differs most comes first. Each rule, activation, output and event occurs, but mini-batches have the rules that
/// they are for; steps of single rows have kernels of their own, and so all rules again.
[[nodiscard]] std::vector<OptionSet> option_sets(bool mini_batches, bool single_rows);

/// One more than an epoch of mini-batches has, so that an epoch ends among them. With all rows at once, epochs.
inline constexpr int kVerifiedSteps = 4;
/// Few rows, so that the reference takes a part of a second. Mini-batches: two as large as they may be, and a smaller
/// one; then an epoch has three steps.
[[nodiscard]] Workload verification_workload(const Problem& problem, const OptionSet& set, std::uint64_t seed);

/// Contents of all parameter, state and input buffers of a plan of mlp-train, which may have room for more rows.
[[nodiscard]] HostImage contents_of(const Workload& work, const Plan& plan);

/// The bytes of some values, and back.
template <class T>
[[nodiscard]] std::vector<std::byte> bytes_of(const std::vector<T>& values);
template <class T>
[[nodiscard]] std::vector<T> values_of(const HostImage& image, std::string_view name);

}  // namespace heddle::mlp
