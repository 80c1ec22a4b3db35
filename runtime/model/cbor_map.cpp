#include "heddle/runtime/model/cbor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

using Json = nlohmann::json;

template <class T>
void swap_unless_little(T& value) {
  if constexpr (std::endian::native == std::endian::big) {
    auto* bytes = reinterpret_cast<unsigned char*>(&value);
    std::reverse(bytes, bytes + sizeof value);
  }
}

/// Refuses nesting: the parser calls itself for every level and would run out of stack on a hostile file.
class ShallowOnly final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kDeepest; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= kDeepest; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  static constexpr int kDeepest = 8;
  int depth_ = 0;
};

}  // namespace

template <class T>
Json packed(const std::vector<T>& values) {
  std::vector<T> little = values;
  for (T& value : little) swap_unless_little(value);
  Json::binary_t::container_type bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), little.data(), bytes.size());
  return Json::binary(std::move(bytes));
}
template Json packed<float>(const std::vector<float>&);
template Json packed<double>(const std::vector<double>&);

template <class T>
std::optional<std::vector<T>> unpacked(const Json& bytes) {
  if (!bytes.is_binary() || bytes.get_binary().size() % sizeof(T) != 0) return std::nullopt;
  std::vector<T> values(bytes.get_binary().size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.get_binary().data(), values.size() * sizeof(T));
  for (T& value : values) swap_unless_little(value);
  return values;
}
template std::optional<std::vector<float>> unpacked<float>(const Json&);
template std::optional<std::vector<double>> unpacked<double>(const Json&);

std::optional<Json> parse_cbor_map(std::string_view bytes) {
  ShallowOnly guard;
  if (!Json::sax_parse(bytes, &guard, Json::input_format_t::cbor)) return std::nullopt;
  Json document = Json::from_cbor(bytes, true, false);
  if (!document.is_object()) return std::nullopt;
  return document;
}

CborMap::CborMap(const Json& map, std::string source, std::string path)
    : map_(map), source_(std::move(source)), path_(std::move(path)) {
  if (!map_.is_object()) refuse_entry("", "a map");
}

std::int64_t CborMap::whole(const char* name, std::int64_t least, std::int64_t most) const {
  const Json& entry = get(name);
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  if (!entry.is_number_integer()) refuse_entry(name, expected);
  // A number beyond int64 is kept as unsigned.
  if (entry.is_number_unsigned() && entry.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    refuse_entry(name, expected);
  }
  const auto value = entry.get<std::int64_t>();
  if (value < least || value > most) refuse_entry(name, expected);
  return value;
}

std::uint64_t CborMap::seed(const char* name) const {
  if (!get(name).is_number_unsigned()) refuse_entry(name, "a whole number");
  return get(name).get<std::uint64_t>();
}

double CborMap::number(const char* name) const {
  if (!get(name).is_number() || std::isnan(get(name).get<double>())) refuse_entry(name, "a number");
  return get(name).get<double>();
}

std::optional<double> CborMap::number_if_any(const char* name) const {
  return has(name) ? std::optional(number(name)) : std::nullopt;
}

std::string CborMap::word(const char* name) const {
  if (!get(name).is_string()) refuse_entry(name, "a text");
  return get(name).get<std::string>();
}

bool CborMap::second(const char* name, std::string_view first_word, std::string_view second_word) const {
  const std::string found = word(name);
  if (found != first_word && found != second_word) {
    refuse_entry(name, fmt::format("{} or {}", first_word, second_word));
  }
  return found == second_word;
}

std::vector<std::string> CborMap::words(const char* name) const {
  const Json& entry = get(name);
  const auto is_text = [](const Json& item) { return item.is_string(); };
  if (!entry.is_array() || !std::all_of(entry.begin(), entry.end(), is_text)) refuse_entry(name, "a list of texts");
  return entry.get<std::vector<std::string>>();
}

std::map<std::string, std::string> CborMap::texts(const char* name) const {
  const Json& entry = get(name);
  const auto is_text = [](const Json& item) { return item.is_string(); };
  if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_text)) refuse_entry(name, "a map of texts");
  return entry.get<std::map<std::string, std::string>>();
}

std::map<std::string, double> CborMap::numbers(const char* name) const {
  const Json& entry = get(name);
  const auto is_finite = [](const Json& item) { return item.is_number() && std::isfinite(item.get<double>()); };
  if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_finite)) refuse_entry(name, "a map of numbers");
  return entry.get<std::map<std::string, double>>();
}

std::map<std::string, std::int64_t> CborMap::counts(const char* name) const {
  const Json& entry = get(name);
  const auto is_count = [](const Json& item) {
    return item.is_number_unsigned() && item.get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargestCount);
  };
  if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_count)) refuse_entry(name, "a map of counts");
  return entry.get<std::map<std::string, std::int64_t>>();
}

const Json& CborMap::list(const char* name) const {
  if (!get(name).is_array()) refuse_entry(name, "a list");
  return get(name);
}

template <class T>
std::vector<T> CborMap::values(const char* name, std::int64_t size) const {
  std::optional<std::vector<T>> found = unpacked<T>(get(name));
  if (!found || found->size() != static_cast<std::size_t>(size)) {
    refuse_entry(name, fmt::format("{} numbers as bytes", size));
  }
  return std::move(*found);
}
template std::vector<float> CborMap::values<float>(const char*, std::int64_t) const;
template std::vector<double> CborMap::values<double>(const char*, std::int64_t) const;

const Json& CborMap::get(const char* name) const {
  const auto found = map_.find(name);
  if (found == map_.end()) {
    throw Error(ErrorKind::input,
                fmt::format("{}: found no '{}{}', expected a whole heddle model", source_, path_, name));
  }
  return *found;
}

void CborMap::refuse_entry(const std::string& name, const std::string& expected) const {
  std::string where = path_ + name;
  if (where.ends_with('.')) where.pop_back();
  throw Error(ErrorKind::input, fmt::format("{}: found something else at '{}', expected {}", source_, where, expected));
}

}  // namespace heddle
