// Data files for tests.
#pragma once

#include <doctest/doctest.h>
#include <zlib.h>

#include <fstream>
#include <string>

#include "heddle/kernels/error.hpp"
#include "temporary_folder.hpp"

namespace heddle {

class DataFolder {
 public:
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::filesystem::path write_gzip(const std::string& name, const std::string& bytes) const {
    const gzFile stream = gzopen(file(name).c_str(), "ab");  // appends a member
    REQUIRE(gzwrite(stream, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
    REQUIRE(gzclose(stream) == Z_OK);
    return file(name);
  }

 private:
  TemporaryFolder folder_;
};

/// The message of the Error(kind) that `call` throws, with the folder's name taken out.
template <class Call>
std::string refusal(const DataFolder& folder, ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    std::string line = error.what();
    CHECK(line.find('\n') == std::string::npos);
    const std::string prefix = folder.file("").string();
    for (std::size_t at = line.find(prefix); at != std::string::npos; at = line.find(prefix)) {
      line.erase(at, prefix.size());
    }
    return line;
  }
  return "nothing was refused";
}

}  // namespace heddle
