#include "heddle/kernels/own/regular_file.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

std::ifstream open_regular_file(const std::filesystem::path& path, const std::string& named) {
  const auto refuse = [&](const char* why) { throw Error(ErrorKind::input, fmt::format("{}: {}", named, why)); };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) refuse("is a folder");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) refuse("is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("cannot be read");
  return file;
}

}  // namespace heddle
