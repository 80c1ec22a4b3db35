#include "heddle/runtime/train/sonfin_trainer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/reference.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"
#include "runtime/device/many_cores.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu;

const SonfinModel& sonfin_of(const Model& model) { return std::get<SonfinModel>(model.network); }

TrainingJob job(const Dataset& train, const test::Options& options) {
  return test::job(sonfin_trainer(), train, options);
}

TrainingResult run(const TrainingJob& what, const TrainingObserver& observer = {}) {
  return sonfin_trainer().train(cpu(), {}, what, observer);
}

void check_same(const sonfin::Network& a, const sonfin::Network& b) {
  CHECK(a.rules() == b.rules());
  CHECK(a.centres == b.centres);
  CHECK(a.widths == b.widths);
  CHECK(a.consequents == b.consequents);
}

/// |a - b| over |b|.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double off = 0.0, size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(off / size);
}

/// Stops at the n-th time it is asked.
TrainingObserver stop_after(int times) {
  return {.stop = [asked = 0, times]() mutable { return ++asked >= times; }};
}

TEST_CASE("one epoch without shuffling is the float64 reference's") {
  const Dataset train = test::clusters(3000, 7, 5, 11);
  const Dataset test = test::clusters(1000, 7, 5, 12);
  for (const char* step : {"scaled", "plain"}) {
    for (const char* width : {"distance", "squared"}) {
      INFO(step << ' ' << width);
      TrainingJob what = job(train, {{"epochs", "1"},
                                     {"shuffle", "false"},
                                     {"max-rules", "150"},
                                     {"threshold", "0.3"},
                                     {"antecedent-rate", std::string_view(step) == "plain" ? "0.001" : "0.15"},
                                     {"step", step},
                                     {"width", width}});
      what.test = &test;
      const TrainingResult result = run(what);
      const Model& model = result.model;

      sonfin::Reference reference(train.dim, train.outputs(), sonfin_of(model).hyperparameters);
      const std::vector<float> rows = model.inputs.apply(train.inputs), targets = network_targets(model, train);
      double loss = 0.0;
      for (std::int64_t i = 0; i < train.rows(); ++i) {
        loss += reference
                    .learn({rows.data() + i * train.dim, static_cast<std::size_t>(train.dim)},
                           {targets.data() + i * train.outputs(), static_cast<std::size_t>(train.outputs())})
                    .loss;
      }
      REQUIRE(result.epochs.size() == 1);
      CHECK(sonfin_of(model).network.rules() == reference.rules());
      CHECK(sonfin_of(model).network.rules() > 33);  // several rungs were climbed
      CHECK(result.epochs[0].mappings.size() >= 2);
      CHECK(result.epochs[0].train_error == doctest::Approx(loss / static_cast<double>(train.rows())).epsilon(0.01));

      const std::vector<float> test_rows = model.inputs.apply(test.inputs);
      std::vector<float> expected, found;
      const auto predictor = sonfin_trainer().predictor(cpu(), {}, model.network, {});
      found = predict(*predictor, model, test);
      for (std::int64_t i = 0; i < test.rows(); ++i) {
        for (const double y :
             reference.predict({test_rows.data() + i * test.dim, static_cast<std::size_t>(test.dim)})) {
          expected.push_back(static_cast<float>(y));
        }
      }
      const auto a = predicted_classes(found, test.outputs()), b = predicted_classes(expected, test.outputs());
      int same = 0;
      for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
      CHECK(same >= 995);
      CHECK(result.epochs[0].test->value == score(model, test, found).value);
    }
  }
}

TEST_CASE("a run is repeatable bit for bit, and another seed gives another network") {
  const Dataset train = test::clusters(900, 5, 3, 3);
  const auto with_seed = [&](const char* seed) {
    return sonfin_of(run(job(train, {{"epochs", "3"}, {"max-rules", "70"}, {"seed", seed}})).model).network;
  };
  const sonfin::Network first = with_seed("4");
  check_same(first, with_seed("4"));
  CHECK(first.centres != with_seed("5").centres);
}

Profile profile(const Device& device, const Problem& problem, const std::string& configuration, double time) {
  Profile result;
  result.key = {.device = device.identity(), .family = "sonfin-train", .problem = problem};
  result.kernels.source_hash = sonfin::train_family().source("cpu").hash();
  result.configuration = configuration;
  result.time = time;
  result.samples = 64;
  return result;
}

/// The untuned default with so many threads, which is built in.
std::string with_threads(const Device& device, const Problem& problem, int threads) {
  std::string text = sonfin::train_family().default_configuration(device.identity(), problem).text();
  return text.replace(text.find("threads=1"), 9, "threads=" + std::to_string(threads));
}

TEST_CASE("a team that becomes smaller and larger between epochs changes no bit") {
  const Dataset data = test::clusters(700, 6, 4, 31);
  const TrainingJob what = job(data, {{"epochs", "12"}, {"max-rules", "150"}, {"threshold", "0.9"}});
  const Problem largest = sonfin::problem(150, 6, 4);
  const auto train = [&](test::ManyCores& device, const TrainingObserver& observer) {
    return sonfin_trainer().train(device, {profile(device, largest, with_threads(device, largest, 5), 1e6)}, what,
                                  observer);
  };
  test::ManyCores quiet(5);
  const TrainingResult expected = train(quiet, {.epoch = [&](const EpochReport&) { quiet.regain_cores(); }});
  CHECK(expected.epochs.back().mappings.back().configuration.find("threads=5") != std::string::npos);
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    test::ManyCores busy(5);
    std::set<int> sizes;
    std::vector<std::string> lines;
    const TrainingResult result = train(busy, {.epoch =
                                                   [&](const EpochReport&) {
                                                     const bool smaller = random() % 3 == 0;
                                                     if (smaller) busy.lose_cores();
                                                     // The machine of the test may be busy by itself.
                                                     if (!smaller) busy.regain_cores();
                                                     sizes.insert(busy.threads(5));
                                                   },
                                               .notice = [&](const std::string& line) { lines.push_back(line); }});
    CHECK(sizes.size() > 1);
    check_same(sonfin_of(result.model).network, sonfin_of(expected.model).network);
    CHECK(std::ranges::count_if(
              lines, [](const std::string& line) { return line.find("fewer threads") != std::string::npos; }) == 1);
  }
}

TEST_CASE("an epoch that takes much longer than the profile promises is said once, with a cause") {
  const Dataset data = test::clusters(30000, 40, 4, 41);  // milliseconds on any machine
  const Problem largest = sonfin::problem(60, 40, 4);
  const std::string configuration = with_threads(cpu(), largest, 1);
  const auto lines = [&](double promised, const std::string& compiler) {
    Profile made = profile(cpu(), largest, configuration, promised);
    made.provenance.compiler = compiler;
    std::vector<std::string> said;
    std::vector<EpochReport> reports;
    const TrainingResult result =
        sonfin_trainer().train(cpu(), {made}, job(data, {{"epochs", "4"}, {"max-rules", "60"}}),
                               {.notice = [&](const std::string& line) { said.push_back(line); }});
    for (const EpochReport& report : result.epochs) {
      REQUIRE(report.mappings.back().promised.has_value());
      CHECK(*report.mappings.back().promised == doctest::Approx(promised));
      CHECK(report.mappings.back().microseconds_per_sample > 0.0);
      CHECK(report.mappings.back().microseconds_per_sample <= 1.0001 * report.microseconds_per_sample *
                                                                  static_cast<double>(report.samples) /
                                                                  static_cast<double>(report.mappings.back().samples));
    }
    return said;
  };
  const auto slow = lines(1e-4, "");  // no machine is that fast
  REQUIRE(slow.size() == 1);
  CHECK(slow.front().starts_with("epoch "));
  CHECK(slow.front().find("that the profile promises") != std::string::npos);
  CHECK(slow.front().find("other programs") != std::string::npos);
  const auto changed = lines(1e-4, "a compiler of old");
  REQUIRE(changed.size() == 1);
  CHECK(changed.front().find("the compiler was a compiler of old") != std::string::npos);
  CHECK(lines(1e6, "").empty());
}

TEST_CASE("climbing the ladder is the same as having room from the start") {
  const Dataset data = test::clusters(1200, 9, 4, 21);
  const SonfinModel untaught = SonfinModel::untaught(data.dim, data.outputs());
  const sonfin::Network& nothing = untaught.network;
  const LearningRows rows = learning_rows(model_for(data, OptionValues(sonfin_trainer().options()), untaught), data);
  sonfin::Hyperparameters options;
  options.max_rules = 200;
  options.first_width = spread(rows.rows, rows.dim);
  const sonfin::Control control = sonfin::control(options, rows.count());
  const std::vector<std::int32_t> order = permutation(rows.count(), 1, 1);

  SonfinLearner learner(cpu(), {}, rows, options.max_rules, {});
  learner.begin(nothing, control, order, 0, 0.0);
  std::int64_t seen = 0;
  while (learner.advance()) {
    CHECK(learner.position() >= seen);
    seen = learner.position();
  }
  CHECK(learner.position() == rows.count());
  CHECK(learner.uses().size() >= 3);
  std::int64_t samples = 0;
  for (const SonfinLearner::Use& use : learner.uses()) samples += use.samples;
  CHECK(samples == rows.count());

  const KernelFamily& family = sonfin::train_family();
  const Problem problem = sonfin::problem(options.max_rules, rows.dim, rows.outputs);
  const Configuration configuration = family.default_configuration(cpu().identity(), problem);
  const sonfin::Layout layout = sonfin::train_layout(configuration, problem, cpu().identity());
  Plan plan = family.plan(configuration, problem, cpu().identity(), rows.count());
  const auto binary =
      compile_one(cpu(), {.source = &family.source(cpu().identity().backend), .kernels = plan.kernels}).binary;
  const auto execution = cpu().prepare(std::move(plan), binary);
  const auto write = [&](const char* name, std::span<const std::byte> bytes) { execution->memory(name).write(bytes); };
  sonfin::Progress progress{};
  write("control", std::as_bytes(std::span(&control, 1)));
  write("progress", std::as_bytes(std::span(&progress, 1)));
  write("order", std::as_bytes(std::span(order)));
  write("rows", sonfin::pack_rows(rows.rows.data(), rows.count(), rows.dim, layout.stride));
  write("targets", sonfin::pack_rows(rows.targets.data(), rows.count(), rows.outputs, layout.target_stride));
  HostImage image;
  sonfin::pack(nothing, layout, image);
  for (const auto& [name, bytes] : image) execution->memory(name).write(bytes);
  execution->launch();
  execution->synchronize();
  execution->memory("progress").read(std::as_writable_bytes(std::span(&progress, 1)));
  for (auto& [name, bytes] : image) execution->memory(name).read(bytes);

  CHECK(progress.position == rows.count());
  REQUIRE(progress.rules == learner.rules());
  CHECK(learner.loss() == doctest::Approx(progress.loss).epsilon(1e-4));
  const sonfin::Network whole = sonfin::unpack(image, layout, progress.rules), steps = learner.network();
  CHECK(difference(steps.centres, whole.centres) < 1e-3);
  CHECK(difference(steps.widths, whole.widths) < 1e-3);
  CHECK(difference(steps.consequents, whole.consequents) < 1e-3);
}

TEST_CASE("an epoch that goes on from what the device has is the same as one that is brought the network") {
  const Dataset data = test::clusters(900, 9, 4, 21);
  const SonfinModel untaught = SonfinModel::untaught(data.dim, data.outputs());
  const LearningRows rows = learning_rows(model_for(data, OptionValues(sonfin_trainer().options()), untaught), data);
  sonfin::Hyperparameters options;
  options.max_rules = 60;
  options.first_width = spread(rows.rows, rows.dim);
  const sonfin::Control control = sonfin::control(options, rows.count());
  const auto order = [&](std::uint64_t epoch) { return permutation(rows.count(), 1, epoch); };
  const auto learn = [](SonfinLearner& learner) {
    while (learner.advance()) {
    }
  };
  SonfinLearner stays(cpu(), {}, rows, options.max_rules, {}), brought(cpu(), {}, rows, options.max_rules, {});
  sonfin::Network network = untaught.network;
  stays.begin(network, control, order(1), 0, 0.0);
  learn(stays);
  for (const std::uint64_t epoch : {1, 2, 3}) {
    brought.begin(network, control, order(epoch), 0, 0.0);
    learn(brought);
    if (epoch > 1) {
      stays.begin_again(control, order(epoch));
      learn(stays);
    }
    brought.fetch(network);
    check_same(stays.network(), network);
    CHECK(stays.loss() == brought.loss());
    CHECK(stays.position() == rows.count());
  }
  CHECK(network.rules() > 8);
}

TEST_CASE("a resumed run ends where an undisturbed one does, whether it was cut between epochs or within one") {
  const Dataset train = test::clusters(4000, 6, 4, 31);
  const test::Options options{{"epochs", "4"}, {"max-rules", "90"}, {"threshold", "0.2"}, {"threshold-decay", "0.5"}};
  const TrainingResult whole = run(job(train, options));
  CHECK(whole.ending == Ending::completed);

  SUBCASE("between epochs") {
    TrainingJob half = job(train, options);
    half.options.set("epochs", "2");
    const TrainingResult first = run(half);
    TrainingJob rest = job(train, {{"epochs", "4"}});
    rest.resume = &first.model;
    const TrainingResult second = run(rest);
    check_same(sonfin_of(second.model).network, sonfin_of(whole.model).network);
    CHECK(second.epochs.size() == 2);
    CHECK(second.epochs[0].epoch == 3);
    CHECK(second.model.training.history.size() == 4);
  }
  SUBCASE("within epochs, again and again") {
    TrainingResult part = run(job(train, options), stop_after(1));
    CHECK(part.ending == Ending::stopped);
    CHECK(part.model.training.position > 0);
    CHECK(sonfin_of(part.model).network.rules() > 0);
    int cuts = 1;
    while (part.ending == Ending::stopped) {
      TrainingJob rest = job(train, {});
      rest.resume = &part.model;
      part = run(rest, stop_after(3));
      ++cuts;
    }
    CHECK(cuts > 3);
    CHECK(part.ending == Ending::completed);
    check_same(sonfin_of(part.model).network, sonfin_of(whole.model).network);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(part.model.training.history[i].train_error == whole.model.training.history[i].train_error);
    }
  }
}

TEST_CASE("early stopping keeps the best model, and can go on from the last") {
  const Dataset train = test::clusters(700, 4, 3, 41, 0.3);
  const TrainingResult result = run(job(
      train,
      {{"epochs", "200"}, {"max-rules", "120"}, {"validation", "0.25"}, {"patience", "3"}, {"learning-rate", "0.8"}}));
  REQUIRE(result.ending == Ending::no_improvement);
  const TrainingState& state = result.model.training;
  const auto best =
      std::ranges::min_element(result.epochs, {}, [](const EpochReport& e) { return e.validation->error; });
  CHECK(state.best_epoch == best->epoch);
  CHECK(state.best_error == best->validation->error);
  CHECK(state.epochs == state.best_epoch + 3);
  CHECK(sonfin_of(result.model).network.rules() == best->size.counts.at("rules"));
  const SonfinModel& taught = sonfin_of(result.model);
  REQUIRE(taught.last);
  CHECK(taught.last->rules() >= best->size.counts.at("rules"));
  CHECK(taught.last->consequents != taught.network.consequents);
  for (const EpochReport& epoch : result.epochs) CHECK(epoch.samples == 525);

  TrainingJob longer = job(train, {{"patience", "6"}});
  longer.resume = &result.model;
  TrainingJob undisturbed = job(
      train,
      {{"epochs", "200"}, {"max-rules", "120"}, {"validation", "0.25"}, {"patience", "6"}, {"learning-rate", "0.8"}});
  const TrainingResult a = run(longer), b = run(undisturbed);
  check_same(sonfin_of(a.model).network, sonfin_of(b.model).network);
  CHECK(a.model.training.best_epoch == b.model.training.best_epoch);
}

TEST_CASE("a best epoch counts only on the validation rows it was found with") {
  const Dataset train = test::clusters(700, 6, 3, 41);
  const TrainingResult first = run(job(train, {{"epochs", "3"}, {"max-rules", "60"}, {"validation", "0.25"}}));
  for (const auto& [name, value] : {std::pair{"validation", "0"}, std::pair{"seed", "7"}}) {
    TrainingJob longer = job(train, {{"epochs", "5"}, {name, value}});
    longer.resume = &first.model;
    const TrainingResult result = run(longer);
    CHECK(result.model.training.epochs == 5);
    CHECK(result.model.training.best_epoch != 1);
    CHECK(sonfin_of(result.model).network.consequents != sonfin_of(first.model).network.consequents);
  }
}

TEST_CASE("training ends at the target error") {
  const Dataset train = test::clusters(800, 5, 3, 51);
  const TrainingResult result = run(job(train, {{"epochs", "50"}, {"max-rules", "60"}, {"target-error", "0.1"}}));
  CHECK(result.ending == Ending::target_reached);
  REQUIRE(!result.epochs.empty());
  CHECK(result.epochs.back().train_error <= 0.1);
  for (std::size_t i = 0; i + 1 < result.epochs.size(); ++i) CHECK(result.epochs[i].train_error > 0.1);
}

TEST_CASE("a run that diverges says so and keeps the last good model") {
  const Dataset train = test::clusters(600, 5, 3, 61);
  const auto kind_at_once = [&] {
    try {
      static_cast<void>(run(job(train, {{"learning-rate", "1000"}, {"max-rules", "40"}})));
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::bug;
  };
  CHECK(kind_at_once() == ErrorKind::input);
  const TrainingResult good = run(job(train, {{"epochs", "1"}, {"max-rules", "40"}}));
  TrainingJob worse = job(train, {{"epochs", "5"}, {"learning-rate", "1000"}});
  worse.resume = &good.model;
  const TrainingResult result = run(worse);
  CHECK(result.ending == Ending::diverged);
  CHECK(result.message.find("epoch 2") != std::string::npos);
  check_same(sonfin_of(result.model).network, sonfin_of(good.model).network);
  CHECK(result.model.training.epochs == 1);
}

TEST_CASE("regression learns in standardised units and reports in the data's") {
  const Dataset train = test::curves(3000, 2, 71), test = test::curves(500, 2, 72);
  TrainingJob what = job(train, {{"epochs", "12"}, {"max-rules", "150"}});
  what.test = &test;
  const TrainingResult result = run(what);
  const Score& last = *result.epochs.back().test;
  CHECK(result.model.targets.columns() == 2);
  // The first target has a standard deviation of about 35, the second of about 0.01; RMSE counts both.
  CHECK(last.value < 0.15 * 35.0);
  CHECK(last.error < 0.1);

  const auto predictor = sonfin_trainer().predictor(cpu(), {}, result.model.network, {});
  const std::vector<float> values = result.model.targets.invert(predict(*predictor, result.model, test));
  double squares = 0.0, second = 0.0, mean = 0.0, variance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) squares += std::pow(values[i] - test.targets[i], 2);
  CHECK(last.value == doctest::Approx(std::sqrt(squares / static_cast<double>(values.size()))));
  for (std::size_t i = 1; i < values.size(); i += 2) mean += test.targets[i] / 500.0;
  for (std::size_t i = 1; i < values.size(); i += 2) {
    second += std::pow(values[i] - test.targets[i], 2);
    variance += std::pow(test.targets[i] - mean, 2);
  }
  CHECK(second < 0.1 * variance);
}

TEST_CASE("awkward sizes: one input, few rows, a cap of one, a constant input") {
  Dataset tiny = test::clusters(5, 1, 2, 81);
  tiny.labels = {0, 1, 0, 1, 0};
  CHECK(sonfin_of(run(job(tiny, {{"max-rules", "1"}})).model).network.rules() == 1);
  CHECK(sonfin_of(run(job(tiny, {{"max-rules", "3"}, {"threshold", "1"}})).model).network.rules() == 3);
  Dataset constant = tiny;
  std::ranges::fill(constant.inputs, 4.0F);
  const TrainingResult result = run(job(constant, {{"max-rules", "2"}}));
  CHECK(result.ending == Ending::completed);
  CHECK(sonfin_of(result.model).network.widths[0] >= 0.001F);
}

TEST_CASE("progress is told within an epoch and a stop keeps what was learnt") {
  const Dataset train = test::clusters(5000, 5, 3, 91);
  std::vector<TrainingProgress> told;
  TrainingObserver observer = stop_after(4);
  observer.progress = [&](const TrainingProgress& progress) { told.push_back(progress); };
  const TrainingResult result = run(job(train, {{"epochs", "3"}, {"max-rules", "40"}}), observer);
  CHECK(result.ending == Ending::stopped);
  REQUIRE(told.size() >= 4);
  CHECK(told.back().position + 5000 * (told.back().epoch - 1) ==
        result.model.training.position + 5000 * result.model.training.epochs);
  CHECK(told.front().last_epoch == 3);
  CHECK(told.front().samples == 5000);
  CHECK_NOTHROW(check(result.model, "model"));
}

TEST_CASE("what does not fit together is refused") {
  const Dataset train = test::clusters(200, 5, 3, 101);
  const auto refused = [](const TrainingJob& what, ErrorKind kind) {
    try {
      run(what);
    } catch (const Error& error) {
      INFO(error.what());
      return error.kind() == kind && std::string_view(error.what()).find('\n') == std::string_view::npos;
    }
    return false;
  };
  TrainingJob what = job(train, {{"epochs", "1"}, {"max-rules", "20"}});
  const Dataset wider = test::clusters(20, 6, 3, 1), more = test::clusters(20, 5, 4, 1);
  Dataset unlabelled = test::clusters(20, 5, 3, 1), empty = unlabelled;
  unlabelled.labels.clear();
  empty.labels.clear();
  empty.inputs.clear();
  for (const Dataset& bad : {wider, more, unlabelled, empty}) {
    TrainingJob with_test = what;
    with_test.test = &bad;
    CHECK(refused(with_test, ErrorKind::input));
  }
  TrainingJob no_data = what;
  no_data.train = nullptr;
  CHECK(refused(no_data, ErrorKind::usage));
  for (const Dataset& bad : {unlabelled, empty}) {
    TrainingJob other = what;
    other.train = &bad;
    CHECK(refused(other, ErrorKind::input));
  }

  const TrainingResult trained = run(what);
  TrainingJob resumed = what;
  resumed.resume = &trained.model;
  CHECK(refused(resumed, ErrorKind::usage));  // nothing left to do
  resumed.options.set("epochs", "2");
  resumed.options.set("scale", "zscore");
  CHECK(refused(resumed, ErrorKind::usage));
  resumed.options.set("scale", "minmax");
  resumed.options.set("max-rules", "1");
  CHECK(refused(resumed, ErrorKind::usage));
  resumed.options.set("max-rules", "20");
  resumed.train = &wider;
  CHECK(refused(resumed, ErrorKind::input));
  resumed.train = &train;
  CHECK_NOTHROW(run(resumed));

  TrainingJob patience = what;
  patience.options.set("patience", "2");
  CHECK(refused(patience, ErrorKind::usage));
  patience.options.set("validation", "0.001");
  CHECK(refused(patience, ErrorKind::usage));
}

}  // namespace
}  // namespace heddle
