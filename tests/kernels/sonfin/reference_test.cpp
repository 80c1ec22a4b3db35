#include "heddle/kernels/sonfin/reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

namespace heddle::sonfin {
namespace {

struct Sample {
  std::vector<float> x, target;
};

std::vector<float> uniform(std::int64_t count, float low, float high, std::mt19937& random) {
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = distribution(random);
  return values;
}

Sample random_sample(std::int64_t dim, std::int64_t outputs, std::mt19937& random) {
  return {uniform(dim, -1, 1, random), uniform(outputs, -1, 1, random)};
}

Reference random_reference(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::mt19937& random) {
  const float width = std::sqrt(static_cast<float>(dim));
  return {{dim, outputs, uniform(rules * dim, -1, 1, random), uniform(rules * dim, 0.7F * width, 1.3F * width, random),
           uniform(rules * outputs, -1, 1, random)},
          {}};
}

/// Largest difference between `gradient` and central differences of the loss, relative to the largest gradient.
double worst_error(Reference& reference, std::vector<double>& parameters, const std::vector<double>& gradient,
                   const Sample& sample) {
  constexpr double kStep = 1e-6;
  double worst = 0.0, largest = 1e-12;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double before = parameters[i];
    parameters[i] = before + kStep;
    const double above = reference.loss(sample.x, sample.target);
    parameters[i] = before - kStep;
    const double below = reference.loss(sample.x, sample.target);
    parameters[i] = before;
    worst = std::max(worst, std::abs((above - below) / (2.0 * kStep) - gradient[i]));
    largest = std::max(largest, std::abs(gradient[i]));
  }
  return worst / largest;
}

TEST_CASE("gradients equal finite differences") {
  std::mt19937 random(std::random_device{}());
  for (const auto& shape : {std::array{1, 1, 1}, {2, 3, 1}, {7, 5, 3}, {12, 40, 26}}) {
    const auto [rules, dim, outputs] = shape;
    Reference reference = random_reference(rules, dim, outputs, random);
    const Sample sample = random_sample(dim, outputs, random);
    const Gradients gradients = reference.gradients(sample.x, sample.target);
    CAPTURE(shape[0]);
    CHECK(worst_error(reference, reference.consequents(), gradients.consequents, sample) < 1e-7);
    if (rules == 1) continue;  // phi is 1 whatever m and sigma are
    CHECK(worst_error(reference, reference.centres(), gradients.centres, sample) < 1e-6);
    CHECK(worst_error(reference, reference.widths(), gradients.widths, sample) < 1e-6);
  }
}

TEST_CASE("one sample by hand") {
  // One input, two rules at 0 and 2, widths 1 and 2, consequents 1 and 3; x = 1, d = 0.
  // l = -1, -1/4; phi = 1 / (1 + e^0.75), the rest; y = phi_1 + 3 phi_2; all gradients from those.
  Hyperparameters options;
  options.threshold = 0.0;
  const double e = std::exp(0.75), phi1 = 1.0 / (1.0 + e), phi2 = e / (1.0 + e), y = phi1 + 3.0 * phi2;
  const double g1 = phi1 * y * (1.0 - y), g2 = phi2 * y * (3.0 - y);
  const std::vector<float> x{1.0F}, d{0.0F};
  for (const Step step : {Step::scaled, Step::plain}) {
    options.step = step;
    Reference reference({1, 1, {0.0F, 2.0F}, {1.0F, 2.0F}, {1.0F, 3.0F}}, options);
    CHECK(reference.predict(x)[0] == doctest::Approx(y));
    const Reference::Outcome outcome = reference.learn(x, d);
    CHECK(outcome.loss == doctest::Approx(0.5 * y * y));
    CHECK_FALSE(outcome.added);
    const double scale = step == Step::scaled ? 4.0 : 1.0;
    CHECK(reference.consequents()[0] == doctest::Approx(1.0 - 0.3 * y * phi1));
    CHECK(reference.consequents()[1] == doctest::Approx(3.0 - 0.3 * y * phi2));
    CHECK(reference.centres()[0] == doctest::Approx(0.0 - 0.15 * g1 * 2.0));
    CHECK(reference.centres()[1] == doctest::Approx(2.0 - 0.15 * scale * g2 * 2.0 * -1.0 / 4.0));
    CHECK(reference.widths()[0] == doctest::Approx(1.0 - 0.15 * g1 * 2.0));
    CHECK(reference.widths()[1] == doctest::Approx(2.0 - 0.15 * scale * g2 * 2.0 / 8.0));
  }
}

TEST_CASE("the first sample makes the first rule, a far one the next, up to the cap") {
  Hyperparameters options;
  options.first_width = 5.0;
  options.max_rules = 2;
  Reference reference(2, 1, options);
  CHECK(reference.rules() == 0);
  CHECK_THROWS_AS((void)reference.predict(std::vector<float>{0, 0}), std::logic_error);
  Reference::Outcome outcome = reference.learn(std::vector<float>{1, 2}, std::vector<float>{7});
  CHECK(outcome.added);
  CHECK(outcome.loss == 0.0);
  CHECK(reference.centres() == std::vector<double>{1, 2});
  CHECK(reference.widths() == std::vector<double>{3, 3});
  CHECK(reference.consequents() == std::vector<double>{7});

  CHECK_FALSE(reference.learn(std::vector<float>{1.5F, 2}, std::vector<float>{7}).added);
  outcome = reference.learn(std::vector<float>{4, 6}, std::vector<float>{-1});
  CHECK(outcome.added);
  CHECK(outcome.loss > 0.0);  // the old rule still has a say
  CHECK(reference.widths()[2] == doctest::Approx(0.6 * 5.0));
  CHECK_FALSE(reference.learn(std::vector<float>{100, 100}, std::vector<float>{0}).added);
  CHECK(reference.rules() == 2);
}

TEST_CASE("a log firing equal to the threshold adds a rule; threshold 0 never does") {
  Hyperparameters options;
  options.threshold = std::exp(-4.0);
  const Network network{1, 1, {0.0F}, {1.0F}, {0.0F}};
  Reference below(network, options);
  CHECK_FALSE(below.learn(std::vector<float>{1.999F}, std::vector<float>{0}).added);
  Reference above(network, options);
  CHECK(above.learn(std::vector<float>{2.001F}, std::vector<float>{0}).added);
  options.threshold = 1.0;
  Reference equal(network, options);
  CHECK(equal.learn(std::vector<float>{0.0F}, std::vector<float>{0}).added);
  CHECK(equal.widths()[1] == 0.001);  // at distance 0 the floor is all there is
  options.threshold = 0.0;
  Reference never(network, options);
  CHECK_FALSE(never.learn(std::vector<float>{1e6F}, std::vector<float>{0}).added);
}

TEST_CASE("of two rules that tie the lower one gives the new width") {
  for (const bool mirrored : {false, true}) {
    for (const Width width : {Width::distance, Width::squared}) {
      Hyperparameters options;
      options.width = width;
      const Network network =
          mirrored ? Network{1, 1, {8, -4}, {2, 1}, {0, 0}} : Network{1, 1, {-4, 8}, {1, 2}, {0, 0}};
      Reference reference(network, options);
      CHECK(reference.learn(std::vector<float>{0}, std::vector<float>{1}).added);
      const double distance = mirrored ? 8.0 : 4.0;
      CHECK(reference.widths()[2] == doctest::Approx(0.6 * (width == Width::squared ? distance * distance : distance)));
    }
  }
}

TEST_CASE("widths do not fall below the floor") {
  std::mt19937 random(7);
  Reference reference = random_reference(5, 4, 2, random);
  reference.options().minimum_width = 1.9;
  reference.options().antecedent_rate = 50.0;
  const Sample sample = random_sample(4, 2, random);
  reference.learn(sample.x, sample.target);
  CHECK(*std::min_element(reference.widths().begin(), reference.widths().end()) == 1.9);
}

TEST_CASE("the scaled step does not depend on the unit of the inputs") {
  std::mt19937 random(std::random_device{}());
  Reference small = random_reference(6, 5, 3, random);
  Network network = small.network();
  for (float& centre : network.centres) centre *= 1024.0F;
  for (float& width : network.widths) width *= 1024.0F;
  Reference large(network, {});
  for (int i = 0; i < 20; ++i) {
    Sample sample = random_sample(5, 3, random);
    small.learn(sample.x, sample.target);
    for (float& value : sample.x) value *= 1024.0F;
    large.learn(sample.x, sample.target);
  }
  for (std::size_t i = 0; i < small.centres().size(); ++i) {
    CHECK(large.centres()[i] == doctest::Approx(1024.0 * small.centres()[i]));
    CHECK(large.widths()[i] == doctest::Approx(1024.0 * small.widths()[i]));
  }
}

TEST_CASE("where every Gaussian is zero in float64 the output is still right") {
  const std::int64_t dim = 3000;
  Network network{dim, 1, std::vector<float>(2 * dim, 0.0F), std::vector<float>(2 * dim, 1.0F), {1.0F, 5.0F}};
  std::fill(network.centres.begin() + dim, network.centres.end(), 2.0F);
  const Reference reference(network, {});
  CHECK(reference.predict(std::vector<float>(dim, 1.0F))[0] == doctest::Approx(3.0));  // l = -3000 for both
}

TEST_CASE("a network is needed that has inputs and outputs") {
  CHECK_THROWS_AS(Reference(0, 1, {}), std::invalid_argument);
  CHECK_THROWS_AS(Reference(1, 0, {}), std::invalid_argument);
}

TEST_CASE("learning lowers the error on a curve") {
  std::mt19937 random(5);
  Hyperparameters options;
  options.first_width = 1.0;
  options.threshold = 0.1;
  options.max_rules = 20;
  Reference reference(1, 1, options);
  std::vector<double> losses;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<float> x = uniform(1, -2, 2, random), d{std::sin(2.0F * x[0])};
    losses.push_back(reference.learn(x, d).loss);
  }
  const double last = std::accumulate(losses.end() - 200, losses.end(), 0.0) / 200.0;
  CHECK(reference.rules() > 3);
  CHECK(last < 0.1);  // a constant output gives 0.25
}

}  // namespace
}  // namespace heddle::sonfin
