#include "heddle/kernels/sonfin/layout.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::sonfin {
namespace {

/// Floats of a cache line, and of a vector register.
constexpr std::int64_t kSideBySide = 16;

std::int64_t numbers(const RuleParameter& parameter, const Layout& layout) {
  return parameter.antecedent ? layout.dim : layout.outputs;
}

/// Calls act(count) with one of `Known` as a constant, for which compilers make better loops, or else as it is.
template <std::int64_t... Known, class Act>
void with_constant(std::int64_t count, const Act& act) {
  const bool known = ((count == Known && (act(std::integral_constant<std::int64_t, Known>()), true)) || ...);
  if (!known) act(count);
}

/// Calls copy(value, place) for each value of the rules and its place in the buffer. Neighbours in a tile go together,
/// so that lines of both are used as a whole while they are in the cache.
template <class Value, class Place, class Copy>
void for_each_value(const RuleParameter& parameter, const Layout& layout, std::int64_t rules, Value* values,
                    Place* buffer, const Copy& copy) {
  const std::int64_t width = numbers(parameter, layout);
  if (width == 0) return;
  const std::int64_t tile = parameter.antecedent ? layout.antecedent_tile : layout.consequent_tile;
  const auto transfer = [&](std::int64_t first, auto together, auto apart) {
    Value* const from = values + first * width;
    Place* const to = buffer + (parameter.antecedent ? layout.antecedent(first, 0) : layout.consequent(first, 0));
    for (std::int64_t i = 0; i < width; ++i) {
      for (std::int64_t k = 0; k < together; ++k) copy(from[k * width + i], to[i * apart + k]);
    }
  };
  constexpr std::integral_constant<std::int64_t, 1> kOne;
  for (std::int64_t k = 0; k < rules;) {
    const std::int64_t together = std::min({kSideBySide, tile - k % tile, rules - k});
    if (tile == 1) {
      transfer(k, kOne, kOne);
    } else {
      with_constant<kSideBySide, 8, 4>(together, [&](auto count) { transfer(k, count, tile); });
    }
    k += together;
  }
}

void check_room(std::int64_t rules, const Layout& layout) {
  if (rules < 0 || rules > layout.capacity) {
    throw std::length_error("found " + std::to_string(rules) + " rules, a layout has room for " +
                            std::to_string(layout.capacity));
  }
}

}  // namespace

void pack(const RuleParameter& parameter, std::span<const float> values, const Layout& layout,
          std::vector<float>& buffer) {
  const std::int64_t count = std::ssize(values), width = std::max<std::int64_t>(numbers(parameter, layout), 1);
  if (count % width != 0) {
    throw std::length_error(std::string("the ") + parameter.buffer + " of a network are not those of whole rules");
  }
  const std::int64_t rules = count / width;
  check_room(rules, layout);
  buffer.assign(at((layout.*parameter.floats)()), parameter.absent);
  for_each_value(parameter, layout, rules, values.data(), buffer.data(),
                 [](const float& value, float& place) { place = value; });
}

void unpack(const RuleParameter& parameter, std::span<const float> buffer, const Layout& layout, std::int64_t rules,
            std::vector<float>& values) {
  check_room(rules, layout);
  if (buffer.size() < at((layout.*parameter.floats)())) {
    throw std::length_error(std::string("buffer '") + parameter.buffer + "' is smaller than its layout");
  }
  values.resize(at(rules * numbers(parameter, layout)));
  for_each_value(parameter, layout, rules, values.data(), buffer.data(),
                 [](float& value, const float& place) { value = place; });
}

void pack(const Network& network, const Layout& layout, HostImage& image) {
  std::vector<float> buffer;
  for (const RuleParameter& parameter : kRuleParameters) {
    pack(parameter, network.*parameter.values, layout, buffer);
    const auto bytes = std::as_bytes(std::span(buffer));
    image[parameter.buffer].assign(bytes.begin(), bytes.end());
  }
}

Network unpack(const HostImage& image, const Layout& layout, std::int64_t rules) {
  Network network{layout.dim, layout.outputs, {}, {}, {}};
  std::vector<float> buffer;
  for (const RuleParameter& parameter : kRuleParameters) {
    const std::vector<std::byte>& bytes = image.at(parameter.buffer);
    buffer.resize(bytes.size() / sizeof(float));
    if (!buffer.empty()) std::memcpy(buffer.data(), bytes.data(), buffer.size() * sizeof(float));
    unpack(parameter, buffer, layout, rules, network.*parameter.values);
  }
  return network;
}

std::vector<std::byte> pack_rows(const float* rows, std::int64_t count, std::int64_t width, std::int64_t stride) {
  std::vector<std::byte> bytes(at(count * stride) * sizeof(float), std::byte{0});
  for (std::int64_t i = 0; width > 0 && i < count; ++i) {
    std::memcpy(bytes.data() + at(i * stride) * sizeof(float), rows + i * width, at(width) * sizeof(float));
  }
  return bytes;
}

}  // namespace heddle::sonfin
