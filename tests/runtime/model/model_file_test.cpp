#include "heddle/runtime/model/model_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/model/cbor_map.hpp"
#include "runtime/model/sample_models.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

using Json = nlohmann::json;

void check_same(const sonfin::Network& a, const sonfin::Network& b) {
  CHECK(a.dim == b.dim);
  CHECK(a.outputs == b.outputs);
  CHECK(a.centres == b.centres);
  CHECK(a.widths == b.widths);
  CHECK(a.consequents == b.consequents);
}

void check_same(const SonfinModel& a, const SonfinModel& b) {
  check_same(a.network, b.network);
  const sonfin::Hyperparameters &g = a.hyperparameters, &h = b.hyperparameters;
  CHECK(g.consequent_rate == h.consequent_rate);
  CHECK(g.antecedent_rate == h.antecedent_rate);
  CHECK(g.threshold == h.threshold);
  CHECK(g.overlap == h.overlap);
  CHECK(g.minimum_width == h.minimum_width);
  CHECK(g.first_width == h.first_width);
  CHECK(g.step == h.step);
  CHECK(g.width == h.width);
  CHECK(g.max_rules == h.max_rules);
  CHECK(a.log_threshold == b.log_threshold);
  REQUIRE(a.last.has_value() == b.last.has_value());
  if (a.last) check_same(*a.last, *b.last);
}

void check_same(const MlpModel& a, const MlpModel& b) {
  CHECK(mlp::same(a.layers, b.layers));
  CHECK(a.hidden == b.hidden);
  CHECK(a.output == b.output);
  CHECK(a.parameters == b.parameters);
  REQUIRE(a.last.has_value() == b.last.has_value());
  if (!a.last) return;
  CHECK(a.last->parameters == b.last->parameters);
  CHECK(a.last->state == b.last->state);
  const mlp::Progress &p = a.last->progress, &q = b.last->progress;
  CHECK(p.steps == q.steps);
  CHECK(p.epoch == q.epoch);
  CHECK(p.position == q.position);
  CHECK(p.restores == q.restores);
  CHECK(p.squares == q.squares);
  CHECK(p.best == q.best);
  CHECK(p.beta1_power == q.beta1_power);
  CHECK(p.beta2_power == q.beta2_power);
}

void check_same(const tsk::System& a, const tsk::System& b) {
  CHECK(a.dim == b.dim);
  CHECK(a.outputs == b.outputs);
  CHECK(a.order == b.order);
  CHECK(a.centres == b.centres);
  CHECK(a.widths == b.widths);
  CHECK(a.consequents == b.consequents);
}

void check_same(const TskModel& a, const TskModel& b) {
  check_same(a.system, b.system);
  REQUIRE(a.last.has_value() == b.last.has_value());
  if (a.last) check_same(*a.last, *b.last);
  CHECK(a.antecedents == b.antecedents);
  CHECK(a.adaptation == b.adaptation);
}

void check_same(const Model& a, const Model& b) {
  CHECK(a.task == b.task);
  REQUIRE(a.network.index() == b.network.index());
  std::visit([&](const auto& own) { check_same(own, std::get<std::decay_t<decltype(own)>>(b.network)); }, a.network);
  for (const auto& [x, y] : {std::pair(&a.inputs, &b.inputs), {&a.targets, &b.targets}}) {
    CHECK(x->kind == y->kind);
    CHECK(x->offset == y->offset);
    CHECK(x->factor == y->factor);
  }
  CHECK(a.classes == b.classes);
  CHECK(a.input_names == b.input_names);
  CHECK(a.target_names == b.target_names);
  const TrainingState &s = a.training, &t = b.training;
  CHECK(s.options == t.options);
  CHECK(s.epochs == t.epochs);
  CHECK(s.position == t.position);
  CHECK(s.partial_loss == t.partial_loss);
  CHECK(s.seed == t.seed);
  CHECK(s.rows == t.rows);
  CHECK(s.best_epoch == t.best_epoch);
  CHECK(s.best_error == t.best_error);
  CHECK(s.epochs_without_improvement == t.epochs_without_improvement);
  CHECK(s.history == t.history);
  CHECK(a.provenance == b.provenance);
}

std::string bytes_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string refused(const std::string& bytes) {
  try {
    (void)decode_model(bytes, "f");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    std::string line = error.what();
    CHECK(line.starts_with("f: "));
    CHECK(line.find('\n') == std::string::npos);
    return line;
  }
  return "";
}

std::string cbor(const Json& document) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(document);
  return {bytes.begin(), bytes.end()};
}

/// A file around `body` whose checksum is right.
std::string file_around(const std::string& body, int version = 2) {
  return cbor({{"format", "heddle model"},
               {"version", version},
               {"checksum", digest(body)},
               {"body", Json::binary(std::vector<std::uint8_t>(body.begin(), body.end()))}});
}

Json body_of(const std::string& file) { return Json::from_cbor(Json::from_cbor(file)["body"].get_binary()); }

/// The sample's body with one entry replaced.
std::string spoiled(const std::string& pointer, const Json& value, const Model& sample = sample_classifier()) {
  Json body = body_of(encode_model(sample));
  body[Json::json_pointer(pointer)] = value;
  return file_around(cbor(body));
}

std::filesystem::path golden(const char* name) { return std::filesystem::path(HEDDLE_GOLDEN) / name; }

TEST_CASE("what is saved comes back") {
  const TemporaryFolder folder;
  Model with_rows = sample_classifier();
  with_rows.training.rows = digest("rows");
  for (const Model& model :
       {sample_classifier(), sample_regression(), sample_system(), sample_perceptron(), with_rows}) {
    save_model(model, folder.path() / "model.heddle");
    check_same(load_model(folder.path() / "model.heddle"), model);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  }
  CHECK_THROWS_AS(save_model(sample_regression(), folder.path() / "none" / "model.heddle"), Error);
  CHECK_THROWS_AS((void)load_model(folder.path() / "none"), Error);
}

TEST_CASE("what could not be read again is not saved, and what was there stays") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "model.heddle";
  save_model(sample_classifier(), file);
  for (const float bad : {std::nanf(""), INFINITY, 0.0F, 1e30F}) {
    Model model = sample_classifier();
    std::get<SonfinModel>(model.network).network.widths[2] = bad;
    CHECK_THROWS_AS(save_model(model, file), Error);
    CHECK_THROWS_AS(save_model(model, folder.path() / "other"), Error);
  }
  check_same(load_model(file), sample_classifier());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

EpochRecord longest_record() {
  EpochRecord record;
  record.epoch = record.samples = std::int64_t{1} << 40;
  record.counts = {{"rules", std::int64_t{1} << 40}};
  record.train_error = 0.1;
  record.validation_error = record.validation_value = record.test_error = record.test_value = 0.1;
  record.microseconds_per_sample = 0.1;
  return record;
}

TEST_CASE("no model file is larger than its room") {
  for (const std::int64_t rules : {4, 100, 3000}) {
    for (const std::int64_t epochs : {3, 1000}) {
      const auto tasks = static_cast<std::size_t>(2 * rules), outputs = static_cast<std::size_t>(3 * rules);
      const std::vector<float> antecedents(tasks, 0.5F);
      const auto check_room = [&](Model grown, const AnyNetwork& network, std::int64_t room) {
        grown.network = network;
        grown.training.history.assign(static_cast<std::size_t>(epochs), longest_record());
        CHECK(static_cast<std::int64_t>(encode_model(grown).size()) <= room);
      };
      const Model small = sample_classifier();
      auto sonfin = std::get<SonfinModel>(small.network);
      const std::int64_t sonfin_room = largest_encoding(small, sonfin.largest_bytes(rules), epochs);
      sonfin.network = {2, 3, antecedents, antecedents, std::vector<float>(outputs, 0.5F)};
      sonfin.last = sonfin.network;
      check_room(small, sonfin, sonfin_room);

      Model system = sample_classifier();
      TskModel tsk = TskModel::untaught(2, 3);
      tsk.system.order = 1;
      system.network = tsk;
      const std::int64_t tsk_room = largest_encoding(system, tsk.largest_bytes(rules), epochs);
      tsk.system = {2, 3, 1, antecedents, antecedents, std::vector<float>(3 * outputs, 0.5F)};
      tsk.last = tsk.system;
      tsk.antecedents.assign(2 * tasks, 0.1);
      tsk.adaptation = {.step = 0.1, .grown = 0.1, .shrunk = 0.1, .ridges = 0.1, .recent = {0.1, 0.1, 0.1, 0.1, 0.1}};
      check_room(system, tsk, tsk_room);
    }
  }
}

TEST_CASE("the golden files of format 2 are what is written today") {
  const std::vector<std::pair<const char*, Model>> files{{"classifier.2.heddle", sample_classifier()},
                                                         {"system.2.heddle", sample_system()}};
  for (const auto& file : files) {
    CAPTURE(file.first);
    check_same(load_model(golden(file.first)), file.second);
    CHECK(encode_model(file.second) == bytes_of_file(golden(file.first)));
  }
}

TEST_CASE("the golden file of format 1 reads as it was written") {
  check_same(load_model(golden("classifier.1.heddle")), sample_classifier());
}

TEST_CASE("a system of format 1 has the numbers it was saved with: its widths divided by sqrt(2)") {
  for (const char* name : {"tsk-constant.1.heddle", "tsk-linear.1.heddle"}) {
    CAPTURE(name);
    const Model model = load_model(golden(name));
    const auto& own = std::get<TskModel>(model.network);
    const Json body = body_of(bytes_of_file(golden(name)));
    const Json &network = body["network"], &training = body["training"];
    const auto floats = [](const Json& bytes) {
      std::optional<std::vector<float>> values = unpacked<float>(bytes);
      REQUIRE(values.has_value());
      return *values;
    };
    const auto check_system = [&](const tsk::System& system, const Json& saved) {
      CHECK(system.order == saved.value("order", 0));
      CHECK(system.centres == floats(saved["centres"]));
      CHECK(system.consequents == floats(saved["consequents"]));
      std::vector<float> widths = system.widths;
      for (float& width : widths) width *= std::numbers::sqrt2_v<float>;
      CHECK(widths == floats(saved["widths"]));
    };
    check_system(own.system, network);
    REQUIRE(own.last.has_value());
    check_system(*own.last, training["last"]);
    CHECK(own.antecedents == unpacked<double>(training["antecedents"]));
    CHECK(own.adaptation.step == training["numbers"]["step"].get<double>());
    CHECK(own.adaptation.recent[4] == training["numbers"]["recent 4"].get<double>());
    CHECK(model.training.epochs == training["epochs"].get<std::int64_t>());
    CHECK(model.training.history.back().counts.at("rules") == network["rules"].get<std::int64_t>());
    // What is written now is of format 2, and the same model.
    check_same(decode_model(encode_model(model), "again"), model);
  }
}

TEST_CASE("every width that format 1 can have saved for a system comes back to the bit") {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 20; ++round) {
    Json body = body_of(bytes_of_file(golden("tsk-linear.1.heddle")));
    std::vector<float> widths = *unpacked<float>(body["network"]["widths"]);
    for (float& width : widths) {
      const float deviation = std::ldexp(1.0F + static_cast<float>(random() % (1U << 23U)) * 0x1p-23F,
                                         static_cast<int>(random() % 20) - 10);
      width = deviation * std::numbers::sqrt2_v<float>;
    }
    // A power of two, where the quotient by sqrt(2) is rounded to the number below the right one.
    widths[0] = std::nextafter(std::numbers::sqrt2_v<float>, 2.0F) * std::numbers::sqrt2_v<float>;
    CHECK(widths[0] == 2.0F);
    body["network"]["widths"] = packed(widths);
    const Model model = decode_model(file_around(cbor(body), 1), "f");
    std::vector<float> again = std::get<TskModel>(model.network).system.widths;
    for (float& width : again) width *= std::numbers::sqrt2_v<float>;
    CHECK(again == widths);
  }
}

TEST_CASE("a file that is cut off or damaged anywhere is refused") {
  const std::string bytes = encode_model(sample_classifier());
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(refused(bytes.substr(0, size)).empty());
  std::mt19937 random(std::random_device{}());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    CHECK_FALSE(refused(damaged).empty());
  }
  CHECK(refused(bytes + "x") == "f: found no heddle model, or part of one, expected all of one");
  CHECK(refused("") == "f: found no heddle model, or part of one, expected all of one");
  CHECK(refused("1,2,x\n3,4,y\n") == "f: found no heddle model, or part of one, expected all of one");
}

TEST_CASE("a model from a newer heddle says so") {
  Json file = Json::from_cbor(encode_model(sample_classifier()));
  file["version"] = 3;
  CHECK(refused(cbor(file)) == "f: found a model of format 3 from a newer heddle, expected at most format 2");
  file["version"] = 0;
  CHECK_FALSE(refused(cbor(file)).empty());
  file["version"] = "1";
  CHECK_FALSE(refused(cbor(file)).empty());
}

TEST_CASE("a right checksum buys no trust") {
  CHECK(refused(spoiled("/network/rules", 1000000000)) ==
        "f: found something else at 'network.rules', expected a whole number from 0 to 16777216");
  CHECK(refused(spoiled("/network/rules", 5)) ==
        "f: found something else at 'network.centres', expected 10 numbers as bytes");
  CHECK(refused(spoiled("/network/dim", -2)) ==
        "f: found something else at 'network.dim', expected a whole number from 1 to 16777216");
  CHECK(refused(spoiled("/network/dim", std::uint64_t{1} << 63)) ==
        "f: found something else at 'network.dim', expected a whole number from 1 to 16777216");
  CHECK(refused(spoiled("/network/dim", 1.5)).starts_with("f: found something else at 'network.dim'"));
  CHECK(refused(spoiled("/network", 1)) == "f: found something else at 'network', expected a map");
  CHECK(refused(spoiled("/network/kind", "oracle")) ==
        "f: found a network of the kind 'oracle', expected one that this heddle knows");
  CHECK(refused(spoiled("/network/last", 1)) == "f: found something else at 'network.last', expected a map");
  CHECK(refused(spoiled("/network/order", 2, sample_system())) ==
        "f: found something else at 'network.order', expected a whole number from 0 to 1");
  CHECK(refused(spoiled("/network/adaptation/step", "far", sample_system())) ==
        "f: found something else at 'network.adaptation', expected a map of numbers");
  CHECK(refused(spoiled("/network/antecedents", Json::binary({1, 2, 3}), sample_system())) ==
        "f: found something else at 'network.antecedents', expected 4 numbers as bytes");
  CHECK(refused(spoiled("/training/history/0/counts/rules", -1)) ==
        "f: found something else at 'training.history.counts', expected a map of counts");
  CHECK(refused(spoiled("/classes", "abc")) == "f: found something else at 'classes', expected a list of texts");
  CHECK(refused(spoiled("/classes/1", 2)) == "f: found something else at 'classes', expected a list of texts");
  CHECK(refused(spoiled("/classes", {"a", "b"})) == "f: found 2 classes, expected 3");
  CHECK(refused(spoiled("/task", "dance")) == "f: found something else at 'task', expected classify or regress");
  CHECK(refused(spoiled("/inputs/kind", "log")) ==
        "f: found an unknown scaling, expected none, minmax, zscore or unit");
  CHECK(refused(spoiled("/training/history/0", 7)) == "f: found something else at 'training.history', expected a map");
  CHECK(refused(spoiled("/training/history/0", Json::object())) ==
        "f: found no 'training.history.epoch', expected a whole heddle model");
  CHECK(refused(spoiled("/training/partial_loss", std::nan(""))) ==
        "f: found something else at 'training.partial_loss', expected a number");
  CHECK(refused(spoiled("/training/options", {{"a", 1}})) ==
        "f: found something else at 'training.options', expected a map of texts");
  CHECK(refused(file_around("")) == "f: found a model that cannot be read, expected CBOR");
  CHECK(refused(file_around(cbor(Json::array()))) == "f: found a model that cannot be read, expected CBOR");
}

TEST_CASE("a perceptron whose numbers do not fit together is refused") {
  const auto broken = [](const char* place, const Json& value) {
    return refused(spoiled(place, value, sample_perceptron()));
  };
  for (const Json& layers :
       {Json(7), Json::array({2}), Json::array({2, 0, 1}), Json::array({2, -2, 1}), Json::array({2, 65537, 1}),
        Json::array({2, 3, 1}), Json::array({65536, 65536, 1}), Json::array({2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})}) {
    CAPTURE(layers.dump());
    CHECK_FALSE(broken("/network/layers", layers).empty());
  }
  CHECK_FALSE(broken("/network/hidden", "softmax").empty());
  CHECK_FALSE(broken("/network/output", "cosine").empty());
  CHECK_FALSE(broken("/network/parameters", Json::binary({1, 2, 3, 4})).empty());
  CHECK_FALSE(broken("/network/last/state_arrays", 3).empty());
  CHECK_FALSE(broken("/network/last/progress/epoch", 1e12).empty());
  CHECK_FALSE(broken("/network/last/progress/best", -1).empty());
}

TEST_CASE("nesting without end and sizes without contents end in an error, not in a crash") {
  const std::size_t deep = 50'000'000;
  CHECK_FALSE(refused(std::string(deep, '\x81')).empty());  // arrays in arrays
  CHECK_FALSE(refused(file_around(std::string(5'000'000, '\x81'))).empty());
  CHECK_FALSE(refused(std::string(5'000'000, '\xc1')).empty());          // tags of tags
  CHECK_FALSE(refused("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff").empty());  // an array of 2^63 elements
  CHECK_FALSE(refused("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff").empty());  // a byte string of as many
  CHECK_FALSE(refused("\xbb\x7f\xff\xff\xff\xff\xff\xff\xff").empty());  // a map
}

/// Damage behind a right checksum: refused, or still a whole model.
void check_damaged(const std::string& good, int version) {
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 3000; ++i) {
    std::string body = good;
    for (int hits = 1 + static_cast<int>(random() % 3); hits > 0; --hits) {
      body[random() % body.size()] = static_cast<char>(random());
    }
    try {
      check(decode_model(file_around(body, version), "f"), "f");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
    }
  }
}

TEST_CASE("a body that is damaged is refused or still a whole model, in both formats") {
  for (const Model& model : {sample_classifier(), sample_system(), sample_perceptron()})
    check_damaged(cbor(body_of(encode_model(model))), 2);
  for (const char* name : {"classifier.1.heddle", "tsk-linear.1.heddle"}) {
    const Json body = body_of(bytes_of_file(golden(name)));
    check_damaged(cbor(body), 1);
    // Any entry that is missing or something else.
    const Json flat = body.flatten();
    for (auto entry = flat.begin(); entry != flat.end(); ++entry) {
      for (const Json& other : {Json(), Json(-1), Json("x"), Json::array({1}), Json::object()}) {
        Json changed = body;
        changed[Json::json_pointer(entry.key())] = other;
        try {
          check(decode_model(file_around(cbor(changed), 1), "f"), "f");
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::input);
          CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
        }
      }
    }
    for (const char* entry : {"network", "training", "hyperparameters", "inputs"}) {
      Json changed = body;
      changed.erase(entry);
      if (changed != body && !(entry == std::string_view("hyperparameters") && body["training"]["trainer"] == "tsk")) {
        CHECK_FALSE(refused(file_around(cbor(changed), 1)).empty());
      }
    }
  }
}

}  // namespace
}  // namespace heddle
