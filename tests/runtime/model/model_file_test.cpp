#include "heddle/runtime/model/model_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "heddle/kernels/template_source.hpp"
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

void check_same(const Model& a, const Model& b) {
  CHECK(a.task == b.task);
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
  for (const auto& [x, y] : {std::pair(&a.inputs, &b.inputs), {&a.targets, &b.targets}}) {
    CHECK(x->kind == y->kind);
    CHECK(x->offset == y->offset);
    CHECK(x->factor == y->factor);
  }
  CHECK(a.classes == b.classes);
  CHECK(a.input_names == b.input_names);
  CHECK(a.target_names == b.target_names);
  const TrainingState &s = a.training, &t = b.training;
  CHECK(s.trainer == t.trainer);
  CHECK(s.options == t.options);
  CHECK(s.epochs == t.epochs);
  CHECK(s.position == t.position);
  CHECK(s.partial_loss == t.partial_loss);
  CHECK(s.seed == t.seed);
  CHECK(s.log_threshold == t.log_threshold);
  CHECK(s.best_epoch == t.best_epoch);
  CHECK(s.best_error == t.best_error);
  CHECK(s.epochs_without_improvement == t.epochs_without_improvement);
  REQUIRE(s.last.has_value() == t.last.has_value());
  if (s.last) check_same(*s.last, *t.last);
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
std::string file_around(const std::string& body) {
  return cbor({{"format", "heddle model"},
               {"version", 1},
               {"checksum", digest(body)},
               {"body", Json::binary(std::vector<std::uint8_t>(body.begin(), body.end()))}});
}

/// The sample's body with one entry replaced.
std::string spoiled(const std::string& pointer, const Json& value) {
  const Json file = Json::from_cbor(encode_model(sample_classifier()));
  Json body = Json::from_cbor(file["body"].get_binary());
  body[Json::json_pointer(pointer)] = value;
  return file_around(cbor(body));
}

TEST_CASE("what is saved comes back") {
  const TemporaryFolder folder;
  for (const Model& model : {sample_classifier(), sample_regression()}) {
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
    model.network.widths[2] = bad;
    CHECK_THROWS_AS(save_model(model, file), Error);
    CHECK_THROWS_AS(save_model(model, folder.path() / "other"), Error);
  }
  check_same(load_model(file), sample_classifier());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("no model file is larger than its room") {
  const Model small = sample_classifier();
  for (const std::int64_t rules : {4, 100, 3000}) {
    for (const std::int64_t epochs : {3, 1000}) {
      Model grown = small;
      const auto antecedents = static_cast<std::size_t>(2 * rules);
      grown.network.centres.assign(antecedents, 0.5F);
      grown.network.widths.assign(antecedents, 0.5F);
      grown.network.consequents.assign(static_cast<std::size_t>(3 * rules), 0.5F);
      grown.training.last = grown.network;
      grown.training.antecedents.assign(2 * antecedents, 0.1);
      EpochRecord record;
      record.epoch = record.rules = record.samples = std::int64_t{1} << 40;
      record.train_error = 0.1;
      record.validation_error = record.validation_value = record.test_error = record.test_value = 0.1;
      record.microseconds_per_sample = 0.1;
      grown.training.history.assign(static_cast<std::size_t>(epochs), record);
      CHECK(static_cast<std::int64_t>(encode_model(grown).size()) <= largest_encoding(small, rules, epochs));
    }
  }
}

TEST_CASE("the golden file of format 1 reads as it was written") {
  const std::filesystem::path golden = std::filesystem::path(HEDDLE_GOLDEN) / "classifier.1.heddle";
  check_same(load_model(golden), sample_classifier());
  CHECK(encode_model(sample_classifier()) == bytes_of_file(golden));
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
  file["version"] = 2;
  CHECK(refused(cbor(file)) == "f: found a model of format 2 from a newer heddle, expected at most format 1");
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
  CHECK(refused(spoiled("/classes", "abc")) == "f: found something else at 'classes', expected a list of texts");
  CHECK(refused(spoiled("/classes/1", 2)) == "f: found something else at 'classes', expected a list of texts");
  CHECK(refused(spoiled("/classes", {"a", "b"})) == "f: found 2 classes, expected 3");
  CHECK(refused(spoiled("/task", "dance")) == "f: found something else at 'task', expected classify or regress");
  CHECK(refused(spoiled("/inputs/kind", "log")) == "f: found an unknown scaling, expected none, minmax or zscore");
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

TEST_CASE("nesting without end and sizes without contents end in an error, not in a crash") {
  const std::size_t deep = 50'000'000;
  CHECK_FALSE(refused(std::string(deep, '\x81')).empty());  // arrays in arrays
  CHECK_FALSE(refused(file_around(std::string(5'000'000, '\x81'))).empty());
  CHECK_FALSE(refused(std::string(5'000'000, '\xc1')).empty());          // tags of tags
  CHECK_FALSE(refused("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff").empty());  // an array of 2^63 elements
  CHECK_FALSE(refused("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff").empty());  // a byte string of as many
  CHECK_FALSE(refused("\xbb\x7f\xff\xff\xff\xff\xff\xff\xff").empty());  // a map
  std::mt19937 random(std::random_device{}());
  const std::string good =
      cbor(Json::from_cbor(Json::from_cbor(encode_model(sample_classifier()))["body"].get_binary()));
  for (int i = 0; i < 3000; ++i) {  // damage behind a right checksum: refused, or still a whole model
    std::string body = good;
    for (int hits = 1 + static_cast<int>(random() % 3); hits > 0; --hits) {
      body[random() % body.size()] = static_cast<char>(random());
    }
    try {
      check(decode_model(file_around(body), "f"), "f");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
    }
  }
}

}  // namespace
}  // namespace heddle
