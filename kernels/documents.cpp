#include "heddle/kernels/documents.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using nlohmann::json;
using Reason = BadDocument::Reason;

/// Counts what a parser finds, and makes it stop at the limits. A parser with a callback could do that too, but looks
/// through all elements of an array after each one.
class Counter final : public nlohmann::json_sax<json> {
 public:
  Counter(std::string_view bytes, const DocumentLimits& limits) : bytes_(bytes), limits_(limits) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool key(string_t& name) override {
    ++keys_;
    if (!members_.back().insert(name).second) {
      complaint.emplace(Reason::malformed, position_of_key(),
                        fmt::format("the member {} comes twice", in_quotes(name)));
    }
    return value();
  }
  bool start_object(std::size_t) override {
    members_.emplace_back();
    return open();
  }
  bool end_object() override {
    members_.pop_back();
    return close();
  }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& why) override {
    constexpr int kOutOfRange = 406;
    complaint = why.id == kOutOfRange ? BadDocument(Reason::number, position, "holds a number that no float64 can hold")
                                      : BadDocument(Reason::malformed, position == 0 ? 0 : position - 1, "not JSON");
    return false;
  }

  std::optional<BadDocument> complaint;

 private:
  bool value() {
    if (++values_ > limits_.values) complaint.emplace(Reason::too_many_values, 0, "too many values");
    return !complaint;
  }
  bool open() {
    if (++levels_ > limits_.levels) complaint.emplace(Reason::nested, 0, "nested too deeply");
    return !complaint && value();
  }
  bool close() {
    --levels_;
    return true;
  }

  /// Where the key stands that was found last; the parser does not say it. Up to there the bytes are JSON.
  std::size_t position_of_key() const {
    std::size_t left = keys_;
    for (std::size_t at = bytes_.find('"'); at < bytes_.size(); at = bytes_.find('"', at)) {
      const std::size_t begin = at++;
      while (at < bytes_.size() && bytes_[at] != '"') at += bytes_[at] == '\\' ? 2 : 1;
      at = bytes_.find_first_not_of(" \t\r\n", at + 1);
      if (at < bytes_.size() && bytes_[at] == ':' && --left == 0) return begin;
    }
    return 0;
  }

  std::string_view bytes_;
  const DocumentLimits& limits_;
  std::size_t levels_ = 0, values_ = 0, keys_ = 0;
  std::vector<std::set<std::string>> members_;  ///< that were found so far, of the objects around
};

/// Goes through CBOR (RFC 8949) without calling itself.
class Skimmer {
 public:
  Skimmer(std::string_view bytes, const DocumentLimits& limits) : bytes_(bytes), limits_(limits) {}

  void skim() {
    std::vector<std::uint64_t> missing{1};  // items, on each level
    while (!missing.empty()) {
      if (missing.back() == 0) {
        missing.pop_back();
        continue;
      }
      --missing.back();
      if (++values_ > limits_.values) fail(Reason::too_many_values, "too many values");
      if (const auto inside = item()) missing.push_back(*inside);
      if (missing.size() > limits_.levels + 1) fail(Reason::nested, "nested too deeply");
    }
    if (at_ != bytes_.size()) fail(Reason::malformed, "something follows the document");
  }

 private:
  enum Major : unsigned { kBytes = 2, kText = 3, kArray = 4, kMap = 5, kTag = 6 };

  [[noreturn]] void fail(Reason reason, const char* line) const { throw BadDocument(reason, at_, line); }

  std::uint8_t byte() {
    if (at_ == bytes_.size()) fail(Reason::malformed, "ends too early");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }

  /// How many items an array or a map holds; nothing for the rest, which is skipped.
  std::optional<std::uint64_t> item() {
    const unsigned first = byte(), major = first >> 5U, info = first & 31U;
    constexpr unsigned kLonger = 24, kLongest = 27;  // the argument follows in 1, 2, 4 or 8 bytes
    if (info > kLongest || major == kTag) fail(Reason::malformed, "holds a tag or something of indefinite length");
    std::uint64_t argument = info;
    if (info >= kLonger) {
      argument = 0;
      for (unsigned i = 0; i < 1U << (info - kLonger); ++i) argument = argument << 8U | byte();
    }
    if (major < kBytes || major > kTag) return std::nullopt;
    if (argument > bytes_.size() - at_) fail(Reason::malformed, "ends too early");
    if (major == kArray) return argument;
    if (major == kMap) return 2 * argument;
    at_ += argument;
    return std::nullopt;
  }

  std::string_view bytes_;
  const DocumentLimits& limits_;
  std::size_t at_ = 0, values_ = 0;
};

}  // namespace

json parse_json(std::string_view bytes, const DocumentLimits& limits) {
  Counter counter(bytes, limits);
  if (!json::sax_parse(bytes, &counter)) throw BadDocument(*std::move(counter.complaint));
  return json::parse(bytes);
}

json parse_cbor(std::string_view bytes, const DocumentLimits& limits) {
  Skimmer(bytes, limits).skim();
  try {
    return json::from_cbor(bytes);
  } catch (const json::exception&) {
    throw BadDocument(Reason::malformed, 0, "holds something that JSON does not have");
  }
}

std::string excerpt(const json& value) {
  const std::string all = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return all.size() <= 60 ? all : all.substr(0, 57) + "...";
}

}  // namespace heddle
