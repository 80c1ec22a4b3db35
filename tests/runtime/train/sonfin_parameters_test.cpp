#include "heddle/runtime/train/sonfin_parameters.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace heddle {
namespace {

class HostMemory final : public Memory {
 public:
  explicit HostMemory(std::int64_t floats) : values_(static_cast<std::size_t>(floats), -7.0F) {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(values_.size() * sizeof(float)); }
  void write(std::span<const std::byte> from, std::int64_t offset) override {
    REQUIRE(offset + static_cast<std::int64_t>(from.size()) <= bytes());
    written += static_cast<std::int64_t>(from.size());
    if (!from.empty()) std::memcpy(reinterpret_cast<std::byte*>(values_.data()) + offset, from.data(), from.size());
  }
  void read(std::span<std::byte> to, std::int64_t offset) const override {
    REQUIRE(offset + static_cast<std::int64_t>(to.size()) <= bytes());
    if (!to.empty()) std::memcpy(to.data(), reinterpret_cast<const std::byte*>(values_.data()) + offset, to.size());
  }
  void fill(std::byte value) override { std::memset(values_.data(), static_cast<int>(value), values_.size() * 4); }
  float& operator[](std::int64_t i) { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t written = 0;

 private:
  std::vector<float> values_;
};

using Memories = std::map<std::string, std::shared_ptr<HostMemory>, std::less<>>;

/// Has memory and nothing to launch.
class Buffers final : public Execution {
 public:
  explicit Buffers(Memories memories) : memories_(std::move(memories)) {}
  const Plan& plan() const override { return plan_; }
  HostMemory& memory(std::string_view buffer) override { return *memories_.find(buffer)->second; }
  void launch() override {}
  void synchronize() override {}
  double time() override { return 0.0; }
  void save() override {}
  void restore() override {}
  std::optional<std::string> overrun() override { return {}; }

 private:
  Plan plan_;
  Memories memories_;
};

sonfin::Layout layout(std::int64_t rules, std::int64_t dim, std::int64_t tile) {
  const std::int64_t capacity = (rules + tile - 1) / tile * tile;
  return {.capacity = capacity,
          .dim = dim,
          .outputs = 3,
          .stride = (dim + 3) / 4 * 4,
          .target_stride = 3,
          .antecedent_tile = tile,
          .consequent_tile = tile > 1 ? tile : capacity};
}

sonfin::Network network(std::int64_t rules, std::int64_t dim) {
  const auto values = [](std::int64_t count, float first) {
    std::vector<float> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return all;
  };
  return {.dim = dim,
          .outputs = 3,
          .centres = values(rules * dim, 1000.0F),
          .widths = values(rules * dim, 5000.0F),
          .consequents = values(rules * 3, 9000.0F)};
}

void check_equal(const sonfin::Network& a, const sonfin::Network& b) {
  CHECK(a.centres == b.centres);
  CHECK(a.widths == b.widths);
  CHECK(a.consequents == b.consequents);
}

/// Two rungs, for 4 and 8 rules, of which the second has the memory of the first too.
struct Two {
  Two(std::int64_t dim, std::int64_t tile, bool shared)
      : small_layout(layout(4, dim, tile)), large_layout(layout(8, dim, tile)) {
    const auto memories = [](const sonfin::Layout& where) {
      return Memories{{"centres", std::make_shared<HostMemory>(where.antecedents())},
                      {"widths", std::make_shared<HostMemory>(where.antecedents())},
                      {"consequents", std::make_shared<HostMemory>(where.consequents())}};
    };
    const Memories of_large = memories(large_layout);
    small = std::make_unique<Buffers>(shared ? of_large : memories(small_layout));
    large = std::make_unique<Buffers>(of_large);
    parameters = SonfinParameters({{small.get(), small_layout}, {large.get(), large_layout}});
  }
  /// In memory that has held another network.
  sonfin::Network read(std::size_t rung, std::int64_t rules) {
    sonfin::Network found = network(7, 9);
    parameters.read(rung, rules, found);
    return found;
  }
  /// What pack() would have written for a network of so many rules is what is there.
  void check_padding(std::int64_t rules) {
    for (std::int64_t k = 0; k < large_layout.capacity; ++k) {
      for (std::int64_t j = k < rules ? large_layout.dim : 0; j < large_layout.stride; ++j) {
        CAPTURE(k);
        CAPTURE(j);
        CHECK(large->memory("centres")[large_layout.antecedent(k, j)] == 0.0F);
        CHECK(large->memory("widths")[large_layout.antecedent(k, j)] == 1.0F);
      }
    }
  }
  sonfin::Layout small_layout, large_layout;
  std::unique_ptr<Buffers> small, large;
  SonfinParameters parameters;
};

TEST_CASE("parameters come back from the rung that they were written to, or moved to") {
  for (const std::int64_t dim : {8, 5}) {
    for (const std::int64_t tile : {1, 4}) {
      for (const bool shared : {true, false}) {
        CAPTURE(dim);
        CAPTURE(tile);
        CAPTURE(shared);
        Two two(dim, tile, shared);
        for (const std::int64_t rules : {0, 1, 3, 4}) {
          const sonfin::Network some = network(rules, dim);
          two.parameters.write(0, some);
          check_equal(two.read(0, rules), some);
          two.parameters.move(0, 1, rules);
          check_equal(two.read(1, rules), some);
        }
        CHECK_THROWS_AS(two.parameters.write(0, network(5, dim)), std::length_error);
      }
    }
  }
}

TEST_CASE("rules that are not there look absent, also where there were some before") {
  for (const std::int64_t dim : {8, 5}) {
    CAPTURE(dim);
    Two two(dim, 1, true);
    two.check_padding(0);
    two.parameters.write(1, network(7, dim));
    two.parameters.write(0, network(2, dim));
    two.check_padding(2);
    // Kernels add a rule.
    two.small->memory("centres")[two.small_layout.antecedent(2, 0)] = 3.0F;
    two.parameters.learnt(3);
    two.parameters.write(1, network(1, dim));
    two.check_padding(1);
  }
}

TEST_CASE("a step to another rung copies neither centres nor widths where these stay") {
  Two two(8, 1, true);
  two.parameters.write(0, network(4, 8));
  const std::int64_t centres = two.large->memory("centres").written, widths = two.large->memory("widths").written;
  two.parameters.move(0, 1, 4);
  CHECK(two.large->memory("centres").written == centres);
  CHECK(two.large->memory("widths").written == widths);
}

}  // namespace
}  // namespace heddle
