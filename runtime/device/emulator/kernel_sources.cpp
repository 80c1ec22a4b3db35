#include "heddle/runtime/device/emulator/kernel_sources.hpp"

namespace heddle {

std::vector<SourceFile> emulator_sources() {
  std::vector<SourceFile> files = emulator_files();
  for (SourceFile& file : files) {
    if (file.name.ends_with("/kernel/barriers.cuh")) file.name = "heddle/kernels/common/barriers.cuh";
    if (file.name.ends_with("/kernel/memory.cuh")) file.name = "heddle/kernels/common/memory.cuh";
    if (file.name.ends_with("/kernel/byte_matrix.cuh")) file.name = "heddle/kernels/common/byte_matrix.cuh";
    if (file.name.ends_with("/kernel/copies.cuh")) file.name = "heddle/kernels/common/copies.cuh";
    if (file.name.ends_with("/kernel/exchange.cuh")) file.name = "heddle/kernels/common/exchange.cuh";
    if (file.name.ends_with("/kernel/matrix.cuh")) file.name = "heddle/kernels/common/matrix.cuh";
    if (file.name.ends_with("/kernel/votes.cuh")) file.name = "heddle/kernels/common/votes.cuh";
  }
  return files;
}

}  // namespace heddle
