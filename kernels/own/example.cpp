#include "heddle/kernels/own/example.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

std::filesystem::path example_file(const std::string& folder, const Problem& problem) {
  return std::filesystem::path(folder) / (digest(problem.text()) + ".example");
}

}  // namespace

bool has_contents(const Buffer& buffer) { return buffer.role != Role::output && buffer.role != Role::scratch; }

HostImage saved_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers) {
  const std::filesystem::path path = example_file(folder, problem);
  std::ifstream file(path, std::ios::binary);
  HostImage image;
  for (const Buffer& buffer : buffers) {
    if (!has_contents(buffer)) continue;
    std::vector<std::byte>& bytes = image[buffer.name];
    bytes.resize(static_cast<std::size_t>(buffer.bytes));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw Error(ErrorKind::input, fmt::format("{}: not the example for {}", path.string(), problem.text()));
  }
  return image;
}

void save_example(const std::string& folder, const KernelFamily& family, const Problem& problem,
                  const DeviceIdentity& device, const HostImage& contents) {
  save_example(folder, problem, family.plan(family.default_configuration(device, problem), problem, device, 1).buffers,
               contents);
}

void save_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                  const HostImage& contents) {
  save_example(folder, problem, buffers, ViewedImage(contents.begin(), contents.end()));
}

void save_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                  const ViewedImage& contents) {
  const std::filesystem::path path = example_file(folder, problem);
  std::ofstream file(path, std::ios::binary);
  for (const Buffer& buffer : buffers) {
    if (!has_contents(buffer)) continue;
    const auto found = contents.find(buffer.name);
    const std::size_t bytes = found == contents.end() ? 0 : found->second.size();
    if (bytes != static_cast<std::size_t>(buffer.bytes)) {
      throw Error(ErrorKind::input, fmt::format("the example for {} has {} bytes of {}, expected {}", problem.text(),
                                                bytes, in_quotes(buffer.name), buffer.bytes));
    }
    file.write(reinterpret_cast<const char*>(found->second.data()), static_cast<std::streamsize>(bytes));
  }
  file.close();
  if (!file) throw Error(ErrorKind::device, fmt::format("{}: cannot be written", path.string()));
}

}  // namespace heddle
