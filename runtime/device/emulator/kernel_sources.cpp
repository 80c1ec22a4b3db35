#include "heddle/runtime/device/emulator/kernel_sources.hpp"

#include <string_view>

namespace heddle {

std::vector<SourceFile> emulator_sources() {
  std::vector<SourceFile> files = emulator_files();
  const auto without_folder = [](std::string_view name) { return name.substr(name.rfind('/') + 1); };
  for (SourceFile& file : files) {
    for (const std::string_view replaced :
         {"heddle/kernels/common/barriers.cuh", "heddle/kernels/common/byte_matrix.cuh",
          "heddle/kernels/common/copies.cuh", "heddle/kernels/common/exchange.cuh", "heddle/kernels/common/matrix.cuh",
          "heddle/kernels/common/memory.cuh", "heddle/kernels/common/streaming.cuh",
          "heddle/kernels/common/votes.cuh"}) {
      if (without_folder(file.name) == without_folder(replaced)) file.name = replaced;
    }
  }
  return files;
}

}  // namespace heddle
