// A run of `heddle tune`: its devices side by side, what each does, and the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/cli/captures.hpp"
#include "heddle/cli/context.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuner_options.hpp"

namespace heddle::cli {

struct TuneOptions {
  Common common;
  Context context;  ///< the program's families, and those of `kernels`
  /// Names of families that files or formulas describe; they alone are tuned.
  std::vector<std::string> kernels;
  Captures captures;                        ///< calls, whose kernels are among `kernels`
  std::optional<fuzzy::Encoding> encoding;  ///< of formulas; nothing: both
  bool allow_outside = false;               ///< KernelFileOptions
  std::string with;                         ///< KernelFileOptions
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
