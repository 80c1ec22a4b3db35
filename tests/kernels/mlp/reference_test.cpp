#include "heddle/kernels/mlp/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/mlp/workload.hpp"
#include "sample.hpp"

namespace heddle::mlp {
namespace {

/// 3 inputs, layers of 4 and 3, 2 outputs, 11 rows.
Workload small_workload(Activation hidden, Activation output, std::uint64_t seed) {
  const Problem problem = training_problem(layers(3, std::vector<std::int64_t>{4, 3}, 2), 11, 11);
  return verification_workload(problem, {.rule = kPlain, .hidden = hidden, .output = output}, seed);
}

TEST_CASE("gradients of the reference are those of finite differences") {
  constexpr double kDifference = 1e-6, kTolerance = 1e-6;
  for (const Activation hidden : {kSigmoid, kTanh, kRelu, kLinear}) {
    for (const Activation output : {kSigmoid, kTanh, kLinear, kSoftmax}) {
      CAPTURE(hidden);
      CAPTURE(output);
      const Workload work = small_workload(hidden, output, test::sample_seed());
      Reference reference(work.layers, work.parameters);
      const Gradient exact = reference.gradient(work.batch(0), 0, 11, hidden, output);
      double worst = 0.0;
      for (std::size_t i = 0; i < exact.values.size(); ++i) {
        const double before = reference.parameters()[i];
        reference.parameters()[i] = before + kDifference;
        const double above = reference.gradient(work.batch(0), 0, 11, hidden, output).loss;
        reference.parameters()[i] = before - kDifference;
        const double below = reference.gradient(work.batch(0), 0, 11, hidden, output).loss;
        reference.parameters()[i] = before;
        worst = std::max(worst, std::abs((above - below) / (2.0 * kDifference) - exact.values[i]));
      }
      CHECK(worst < kTolerance);
    }
  }
}

/// A network of one weight and one bias, y = w x + b, whose gradient is known: rows x with targets t.
struct OneWeight {
  std::vector<float> rows{1.0F, 2.0F}, targets{0.0F, 1.0F};
  [[nodiscard]] Batch batch() const { return {.rows = rows, .targets = targets}; }
};

Control linear_control(Rule rule) {
  Control control = published_control(rule, 2);
  control.hidden = control.output = kLinear;
  return control;
}

TEST_CASE("the rules do what their publications say, worked out by hand") {
  const OneWeight data;
  const Layers one = layers(1, {}, 1);
  const std::vector<float> start{0.5F, 0.25F};  // outputs 0.75 and 1.25, errors 0.75 and 0.25
  const double of_weight = (0.75 * 1.0 + 0.25 * 2.0) / 2.0, of_bias = (0.75 + 0.25) / 2.0;

  SUBCASE("plain: mean and sum, with decay") {
    Control control = linear_control(kPlain);
    control.rate = 0.5F;
    control.decay = 0.5F;
    Reference reference(one, start);
    CHECK(reference.step(data.batch(), control));
    CHECK(reference.parameters()[0] == doctest::Approx(0.5 - 0.5 * (of_weight + 0.5 * 0.5)));
    CHECK(reference.parameters()[1] == doctest::Approx(0.25 - 0.5 * (of_bias + 0.5 * 0.25)));
    control.gradient_sum = 1;
    control.decay = 0.0F;
    Reference sums(one, start);
    CHECK(sums.step(data.batch(), control));
    CHECK(sums.parameters()[0] == doctest::Approx(0.5 - 0.5 * 2.0 * of_weight));
  }
  SUBCASE("adaptive: the first factor is down, the next, at the same sign, up; velocity adds up") {
    Control control = linear_control(kAdaptive);
    control.robust = 0;
    const std::vector<float> state = first_state(kAdaptive, 2, 0.5);
    Reference reference(one, start, state, first_progress());
    reference.learn(control, 1.0, std::vector<double>{1.0, -2.0});
    CHECK(reference.parameters()[0] == doctest::Approx(0.5 - 0.05));
    CHECK(reference.parameters()[1] == doctest::Approx(0.25 + 0.05 * 2.0));
    reference.learn(control, 1.0, std::vector<double>{1.0, 2.0});
    CHECK(reference.parameters()[0] == doctest::Approx(0.45 - 0.095 * (1.0 + 0.7)));
    CHECK(reference.parameters()[1] == doctest::Approx(0.35 + 0.005 * (-2.0 + 0.7 * 2.0)));
  }
  SUBCASE("robust: back to the best weights, half the steps, and nothing learnt") {
    Control control = linear_control(kAdaptive);
    Reference reference(one, start, first_state(kAdaptive, 2, 0.5), first_progress());
    const std::vector<double> gradient{1.0, 1.0};
    CHECK(reference.learn(control, 2.0, gradient) == kKeepAndLearn);
    CHECK(reference.progress().best == doctest::Approx(0.5));
    CHECK(reference.learn(control, 2.0 * 1.019 * 1.019, gradient) == kLearn);  // within the tolerance
    const double step = reference.state()[0];
    CHECK(reference.learn(control, 2.0 * 1.021 * 1.021, gradient) == kRestore);
    CHECK(reference.parameters()[0] == doctest::Approx(0.5));
    CHECK(reference.parameters()[1] == doctest::Approx(0.25));
    CHECK(reference.state()[0] == doctest::Approx(0.5 * step));
    CHECK(reference.state()[2] == 0.0);
    CHECK(reference.state()[4] == 0.0);
    CHECK(reference.learn(control, NAN, gradient) == kRestore);  // an error that is none counts as rows times outputs
    CHECK(reference.progress().restores == 2);
    CHECK(reference.progress().epoch == 4);
  }
  SUBCASE("rprop: after a change of sign the gradient counts as 0") {
    const Control control = linear_control(kRprop);
    Reference reference(one, start, first_state(kRprop, 2, 0.0125), first_progress());
    reference.learn(control, 1.0, std::vector<double>{1.0, -1.0});
    CHECK(reference.parameters()[0] == doctest::Approx(0.5 - 0.0125));
    CHECK(reference.parameters()[1] == doctest::Approx(0.25 + 0.0125));
    reference.learn(control, 1.0, std::vector<double>{2.0, 1.0});
    CHECK(reference.parameters()[0] == doctest::Approx(0.4875 - 0.015));
    CHECK(reference.parameters()[1] == doctest::Approx(0.2625));
    reference.learn(control, 1.0, std::vector<double>{-2.0, 1.0});
    CHECK(reference.parameters()[0] == doctest::Approx(0.4725));
    CHECK(reference.parameters()[1] == doctest::Approx(0.2625 - 0.00625));
  }
  SUBCASE("adam: the first step is as long as the rate") {
    const Control control = linear_control(kAdam);
    Reference reference(one, start, first_state(kAdam, 2, 0.0), first_progress());
    reference.learn(control, 1.0, std::vector<double>{3.0, -0.01});
    CHECK(reference.parameters()[0] == doctest::Approx(0.5 - 0.001));
    CHECK(reference.parameters()[1] == doctest::Approx(0.25 + 0.001).epsilon(1e-6));
  }
  SUBCASE("plain training that diverges changes nothing more") {
    const Control control = linear_control(kPlain);
    Reference reference(one, start);
    CHECK(reference.learn(control, INFINITY, std::vector<double>{1.0, 1.0}) == kLeave);
    CHECK(reference.progress().halted == kDiverged);
    CHECK(reference.parameters()[0] == 0.5);
    CHECK_FALSE(reference.step(data.batch(), control));
  }
}

TEST_CASE("mini-batches: the last of an epoch is shorter, and errors are those of a whole epoch") {
  const Problem problem = training_problem(layers(3, {}, 2), 11, 4);
  Workload work =
      verification_workload(problem, {.rule = kPlain, .output = kLinear, .shuffled = true}, test::sample_seed());
  work.control.rate = 0.0F;  // weights stay as they are
  Reference reference(work.layers, work.parameters, work.state, work.progress);
  const int rows = work.control.rows, batch = work.control.batch;
  REQUIRE(rows > 2 * batch);
  REQUIRE(rows < 3 * batch);
  for (int step = 0; step < 3; ++step) CHECK(reference.step(work.batch(0), work.control));
  CHECK(reference.progress().epoch == 1);
  CHECK(reference.progress().position == 0);
  CHECK(reference.progress().steps == 3);
  REQUIRE(reference.errors().size() == 1);
  CHECK(reference.errors().front() ==
        doctest::Approx(reference.gradient(work.batch(0), 0, rows, kLinear, kLinear).squares));
}

TEST_CASE("layers and problems say the same") {
  const Layers all = layers(784, std::vector<std::int64_t>{25, 15}, 10);
  CHECK(text(all) == "784-25-15-10");
  CHECK(all.parameters() == 20175);
  CHECK(all.biases_at(2) == 20175 - 10);
  CHECK(same(layers_of(network_problem(all)), all));
  const Problem gap = network_problem(all).with("hidden1", 0).with("hidden7", 5);
  CHECK(text(layers_of(gap)) == "784-15-5-10");
  CHECK(training_problem(all, 100, 1000).at("batch") == 100);
}

}  // namespace
}  // namespace heddle::mlp
