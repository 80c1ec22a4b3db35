// Imports damaged export files by the thousand: import_mutations [COUNT [SEED]]. Half of them are damaged as bytes,
// half as documents whose records are then signed again, so that the damage gets past the checksum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "fuzz/import_target.hpp"
#include "heddle/kernels/template_source.hpp"

namespace {

using nlohmann::json;
using Random = std::mt19937_64;

const std::vector<std::string> kTokens{"null",
                                       "true",
                                       "-1",
                                       "1e999",
                                       "1e308",
                                       "9223372036854775808",
                                       "\"\"",
                                       "{}",
                                       "[]",
                                       "[[[[",
                                       "\"\\u0000\"",
                                       "\xff\xfe",
                                       "\n",
                                       "rules=0",
                                       "rules=-1",
                                       "rules=99999999999999999999",
                                       " scheme=x",
                                       "=",
                                       "\"schema\": 2",
                                       ",",
                                       "\\",
                                       "0.0",
                                       "NaN",
                                       "heddle-profiles"};

std::size_t below(Random& random, std::size_t bound) { return bound == 0 ? 0 : random() % bound; }

std::string damaged_bytes(Random& random, std::string bytes, const std::string& other) {
  for (std::size_t times = 1 + below(random, 6); times > 0; --times) {
    const std::size_t at = below(random, bytes.size());
    const std::size_t length = std::min(below(random, 40), bytes.size() - at);
    switch (random() % 7) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(below(random, bytes.size()), length));
        break;
      case 3:
        bytes.insert(at, kTokens[below(random, kTokens.size())]);
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5:
        bytes.replace(at, length, other.substr(below(random, other.size()), length));
        break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random());
    }
  }
  return bytes;
}

std::string damaged_text(Random& random, std::string text) {
  const std::size_t at = below(random, text.size() + 1);
  switch (random() % 5) {
    case 0:
      return text.substr(0, at);
    case 1:
      return text.insert(at, kTokens[below(random, kTokens.size())]);
    case 2:
      return text + " " + text;
    case 3:  // another digit
      for (char& c : text) {
        if (c >= '0' && c <= '9' && random() % 4 == 0) c = static_cast<char>('0' + random() % 10);
      }
      return text;
    default:
      return std::string(random() % 6000, 'x');
  }
}

json any_value(Random& random) {
  const std::vector<json> values{nullptr,
                                 true,
                                 -1,
                                 0,
                                 1,
                                 1e308,
                                 -0.0,
                                 1e-320,
                                 std::uint64_t{1} << 63,
                                 "",
                                 "x",
                                 json::array(),
                                 json::object(),
                                 {1, "a"},
                                 9007199254740993};
  return values[below(random, values.size())];
}

void damage(Random& random, json& value) {
  if (value.is_string() && random() % 4 != 0) {
    value = damaged_text(random, value.get<std::string>());
  } else if (value.is_number() && random() % 2 == 0) {
    value = value.get<double>() * std::ldexp(1.0, static_cast<int>(random() % 80) - 40);
  } else if (value.is_structured() && !value.empty() && random() % 5 != 0) {
    auto chosen = std::next(value.begin(), static_cast<std::ptrdiff_t>(below(random, value.size())));
    switch (random() % 8) {
      case 0:
        value.erase(chosen);
        break;
      case 1:
        if (value.is_array()) value.push_back(json(*chosen));
        break;
      default:
        damage(random, *chosen);
    }
  } else {
    value = any_value(random);
  }
}

std::string damaged_document(Random& random, const std::string& bytes) {
  json document = json::parse(bytes);
  json& records = document["profiles"];
  for (std::size_t times = 1 + below(random, 3); times > 0; --times) {
    json& target = random() % 10 == 0 || records.empty() ? document : records[below(random, records.size())];
    damage(random, target);
    if (!document.is_object() || !document.contains("profiles") || !document["profiles"].is_array()) break;
  }
  if (document.is_object() && document.contains("profiles") && document["profiles"].is_array()) {
    for (json& record : document["profiles"]) {
      if (!record.is_object() || random() % 10 == 0) continue;
      record.erase("checksum");
      record["checksum"] = heddle::digest(record.dump(-1, ' ', false, json::error_handler_t::replace));
    }
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

int main(int count, char** values) {
  const long mutants = count > 1 ? std::atol(values[1]) : 5000;
  Random random(count > 2 ? std::strtoull(values[2], nullptr, 10) : 1);
  const auto& documents = heddle::test::good_documents();
  for (const std::string& document : documents) {
    if (!heddle::test::import_once(document)) {
      fmt::print(stderr, "a good document was refused\n");
      return 1;
    }
  }
  long taken = 0;
  for (long i = 0; i < mutants; ++i) {
    const std::string& bytes = documents[below(random, documents.size())];
    const std::string& other = documents[below(random, documents.size())];
    const std::string mutant =
        random() % 2 == 0 ? damaged_bytes(random, bytes, other) : damaged_document(random, bytes);
    taken += heddle::test::import_once(mutant) ? 1 : 0;
  }
  fmt::print("{} damaged documents: {} still valid, {} refused, none by halves\n", mutants, taken, mutants - taken);
  return 0;
}
