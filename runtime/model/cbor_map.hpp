// CBOR maps as model files have them: written with arrays of numbers as bytes, read without trusting anything.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Values as a byte string, little-endian. T: float or double.
template <class T>
[[nodiscard]] nlohmann::json packed(const std::vector<T>& values);
/// The values of such a byte string; nothing if it is none, or not a whole number of values.
template <class T>
[[nodiscard]] std::optional<std::vector<T>> unpacked(const nlohmann::json& bytes);

/// The document, if it is a map and not nested without end.
[[nodiscard]] std::optional<nlohmann::json> parse_cbor_map(std::string_view bytes);

/// A map whose entries are taken by name; every mistake is an Error(input) that names the entry. A view.
class CborMap {
 public:
  /// `source` begins error lines; `path` of this map, "training.", comes before the names of entries in them.
  CborMap(const nlohmann::json& map, std::string source, std::string path);

  [[nodiscard]] bool has(const char* name) const { return map_.contains(name); }
  [[nodiscard]] CborMap map(const char* name) const { return {get(name), source_, path_ + name + "."}; }
  [[nodiscard]] std::int64_t whole(const char* name, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] std::int64_t count(const char* name) const { return whole(name, 0, kLargestCount); }
  [[nodiscard]] std::uint64_t seed(const char* name) const;
  /// Infinity may be meant (a threshold of 0 has the logarithm -infinity); NaN never is.
  [[nodiscard]] double number(const char* name) const;
  [[nodiscard]] std::optional<double> number_if_any(const char* name) const;
  [[nodiscard]] std::string word(const char* name) const;
  /// Whether the entry is the second of two words.
  [[nodiscard]] bool second(const char* name, std::string_view first_word, std::string_view second_word) const;
  [[nodiscard]] std::vector<std::string> words(const char* name) const;
  [[nodiscard]] std::map<std::string, std::string> texts(const char* name) const;
  [[nodiscard]] std::map<std::string, double> numbers(const char* name) const;  ///< finite
  [[nodiscard]] std::map<std::string, std::int64_t> counts(const char* name) const;
  [[nodiscard]] const nlohmann::json& list(const char* name) const;
  /// `size`: how many there must be. T: float or double.
  template <class T>
  [[nodiscard]] std::vector<T> values(const char* name, std::int64_t size) const;

  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  static constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;

  [[nodiscard]] const nlohmann::json& get(const char* name) const;
  [[noreturn]] void refuse_entry(const std::string& name, const std::string& expected) const;

  const nlohmann::json& map_;
  std::string source_, path_;
};

}  // namespace heddle
