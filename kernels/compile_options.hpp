// How the kernels of a template want to be compiled, in words that are translated for every compiler.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace heddle {

/// The C++ standard that a template is written in. A compiler may be given a later one.
enum class LanguageLevel { cpp17, cpp20 };

/// What a compiler may do with a template's arithmetic, and what it has to know. A permission is no command: a device
/// that gains nothing by it leaves it unused. The default allows what C++ compilers for GPUs allow by themselves.
///
/// NVRTC is told:
///
/// - fast_math: --prec-div=false --prec-sqrt=false
/// - flush_denormals: --ftz=true
/// - without contraction: --fmad=false
///
/// GCC and Clang, which compile for `cpu` and `emulator`, are told:
///
/// - fast_math: -fassociative-math -freciprocal-math -fno-signed-zeros -fno-trapping-math
/// - contraction: -ffp-contract=fast, without it -ffp-contract=off
/// - flush_denormals: nothing
/// - standard: C++20 at least
struct CompileOptions {
  /// Division, square root and functions of float may be approximate, and sums may be reordered. Numbers that are no
  /// number, or infinite, keep their meaning.
  bool fast_math = false;
  /// Floats smaller than the smallest normal number may count as zero.
  bool flush_denormals = false;
  /// a * b + c may be rounded once instead of twice.
  bool contraction = true;
  LanguageLevel standard = LanguageLevel::cpp17;
  /// Further words for the compiler of the backend: NVRTC for `cuda`, GCC or Clang for `cpu` and `emulator`.
  /// KernelFamily::source() is asked for each backend and may give the same files other words.
  std::vector<std::string> extra = {};

  /// All of them in one line, the same for equal options alone: part of keys.
  [[nodiscard]] std::string text() const;

  bool operator==(const CompileOptions&) const = default;
};

/// "c++17", as compilers take it.
[[nodiscard]] std::string text(LanguageLevel level);

}  // namespace heddle
