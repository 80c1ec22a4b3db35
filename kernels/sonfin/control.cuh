// Data that the host and the kernels of the SONFIN families exchange: compiled by the C++ compiler, by NVRTC and
// by the run-time C++ compiler alike, so no other header is included.
#pragma once

namespace heddle::sonfin {

/// Written by the host before a run; the kernels only read it. Formulas: docs/design.md, "The network".
struct Control {
  float consequent_rate;      ///< tau_w
  float antecedent_rate;      ///< tau_a
  float log_threshold;        ///< log mu_th; -infinity: never add a rule
  float overlap;              ///< beta
  float minimum_width;        ///< sigma_min
  float first_width;          ///< width of the first rule, already times beta
  float negligible_gradient;  ///< positive; |g_k| below this cannot change a float32 parameter; the kernel may skip the
                              ///< rule
  int plain_step;             ///< 1: step as published, 0: step scaled by sigma^2
  int squared_width;          ///< 1: new width from the squared distance
  int max_rules;              ///< the user's cap
  int end;                    ///< rows of `order` to be learnt: positions at and after it are left alone
};

constexpr int kFull = 1;       ///< this position wants a rule, and the plan's capacity, below the cap, is used up
constexpr int kLostBlock = 2;  ///< a block of a resident kernel waited in vain for another

/// Carried by the kernels from sample to sample; the host reads it after a run.
struct Progress {
  int rules;     ///< live rules
  int position;  ///< next position of `order` to be learnt
  int halted;    ///< 0: no; or one of the next
  int reserved;
  double loss;  ///< sum of E over the samples learnt so far
};

/// The input of the batch prediction.
struct PredictControl {
  int rules;  ///< live rules, at least 1
  int rows;   ///< rows to predict
};

}  // namespace heddle::sonfin
