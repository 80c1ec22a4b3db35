// A run of `heddle tune`: its devices side by side, what each does, and the report.
#pragma once

#include <string>
#include <vector>

#include "heddle/cli/captures.hpp"
#include "heddle/cli/context.hpp"
#include "heddle/cli/described_families.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuner_options.hpp"

namespace heddle::cli {

struct TuneOptions {
  Common common;
  Context context;  ///< the program's families, and those of `kernels`
  DescribedFamilies described;
  Captures captures;                 ///< calls, whose kernels are described, too
  std::vector<std::string> kernels;  ///< names of all families described; they alone are tuned
  std::string device, profiles, replay, record;
  std::vector<std::string> families;
  Sizes sizes;
  Budget budget;
  TunerOptions tuner;
  double compile_seconds = Compiling::kMostSeconds;  ///< Compiling::seconds
};

/// Tunes, and reports. Returns the exit code; throws Error.
int tune(const TuneOptions& options);

}  // namespace heddle::cli
