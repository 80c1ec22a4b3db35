// Compiles configurations to cubins with NVRTC. Needs neither driver nor GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/compile_cache.hpp"
#include "heddle/runtime/device/cuda/compiler_processes.hpp"
#include "heddle/runtime/device/cuda/nvrtc.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/program_batch.hpp"

namespace heddle {

/// The kernels of one configuration, in the order of the request. Cubins are shared with others of the batch.
class CudaBinary : public Binary {
 public:
  explicit CudaBinary(std::vector<CompiledKernel> kernels) : kernels_(std::move(kernels)) {}
  [[nodiscard]] const std::vector<CompiledKernel>& kernels() const noexcept { return kernels_; }

 private:
  std::vector<CompiledKernel> kernels_;
};

/// The options of a template for NVRTC.
[[nodiscard]] std::vector<std::string> nvrtc_words(const CompileOptions& options);

/// Thread-safe.
class CudaCompiler {
 public:
  /// `architecture`: compute capability "9.0", which `nvrtc` must support. `threads`: programs compiled at once; 0: one
  /// per core.
  CudaCompiler(std::shared_ptr<const Nvrtc> nvrtc, const std::string& architecture, std::shared_ptr<CompileCache> cache,
               unsigned threads = 0, const Compiling& compiling = {});

  /// The batch keeps no reference to this object; the sources must outlive it.
  [[nodiscard]] std::unique_ptr<CompileBatch> compile(const std::vector<CompileRequest>& requests) const;
  /// Programs given to NVRTC so far.
  [[nodiscard]] std::int64_t calls() const noexcept { return *calls_; }
  /// What NVRTC is told beside the options of a template.
  [[nodiscard]] const std::vector<std::string>& options() const noexcept { return options_; }
  [[nodiscard]] const Nvrtc& nvrtc() const noexcept { return *nvrtc_; }
  [[nodiscard]] const CompileCache& cache() const noexcept { return *cache_; }

 private:
  std::shared_ptr<const Nvrtc> nvrtc_;
  std::shared_ptr<CompileCache> cache_;
  std::shared_ptr<std::atomic<std::int64_t>> calls_;
  std::vector<std::string> options_;
  unsigned threads_;
  double seconds_;
  std::shared_ptr<CompilerProcesses> processes_;  ///< null: NVRTC runs in this process
  std::shared_ptr<Turnstile> turnstile_;
};

}  // namespace heddle
