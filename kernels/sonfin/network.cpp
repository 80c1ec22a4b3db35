#include "heddle/kernels/sonfin/network.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::sonfin {
namespace {

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const HostImage& image, const char* name, std::int64_t count) {
  const std::vector<std::byte>& bytes = image.at(name);
  std::vector<float> values(static_cast<std::size_t>(count));
  if (bytes.size() < values.size() * sizeof(float)) {
    throw std::length_error(std::string("buffer '") + name + "' is smaller than its layout");
  }
  if (count > 0) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

Control control(const Hyperparameters& options, std::int64_t end) {
  Control c{};
  c.consequent_rate = static_cast<float>(options.consequent_rate);
  c.antecedent_rate = static_cast<float>(options.antecedent_rate);
  c.log_threshold = static_cast<float>(std::log(options.threshold));  // log 0 is -infinity, which nothing reaches
  c.overlap = static_cast<float>(options.overlap);
  c.minimum_width = static_cast<float>(options.minimum_width);
  c.first_width = static_cast<float>(std::max(options.overlap * options.first_width, options.minimum_width));
  // Steps are products of g_k: 2 tau g (x - m) and 2 tau g (x - m)^2 / sigma when scaled, with 1 / sigma^2 more when
  // plain. With g below 2^-40 (times the smallest sigma^2 for the plain step) they stay below half an ulp (2^-25 of
  // the value) of any float32 centre or width of the size of the data, with 15 bits to spare for rates and distances.
  c.negligible_gradient = std::ldexp(1.0F, -40);
  if (options.step == Step::plain) c.negligible_gradient *= std::min(1.0F, c.minimum_width * c.minimum_width);
  c.plain_step = options.step == Step::plain ? 1 : 0;
  c.squared_width = options.width == Width::squared ? 1 : 0;
  c.max_rules = static_cast<int>(options.max_rules);
  c.end = static_cast<int>(end);
  return c;
}

void pack(const Network& network, const Layout& layout, HostImage& image) {
  const std::int64_t rules = network.rules();
  if (rules > layout.capacity) {
    throw std::length_error("a network of " + std::to_string(rules) + " rules does not fit into a layout for " +
                            std::to_string(layout.capacity));
  }
  std::vector<float> centres(at(layout.antecedents()), 0.0F);
  std::vector<float> widths(at(layout.antecedents()), 1.0F);
  std::vector<float> consequents(at(layout.consequents()), 0.0F);
  for (std::int64_t k = 0; k < rules; ++k) {
    const std::int64_t first = layout.antecedent(k, 0), row = k * layout.dim;
    if (layout.antecedent_tile == 1) {  // a rule lies in one piece
      std::copy_n(network.centres.begin() + row, layout.dim, centres.begin() + first);
      std::copy_n(network.widths.begin() + row, layout.dim, widths.begin() + first);
    } else {
      for (std::int64_t j = 0; j < layout.dim; ++j) {
        centres[at(layout.antecedent(k, j))] = network.centres[at(row + j)];
        widths[at(layout.antecedent(k, j))] = network.widths[at(row + j)];
      }
    }
    for (std::int64_t l = 0; l < layout.outputs; ++l) {
      consequents[at(layout.consequent(k, l))] = network.consequents[at(k * layout.outputs + l)];
    }
  }
  image["centres"] = bytes_of(centres);
  image["widths"] = bytes_of(widths);
  image["consequents"] = bytes_of(consequents);
}

Network unpack(const HostImage& image, const Layout& layout, std::int64_t rules) {
  if (rules < 0 || rules > layout.capacity) {
    throw std::length_error("a layout for " + std::to_string(layout.capacity) + " rules does not hold " +
                            std::to_string(rules));
  }
  const std::vector<float> centres = floats_of(image, "centres", layout.antecedents());
  const std::vector<float> widths = floats_of(image, "widths", layout.antecedents());
  const std::vector<float> consequents = floats_of(image, "consequents", layout.consequents());
  Network network{layout.dim, layout.outputs, {}, {}, {}};
  network.centres.reserve(at(rules * layout.dim));
  network.widths.reserve(at(rules * layout.dim));
  network.consequents.reserve(at(rules * layout.outputs));
  for (std::int64_t k = 0; k < rules; ++k) {
    if (layout.antecedent_tile == 1) {  // a rule lies in one piece
      const std::int64_t first = layout.antecedent(k, 0);
      network.centres.insert(network.centres.end(), centres.begin() + first, centres.begin() + first + layout.dim);
      network.widths.insert(network.widths.end(), widths.begin() + first, widths.begin() + first + layout.dim);
    } else {
      for (std::int64_t j = 0; j < layout.dim; ++j) {
        network.centres.push_back(centres[at(layout.antecedent(k, j))]);
        network.widths.push_back(widths[at(layout.antecedent(k, j))]);
      }
    }
    for (std::int64_t l = 0; l < layout.outputs; ++l) {
      network.consequents.push_back(consequents[at(layout.consequent(k, l))]);
    }
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
