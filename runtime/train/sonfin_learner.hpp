// A SONFIN under training on a device: a plan for every rung of the ladder, and the step from one rung to the next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/plan/tuned_ladder.hpp"
#include "heddle/runtime/train/sonfin_parameters.hpp"
#include "heddle/runtime/train/training_data.hpp"

namespace heddle {

/// Compiles and prepares every rung in its constructor and tries each once, so that nothing is compiled and no
/// candidate fails after the first sample. Calls from one thread at a time; device and rows must outlive it.
class SonfinLearner {
 public:
  /// `max_rules`: the cap, also of networks that begin() is given.
  SonfinLearner(Device& device, const Knowledge& known, const LearningRows& rows, std::int64_t max_rules,
                const Notice& notice, const Stop& stop = {});

  /// Puts `network` on its rung. The rows `order[position]` and after will be learnt; `loss`: the sum of E so far.
  void begin(const sonfin::Network& network, const sonfin::Control& control, std::vector<std::int32_t> order,
             std::int64_t position, double loss);
  /// Goes on from the parameters as they are, with another epoch over the rows of `order`: nothing of them is copied.
  void begin_again(const sonfin::Control& control, std::vector<std::int32_t> order);
  /// Learns some more rows, with a step to the next rung where one is due. False once all are learnt.
  bool advance();

  [[nodiscard]] std::int64_t rules() const noexcept { return progress_.rules; }
  [[nodiscard]] std::int64_t position() const noexcept { return progress_.position; }
  [[nodiscard]] double loss() const noexcept { return progress_.loss; }
  [[nodiscard]] sonfin::Network network() const;
  /// The same, into the memory that `network` has already.
  void fetch(sonfin::Network& network) const { parameters_.read(rung_, progress_.rules, network); }

  /// Since begin(): samples per rung in the order of their use, and how long these took without the step to the rung.
  struct Use {
    std::size_t rung = 0;
    std::int64_t samples = 0;
    double seconds = 0.0;
  };
  [[nodiscard]] const std::vector<Use>& uses() const noexcept { return uses_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }  ///< wall time of advance() since begin()
  [[nodiscard]] const TunedLadder& ladder() const noexcept { return ladder_; }

 private:
  [[nodiscard]] sonfin::Layout layout(const TunedPlan& rung) const;
  [[nodiscard]] Bindings bind(const TunedPlan& rung, const Plan& plan);
  /// Forgets what was learnt before, but for the parameters.
  void start(const sonfin::Control& control, std::vector<std::int32_t> order, const sonfin::Progress& progress);
  /// Goes on with this rung, which has the parameters.
  void enter(std::size_t rung);
  void launch_some();

  Device& device_;
  const LearningRows& rows_;
  TunedLadder ladder_;
  std::map<std::string, std::shared_ptr<Memory>> shared_;  // by buffer and, for rows and targets, stride

  SonfinParameters parameters_;
  std::size_t rung_ = 0;
  sonfin::Control control_{};
  sonfin::Progress progress_{};
  std::vector<std::int32_t> order_;
  std::vector<Use> uses_;
  double seconds_ = 0.0;
  int runs_ahead_ = 1;
};

}  // namespace heddle
