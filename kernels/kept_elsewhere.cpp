#include "heddle/kernels/kept_elsewhere.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "heddle/kernels/error.hpp"

namespace heddle {

std::filesystem::path kept_elsewhere(const std::string& name,
                                     const std::function<void(const std::filesystem::path&)>& write) {
  const std::string stem = std::filesystem::path(name).stem().string();
  std::string folder = (std::filesystem::temp_directory_path() / ("kept-" + stem + "-XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr) throw Error(ErrorKind::input, std::strerror(errno));
  std::filesystem::path file = std::filesystem::path(folder) / name;
  write(file);
  return file;
}

}  // namespace heddle
