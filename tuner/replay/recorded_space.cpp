#include "heddle/tuner/replay/recorded_space.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/runtime/data/data_file.hpp"

namespace heddle {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostParameters = 1000;
constexpr int kDeepest = 16;  // the parser calls itself for every level

/// A complaint about a part of the file; read_recorded_space() puts the file's name before it.
[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::input, what); }

/// Makes JSON of what Python writes for numbers that JSON does not have, and refuses nesting: the parser calls itself
/// for every level.
std::string strict(std::string bytes) {
  bool inside = false;
  int depth = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (inside && c == '\\') {
      ++i;
    } else if (c == '"') {
      inside = !inside;
    } else if (inside) {
      continue;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) fail("nested too deeply, expected a recorded search space");
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == 'N' || c == 'I') {
      for (const std::string_view word : {"NaN", "Infinity"}) {
        if (bytes.compare(i, word.size(), word) != 0) continue;
        const bool negative = i > 0 && bytes[i - 1] == '-';
        const std::size_t begin = negative ? i - 1 : i;
        bytes.replace(begin, word.size() + (negative ? 1 : 0), "null");
        i = begin + 3;
        break;
      }
    }
  }
  return bytes;
}

Json parse(std::string bytes) {
  const std::size_t last = bytes.find_last_not_of(" \t\r\n");
  if (last != std::string::npos && bytes[last] == ',') bytes.replace(last, std::string::npos, "}}");  // an open cache
  try {
    return Json::parse(strict(std::move(bytes)));
  } catch (const Json::exception& error) {
    fail(fmt::format("found no JSON ({}), expected a recorded search space", error.what()));
  }
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string words(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr) return {};
  return value->is_string() ? value->get<std::string>() : value->dump();
}

/// A whole number is an integer, however it is written: the tools spell them both ways.
Value value_of(const std::string& parameter, const Json& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < kExact) return static_cast<std::int64_t>(number);
  }
  try {
    return value_from(value);
  } catch (const Error& error) {
    fail(fmt::format("parameter {}: {}", parameter, error.what()));
  }
}

/// Microseconds in one unit of time; the files spell them in several ways. Milliseconds if nothing is said.
double microseconds(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double microseconds;
  };
  static constexpr std::array<Unit, 12> kUnits{{{"", 1e3},
                                                {"ms", 1e3},
                                                {"milliseconds", 1e3},
                                                {"miliseconds", 1e3},
                                                {"s", 1e6},
                                                {"seconds", 1e6},
                                                {"us", 1.0},
                                                {"microseconds", 1.0},
                                                {"ns", 1e-3},
                                                {"nanoseconds", 1e-3},
                                                {"millisecond", 1e3},
                                                {"second", 1e6}}};
  for (const Unit& known : kUnits) {
    if (known.name == unit) return known.microseconds;
  }
  fail(fmt::format("found the unit '{}', expected a unit of time such as milliseconds", unit.substr(0, 80)));
}

double positive(const Json& value, const std::string& what) {
  if (!value.is_number() || !(value.get<double>() > 0.0) || !std::isfinite(value.get<double>())) {
    fail(fmt::format("{}: found {}, expected a time above 0", what, value.dump().substr(0, 80)));
  }
  return value.get<double>();
}

double not_negative(const Json* value) {
  if (value == nullptr || !value->is_number() || !(value->get<double>() >= 0.0)) return 0.0;
  return value->get<double>();
}

/// The words of T4 for how an attempt ended.
struct Invalidity {
  std::string_view word;
  Status status;
};
constexpr std::array<Invalidity, 6> kInvalidities{{{"correct", Status::correct},
                                                   {"compile", Status::compilation},
                                                   {"runtime", Status::launch},
                                                   {"correctness", Status::wrong_result},
                                                   {"constraints", Status::constraint},
                                                   {"timeout", Status::hang}}};

std::string_view invalidity(Status status) {
  switch (status) {
    case Status::correct:
    case Status::unverified:
    case Status::pruned:
      return "correct";
    case Status::overrun:
      return "correctness";
    case Status::illegal_access:
    case Status::out_of_memory:
    case Status::crash:
      return "runtime";
    default:
      break;
  }
  for (const Invalidity& known : kInvalidities) {
    if (known.status == status) return known.word;
  }
  return "runtime";
}

/// The words that Kernel Tuner writes in the place of a time.
std::optional<Status> failure(std::string_view word) {
  if (word == "InvalidConfig") return Status::constraint;
  if (word == "CompilationFailedConfig") return Status::compilation;
  if (word == "RuntimeFailedConfig") return Status::launch;
  return std::nullopt;
}

/// Collects configurations; a later record of one replaces an earlier, as in a cache.
class Collector {
 public:
  explicit Collector(RecordedSpace& space) : space_(space) {}
  void add(Configuration configuration, RecordedOutcome outcome) {
    const auto [place, fresh] = places_.emplace(configuration.text(), space_.configurations.size());
    if (fresh) {
      space_.configurations.push_back(std::move(configuration));
      space_.outcomes.push_back(std::move(outcome));
    } else {
      space_.outcomes[place->second] = std::move(outcome);
    }
  }

 private:
  RecordedSpace& space_;
  std::unordered_map<std::string, std::size_t> places_;
};

Configuration configuration_of(const RecordedSpace& space, const Json& record) {
  std::vector<Configuration::Entry> entries;
  for (const std::string& name : space.parameters) {
    if (const Json* value = find(record, name.c_str())) entries.emplace_back(name, value_of(name, *value));
  }
  return Configuration(std::move(entries));
}

// T4

const Json* measurement(const Json& result) {
  const Json* list = find(result, "measurements");
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& each : *list) {
    if (each.is_object() && words(each, "name") == "time") return &each;
  }
  return nullptr;
}

RecordedOutcome outcome_t4(const Json& result, const std::string& usual_unit) {
  RecordedOutcome outcome;
  const std::string word = words(result, "invalidity");
  const auto known = std::find_if(kInvalidities.begin(), kInvalidities.end(),
                                  [&](const Invalidity& each) { return each.word == word; });
  if (!word.empty() && known == kInvalidities.end()) {
    fail(fmt::format("found the invalidity '{}', expected one such as correct, compile, runtime", word.substr(0, 80)));
  }
  if (known != kInvalidities.end()) outcome.status = known->status;
  outcome.message = words(result, "message");
  // The tuner's own word is more exact where both say the same.
  const auto exact = parse_status(words(result, "status"));
  if (exact && (word.empty() || invalidity(*exact) == word)) outcome.status = *exact;

  const double usual = microseconds(usual_unit);
  const Json* times = find(result, "times");
  if (times != nullptr && times->is_object())
    outcome.compile_seconds = not_negative(find(*times, "compilation")) * usual * 1e-6;
  if (outcome.status != Status::correct && outcome.status != Status::unverified && outcome.status != Status::pruned) {
    return outcome;
  }
  const Json* time = measurement(result);
  const Json* value = time != nullptr ? find(*time, "value") : nullptr;
  if (value == nullptr) fail("found no measurement called time, expected one with a value");
  if (value->is_string()) {
    const auto failed = failure(value->get<std::string>());
    if (!failed) fail(fmt::format("found the time '{}', expected a number", value->get<std::string>().substr(0, 80)));
    outcome.status = *failed;
    return outcome;
  }
  const std::string unit = words(*time, "unit");
  outcome.time = positive(*value, "measurement time") * (unit.empty() ? usual : microseconds(unit));
  return outcome;
}

void read_t4(const Json& document, RecordedSpace& space) {
  const Json& results = document.at("results");
  if (!results.is_array()) fail("results: expected a list");
  std::string unit;
  if (const Json* metadata = find(document, "metadata"); metadata != nullptr && metadata->is_object()) {
    unit = words(*metadata, "timeunit");
    space.device = words(*metadata, "device");
    space.kernel = words(*metadata, "kernel");
    space.problem = words(*metadata, "problem");
    space.verified_against = words(*metadata, "verified_against");
    if (const Json* order = find(*metadata, "parameters"); order != nullptr && order->is_array()) {
      for (const Json& name : *order) {
        if (name.is_string()) space.parameters.push_back(name.get<std::string>());
      }
    }
  }
  std::size_t place = 0;
  Collector collector(space);
  for (const Json& result : results) {
    try {
      const Json* configuration = result.is_object() ? find(result, "configuration") : nullptr;
      if (configuration == nullptr || !configuration->is_object()) fail("found no configuration, expected one");
      for (const auto& [name, value] : configuration->items()) {
        if (std::find(space.parameters.begin(), space.parameters.end(), name) != space.parameters.end()) continue;
        if (space.parameters.size() == kMostParameters) fail("found more parameters than any search space has");
        space.parameters.push_back(name);
      }
      collector.add(configuration_of(space, *configuration), outcome_t4(result, unit));
    } catch (const Error& error) {
      fail(fmt::format("result {}: {}", place + 1, error.what()));
    }
    ++place;
  }
}

// T1

RecordedOutcome outcome_t1(const Json& record) {
  constexpr double kFailed = 1e20;  // what old versions wrote instead of a word
  RecordedOutcome outcome;
  outcome.compile_seconds = not_negative(find(record, "compile_time")) * 1e-3;
  const Json* time = find(record, "time");
  if (const auto failed = failure(words(record, "__error__"))) {
    outcome.status = *failed;
  } else if (time == nullptr || (time->is_number() && time->get<double>() >= kFailed)) {
    outcome.status = Status::launch;
  } else if (time->is_string()) {
    const auto word = failure(time->get<std::string>());
    if (!word) fail(fmt::format("found the time '{}', expected a number", time->get<std::string>().substr(0, 80)));
    outcome.status = *word;
  } else {
    outcome.time = positive(*time, "time") * microseconds("ms");
  }
  return outcome;
}

void read_t1(const Json& document, RecordedSpace& space) {
  space.device = words(document, "device_name");
  space.kernel = words(document, "kernel_name");
  space.problem = words(document, "problem_size");
  const Json* names = find(document, "tune_params_keys");
  if (names == nullptr || !names->is_array()) fail("tune_params_keys: expected a list of names");
  for (const Json& name : *names) {
    if (!name.is_string()) fail("tune_params_keys: expected a list of names");
    space.parameters.push_back(name.get<std::string>());
  }
  if (!document.at("cache").is_object()) fail("cache: expected records by configuration");
  Collector collector(space);
  for (const auto& [key, record] : document.at("cache").items()) {
    try {
      if (!record.is_object()) fail("expected a record");
      for (const std::string& name : space.parameters) {
        if (find(record, name.c_str()) == nullptr) fail(fmt::format("found no value for {}, expected one", name));
      }
      collector.add(configuration_of(space, record), outcome_t1(record));
    } catch (const Error& error) {
      fail(fmt::format("cache entry '{}': {}", key.substr(0, 200), error.what()));
    }
  }
}

RecordedSpace read(const std::string& bytes) {
  const Json document = parse(bytes);
  RecordedSpace space;
  if (document.is_object() && document.contains("results")) {
    read_t4(document, space);
  } else if (document.is_object() && document.contains("cache")) {
    read_t1(document, space);
  } else {
    fail("found neither results (T4) nor a cache (T1), expected a recorded search space");
  }
  if (space.configurations.empty()) fail("found no configuration, expected a recorded search space");
  if (std::none_of(space.outcomes.begin(), space.outcomes.end(), [](const auto& each) { return each.time; })) {
    fail("found no configuration that worked, expected at least one");
  }
  return space;
}

std::string gzip(const std::string& bytes) {
  constexpr int kGzip = 16;
  constexpr int kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw Error(ErrorKind::bug, "a recording could not be packed");
  return packed;
}

}  // namespace

double RecordedSpace::best() const {
  std::optional<double> best;
  for (const RecordedOutcome& outcome : outcomes) {
    if (outcome.time && (!best || *outcome.time < *best)) best = outcome.time;
  }
  return best.value();
}

RecordedSpace read_recorded_space(const std::filesystem::path& file) {
  const std::string bytes = read_data_file(file);
  try {
    RecordedSpace space = read(bytes);
    const std::string name = file.filename().string();
    space.name = name.substr(0, name.find('.', 1));
    return space;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", file.string(), error.what()));
  }
}

void write_recorded_space(const std::filesystem::path& file, const RecordedSpace& space) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < space.configurations.size(); ++i) {
    const RecordedOutcome& outcome = space.outcomes[i];
    nlohmann::ordered_json configuration = nlohmann::ordered_json::object();
    for (const auto& [name, value] : space.configurations[i].entries()) {
      configuration[name] = json_of(value);
    }
    constexpr double kMilliseconds = 1e-3;
    nlohmann::ordered_json time = {{"name", "time"}};
    if (outcome.time) {
      time["value"] = *outcome.time * kMilliseconds;
    } else {
      time["value"] = outcome.status == Status::compilation  ? "CompilationFailedConfig"
                      : outcome.status == Status::constraint ? "InvalidConfig"
                                                             : "RuntimeFailedConfig";
    }
    time["unit"] = "milliseconds";
    std::vector<double> runtimes;
    for (const double each : outcome.times) runtimes.push_back(each * kMilliseconds);
    results.push_back({{"configuration", configuration},
                       {"times", {{"compilation", outcome.compile_seconds * 1e3}, {"runtimes", runtimes}}},
                       {"invalidity", invalidity(outcome.status)},
                       {"correctness", outcome.time ? 1 : 0},
                       {"status", text(outcome.status)},
                       {"message", outcome.message},
                       {"measurements", nlohmann::ordered_json::array({time})},
                       {"objectives", {"time"}}});
  }
  const nlohmann::ordered_json document = {{"schema_version", "1.0.0"},
                                           {"metadata",
                                            {{"timeunit", "milliseconds"},
                                             {"device", space.device},
                                             {"kernel", space.kernel},
                                             {"problem", space.problem},
                                             {"verified_against", space.verified_against},
                                             {"parameters", space.parameters}}},
                                           {"results", results}};
  const std::string bytes = document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  write_file(file, file.extension() == ".gz" ? gzip(bytes) : bytes);
}

}  // namespace heddle
