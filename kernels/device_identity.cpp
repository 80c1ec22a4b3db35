#include "heddle/kernels/device_identity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Fields are separated by '|'. Whatever a vendor put into a name comes back: '|' and the escape itself are escaped by
// '\', bytes other than printable ASCII are written as \xNN.
std::string escaped(std::string_view field) {
  std::string text;
  for (const char c : field) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      text += {'\\', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
    } else {
      if (c == '|' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

/// Takes anything: parse() compares the text of what came out with what went in.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> fields(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|') {
      fields.emplace_back();
    } else if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x') {
      fields.back() += static_cast<char>(16 * kHexDigits.find(text[i + 2]) + kHexDigits.find(text[i + 3]));
      i += 3;
    } else {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      fields.back() += text[i];
    }
  }
  return fields;
}

}  // namespace

std::string DeviceIdentity::text() const {
  return fmt::format("{}|{}|{}|{} units|{} GiB|{} cache|{} local", escaped(backend), escaped(name),
                     escaped(architecture), units, memory_gib, cache_bytes, local_bytes);
}

DeviceIdentity DeviceIdentity::parse(std::string_view text) {
  const auto fail = [&] {
    return Error(ErrorKind::input, fmt::format("device '{}': expected "
                                               "'backend|name|architecture|N units|N GiB|N cache|N local'",
                                               text.substr(0, 200)));
  };
  const std::vector<std::string> fields = split(text);
  if (fields.size() != 7) throw fail();
  const auto number = [&](const std::string& field, std::string_view unit) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    const std::string_view rest(end, static_cast<std::size_t>(field.data() + field.size() - end));
    if (error != std::errc() || value < 0 || rest != unit) throw fail();
    return value;
  };
  DeviceIdentity identity{.backend = fields[0],
                          .name = fields[1],
                          .architecture = fields[2],
                          .units = number(fields[3], " units"),
                          .memory_gib = number(fields[4], " GiB"),
                          .cache_bytes = number(fields[5], " cache"),
                          .local_bytes = number(fields[6], " local")};
  if (identity.text() != text) throw fail();
  return identity;
}

int DeviceIdentity::compute_capability() const {
  int major = 0, minor = 0;
  const char* end = architecture.data() + architecture.size();
  const auto first = std::from_chars(architecture.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  return second.ec == std::errc() && second.ptr == end ? 10 * major + minor : 0;
}

bool can_be_timed(std::string_view backend) { return backend != "emulator"; }

bool runs_cuda_templates(std::string_view backend) { return backend == "cuda" || backend == "emulator"; }

}  // namespace heddle
