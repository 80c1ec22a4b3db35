// The training step as one writes it down: one thread, arrays row after row, loops over all rules. The baseline of
// cpu_step; compiled with -O3 -march=native -ffast-math.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle::bench {

class PlainStep {
 public:
  explicit PlainStep(const sonfin::Workload& work);
  void reset();  ///< back to the workload's network
  void run();    ///< learns every sample of the workload
  [[nodiscard]] sonfin::Network network() const;
  [[nodiscard]] const sonfin::Progress& progress() const { return progress_; }

 private:
  void fire(const float* x);
  void add_rule(const float* x, const float* target, int winner);
  void learn(const float* x, const float* target);

  sonfin::Workload work_;
  sonfin::Control control_;
  sonfin::Progress progress_{};
  int dim_, outputs_, capacity_;
  std::vector<float> centres_, widths_, consequents_;  // R x D, R x D, R x L
  std::vector<float> firing_, output_, error_;
};

}  // namespace heddle::bench
