// The C++ compiler of this machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/compile_cache.hpp"
#include "heddle/runtime/device/program_batch.hpp"

namespace heddle {

/// How a device has its templates compiled.
struct Dialect {
  std::vector<std::string> options;  ///< beside those of the template
  std::vector<SourceFile> files;     ///< beside the template's own; one of the same name takes the place of its file
  std::string prologue;              ///< before the template
  /// One function: {0} is its symbol, {1} the expression.
  std::string function;
};

/// A program of that name on the path.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string& name);

/// The options of a template for GCC and Clang, which know the same words.
[[nodiscard]] std::vector<std::string> host_words(const CompileOptions& options);

/// Makes shared objects from templates. Thread-safe.
class SystemCompiler {
 public:
  /// $CXX, else the first of c++, g++, clang++ on the path; nothing if there is none.
  [[nodiscard]] static std::optional<std::filesystem::path> find();

  SystemCompiler(std::filesystem::path program, Dialect dialect)
      : program_(std::move(program)), dialect_(std::move(dialect)) {}

  // All three throw Error(device) if the program cannot be started or does not end in time, and Interrupted.

  /// "g++ (Debian 12.2.0-14) 12.2.0": asked once, and kept in `cache` while the program's file stays the same.
  [[nodiscard]] std::string version(CompileCache& cache, const std::stop_token& stop = {});
  /// Version, dialect, and what "native" means on this CPU.
  [[nodiscard]] std::string fingerprint(CompileCache& cache, const std::stop_token& stop = {});
  /// One shared object that exports a function per expression.
  [[nodiscard]] ProgramResult compile(const ProgramInput& input, const std::stop_token& stop = {});
  /// Processes started so far.
  [[nodiscard]] std::int64_t calls() const noexcept { return calls_; }

 private:
  std::filesystem::path program_;
  Dialect dialect_;
  std::atomic<std::int64_t> calls_{0};
  std::mutex mutex_;
  std::string version_;
};

}  // namespace heddle
