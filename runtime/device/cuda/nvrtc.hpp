// NVIDIA's run-time compiler, opened at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/cuda/shared_library.hpp"
#include "heddle/runtime/device/program_batch.hpp"

namespace heddle {

/// Immutable; may be shared between threads: each compile() makes a program of its own.
class Nvrtc {
 public:
  ~Nvrtc();
  /// Opens libnvrtc: what the dynamic linker finds, then CUDA_HOME, CUDA_PATH and /usr/local/cuda*; the newest major
  /// version that compiles for `compute_capability` (times ten; 0: any) and is at most `newest_major`, since a driver
  /// does not load code of a later one. Throws Error(device).
  [[nodiscard]] static std::shared_ptr<const Nvrtc> open(int compute_capability = 0, int newest_major = kNewestMajor);
  static constexpr int kNewestMajor = 19;
  /// The library of another object, in another process. Throws Error(device).
  [[nodiscard]] static std::shared_ptr<const Nvrtc> open_file(const std::string& file);

  /// What open_file() opens.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] int major() const noexcept { return major_; }
  [[nodiscard]] int minor() const noexcept { return minor_; }
  /// "NVRTC 13.0"
  [[nodiscard]] std::string name() const;
  /// Whether it compiles for a compute capability, times ten.
  [[nodiscard]] bool supports(int compute_capability) const;

  /// A cubin with an instantiation of every expression. Code that does not compile is a result, not an exception.
  /// `files`: the template first, then what it includes.
  [[nodiscard]] ProgramResult compile(const std::vector<SourceFile>& files, const std::vector<std::string>& expressions,
                                      const std::vector<std::string>& options) const;
  /// The same, but `bytes` are PTX: for people who want to see what became of a kernel.
  [[nodiscard]] ProgramResult ptx(const std::vector<SourceFile>& files, const std::vector<std::string>& expressions,
                                  const std::vector<std::string>& options) const;

 private:
  struct Functions;
  class Program;
  Nvrtc();
  [[nodiscard]] ProgramResult build(const std::vector<SourceFile>& files, const std::vector<std::string>& expressions,
                                    const std::vector<std::string>& options, bool ptx) const;
  bool load(const std::string& file);

  std::string file_;
  SharedLibrary library_;
  std::unique_ptr<Functions> functions_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
};

}  // namespace heddle
