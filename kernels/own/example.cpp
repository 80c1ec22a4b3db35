#include "heddle/kernels/own/example.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/mapped_file.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

std::filesystem::path example_file(const std::string& folder, const Problem& problem) {
  return std::filesystem::path(folder) / (digest(problem.text()) + ".example");
}

bool has_contents(const Buffer& buffer) { return buffer.role != Role::output && buffer.role != Role::scratch; }

SharedImage saved_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers) {
  const std::filesystem::path path = example_file(folder, problem);
  const auto file = MappedFile::open(path);
  std::size_t total = 0;
  for (const Buffer& buffer : buffers) total += has_contents(buffer) ? static_cast<std::size_t>(buffer.bytes) : 0;
  if (!file) {
    throw Error(ErrorKind::input, fmt::format("{}: the example for {} cannot be read: {}", path.string(),
                                              problem.text(), std::strerror(errno)));
  }
  if (file->bytes().size() != total) {
    throw Error(ErrorKind::input, fmt::format("{}: not the example for {}", path.string(), problem.text()));
  }
  ViewedImage image;
  std::span<const std::byte> rest = file->bytes();
  for (const Buffer& buffer : buffers) {
    if (!has_contents(buffer)) continue;
    const auto bytes = static_cast<std::size_t>(buffer.bytes);
    image.emplace(buffer.name, rest.first(bytes));
    rest = rest.subspan(bytes);
  }
  return {std::move(image), file};
}

void save_example(const std::string& folder, const KernelFamily& family, const Problem& problem,
                  const DeviceIdentity& device, const HostImage& contents) {
  save_example(folder, problem, family.plan(family.default_configuration(device, problem), problem, device, 1).buffers,
               contents);
}

std::vector<std::span<const std::byte>> example_parts(const Problem& problem, const std::vector<Buffer>& buffers,
                                                      const ViewedImage& contents) {
  std::vector<std::span<const std::byte>> parts;
  for (const Buffer& buffer : buffers) {
    if (!has_contents(buffer)) continue;
    const auto found = contents.find(buffer.name);
    const std::size_t bytes = found == contents.end() ? 0 : found->second.size();
    if (bytes != static_cast<std::size_t>(buffer.bytes)) {
      throw Error(ErrorKind::input, fmt::format("the example for {} has {} bytes of {}, expected {}", problem.text(),
                                                bytes, in_quotes(buffer.name), buffer.bytes));
    }
    parts.push_back(found == contents.end() ? std::span<const std::byte>() : found->second);
  }
  return parts;
}

void save_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                  const HostImage& contents) {
  const std::filesystem::path path = example_file(folder, problem);
  const auto parts = example_parts(problem, buffers, ViewedImage(contents.begin(), contents.end()));
  std::ofstream file(path, std::ios::binary);
  for (const auto part : parts) {
    file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  }
  file.close();
  if (!file) throw Error(ErrorKind::device, fmt::format("{}: cannot be written", path.string()));
}

}  // namespace heddle
