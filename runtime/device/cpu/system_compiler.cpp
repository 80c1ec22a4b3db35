#include "heddle/runtime/device/cpu/system_compiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/cpu/process.hpp"
#include "heddle/runtime/device/cpu/processor.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr double kVersionSeconds = 5.0;  // a compiler says its version in milliseconds: far more means that it hangs

bool runs(const fs::path& file) { return ::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file); }

/// Stands for any compiler, so that its file says nothing about the version.
bool is_wrapper(const fs::path& file) {
  std::error_code ignored;
  const std::string name = fs::canonical(file, ignored).filename().string();
  return name == "ccache" || name == "distcc" || name == "sccache";
}

void write(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw Error(ErrorKind::device, fmt::format("{}: cannot be written", file.string()));
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional(fs::path(name)) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder.empty() ? "." : folder) / name;
    if (runs(file) && !is_wrapper(file)) return file;
  }
  return {};
}

std::vector<std::string> host_words(const CompileOptions& options) {
  // What every template is compiled with on the host, the device's own header too, is C++20.
  std::vector<std::string> words{"-std=c++20", options.contraction ? "-ffp-contract=fast" : "-ffp-contract=off"};
  // Not -ffast-math: NaN and infinity would have no meaning, and GCC before 13 links code into the object that changes
  // the arithmetic of the thread that loads it.
  if (options.fast_math) {
    words.insert(words.end(), {"-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math", "-freciprocal-math"});
  }
  words.insert(words.end(), options.extra.begin(), options.extra.end());
  return words;
}

std::optional<fs::path> SystemCompiler::find() {
  if (const char* chosen = std::getenv("CXX"); chosen != nullptr && *chosen != '\0') return find_program(chosen);
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (auto found = find_program(name)) return found;
  }
  return {};
}

std::string SystemCompiler::version(CompileCache& cache, const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (!version_.empty()) return version_;
  std::error_code ignored;
  const fs::path file = fs::canonical(program_, ignored);
  const std::string key = digest(fmt::format("version\n{}\n{}\n{}", file.string(), fs::file_size(file, ignored),
                                             fs::last_write_time(file, ignored).time_since_epoch().count()));
  if (const auto entry = cache.find(key)) return version_ = entry->blob->bytes;
  const ScratchFolder folder;
  ++calls_;
  const ProcessResult result = run_process({program_.string(), "--version"}, folder.path() / "log",
                                           {.seconds = kVersionSeconds, .stop = stop, .temporary = folder.path()});
  if (result.status != 0 || result.output.empty()) {
    throw Error(ErrorKind::device, fmt::format("{} --version failed", program_.string()));
  }
  version_ = result.output.substr(0, result.output.find('\n'));
  cache.store(version_, {{key, "version"}});
  return version_;
}

std::string SystemCompiler::fingerprint(CompileCache& cache, const std::stop_token& stop) {
  std::string text = version(cache, stop) + '\n' + processor_features();
  for (const std::string& option : dialect_.options) text += '\n' + option;
  for (const SourceFile& file : dialect_.files) text += '\n' + digest(file.text);
  return text + '\n' + dialect_.prologue + dialect_.function;
}

namespace {

/// The line that defines the macro of "-DNAME=VALUE": behind the prologue, which a template's macros are not meant for.
/// Nothing for another word.
std::optional<std::string> definition_of(const std::string& word) {
  if (!word.starts_with("-D") || word.size() == 2) return std::nullopt;
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos) return fmt::format("#define {} 1\n", word.substr(2));
  return fmt::format("#define {} {}\n", word.substr(2, sign - 2), word.substr(sign + 1));
}

}  // namespace

ProgramResult SystemCompiler::compile(const ProgramInput& input, const std::stop_token& stop) {
  const TemplateSource& source = *input.source;
  const ScratchFolder folder;
  for (const SourceFile& file : source.files()) {
    const fs::path name(file.name);
    if (name.is_absolute() || std::ranges::find(name, "..") != name.end()) {  // it would be written elsewhere
      ProgramResult refused;
      refused.log = fmt::format("the header {} is not below the folder of its source", in_quotes(file.name));
      return refused;
    }
    write(folder.path() / name, file.text);
  }
  for (const SourceFile& file : dialect_.files) write(folder.path() / file.name, file.text);
  ProgramResult result;
  std::vector<std::string> template_words;
  std::string definitions;
  for (const std::string& word : input.words) {
    if (const auto definition = definition_of(word)) {
      definitions += *definition;
    } else {
      template_words.push_back(word);
    }
  }
  std::string text = fmt::format("{}{}#include \"{}\"\n", dialect_.prologue, definitions, source.main().name);
  for (const std::string& expression : input.expressions) {
    // Unique among all objects of the process, whichever of them is asked for it.
    result.symbols.push_back(fmt::format(
        "heddle_{}", digest(fmt::format("{}{}{}", source.hash(), fmt::join(input.words, "\n"), expression))));
    text += fmt::format(fmt::runtime(dialect_.function), result.symbols.back(), expression);
  }
  const fs::path unit = folder.path() / "unit.cpp";
  const fs::path object = folder.path() / "unit.so";
  write(unit, text);
  std::vector<std::string> words = {program_.string()};
  words.insert(words.end(), dialect_.options.begin(), dialect_.options.end());
  words.insert(words.end(), template_words.begin(), template_words.end());
  // Names of files are those of the source tree, whatever the folder is called.
  words.push_back(fmt::format("-ffile-prefix-map={}/=", folder.path().string()));
  words.insert(words.end(), {"-I", folder.path().string(), unit.string(), "-o", object.string()});
  ++calls_;
  ProcessResult process =
      run_process(words, folder.path() / "log", {.seconds = input.seconds, .stop = stop, .temporary = folder.path()});
  if (process.status == 0) {
    result.bytes = file_bytes(object).value_or("");
    result.compiled = !result.bytes.empty();
  }
  if (!result.compiled) result.log = std::move(process.output);
  return result;
}

}  // namespace heddle
