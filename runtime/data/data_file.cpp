#include "heddle/runtime/data/data_file.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{16} << 30;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorKind::input, file.string() + ": " + what);
}

/// An inflate stream for gzip, ended when it goes out of scope.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzip = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& operator*() { return stream_; }

 private:
  z_stream stream_{};
};

std::string unpack(std::string_view packed, const std::filesystem::path& file) {
  std::string bytes;
  Inflater inflater;
  z_stream& stream = *inflater;
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  bool ended = false;  // at the end of a member, of which a file may have several
  while (!packed.empty() || !ended) {
    if (ended) {
      // Padding with zeros is common on tapes and block devices; gzip ignores it too.
      if (packed.find_first_not_of('\0') == std::string_view::npos) break;
      inflateReset(&stream);
    }
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const std::size_t offered = std::min<std::size_t>(packed.size(), std::size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + before);
    stream.avail_out = static_cast<uInt>(kChunk);
    const int result = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(bytes.size() - stream.avail_out);
    packed.remove_prefix(offered - stream.avail_in);
    if (result == Z_BUF_ERROR) fail(file, "found a gzip file that ends too early, expected all of it");
    if (result != Z_OK && result != Z_STREAM_END) {
      fail(file, std::string("found a damaged gzip file (") +
                     (stream.msg != nullptr ? stream.msg : "no more is known") + ")");
    }
    if (bytes.size() > kLargest) fail(file, "found more than 16 GiB unpacked, expected less");
    ended = result == Z_STREAM_END;
  }
  return bytes;
}

}  // namespace

std::string read_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) fail(file, "found no such file, expected one");
  if (std::filesystem::is_directory(status)) fail(file, "found a folder, expected a file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) fail(file, std::string("cannot be opened: ") + std::strerror(errno));
  // Some of them have no end.
  if (std::filesystem::is_character_file(status) && isatty(fileno(stream.get())) == 0) {
    fail(file, "found a device, expected a file");
  }

  std::string bytes;
  const std::uintmax_t size = std::filesystem::file_size(file, error);  // a pipe has none
  if (!error && size < kLargest) bytes.reserve(size);
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  for (std::size_t count = kChunk; count == kChunk;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunk);
    count = std::fread(bytes.data() + before, 1, kChunk, stream.get());
    bytes.resize(before + count);
    if (bytes.size() > kLargest) fail(file, "found more than 16 GiB, expected less");
  }
  if (std::ferror(stream.get()) != 0) fail(file, std::string("cannot be read: ") + std::strerror(errno));
  return bytes;
}

std::string read_data_file(const std::filesystem::path& file) {
  std::string bytes = read_file(file);
  if (bytes.starts_with("\x1f\x8b")) bytes = unpack(bytes, file);
  if (bytes.empty()) fail(file, "found an empty file, expected rows of numbers");
  return bytes;
}

}  // namespace heddle
