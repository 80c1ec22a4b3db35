// Answers "which configuration for this problem, and why?" from the profiles there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/cost_model.hpp"
#include "heddle/profiles/knowledge.hpp"
#include "heddle/runtime/dispatch/candidate.hpp"
#include "heddle/runtime/dispatch/expected_fastest.hpp"

namespace heddle {

/// Receives lines for the user that are no errors: a candidate that failed, a stale profile. May be empty.
using Notice = std::function<void(const std::string& line)>;

/// A dispatcher for one kernel family on one device.
///
/// Order of the candidates by tier: profiles of this device made with the present kernels, the problem's own first;
/// then those of devices of the same architecture; then of the same backend; then stale profiles, made with other
/// kernels; then the configuration that the model of times expects to be the fastest of all, if it expects it to be
/// faster than the family's default by more than the model is off; last that default.
///
/// Within a tier:
///
/// - Where there is a model of times (choose_model()), candidates are ordered by expected time at the actual sizes.
/// This
///   is the model's estimate, corrected by the ratio of the profile's measured time to the model's estimate for it. The
///   correction fades with the distance. Configurations that tied with a winner are candidates too.
/// - The family's default comes before those that are expected to take longer: a winner of other sizes may be worse
/// here
///   than what nobody measured.
/// - Candidates without a model come behind them, ordered by heddle::squared_distance().
/// - At equal distance, of the profiles of other devices the one with the closest number of units comes first.
///
/// A candidate satisfies the space's constraints at the actual sizes, and comes from a problem at a finite distance:
/// one with the same sizes on the axes that must be equal. No configuration comes twice: a default that a profile names
/// as well keeps the profile's place.
///
/// Immutable: may be shared between threads.
class Dispatcher {
 public:
  /// `known`: any profiles and models; those of other families and backends are left out, a configuration outside the
  /// space is never a candidate, nor is one of a problem that does not fit the family's axes. The family must outlive
  /// the dispatcher.
  Dispatcher(DeviceIdentity device, const KernelFamily& family, Knowledge known);

  [[nodiscard]] const KernelFamily& family() const noexcept { return family_; }
  [[nodiscard]] const DeviceIdentity& device() const noexcept { return device_; }

  /// The first of candidates(), in less time. `problem` has the family's axes.
  [[nodiscard]] Candidate choose(const Problem& problem) const;
  /// All of them, best first; at least one, since the family's default is always among them.
  [[nodiscard]] std::vector<Candidate> candidates(const Problem& problem) const;

  /// Why a profile is not among the candidates.
  struct Rejection {
    const Profile* profile = nullptr;  ///< owned by the dispatcher
    std::string reason;
  };
  /// The profiles whose problems do not fit the family's axes: another version of the family made them.
  [[nodiscard]] const std::vector<Rejection>& left_out() const noexcept { return left_out_; }

  /// The model that expects times; null if there is none.
  [[nodiscard]] const CostModel* model() const noexcept { return model_ ? &*model_ : nullptr; }

  struct Explanation {
    std::string family;
    DeviceIdentity device;
    Problem problem;
    std::vector<Candidate> candidates;  ///< the first was chosen
    std::vector<Rejection> rejections;
    const CostModel* model = nullptr;  ///< that expected times; owned by the dispatcher
    std::vector<RejectedModel> rejected_models;
    /// Several lines for people, no newline at the end.
    [[nodiscard]] std::string text() const;
  };
  [[nodiscard]] Explanation explain(const Problem& problem) const;

 private:
  struct Model {
    Configuration configuration;
    CostModel::Estimate estimate;  // empty: there is none
  };
  /// A profile, or a configuration that was as fast there, with what every decision needs, worked out once.
  struct Entry {
    const Profile* profile = nullptr;
    std::size_t model = 0;  // place of the configuration in models_
    bool tie = false;
    Tier tier = Tier::nearest;  // for a problem other than the profile's own
    int remoteness = 0;         // 0: this device, 1: its architecture, 2: its backend
    Currency currency = Currency::current;
    double unit_ratio = 0.0;      // |log2| of the numbers of units
    double log_correction = 0.0;  // log(measured / estimated), where there is an estimate
  };
  struct Ranked {
    const Entry* entry = nullptr;
    Tier tier = Tier::nearest;
    double squared_distance = 0.0;
    double expected = 0.0;  // log of microseconds per sample; infinite without a model
  };

  /// The place of a configuration's model. Throws Error(input) for one outside the space.
  [[nodiscard]] std::size_t model_of(const std::string& configuration);
  [[nodiscard]] const Configuration& configuration(const Entry& entry) const {
    return models_[entry.model].configuration;
  }
  /// Every entry, best first, whether it can run at this size or not.
  [[nodiscard]] std::vector<Ranked> ranked(const Problem& problem) const;
  [[nodiscard]] Candidate candidate(const Ranked& ranked, const Problem& problem) const;
  /// `untuned`: what expected_default() says.
  [[nodiscard]] Candidate fallback(const Problem& problem, const std::optional<ExpectedTime>& untuned) const;
  /// The family's default and what a model of this architecture expects of it. How far off the weights of another
  /// architecture are is not known.
  [[nodiscard]] std::optional<ExpectedTime> expected_default(const Problem& problem) const;
  /// What that model prefers to the default in the whole space.
  [[nodiscard]] std::optional<Candidate> expected(const Problem& problem,
                                                  const std::optional<ExpectedTime>& untuned) const;
  /// The default, where it is expected to be faster than a profile's configuration, with the caution of a profile from
  /// far away: this size has neither.
  [[nodiscard]] std::optional<Candidate> preferred_default(const Ranked& ranked,
                                                           const std::optional<ExpectedTime>& untuned) const;
  [[nodiscard]] const char* why_no_profile() const;

  DeviceIdentity device_;
  const KernelFamily& family_;
  SearchSpace space_;
  std::vector<RejectedModel> rejected_models_;  // filled while model_ is chosen
  std::optional<CostModel> model_;
  std::vector<Profile> profiles_;
  std::vector<Entry> entries_;
  std::vector<Model> models_;  // of the configurations of the entries, each once
  std::vector<Rejection> unusable_, left_out_;
};

}  // namespace heddle
