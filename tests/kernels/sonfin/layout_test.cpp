#include "heddle/kernels/sonfin/layout.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <stdexcept>

#include "heddle/kernels/arithmetic.hpp"

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

void check_packing(const Layout& layout, std::int64_t rules, std::mt19937& random) {
  const std::int64_t dim = layout.dim, outputs = layout.outputs;
  CAPTURE(layout.antecedent_tile);
  CAPTURE(layout.consequent_tile);
  CAPTURE(layout.banks);
  CAPTURE(dim);
  CAPTURE(outputs);
  CAPTURE(rules);
  const Network network = random_network(rules, dim, outputs, random);
  HostImage image;
  pack(network, layout, image);
  const Network back = unpack(image, layout, rules);
  CHECK(back.dim == dim);
  CHECK(back.outputs == outputs);
  CHECK(back.centres == network.centres);
  CHECK(back.widths == network.widths);
  CHECK(back.consequents == network.consequents);

  const std::vector<float> centres = floats(image, "centres"), widths = floats(image, "widths"),
                           consequents = floats(image, "consequents");
  REQUIRE(static_cast<std::int64_t>(centres.size()) == layout.antecedents());
  REQUIRE(static_cast<std::int64_t>(consequents.size()) == layout.consequents());
  int wrong = 0;
  for (std::int64_t k = 0; k < layout.capacity; ++k) {
    for (std::int64_t j = 0; j < layout.stride; ++j) {
      const bool is = k < rules && j < dim;
      const std::size_t place = at(layout.antecedent(k, j));
      wrong += centres[place] != (is ? network.centres[at(k * dim + j)] : 0.0F) ? 1 : 0;
      wrong += widths[place] != (is ? network.widths[at(k * dim + j)] : 1.0F) ? 1 : 0;
    }
    for (std::int64_t l = 0; l < outputs; ++l) {
      const float expected = k < rules ? network.consequents[at(k * outputs + l)] : 0.0F;
      wrong += consequents[at(layout.consequent(k, l))] != expected ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("every value is where its layout says, comes back from there, and padding is neutral") {
  std::mt19937 random(std::random_device{}());
  for (const std::int64_t rules : {0, 1, 17, 36, 37, 50, 143, 144}) {
    const std::int64_t dim = 1 + random() % 40, outputs = 1 + random() % 12;
    Layout layout{.capacity = 144,
                  .dim = dim,
                  .outputs = outputs,
                  .stride = (dim + 7) / 8 * 8,
                  .target_stride = outputs + 3,
                  .dealt = 48};
    for (const std::int64_t tile : {1, 4, 8, 12, 16, 24, 48}) {
      for (const std::int64_t banks : {1, 3}) {
        layout.antecedent_tile = tile;
        layout.consequent_tile = 48 / tile;
        layout.banks = banks;
        check_packing(layout, rules, random);
      }
    }
    if (rules > 37) continue;
    // As on a GPU: rule after rule, and consequents column after column, whatever the number of rules.
    layout.capacity = layout.consequent_tile = 37;
    layout.antecedent_tile = layout.banks = 1;
    check_packing(layout, rules, random);
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
  Network torn = random_network(3, 2, 1, random);
  torn.widths.pop_back();
  CHECK_THROWS_AS(pack(torn, layout, image), std::length_error);
}

TEST_CASE("rows are padded with zeros") {
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  const std::vector<std::byte> bytes = pack_rows(rows.data(), 2, 3, 5);
  std::vector<float> padded(10, -1.0F);
  REQUIRE(bytes.size() == padded.size() * sizeof(float));
  std::memcpy(padded.data(), bytes.data(), bytes.size());
  CHECK(padded == std::vector<float>{1, 2, 3, 0, 0, 4, 5, 6, 0, 0});
}

}  // namespace
}  // namespace heddle::sonfin
