#include "heddle/runtime/device/cpu/processor.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "heddle/kernels/common/cpu_builtin.hpp"
#include "heddle/kernels/usable_cores.hpp"

namespace heddle {
namespace {

/// The value of the first line "name : value" of /proc/cpuinfo; empty if there is none.
std::string processor_field(std::string_view name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string found = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (found == name) return line.substr(std::min(line.size(), colon + 2));
  }
  return {};
}

std::string word_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

/// "2048K" in bytes.
std::int64_t bytes_of(const std::string& size) {
  if (size.empty() || size.find_first_not_of("0123456789") == 0) return 0;
  const std::int64_t unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
  return std::stoll(size) * unit;
}

}  // namespace

DeviceIdentity processor_identity() {
  DeviceIdentity identity;
  identity.backend = "cpu";
  identity.name = processor_field("model name");
  if (identity.name.empty()) identity.name = processor_field("Model");
  if (identity.name.empty()) identity.name = "cpu";
  identity.architecture = cpu::best_architecture();
  identity.units = allowed_cores();
  int last_level = 0;
  for (int index = 0; index < 8; ++index) {
    const std::filesystem::path cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const std::int64_t level = bytes_of(word_of(cache / "level"));
    const std::int64_t size = bytes_of(word_of(cache / "size"));
    if (level == 2) identity.local_bytes = size;
    if (level > last_level) {
      last_level = static_cast<int>(level);
      identity.cache_bytes = size;
    }
  }
  return identity;
}

std::string processor_features() {
  std::string features = std::string(cpu::best_architecture());
  for (const char* field :
       {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU part", "Features"}) {
    features += '\n' + processor_field(field);
  }
  return features;
}

}  // namespace heddle
