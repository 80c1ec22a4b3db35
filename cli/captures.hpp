// --capture: calls that a program wrote into files, made into kernels to tune.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/own/capture_file.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"

namespace heddle::cli {

class Captures {
 public:
  /// Reads a capture. Throws Error(input).
  void add(const std::string& file, bool allow_outside);
  [[nodiscard]] bool empty() const noexcept { return captures_.empty(); }
  [[nodiscard]] const std::vector<std::string>& files() const noexcept { return files_; }

  /// Adds a family for each kernel, whose problems are the captured ones, and returns the names; contents are copied
  /// to where worker processes find them. Once; the families are good for as long as this object. Throws Error(input):
  /// two kernels of one name that are not the same, two captures of one problem, contents that are not the kernel's.
  [[nodiscard]] std::vector<std::string> add_to(FamilyRegistry& families);

 private:
  std::vector<KernelCapture> captures_;
  std::vector<std::string> files_;
  std::unique_ptr<ScratchFolder> folder_;
};

/// The definition of several captures of one kernel, with all their problems. Throws Error(input) if they are not of
/// one kernel, or of the same problem.
[[nodiscard]] KernelDefinition definition_of(const std::vector<const KernelCapture*>& captures);

}  // namespace heddle::cli
