#include "heddle/kernels/own/capture_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/definition_document.hpp"
#include "heddle/kernels/own/named_files.hpp"
#include "heddle/kernels/own/regular_file.hpp"
#include "heddle/kernels/own/source_folder.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kCaptureMagic = "heddle capture ";
constexpr int kCaptureVersion = 1;
constexpr std::size_t kLongestFirstLine = 64;                         // bytes
constexpr std::size_t kLongestCaptureHeader = std::size_t{1} << 26U;  // bytes
constexpr std::size_t kMostBuffers = 256;

std::string_view view_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class CaptureReader {
 public:
  CaptureReader(const fs::path& path, bool allow_outside)
      : name_(printable(path.string())), file_(open_regular_file(path, name_)), allow_outside_(allow_outside) {
    std::error_code error;
    size_ = fs::file_size(path, error);
    if (error) refuse("cannot be read");
  }

  KernelCapture capture() {
    const std::string header = read_header();
    json document;
    try {
      document = parse_json(header, {.levels = 12});
      read_members(document);
    } catch (const BadDocument& bad) {
      refuse(bad.what());
    } catch (const json::exception&) {
      refuse("a member of its header is missing, or is of another kind");
    }
    read_contents(document);
    check_files();
    return std::move(capture_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", name_, why));
  }

  /// Bytes up to a newline, which is not part of them.
  std::string line(std::size_t most) {
    std::string text;
    for (int c = file_.get(); c != '\n'; c = file_.get()) {
      if (c == std::ifstream::traits_type::eof() || text.size() == most) refuse("is cut off, or no capture");
      text += static_cast<char>(c);
    }
    return text;
  }

  std::string read_header() {
    std::string magic(kCaptureMagic.size(), '\0');
    file_.read(magic.data(), static_cast<std::streamsize>(magic.size()));
    if (!file_ || magic != kCaptureMagic) refuse("is no capture of a kernel's call");
    const std::string rest = line(kLongestFirstLine);
    const std::size_t blank = rest.find(' ');
    const std::string version = rest.substr(0, blank);
    if (version != std::to_string(kCaptureVersion)) {
      refuse(fmt::format("is a capture of version {}, expected {}", in_quotes(version), kCaptureVersion));
    }
    std::string header = line(kLongestCaptureHeader);
    if (blank == std::string::npos || rest.substr(blank + 1) != digest(header)) {
      refuse("is damaged: its header does not have the digest that its first line says");
    }
    return header;
  }

  void read_members(const json& document) {
    KernelExamples none;
    try {
      std::tie(capture_.kernel, none) = read_definition(document.at("definition").dump());
      capture_.problem = Problem::parse(document.at("problem").get<std::string>(), capture_.kernel.axes);
    } catch (const Error& error) {
      refuse(error.what());
    }
    capture_.device = document.at("device").get<std::string>();
    for (const auto& [name, text] : document.at("numbers").items()) {
      auto bytes = bytes_in(text.get_ref<const std::string&>());
      if (!bytes) refuse(fmt::format("the number {} has no hexadecimal digits", in_quotes(name)));
      capture_.numbers.emplace(name, std::move(*bytes));
    }
  }

  /// Lengths are compared with the file's before anything of such a length is allocated.
  void read_contents(const json& document) {
    struct Part {
      std::string name, digest;
      std::uint64_t bytes = 0;
    };
    std::vector<Part> parts;
    std::uint64_t all = 0;
    try {
      const json& buffers = document.at("buffers");
      if (!buffers.is_array() || buffers.size() > kMostBuffers) refuse("its header lists no buffers, or too many");
      for (const json& each : buffers) {
        Part part{.name = each.at("name").get<std::string>(),
                  .digest = each.at("digest").get<std::string>(),
                  .bytes = each.at("bytes").get<std::uint64_t>()};
        if (part.bytes > static_cast<std::uint64_t>(kLargestCapture) - all) {
          refuse(fmt::format("holds more than {} bytes of buffers", kLargestCapture));
        }
        all += part.bytes;
        parts.push_back(std::move(part));
      }
    } catch (const json::exception&) {
      refuse("a member of its header is missing, or is of another kind");
    }
    const auto begin = static_cast<std::uint64_t>(file_.tellg());
    if (size_ - begin != all) {
      refuse(fmt::format("is damaged: it has {} bytes of contents, expected {}", size_ - begin, all));
    }
    for (const Part& part : parts) {
      std::vector<std::byte>& bytes = capture_.contents[part.name];
      if (!bytes.empty()) refuse(fmt::format("two buffers are called {}", in_quotes(part.name)));
      bytes.resize(part.bytes);
      file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      if (!file_) refuse("cannot be read");
      if (digest(view_of(bytes)) != part.digest) {
        refuse(fmt::format("is damaged: the contents of {} do not have their digest", in_quotes(part.name)));
      }
    }
  }

  /// The definition stands by itself: files that it names on the machine where it was made mean nothing here.
  void check_files() {
    KernelDefinition& kernel = capture_.kernel;
    for (const auto& [language, code] : kernel.code) check_code(code);
    for (const auto& [language, code] : kernel.reference.code) check_code(code);
    kernel.folder.clear();
    kernel.allow_outside = false;
    kernel.problems = {capture_.problem};
    kernel.awkward = capture_.problem;
  }
  void check_code(const KernelCode& code) const {
    check_names("the source", code.text);
    for (const auto& [header, text] : code.headers) {
      const fs::path path(header);
      if (path.is_absolute() || std::ranges::find(path, "..") != path.end()) {
        refuse(fmt::format("the name of the header {} leaves its folder", in_quotes(header)));
      }
      check_names(header, text);
    }
    for (const std::string& word : code.options.extra) {
      if (allow_outside_ || !names_a_file(word)) continue;
      refuse(fmt::format("the compiler's option {} may name a file; --allow-outside allows that", in_quotes(word)));
    }
  }

  void check_names(const std::string& file, const std::string& text) const {
    if (allow_outside_) return;
    if (const auto why = names_outside(file, text)) refuse(*why + "; --allow-outside allows that");
  }

  std::string name_;
  std::ifstream file_;
  bool allow_outside_;
  std::uint64_t size_ = 0;
  KernelCapture capture_;
};

}  // namespace

void write_capture(const fs::path& file, const KernelCapture& capture) {
  KernelDefinition kernel = capture.kernel;
  kernel.folder.clear();
  kernel.problems = {capture.problem};
  json header{{"problem", capture.problem.text()},
              {"device", capture.device},
              {"numbers", json::object()},
              {"buffers", json::array()}};
  header["definition"] = parse_json(write_definition(kernel, {}));
  for (const auto& [name, bytes] : capture.numbers) header["numbers"][name] = hexadecimal(bytes);
  std::size_t all = 0;
  for (const auto& [name, bytes] : capture.contents) {
    header["buffers"].push_back({{"name", name}, {"bytes", bytes.size()}, {"digest", digest(view_of(bytes))}});
    all += bytes.size();
  }
  if (all > static_cast<std::size_t>(kLargestCapture)) {
    throw Error(ErrorKind::input, fmt::format("{}: the buffers have {} bytes, expected at most {}",
                                              printable(file.string()), all, kLargestCapture));
  }
  const std::string line = header.dump(-1, ' ', true);
  if (line.size() > kLongestCaptureHeader) {
    throw Error(ErrorKind::input, fmt::format("{}: the definition has {} bytes, expected at most {}",
                                              printable(file.string()), line.size(), kLongestCaptureHeader));
  }
  std::string bytes = fmt::format("{}{} {}\n{}\n", kCaptureMagic, kCaptureVersion, digest(line), line);
  bytes.reserve(bytes.size() + all);
  for (const auto& [name, contents] : capture.contents) bytes += view_of(contents);
  write_file(file, bytes);
}

bool is_capture(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  std::ifstream stream(file, std::ios::binary);
  std::string magic(kCaptureMagic.size(), '\0');
  stream.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return stream && magic == kCaptureMagic;
}

KernelCapture read_capture(const fs::path& file, bool allow_outside) {
  return CaptureReader(file, allow_outside).capture();
}

}  // namespace heddle
