// Compiles many requests as programs of several kernels each, in parallel and through the cache.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "heddle/runtime/device/compile_cache.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/turnstile.hpp"

namespace heddle {

/// Where one kernel is: a symbol in what a compiler made. Without a blob it is built in, and the symbol its expression.
struct CompiledKernel {
  std::shared_ptr<const CompiledBlob> blob;
  std::string symbol;
};

/// The input of one call of a compiler: kernels of one template that become one program.
struct ProgramInput {
  const TemplateSource* source = nullptr;
  std::vector<std::string> words;            ///< for the compiler: the template's options, and definitions
  std::vector<std::string> expressions;      ///< one per kernel
  double seconds = Compiling::kMostSeconds;  ///< that it may take
};

/// The outcome of one program.
struct ProgramResult {
  bool compiled = false;
  std::string bytes;                 ///< what the compiler made
  std::vector<std::string> symbols;  ///< one per expression
  std::string log;                   ///< when it failed
};

/// How a kind of device compiles.
struct ProgramCompiler {
  /// One program with a kernel per expression. Called from several threads at once. Throws what it likes, Interrupted
  /// if `stop` was requested and it can be stopped.
  std::function<ProgramResult(const ProgramInput& input, const std::stop_token& stop)> compile;
  /// The options of a template in the compiler's own words.
  std::function<std::vector<std::string>(const CompileOptions& options)> words;
  std::function<bool(const TemplateSource& source, const KernelInstance& kernel)> built_in;
  std::function<std::shared_ptr<const Binary>(std::vector<CompiledKernel> kernels)> binary;
  /// Everything but the source and its options that decides what the compiler makes. Asked once, if something is not
  /// built in. Where it throws, nothing compiles.
  std::function<std::string(const std::stop_token& stop)> fingerprint;
  std::size_t program_size = 1;              ///< kernels in one program, at most
  unsigned threads = 1;                      ///< programs at a time
  double seconds = Compiling::kMostSeconds;  ///< that a kernel may take
  /// Shared by batches under way at the same time: what was asked for first is compiled first. May be empty.
  std::shared_ptr<Turnstile> turnstile = {};
};

/// The unit of work is one kernel: requests that share kernels share their compilation and their cache entries. A
/// program that does not compile is divided until the bad kernels are alone. Sources must outlive the batch.
[[nodiscard]] std::unique_ptr<CompileBatch> start_batch(ProgramCompiler compiler, std::shared_ptr<CompileCache> cache,
                                                        const std::vector<CompileRequest>& requests);

}  // namespace heddle
