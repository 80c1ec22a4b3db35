// Data that the host and the kernels of reference.cuh exchange: Control and Progress in float64. Plain data.
#pragma once

namespace heddle::sonfin {

struct ReferenceControl {
  double consequent_rate;
  double antecedent_rate;
  double log_threshold;
  double overlap;
  double minimum_width;
  double first_width;  ///< before beta
  int plain_step;
  int squared_width;
  int max_rules;
  int end;
};

struct ReferenceProgress {
  int rules;
  int position;  ///< next position of `order`
  int learned;   ///< the row whose antecedents are still to be moved, or -1
  int reserved;
  double loss;
};

}  // namespace heddle::sonfin
