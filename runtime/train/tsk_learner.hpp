// A Takagi-Sugeno-Kang system under training on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/kernels/tsk/system.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/plan/tuned_plan.hpp"
#include "heddle/runtime/train/training_data.hpp"

namespace heddle {

/// Compiles, prepares and tries its plan in the constructor. Calls from one thread at a time; the device must outlive
/// it.
class TskLearner {
 public:
  /// `rows`: the rows held back last; not needed after. `system`: what training starts from. `iterations`: that a run
  /// shall do.
  TskLearner(Device& device, const Knowledge& known, const LearningRows& rows, const tsk::System& system,
             const tsk::Control& control, std::int64_t iterations, const Notice& notice, const Stop& stop = {});

  /// Goes on from `best` as the best system so far, and `progress`. `antecedents`: as below, in place of those of
  /// `system`; or empty.
  void begin(tsk::System system, const std::vector<double>& antecedents, const tsk::System& best,
             const tsk::Progress& progress);
  /// The mean squared errors of one iteration.
  struct Errors {
    double learnt = 0.0, held_back = 0.0;
  };
  /// Does one run, up to iteration `end`. Returns the errors of its iterations.
  std::vector<Errors> advance(std::int64_t end);

  [[nodiscard]] const tsk::Progress& progress() const noexcept { return progress_; }
  [[nodiscard]] tsk::System system() { return read("centres", "widths", "consequents"); }
  /// Centres, then widths of the present system, 2 x K x D, with what float32 leaves out of them.
  [[nodiscard]] std::vector<double> antecedents();
  [[nodiscard]] tsk::System best() { return read("best_centres", "best_widths", "best_consequents"); }
  [[nodiscard]] const Problem& problem() const { return plan_.problem(); }
  [[nodiscard]] const Candidate& candidate() const { return plan_.candidate(); }

 private:
  [[nodiscard]] tsk::System read(const char* centres, const char* widths, const char* consequents);

  Device& device_;
  tsk::System like_;  // sizes
  tsk::Control control_;
  tsk::Progress progress_{};
  TunedPlan plan_;
};

}  // namespace heddle
