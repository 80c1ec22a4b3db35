#include "heddle/runtime/device/cuda/nvrtc.hpp"

#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "heddle/kernels/error.hpp"

namespace heddle {

struct Nvrtc::Functions {
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) architecture_count = nullptr;
  decltype(&::nvrtcGetSupportedArchs) architectures = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcAddNameExpression) add_name = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetLoweredName) lowered_name = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin = nullptr;
  decltype(&::nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) ptx = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
};

/// Owns a program handle, so that nothing leaks when a compilation fails, which is routine in a tuner.
class Nvrtc::Program {
 public:
  Program(const Functions& functions, const std::vector<SourceFile>& files) : functions_(functions) {
    // Texts are views into embedded bytes; NVRTC wants them to end in a zero.
    std::vector<std::string> names, texts;
    for (const SourceFile& file : files) {
      names.emplace_back(file.name);
      texts.emplace_back(file.text);
    }
    std::vector<const char*> header_names, header_texts;
    for (std::size_t i = 1; i < names.size(); ++i) {
      header_names.push_back(names[i].c_str());
      header_texts.push_back(texts[i].c_str());
    }
    result_ = functions_.create(&handle_, texts.front().c_str(), names.front().c_str(),
                                static_cast<int>(header_names.size()), header_texts.data(), header_names.data());
  }
  ~Program() {
    if (handle_ != nullptr) functions_.destroy(&handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Does `step` unless an earlier one failed; whether all went well so far.
  template <class Step>
  bool then(Step step) {
    if (result_ == NVRTC_SUCCESS) result_ = step(handle_);
    return result_ == NVRTC_SUCCESS;
  }

  [[nodiscard]] std::string log() const {
    std::string text;
    std::size_t size = 0;
    if (handle_ != nullptr && functions_.log_size(handle_, &size) == NVRTC_SUCCESS && size > 1) {
      text.resize(size);
      if (functions_.log(handle_, text.data()) != NVRTC_SUCCESS) text.clear();
      while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    }
    return text.empty() ? functions_.error_string(result_) : text;
  }

 private:
  const Functions& functions_;
  nvrtcProgram handle_ = nullptr;
  nvrtcResult result_ = NVRTC_SUCCESS;
};

namespace {

namespace fs = std::filesystem;

/// Where a toolkit keeps its libraries, most wanted first.
std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home != nullptr && *home != '\0')
      folders.push_back(fs::path(home) / "lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  std::vector<fs::path> versions;
  std::error_code error;
  for (fs::directory_iterator it("/usr/local", error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with("cuda-")) versions.push_back(it->path() / "lib64");
  std::sort(versions.rbegin(), versions.rend());
  folders.insert(folders.end(), versions.begin(), versions.end());
  return folders;
}

constexpr int kOldestMajor = 12;

}  // namespace

Nvrtc::Nvrtc() : functions_(std::make_unique<Functions>()) {}
Nvrtc::~Nvrtc() = default;

bool Nvrtc::load(const std::string& file) {
  file_ = file;
  library_ = SharedLibrary(file);
  Functions& f = *functions_;
  if (!library_ || !library_.find("nvrtcVersion", f.version) || !library_.find("nvrtcGetErrorString", f.error_string) ||
      !library_.find("nvrtcGetNumSupportedArchs", f.architecture_count) ||
      !library_.find("nvrtcGetSupportedArchs", f.architectures) || !library_.find("nvrtcCreateProgram", f.create) ||
      !library_.find("nvrtcDestroyProgram", f.destroy) || !library_.find("nvrtcAddNameExpression", f.add_name) ||
      !library_.find("nvrtcCompileProgram", f.compile) || !library_.find("nvrtcGetLoweredName", f.lowered_name) ||
      !library_.find("nvrtcGetCUBINSize", f.cubin_size) || !library_.find("nvrtcGetCUBIN", f.cubin) ||
      !library_.find("nvrtcGetPTXSize", f.ptx_size) || !library_.find("nvrtcGetPTX", f.ptx) ||
      !library_.find("nvrtcGetProgramLogSize", f.log_size) || !library_.find("nvrtcGetProgramLog", f.log))
    return false;
  int count = 0;
  if (f.version(&major_, &minor_) != NVRTC_SUCCESS || f.architecture_count(&count) != NVRTC_SUCCESS) return false;
  architectures_.resize(static_cast<std::size_t>(count));
  return f.architectures(architectures_.data()) == NVRTC_SUCCESS;
}

std::shared_ptr<const Nvrtc> Nvrtc::open(int compute_capability, int newest_major) {
  std::string unfit;
  for (int major = std::min(newest_major, kNewestMajor); major >= kOldestMajor; --major) {
    const std::string file = fmt::format("libnvrtc.so.{}", major);
    std::vector<std::string> places{file};
    for (const fs::path& folder : toolkit_folders()) places.push_back((folder / file).string());
    for (const std::string& place : places) {
      std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
      if (!nvrtc->load(place)) continue;
      if (compute_capability == 0 || nvrtc->supports(compute_capability)) return nvrtc;
      if (unfit.empty()) unfit = nvrtc->name();
    }
  }
  if (!unfit.empty())
    throw Error(ErrorKind::device,
                fmt::format("{} cannot compile for compute capability {}.{}; install another CUDA Toolkit beside it",
                            unfit, compute_capability / 10, compute_capability % 10));
  throw Error(ErrorKind::device,
              newest_major >= kNewestMajor
                  ? "no run-time compiler: libnvrtc.so not found; install the CUDA Toolkit or set CUDA_HOME"
                  : fmt::format("no run-time compiler: libnvrtc.so.{0} not found, and the driver takes no later one; "
                                "install the CUDA Toolkit {0} or set CUDA_HOME",
                                newest_major));
}

std::shared_ptr<const Nvrtc> Nvrtc::open_file(const std::string& file) {
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
  if (!nvrtc->load(file)) throw Error(ErrorKind::device, fmt::format("{}: cannot be opened", file));
  return nvrtc;
}

std::string Nvrtc::name() const { return fmt::format("NVRTC {}.{}", major_, minor_); }

bool Nvrtc::supports(int compute_capability) const {
  return std::find(architectures_.begin(), architectures_.end(), compute_capability) != architectures_.end();
}

ProgramResult Nvrtc::compile(const std::vector<SourceFile>& files, const std::vector<std::string>& expressions,
                             const std::vector<std::string>& options) const {
  return build(files, expressions, options, false);
}

ProgramResult Nvrtc::ptx(const std::vector<SourceFile>& files, const std::vector<std::string>& expressions,
                         const std::vector<std::string>& options) const {
  return build(files, expressions, options, true);
}

ProgramResult Nvrtc::build(const std::vector<SourceFile>& files, const std::vector<std::string>& expressions,
                           const std::vector<std::string>& options, bool ptx) const {
  const Functions& f = *functions_;
  Program program(f, files);
  for (const std::string& expression : expressions)
    program.then([&](nvrtcProgram handle) { return f.add_name(handle, expression.c_str()); });
  std::vector<const char*> words;
  words.reserve(options.size());
  for (const std::string& option : options) words.push_back(option.c_str());

  ProgramResult result;
  program.then([&](nvrtcProgram handle) { return f.compile(handle, static_cast<int>(words.size()), words.data()); });
  for (const std::string& expression : expressions) {
    const char* symbol = nullptr;
    if (!program.then([&](nvrtcProgram handle) { return f.lowered_name(handle, expression.c_str(), &symbol); })) break;
    result.symbols.emplace_back(symbol);
  }
  std::size_t size = 0;
  program.then([&](nvrtcProgram handle) { return (ptx ? f.ptx_size : f.cubin_size)(handle, &size); });
  result.bytes.resize(size);
  result.compiled =
      program.then([&](nvrtcProgram handle) { return (ptx ? f.ptx : f.cubin)(handle, result.bytes.data()); });
  if (!result.compiled) result.log = program.log();
  return result;
}

}  // namespace heddle
