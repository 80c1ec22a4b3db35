// Documents from outside: JSON and CBOR that decide neither how deep a parser calls itself nor how much memory it
// takes.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heddle {

struct DocumentLimits {
  std::size_t levels = 8;                      ///< arrays and objects inside each other
  std::size_t values = std::size_t{1} << 20U;  ///< numbers, texts, arrays, objects, and names of members
};

class BadDocument : public std::runtime_error {
 public:
  enum class Reason {
    malformed,        ///< it is not JSON, or not CBOR; or a member of an object comes twice
    number,           ///< a number that no float64 can hold
    nested,           ///< more levels than allowed
    too_many_values,  ///< more values than allowed
  };
  BadDocument(Reason reason, std::size_t position, const std::string& line)
      : std::runtime_error(line), reason_(reason), position_(position) {}
  [[nodiscard]] Reason reason() const noexcept { return reason_; }
  /// Bytes before the place where it went wrong.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  Reason reason_;
  std::size_t position_;
};

/// Both take time and memory in proportion to `bytes`, and throw BadDocument. CBOR: without tags and indefinite
/// lengths, which nlohmann's writer never writes.
[[nodiscard]] nlohmann::json parse_json(std::string_view bytes, const DocumentLimits& limits = {});
[[nodiscard]] nlohmann::json parse_cbor(std::string_view bytes, const DocumentLimits& limits = {});

/// A part of a document for an error message: ASCII on one line, at most 60 bytes.
[[nodiscard]] std::string excerpt(const nlohmann::json& value);

}  // namespace heddle
