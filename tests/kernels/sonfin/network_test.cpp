#include "heddle/kernels/sonfin/network.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

namespace heddle::sonfin {
namespace {

Network random_network(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const auto fill = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  };
  return {dim, outputs, fill(rules * dim), fill(rules * dim), fill(rules * outputs)};
}

std::vector<float> floats(const HostImage& image, const char* name) {
  const std::vector<std::byte>& bytes = image.at(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_CASE("packing and unpacking are inverse in every layout, and padding is neutral") {
  std::mt19937 random(std::random_device{}());
  for (const std::int64_t tile : {1, 4, 32}) {
    for (const std::int64_t rules : {0, 1, 17, 32}) {
      const std::int64_t dim = 1 + random() % 40, outputs = 1 + random() % 12;
      const Layout layout{.capacity = 32,
                          .dim = dim,
                          .outputs = outputs,
                          .stride = (dim + 7) / 8 * 8,
                          .target_stride = outputs + 3,
                          .antecedent_tile = tile,
                          .consequent_tile = 32 / tile};
      const Network network = random_network(rules, dim, outputs, random);
      HostImage image;
      pack(network, layout, image);
      const Network back = unpack(image, layout, rules);
      CHECK(back.dim == dim);
      CHECK(back.outputs == outputs);
      CHECK(back.centres == network.centres);
      CHECK(back.widths == network.widths);
      CHECK(back.consequents == network.consequents);

      const std::vector<float> centres = floats(image, "centres"), widths = floats(image, "widths");
      REQUIRE(static_cast<std::int64_t>(centres.size()) == layout.antecedents());
      for (std::int64_t k = 0; k < layout.capacity; ++k) {
        for (std::int64_t j = k < rules ? dim : 0; j < layout.stride; ++j) {
          CHECK(centres[static_cast<std::size_t>(layout.antecedent(k, j))] == 0.0F);
          CHECK(widths[static_cast<std::size_t>(layout.antecedent(k, j))] == 1.0F);
        }
      }
    }
  }
}

TEST_CASE("a layout refuses more rules than it has room for") {
  std::mt19937 random(1);
  const Layout layout{.capacity = 4, .dim = 2, .outputs = 1, .stride = 2, .target_stride = 1};
  HostImage image;
  CHECK_THROWS_AS(pack(random_network(5, 2, 1, random), layout, image), std::length_error);
  pack(random_network(4, 2, 1, random), layout, image);
  CHECK_THROWS_AS((void)unpack(image, layout, 5), std::length_error);
  image["widths"].resize(8);
  CHECK_THROWS_AS((void)unpack(image, layout, 4), std::length_error);
}

TEST_CASE("rows are padded with zeros") {
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  const std::vector<std::byte> bytes = pack_rows(rows.data(), 2, 3, 5);
  std::vector<float> padded(10, -1.0F);
  REQUIRE(bytes.size() == padded.size() * sizeof(float));
  std::memcpy(padded.data(), bytes.data(), bytes.size());
  CHECK(padded == std::vector<float>{1, 2, 3, 0, 0, 4, 5, 6, 0, 0});
}

TEST_CASE("control carries the options in float32") {
  Hyperparameters options;
  options.first_width = 2.0;
  const Control scaled = control(options, 77);
  CHECK(scaled.consequent_rate == 0.3F);
  CHECK(scaled.log_threshold == doctest::Approx(std::log(0.5)));
  CHECK(scaled.first_width == doctest::Approx(0.6 * 2.0));
  CHECK(scaled.negligible_gradient == std::ldexp(1.0F, -40));
  CHECK(scaled.plain_step == 0);
  CHECK(scaled.squared_width == 0);
  CHECK(scaled.end == 77);

  options.step = Step::plain;
  options.width = Width::squared;
  options.threshold = 0.0;
  options.first_width = 0.0;  // all inputs constant
  const Control plain = control(options, 1);
  CHECK(plain.log_threshold == -std::numeric_limits<float>::infinity());
  CHECK(plain.first_width == 0.001F);
  CHECK(plain.negligible_gradient == doctest::Approx(std::ldexp(1e-6, -40)));
  CHECK(plain.plain_step == 1);
  CHECK(plain.squared_width == 1);
}

}  // namespace
}  // namespace heddle::sonfin
