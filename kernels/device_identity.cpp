#include "heddle/kernels/device_identity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

// Fields are separated by '|'; in a vendor's name that character and the escape itself are escaped.
std::string escaped(std::string_view field) {
  std::string text;
  for (const char c : field) {
    if (c == '|' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> fields(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      fields.back() += text[++i];
    } else if (text[i] == '|') {
      fields.emplace_back();
    } else {
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
  if (fields.size() != 7 || fields[0].empty() || fields[1].empty()) throw fail();
  const auto number = [&](const std::string& field, std::string_view unit) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || value < 0 || std::string_view(end) != " " + std::string(unit)) throw fail();
    return value;
  };
  DeviceIdentity identity{.backend = fields[0],
                          .name = fields[1],
                          .architecture = fields[2],
                          .units = number(fields[3], "units"),
                          .memory_gib = number(fields[4], "GiB"),
                          .cache_bytes = number(fields[5], "cache"),
                          .local_bytes = number(fields[6], "local")};
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

}  // namespace heddle
