#include "heddle/runtime/model/model_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/data/data_file.hpp"

// The file is one CBOR map: "format" and "version" as below, "body": the bytes of a second CBOR map with the model,
// and "checksum": their digest(). Arrays of floats are byte strings, little-endian.
namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "heddle model";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 24;

// --- writing ---------------------------------------------------------------------------------------------------------

template <class T>
void swap_unless_little(T& value) {
  if constexpr (std::endian::native == std::endian::big) {
    auto* bytes = reinterpret_cast<unsigned char*>(&value);
    std::reverse(bytes, bytes + sizeof value);
  }
}

template <class T>
Json packed(std::vector<T> values) {
  for (T& value : values) swap_unless_little(value);
  Json::binary_t::container_type bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Json::binary(std::move(bytes));
}

Json encode(const sonfin::Network& network) {
  Json map{{"dim", network.dim},
           {"outputs", network.outputs},
           {"rules", network.rules()},
           {"centres", packed(network.centres)},
           {"widths", packed(network.widths)},
           {"consequents", packed(network.consequents)}};
  if (network.order != 0) map["order"] = network.order;
  return map;
}

Json encode(const Scaling& scaling) {
  return {{"kind", text(scaling.kind)}, {"offset", packed(scaling.offset)}, {"factor", packed(scaling.factor)}};
}

Json encode(const sonfin::Hyperparameters& h) {
  return {{"consequent_rate", h.consequent_rate},
          {"antecedent_rate", h.antecedent_rate},
          {"threshold", h.threshold},
          {"overlap", h.overlap},
          {"minimum_width", h.minimum_width},
          {"first_width", h.first_width},
          {"step", h.step == sonfin::Step::plain ? "plain" : "scaled"},
          {"width", h.width == sonfin::Width::squared ? "squared" : "distance"},
          {"max_rules", h.max_rules}};
}

Json encode(const EpochRecord& r) {
  Json record{{"epoch", r.epoch},
              {"rules", r.rules},
              {"samples", r.samples},
              {"train_error", r.train_error},
              {"microseconds_per_sample", r.microseconds_per_sample}};
  const auto put = [&record](const char* name, const std::optional<double>& value) {
    if (value) record[name] = *value;
  };
  put("validation_error", r.validation_error);
  put("validation_value", r.validation_value);
  put("test_error", r.test_error);
  put("test_value", r.test_value);
  return record;
}

Json encode(const TrainingState& t) {
  Json history = Json::array();
  for (const EpochRecord& record : t.history) history.push_back(encode(record));
  Json state{{"trainer", t.trainer},
             {"options", t.options},
             {"epochs", t.epochs},
             {"position", t.position},
             {"partial_loss", t.partial_loss},
             {"seed", t.seed},
             {"log_threshold", t.log_threshold},
             {"best_epoch", t.best_epoch},
             {"best_error", t.best_error},
             {"epochs_without_improvement", t.epochs_without_improvement},
             {"history", std::move(history)}};
  if (!t.numbers.empty()) state["numbers"] = t.numbers;
  if (t.last) state["last"] = encode(*t.last);
  if (!t.antecedents.empty()) state["antecedents"] = packed(t.antecedents);
  return state;
}

Json encode_body(const Model& model) {
  Json body{{"task", model.task == Task::classify ? "classify" : "regress"},
            {"network", encode(model.network)},
            {"hyperparameters", encode(model.hyperparameters)},
            {"inputs", encode(model.inputs)},
            {"input_names", model.input_names},
            {"training", encode(model.training)},
            {"provenance", model.provenance}};
  if (model.task == Task::classify) {
    body["classes"] = model.classes;
  } else {
    body["targets"] = encode(model.targets);
    body["target_names"] = model.target_names;
  }
  return body;
}

// --- reading ---------------------------------------------------------------------------------------------------------

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

template <class Bytes>
std::optional<Json> parse_cbor(const Bytes& bytes) {
  ShallowOnly guard;
  if (!Json::sax_parse(bytes, &guard, Json::input_format_t::cbor)) return std::nullopt;
  Json document = Json::from_cbor(bytes, true, false);
  if (!document.is_object()) return std::nullopt;
  return document;
}

/// A map whose entries are taken by name; every mistake is an Error(input) that names the entry.
class Entries {
 public:
  Entries(const Json& map, std::string source, std::string path)
      : map_(map), source_(std::move(source)), path_(std::move(path)) {
    if (!map_.is_object()) refuse("", "a map");
  }

  [[nodiscard]] bool has(const char* name) const { return map_.contains(name); }
  [[nodiscard]] Entries map(const char* name) const { return {get(name), source_, path_ + name + "."}; }
  [[nodiscard]] std::int64_t whole(const char* name, std::int64_t least, std::int64_t most) const {
    const Json& entry = get(name);
    const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!entry.is_number_integer()) refuse(name, expected);
    // A number beyond int64 is kept as unsigned.
    if (entry.is_number_unsigned() && entry.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
      refuse(name, expected);
    }
    const auto value = entry.get<std::int64_t>();
    if (value < least || value > most) refuse(name, expected);
    return value;
  }
  [[nodiscard]] std::int64_t count(const char* name) const { return whole(name, 0, std::int64_t{1} << 53); }
  [[nodiscard]] std::uint64_t seed(const char* name) const {
    if (!get(name).is_number_unsigned()) refuse(name, "a whole number");
    return get(name).get<std::uint64_t>();
  }
  /// Infinity may be meant (a threshold of 0 has the logarithm -infinity); NaN never is.
  [[nodiscard]] double number(const char* name) const {
    if (!get(name).is_number() || std::isnan(get(name).get<double>())) refuse(name, "a number");
    return get(name).get<double>();
  }
  [[nodiscard]] std::optional<double> number_if_any(const char* name) const {
    return has(name) ? std::optional(number(name)) : std::nullopt;
  }
  [[nodiscard]] std::string word(const char* name) const {
    if (!get(name).is_string()) refuse(name, "a text");
    return get(name).get<std::string>();
  }
  /// Whether the entry is the second of two words.
  [[nodiscard]] bool second(const char* name, std::string_view first_word, std::string_view second_word) const {
    const std::string found = word(name);
    if (found != first_word && found != second_word) {
      refuse(name, std::string(first_word) + " or " + std::string(second_word));
    }
    return found == second_word;
  }
  [[nodiscard]] std::vector<std::string> words(const char* name) const {
    const Json& entry = get(name);
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (!entry.is_array() || !std::all_of(entry.begin(), entry.end(), is_text)) refuse(name, "a list of texts");
    return entry.get<std::vector<std::string>>();
  }
  [[nodiscard]] std::map<std::string, std::string> texts(const char* name) const {
    const Json& entry = get(name);
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_text)) refuse(name, "a map of texts");
    return entry.get<std::map<std::string, std::string>>();
  }
  [[nodiscard]] std::map<std::string, double> numbers(const char* name) const {
    const Json& entry = get(name);
    const auto is_finite = [](const Json& item) { return item.is_number() && std::isfinite(item.get<double>()); };
    if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_finite)) refuse(name, "a map of numbers");
    return entry.get<std::map<std::string, double>>();
  }
  [[nodiscard]] const Json& list(const char* name) const {
    if (!get(name).is_array()) refuse(name, "a list");
    return get(name);
  }
  /// `size`: how many there must be.
  template <class T>
  [[nodiscard]] std::vector<T> unpacked(const char* name, std::int64_t size) const {
    const Json& entry = get(name);
    if (!entry.is_binary() || entry.get_binary().size() != static_cast<std::size_t>(size) * sizeof(T)) {
      refuse(name, std::to_string(size) + " numbers as bytes");
    }
    std::vector<T> values(static_cast<std::size_t>(size));
    if (size > 0) std::memcpy(values.data(), entry.get_binary().data(), values.size() * sizeof(T));
    for (T& value : values) swap_unless_little(value);
    return values;
  }
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  [[nodiscard]] const Json& get(const char* name) const {
    const auto found = map_.find(name);
    if (found == map_.end()) {
      throw Error(ErrorKind::input, source_ + ": found no '" + path_ + name + "', expected a whole heddle model");
    }
    return *found;
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const {
    std::string where = path_ + name;
    if (where.ends_with('.')) where.pop_back();
    throw Error(ErrorKind::input, source_ + ": found something else at '" + where + "', expected " + expected);
  }

  const Json& map_;
  std::string source_, path_;
};

sonfin::Network decode_network(const Entries& from) {
  sonfin::Network network;
  network.dim = from.whole("dim", 1, kLargestExtent);
  network.outputs = from.whole("outputs", 1, kLargestExtent);
  network.order = from.has("order") ? static_cast<int>(from.whole("order", 0, 1)) : 0;
  // Products stay below 2^63.
  const std::int64_t rules = from.whole("rules", 0, network.order == 0 ? kLargestExtent : 1 << 14);
  network.centres = from.unpacked<float>("centres", rules * network.dim);
  network.widths = from.unpacked<float>("widths", rules * network.dim);
  network.consequents = from.unpacked<float>("consequents", rules * network.numbers());
  return network;
}

Scaling decode_scaling(const Entries& from, std::int64_t columns) {
  Scaling scaling;
  const std::string kind = from.word("kind");
  const auto kinds = {Scale::none, Scale::minmax, Scale::zscore};
  const auto* const found = std::find_if(kinds.begin(), kinds.end(), [&](Scale s) { return text(s) == kind; });
  if (found == kinds.end()) {
    throw Error(ErrorKind::input, from.source() + ": found an unknown scaling, expected none, minmax or zscore");
  }
  scaling.kind = *found;
  scaling.offset = from.unpacked<double>("offset", columns);
  scaling.factor = from.unpacked<double>("factor", columns);
  return scaling;
}

sonfin::Hyperparameters decode_hyperparameters(const Entries& from) {
  return {.consequent_rate = from.number("consequent_rate"),
          .antecedent_rate = from.number("antecedent_rate"),
          .threshold = from.number("threshold"),
          .overlap = from.number("overlap"),
          .minimum_width = from.number("minimum_width"),
          .first_width = from.number("first_width"),
          .step = from.second("step", "scaled", "plain") ? sonfin::Step::plain : sonfin::Step::scaled,
          .width = from.second("width", "distance", "squared") ? sonfin::Width::squared : sonfin::Width::distance,
          .max_rules = from.whole("max_rules", 1, kLargestExtent)};
}

EpochRecord decode_record(const Entries& from) {
  return {.epoch = from.count("epoch"),
          .rules = from.count("rules"),
          .samples = from.count("samples"),
          .train_error = from.number("train_error"),
          .validation_error = from.number_if_any("validation_error"),
          .validation_value = from.number_if_any("validation_value"),
          .test_error = from.number_if_any("test_error"),
          .test_value = from.number_if_any("test_value"),
          .microseconds_per_sample = from.number("microseconds_per_sample")};
}

TrainingState decode_training(const Entries& from) {
  TrainingState state;
  state.trainer = from.word("trainer");
  state.options = from.texts("options");
  state.epochs = from.count("epochs");
  state.position = from.count("position");
  state.partial_loss = from.number("partial_loss");
  state.seed = from.seed("seed");
  state.log_threshold = from.number("log_threshold");
  state.best_epoch = from.count("best_epoch");
  state.best_error = from.number("best_error");
  state.epochs_without_improvement = from.count("epochs_without_improvement");
  if (from.has("numbers")) state.numbers = from.numbers("numbers");
  if (from.has("last")) state.last = decode_network(from.map("last"));
  if (state.last && from.has("antecedents")) {
    state.antecedents = from.unpacked<double>("antecedents", 2 * state.last->rules() * state.last->dim);
  }
  for (const Json& record : from.list("history")) {
    state.history.push_back(decode_record({record, from.source(), "training.history."}));
  }
  return state;
}

Model decode_body(const Entries& from) {
  Model model;
  model.task = from.second("task", "classify", "regress") ? Task::regress : Task::classify;
  model.network = decode_network(from.map("network"));
  model.hyperparameters = decode_hyperparameters(from.map("hyperparameters"));
  model.inputs = decode_scaling(from.map("inputs"), model.network.dim);
  model.input_names = from.words("input_names");
  model.training = decode_training(from.map("training"));
  model.provenance = from.texts("provenance");
  if (model.task == Task::classify) {
    model.classes = from.words("classes");
  } else {
    model.targets = decode_scaling(from.map("targets"), model.network.outputs);
    model.target_names = from.words("target_names");
  }
  return model;
}

std::string_view view(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string encode_model(const Model& model) {
  std::vector<std::uint8_t> body = Json::to_cbor(encode_body(model));
  std::string checksum = digest(view(body));
  const std::vector<std::uint8_t> file = Json::to_cbor(Json{{"format", kFormat},
                                                            {"version", kVersion},
                                                            {"checksum", std::move(checksum)},
                                                            {"body", Json::binary(std::move(body))}});
  return std::string(view(file));
}

Model decode_model(std::string_view bytes, const std::string& source) {
  const auto refuse = [&](const std::string& found, const std::string& expected) -> void {
    throw Error(ErrorKind::input, source + ": found " + found + ", expected " + expected);
  };
  const std::optional<Json> document = parse_cbor(bytes);
  if (!document || document->value("format", Json()) != kFormat)
    refuse("no heddle model, or part of one", "all of one");
  const Entries file(*document, source, "");
  const std::int64_t version = file.whole("version", 1, std::numeric_limits<std::int64_t>::max());
  if (version > kVersion) {
    refuse("a model of format " + std::to_string(version) + " from a newer heddle",
           "at most format " + std::to_string(kVersion));
  }
  const Json& body_bytes = document->value("body", Json());
  if (!body_bytes.is_binary() || digest(view(body_bytes.get_binary())) != file.word("checksum")) {
    refuse("a damaged model (its checksum is wrong)", "an intact one");
  }
  const std::optional<Json> body = parse_cbor(view(body_bytes.get_binary()));
  if (!body) refuse("a model that cannot be read", "CBOR");
  Model model = decode_body({*body, source, ""});
  check(model, source);
  return model;
}

std::int64_t largest_encoding(const Model& model, std::int64_t rules, std::int64_t epochs) {
  constexpr std::int64_t kRecord = 200;   // nine named numbers in CBOR
  constexpr std::int64_t kOthers = 4096;  // numbers that take more bytes later, texts that are set last
  const std::int64_t floats = rules * (2 * model.network.dim + model.network.numbers());
  const std::int64_t doubles = 2 * rules * model.network.dim;
  constexpr std::int64_t kNetworks = 2;  // the best, and the last
  return static_cast<std::int64_t>(encode_model(model).size()) + 4 * kNetworks * floats + 8 * doubles +
         kRecord * epochs + kOthers;
}

void save_model(const Model& model, ReservedFile& place) {
  const std::string bytes = encode_model(model);
  (void)decode_model(bytes, place.file().string());
  place.write(bytes);
}

void save_model(const Model& model, const std::filesystem::path& file) {
  ReservedFile place(file);
  save_model(model, place);
}

Model load_model(const std::filesystem::path& file) { return decode_model(read_file(file), file.string()); }

}  // namespace heddle
