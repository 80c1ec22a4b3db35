#include "heddle/kernels/own/array_file.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/regular_file.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kLongestHeader = 65536;

class ArrayFile {
 public:
  explicit ArrayFile(const std::filesystem::path& path)
      : name_(printable(path.string())), file_(open_regular_file(path, name_)) {
    std::error_code error;
    size_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    if (error) refuse("cannot be read");
  }

  std::vector<std::byte> numbers(ElementType type, std::int64_t bytes) {
    const std::string begin = text(std::min<std::int64_t>(size_, static_cast<std::int64_t>(kMagic.size())));
    std::int64_t header = 0;
    if (begin == kMagic) {
      header = skip_header(type, bytes / size_of(type));
    } else {
      file_.seekg(0);
    }
    if (size_ - header != bytes) {
      refuse(fmt::format("has {} bytes of numbers, expected {} ({} of {})", size_ - header, bytes,
                         bytes / size_of(type), name_of(type)));
    }
    std::vector<std::byte> found(static_cast<std::size_t>(bytes));
    file_.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(found.size()));
    if (!file_) refuse("cannot be read");
    return found;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", name_, why));
  }

  std::string text(std::int64_t bytes) {
    std::string read(static_cast<std::size_t>(bytes), '\0');
    file_.read(read.data(), static_cast<std::streamsize>(read.size()));
    if (!file_) refuse("ends within its header");
    return read;
  }
  std::size_t number(std::int64_t bytes) {
    std::size_t value = 0, factor = 1;
    for (const char c : text(bytes)) {
      value += factor * static_cast<unsigned char>(c);
      factor *= 256;
    }
    return value;
  }

  /// Reads the header of an .npy file (NumPy's format 1 to 3), a Python dictionary; returns where the numbers begin.
  std::int64_t skip_header(ElementType type, std::int64_t numbers) {
    const std::size_t version = number(1);
    static_cast<void>(number(1));  // the minor version
    if (version < 1 || version > 3) refuse(fmt::format(".npy version {}, expected 1 to 3", version));
    const std::size_t length = number(version == 1 ? 2 : 4);
    if (length > kLongestHeader) refuse("its header is longer than 65536 bytes");
    const std::string header = text(static_cast<std::int64_t>(length));
    const std::string found = quoted_after(header, "'descr':");
    if (!is_code(found, type)) {
      refuse(fmt::format("holds numbers of type {}, expected {}", in_quotes(found), name_of(type)));
    }
    if (header.find("'fortran_order': False") == std::string::npos) refuse("is in the order of Fortran, expected C");
    const std::string shape = shape_in(header);
    if (product_of(shape) != numbers) {
      refuse(fmt::format("has the shape {}, expected {} numbers", in_quotes(shape), numbers));
    }
    return static_cast<std::int64_t>(file_.tellg());
  }

  std::string shape_in(const std::string& header) const {
    const std::size_t at = header.find("'shape':");
    const std::size_t begin = at == std::string::npos ? at : header.find('(', at);
    const std::size_t end = begin == std::string::npos ? begin : header.find(')', begin);
    if (end == std::string::npos) refuse("its header has no 'shape':");
    return header.substr(begin, end + 1 - begin);
  }

  /// Of "(3, 4)"; nothing if a dimension is no number from 0 on, or if the product is beyond 64 bits.
  static std::optional<std::int64_t> product_of(std::string_view shape) {
    std::int64_t product = 1;
    for (const char* at = shape.data() + 1; *at != ')';) {
      std::int64_t dimension = 0;
      const auto [end, error] = std::from_chars(at, shape.data() + shape.size(), dimension);
      if (error != std::errc() || dimension < 0 || __builtin_mul_overflow(product, dimension, &product)) {
        return std::nullopt;
      }
      at = end;
      while (*at == ',' || *at == ' ') ++at;
    }
    return product;
  }

  std::string quoted_after(const std::string& header, std::string_view member) const {
    const std::size_t at = header.find(member);
    const std::size_t begin = at == std::string::npos ? at : header.find('\'', at + member.size());
    const std::size_t end = begin == std::string::npos ? begin : header.find('\'', begin + 1);
    if (end == std::string::npos) refuse(fmt::format("its header has no {}", member));
    return header.substr(begin + 1, end - begin - 1);
  }

  /// "<f4": little-endian, real, 4 bytes. A single byte has no order.
  static bool is_code(std::string_view found, ElementType type) {
    const bool is_unsigned = name_of(type).starts_with("uint");
    const char kind = is_real(type) ? 'f' : is_unsigned ? 'u' : 'i';
    const std::string code = fmt::format("{}{}", kind, size_of(type));
    if (found == "|b1") return type == ElementType::uint8;
    // NumPy has no such type; what the package ml_dtypes writes for it are 2 bytes of no type.
    if (type == ElementType::bfloat16) return found == "<V2" || found == "|V2";
    if (size_of(type) == 1 && found == "|" + code) return true;
    return found == "<" + code;
  }

  std::string name_;
  std::ifstream file_;
  std::int64_t size_ = 0;
};

}  // namespace

std::vector<std::byte> read_array(const std::filesystem::path& file, ElementType type, std::int64_t bytes) {
  return ArrayFile(file).numbers(type, bytes);
}

}  // namespace heddle
