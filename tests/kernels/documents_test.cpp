#include "heddle/kernels/documents.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace heddle;
using nlohmann::json;
using Reason = BadDocument::Reason;

namespace {

constexpr DocumentLimits kLimits{.levels = 3, .values = 20};

template <class Parse>
std::optional<Reason> reason(const Parse& parse, const std::string& bytes) {
  try {
    (void)parse(bytes, kLimits);
    return std::nullopt;
  } catch (const BadDocument& document) {
    return document.reason();
  }
}

std::string cbor(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_cbor(value);
  return {bytes.begin(), bytes.end()};
}

const std::vector<json> kGood{
    nullptr,
    true,
    -1,
    std::uint64_t{1} << 63U,
    1e300,
    "text",
    std::string(100'000, 'x'),
    json::array(),
    json::object(),
    json::binary({1, 2, 3}),
    {{"a", {1, 2, {{"b", nullptr}}}}, {"c", "d"}},
};

}  // namespace

TEST_CASE("documents within the limits come back") {
  for (const json& document : kGood) {
    CHECK(parse_cbor(cbor(document), kLimits) == document);
    if (!document.is_binary()) CHECK(parse_json(document.dump(), kLimits) == document);
  }
}

TEST_CASE("levels are counted, however many there are") {
  json deep = 1;
  for (int i = 0; i < 3; ++i) deep = json::array({deep});
  CHECK(parse_cbor(cbor(deep), kLimits) == deep);
  CHECK(parse_json(deep.dump(), kLimits) == deep);
  deep = {{"a", deep}};
  CHECK(reason(parse_cbor, cbor(deep)) == Reason::nested);
  CHECK(reason(parse_json, deep.dump()) == Reason::nested);
  constexpr int kMillion = 1'000'000;
  CHECK(reason(parse_json, std::string(kMillion, '[')) == Reason::nested);
  for (const char* opening : {"\x81", "\xa1\x61", "\x9f", "\xbf", "\x7f", "\x5f", "\xc0", "\xd8\x20"}) {
    std::string bytes;
    for (int i = 0; i < kMillion; ++i) bytes += opening;
    CHECK(reason(parse_cbor, bytes));
  }
}

TEST_CASE("values are counted before they are kept") {
  CHECK(reason(parse_json, json(std::vector<int>(19)).dump()) == std::nullopt);
  CHECK(reason(parse_json, json(std::vector<int>(20)).dump()) == Reason::too_many_values);
  CHECK(reason(parse_cbor, cbor(json(std::vector<int>(19)))) == std::nullopt);
  CHECK(reason(parse_cbor, cbor(json(std::vector<int>(20)))) == Reason::too_many_values);
}

TEST_CASE("what is none") {
  CHECK(reason(parse_json, "") == Reason::malformed);
  CHECK(reason(parse_json, "[1,]") == Reason::malformed);
  CHECK(reason(parse_json, "[1] 2") == Reason::malformed);
  CHECK(reason(parse_json, "1e999") == Reason::number);
  CHECK(reason(parse_cbor, "") == Reason::malformed);
  const std::string longer_than_there_is = "\x9b\xff\xff\xff\xff\xff\xff\xff\xff";
  CHECK(reason(parse_cbor, longer_than_there_is) == Reason::malformed);
  CHECK(reason(parse_cbor, "\x5b\x7f\xff\xff\xff\xff\xff\xff\xff") == Reason::malformed);
  CHECK(reason(parse_cbor, "\xa1\x01\x02") == Reason::malformed);  // a name that is no text
  CHECK(reason(parse_cbor, cbor(1) + cbor(2)) == Reason::malformed);
  try {
    (void)parse_json("[1,\n x]");
    FAIL("parsed");
  } catch (const BadDocument& document) {
    CHECK(document.position() == 5);
  }
}

TEST_CASE("any bytes are read or refused") {
  std::mt19937_64 random(std::random_device{}());
  const std::string good = cbor(kGood.back());
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (auto times = 1 + random() % 4; times > 0; --times)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    CAPTURE(bytes);
    (void)reason(parse_cbor, bytes);
    (void)reason(parse_json, bytes);
  }
}
