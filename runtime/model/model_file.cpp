#include "heddle/runtime/model/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "heddle/kernels/template_source.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/data_file.hpp"
#include "heddle/runtime/model/cbor_map.hpp"
#include "heddle/runtime/model/checks.hpp"
#include "heddle/runtime/model/model_file_1.hpp"

// The file is one CBOR map: "format" and "version" as below, "body": the bytes of a second CBOR map with the model,
// and "checksum": their digest(). The part of the network is read and written by its kind.
namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "heddle model";
constexpr std::int64_t kVersion = 2;

// --- writing ---------------------------------------------------------------------------------------------------------

Json encode(const Scaling& scaling) {
  return {{"kind", text(scaling.kind)}, {"offset", packed(scaling.offset)}, {"factor", packed(scaling.factor)}};
}

Json encode(const InputCoding& coding) {
  return {{"categories", text(coding.categories)},
          {"missing", coding.missing_is_category ? "category" : "refused"},
          {"columns", coding.columns}};
}

Json encode(const EpochRecord& r) {
  Json record{{"epoch", r.epoch},
              {"counts", r.counts},
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
  Json state{{"options", t.options},
             {"epochs", t.epochs},
             {"position", t.position},
             {"partial_loss", t.partial_loss},
             {"seed", t.seed},
             {"best_epoch", t.best_epoch},
             {"best_error", t.best_error},
             {"epochs_without_improvement", t.epochs_without_improvement},
             {"history", std::move(history)}};
  if (!t.rows.empty()) state["rows"] = t.rows;
  return state;
}

Json encode(const AnyNetwork& network) {
  Json map = Json::object();
  std::visit(
      [&](const auto& own) {
        map["kind"] = own.kName;
        own.encode(map);
      },
      network);
  return map;
}

Json encode_body(const Model& model) {
  Json body{{"task", model.task == Task::classify ? "classify" : "regress"},
            {"network", encode(model.network)},
            {"inputs", encode(model.inputs)},
            {"input_names", model.input_names},
            {"training", encode(model.training)},
            {"provenance", model.provenance}};
  if (!model.coding.columns.empty()) body["coding"] = encode(model.coding);
  if (model.task == Task::classify) {
    body["classes"] = model.classes;
  } else {
    body["targets"] = encode(model.targets);
    body["target_names"] = model.target_names;
  }
  return body;
}

// --- reading ---------------------------------------------------------------------------------------------------------

/// Reads the network of the kind that the file names; `Next`: of the kinds, the first that is still to be looked at.
template <std::size_t Next = 0>
AnyNetwork decode_network(const CborMap& from, const std::string& kind) {
  if constexpr (Next < std::variant_size_v<AnyNetwork>) {
    using Kind = std::variant_alternative_t<Next, AnyNetwork>;
    if (kind == Kind::kName) return Kind::decode(from);
    return decode_network<Next + 1>(from, kind);
  } else {
    refuse_model(from.source(), fmt::format("a network of the kind {}", in_quotes(kind)), "one that this heddle knows");
  }
}

Scaling decode_scaling(const CborMap& from, std::int64_t columns) {
  Scaling scaling;
  const std::string kind = from.word("kind");
  const auto kinds = {Scale::none, Scale::minmax, Scale::zscore, Scale::unit};
  const auto* const found = std::find_if(kinds.begin(), kinds.end(), [&](Scale s) { return text(s) == kind; });
  if (found == kinds.end()) {
    throw Error(ErrorKind::input, from.source() + ": found an unknown scaling, expected none, minmax, zscore or unit");
  }
  scaling.kind = *found;
  scaling.offset = from.values<double>("offset", columns);
  scaling.factor = from.values<double>("factor", columns);
  return scaling;
}

InputCoding decode_coding(const CborMap& from) {
  InputCoding coding;
  coding.categories = from.second("categories", "index", "one-hot") ? Categories::one_hot : Categories::index;
  coding.missing_is_category = from.second("missing", "refused", "category");
  for (const Json& column : from.list("columns")) {
    const auto is_text = [](const Json& word) { return word.is_string(); };
    if (!column.is_array() || !std::all_of(column.begin(), column.end(), is_text)) {
      refuse_model(from.source(), "something else among the columns", "lists of categories");
    }
    coding.columns.push_back(column.get<std::vector<std::string>>());
  }
  return coding;
}

EpochRecord decode_record(const CborMap& from) {
  return {.epoch = from.count("epoch"),
          .counts = from.counts("counts"),
          .samples = from.count("samples"),
          .train_error = from.number("train_error"),
          .validation_error = from.number_if_any("validation_error"),
          .validation_value = from.number_if_any("validation_value"),
          .test_error = from.number_if_any("test_error"),
          .test_value = from.number_if_any("test_value"),
          .microseconds_per_sample = from.number("microseconds_per_sample")};
}

TrainingState decode_training(const CborMap& from) {
  TrainingState state;
  state.options = from.texts("options");
  state.epochs = from.count("epochs");
  state.position = from.count("position");
  state.partial_loss = from.number("partial_loss");
  state.seed = from.seed("seed");
  if (from.has("rows")) state.rows = from.word("rows");
  state.best_epoch = from.count("best_epoch");
  state.best_error = from.number("best_error");
  state.epochs_without_improvement = from.count("epochs_without_improvement");
  for (const Json& record : from.list("history")) {
    state.history.push_back(decode_record({record, from.source(), "training.history."}));
  }
  return state;
}

Model decode_body(const CborMap& from) {
  Model model;
  model.task = from.second("task", "classify", "regress") ? Task::regress : Task::classify;
  const CborMap network = from.map("network");
  model.network = decode_network(network, network.word("kind"));
  model.inputs = decode_scaling(from.map("inputs"), model.dim());
  model.input_names = from.words("input_names");
  if (from.has("coding")) model.coding = decode_coding(from.map("coding"));
  model.training = decode_training(from.map("training"));
  model.provenance = from.texts("provenance");
  if (model.task == Task::classify) {
    model.classes = from.words("classes");
  } else {
    model.targets = decode_scaling(from.map("targets"), model.outputs());
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
  const std::optional<Json> document = parse_cbor_map(bytes);
  if (!document || document->value("format", Json()) != kFormat) {
    refuse_model(source, "no heddle model, or part of one", "all of one");
  }
  const CborMap file(*document, source, "");
  const std::int64_t version = file.whole("version", 1, std::numeric_limits<std::int64_t>::max());
  if (version > kVersion) {
    refuse_model(source, fmt::format("a model of format {} from a newer heddle", version),
                 fmt::format("at most format {}", kVersion));
  }
  const Json& body_bytes = document->value("body", Json());
  if (!body_bytes.is_binary() || digest(view(body_bytes.get_binary())) != file.word("checksum")) {
    refuse_model(source, "a damaged model (its checksum is wrong)", "an intact one");
  }
  std::optional<Json> body = parse_cbor_map(view(body_bytes.get_binary()));
  if (!body) refuse_model(source, "a model that cannot be read", "CBOR");
  if (version == 1) body = from_format_1(std::move(*body));
  Model model = decode_body({*body, source, ""});
  check(model, source);
  return model;
}

std::int64_t largest_encoding(const Model& model, std::int64_t network, std::int64_t epochs) {
  constexpr std::int64_t kRecord = 256;   // ten named numbers in CBOR
  constexpr std::int64_t kOthers = 4096;  // numbers that take more bytes later, texts that are set last
  return static_cast<std::int64_t>(encode_model(model).size()) + network + kRecord * epochs + kOthers;
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
