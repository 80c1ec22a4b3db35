#include "heddle/kernels/own/example.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <type_traits>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

template <class Number>
std::vector<std::byte> seeded(std::int64_t bytes, std::mt19937_64& random) {
  std::vector<std::byte> result(static_cast<std::size_t>(bytes));
  for (std::size_t at = 0; at + sizeof(Number) <= result.size(); at += sizeof(Number)) {
    Number number{};
    if constexpr (std::is_floating_point_v<Number>) {
      number = static_cast<Number>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
    } else {
      number = static_cast<Number>(random() % 10);
    }
    std::memcpy(result.data() + at, &number, sizeof number);
  }
  return result;
}

std::filesystem::path example_file(const std::string& folder, const Problem& problem) {
  return std::filesystem::path(folder) / (digest(problem.text()) + ".example");
}

}  // namespace

std::vector<std::byte> seeded_numbers(ElementType type, std::int64_t bytes, std::mt19937_64& random) {
  switch (type) {
    case ElementType::uint8:
      return seeded<std::uint8_t>(bytes, random);
    case ElementType::int32:
    case ElementType::uint32:
      return seeded<std::uint32_t>(bytes, random);
    case ElementType::int64:
    case ElementType::uint64:
      return seeded<std::uint64_t>(bytes, random);
    case ElementType::float32:
      return seeded<float>(bytes, random);
    default:
      return seeded<double>(bytes, random);
  }
}

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
  const Plan plan = family.plan(family.default_configuration(device, problem), problem, device, 1);
  const std::filesystem::path path = example_file(folder, problem);
  std::ofstream file(path, std::ios::binary);
  for (const Buffer& buffer : plan.buffers) {
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
