// One epoch in the order of the file on a device, against the float64 reference: rules, classes of the test rows, train
// error. Usage: against_reference TRAIN TEST DEVICE MAX-RULES [first|last]. Exit code 1 if they differ by more than
// rounding explains: other rules, fewer than 99.5 % equal classes, or a train error off by more than 1 %.
#include <fmt/format.h>

#include <cmath>
#include <span>
#include <variant>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/sonfin/reference.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace {

struct Comparison {
  std::int64_t rules = 0, reference_rules = 0, rows = 0, equal = 0;
  double error = 0.0, reference_error = 0.0;

  [[nodiscard]] double agreement() const { return static_cast<double>(equal) / static_cast<double>(rows); }
  [[nodiscard]] double error_difference() const { return std::abs(error - reference_error) / reference_error; }
  [[nodiscard]] bool accepted() const {
    return rules == reference_rules && agreement() >= 0.995 && error_difference() <= 0.01;
  }
};

Comparison compare(heddle::Device& device, const heddle::Dataset& train, const heddle::Dataset& test,
                   const std::string& max_rules) {
  const heddle::ProfileStore store(heddle::ProfileStore::default_file(), heddle::ProfileStore::Access::read);
  const heddle::Trainer& trainer = heddle::trainer("sonfin");
  heddle::TrainingJob job{
      .train = &train, .test = &test, .resume = nullptr, .options = heddle::OptionValues(trainer.options())};
  job.options.set("epochs", "1");
  job.options.set("shuffle", "false");
  job.options.set("max-rules", max_rules);
  const heddle::TrainingResult result = trainer.train(device, store.knowledge(), job);
  const heddle::Model& model = result.model;
  const auto& network = std::get<heddle::SonfinModel>(model.network);

  const std::vector<float> rows = model.inputs.apply(train.inputs);
  const std::vector<float> targets = heddle::network_targets(model, train);
  const auto row = [](const std::vector<float>& values, std::int64_t width, std::int64_t index) {
    return std::span(values).subspan(static_cast<std::size_t>(index * width), static_cast<std::size_t>(width));
  };
  heddle::sonfin::Reference reference(train.dim, train.outputs(), network.hyperparameters);
  double loss = 0.0;
  for (std::int64_t i = 0; i < train.rows(); ++i) {
    loss += reference.learn(row(rows, train.dim, i), row(targets, train.outputs(), i)).loss;
  }

  const std::vector<float> test_rows = model.inputs.apply(test.inputs);
  const auto predictor = trainer.predictor(device, store.knowledge(), model.network, {});
  const auto classes = heddle::predicted_classes(predictor->predict(model.network, test_rows), train.outputs());
  Comparison comparison{.rules = network.network.rules(),
                        .reference_rules = reference.rules(),
                        .rows = test.rows(),
                        .equal = 0,
                        .error = result.epochs.back().train_error,
                        .reference_error = loss / static_cast<double>(train.rows())};
  for (std::int64_t i = 0; i < test.rows(); ++i) {
    const std::vector<double> y = reference.predict(row(test_rows, train.dim, i));
    const std::vector<float> outputs(y.begin(), y.end());
    if (heddle::predicted_classes(outputs, train.outputs()).front() == classes[static_cast<std::size_t>(i)]) {
      ++comparison.equal;
    }
  }
  return comparison;
}

int run(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    throw heddle::Error(heddle::ErrorKind::usage, "expected TRAIN TEST DEVICE MAX-RULES [first|last]");
  }
  const std::string label = argc == 6 ? argv[5] : "last";
  const heddle::Dataset train = heddle::load_dataset(argv[1], {.label = label});
  const heddle::Dataset test = heddle::load_dataset(argv[2], {.label = label, .expected = heddle::expectation(train)});
  const auto device = heddle::open_device(argv[3]);
  const Comparison c = compare(*device, train, test, argv[4]);
  fmt::print(
      "{{\"device\": \"{}\", \"train\": \"{}\", \"rules\": {}, \"reference_rules\": {}, \"equal_classes\": {:.5f}, "
      "\"train_error\": {:.6f}, \"reference_train_error\": {:.6f}, \"accepted\": {}}}\n",
      device->label(), train.source, c.rules, c.reference_rules, c.agreement(), c.error, c.reference_error,
      c.accepted());
  return c.accepted() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return heddle::bench::exit_code("against_reference", [&] { return run(argc, argv); });
}
