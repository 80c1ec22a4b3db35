#include "heddle/kernels/own/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  // Nothing cannot be mapped.
  void* const at = known && bytes > 0 ? ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  ::close(file);
  if (!known || at == MAP_FAILED) return nullptr;
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(at), bytes}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace heddle
