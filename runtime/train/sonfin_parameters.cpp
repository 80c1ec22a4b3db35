#include "heddle/runtime/train/sonfin_parameters.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "heddle/kernels/plan.hpp"
#include "heddle/runtime/device/bytes.hpp"

namespace heddle {

namespace {

std::size_t place_of(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Whether a rule of any number lies at the same place of the same memory for all rungs.
bool same_places(const std::vector<SonfinParameters::Rung>& rungs) {
  return std::ranges::all_of(rungs, [&](const SonfinParameters::Rung& rung) {
    const auto shared = [&](const char* buffer) {
      return &rung.execution->memory(buffer) == &rungs.front().execution->memory(buffer);
    };
    return rung.layout.rule_after_rule() && rung.layout.stride == rungs.front().layout.stride && shared("centres") &&
           shared("widths");
  });
}

}  // namespace

SonfinParameters::SonfinParameters(std::vector<Rung> rungs) : rungs_(std::move(rungs)), in_place_(same_places(rungs_)) {
  if (!in_place_) return;
  const sonfin::Layout& largest = rungs_.back().layout;
  occupied_ = largest.capacity;
  write(rungs_.size() - 1,
        {.dim = largest.dim, .outputs = largest.outputs, .centres = {}, .widths = {}, .consequents = {}});
}

void SonfinParameters::write(std::size_t rung, const sonfin::Network& network) {
  const Rung& to = rungs_[rung];
  if (!in_place_) {
    HostImage image;
    sonfin::pack(network, to.layout, image);
    for (const auto& [name, values] : image) to.execution->memory(name).write(values);
    return;
  }
  const std::int64_t rules = network.rules();
  if (rules > to.layout.capacity) throw std::length_error("a network of more rules than its rung has room for");
  write_rules(rung, "centres", network.centres, rules, 0.0F);
  write_rules(rung, "widths", network.widths, rules, 1.0F);
  write_consequents(rung, network.consequents);
  occupied_ = rules;
}

void SonfinParameters::read(std::size_t rung, std::int64_t rules, sonfin::Network& into) const {
  const Rung& from = rungs_[rung];
  if (in_place_) {
    into.dim = from.layout.dim;
    into.outputs = from.layout.outputs;
    read_rules(rung, "centres", rules, into.centres);
    read_rules(rung, "widths", rules, into.widths);
    into.consequents = read_consequents(rung, rules);
    return;
  }
  HostImage image;
  const auto read = [&](const char* name, std::int64_t floats) {
    std::vector<std::byte>& values = image[name];
    values.resize(place_of(floats) * sizeof(float));
    from.execution->memory(name).read(values);
  };
  read("centres", from.layout.antecedents());
  read("widths", from.layout.antecedents());
  read("consequents", from.layout.consequents());
  into = sonfin::unpack(image, from.layout, rules);
}

void SonfinParameters::move(std::size_t from, std::size_t to, std::int64_t rules) {
  if (in_place_) {
    write_consequents(to, read_consequents(from, rules));
  } else {
    sonfin::Network network;
    read(from, rules, network);
    write(to, network);
  }
}

void SonfinParameters::learnt(std::int64_t rules) { occupied_ = std::max(occupied_, rules); }

void SonfinParameters::write_rules(std::size_t rung, const char* buffer, const std::vector<float>& values,
                                   std::int64_t rules, float absent) {
  const sonfin::Layout& where = rungs_[rung].layout;
  Memory& memory = rungs_[rung].execution->memory(buffer);
  if (where.stride == where.dim && rules >= occupied_) return memory.write(bytes(values));
  std::vector<float> padded(place_of(std::max(rules, occupied_) * where.stride), absent);
  for (std::int64_t k = 0; k < rules; ++k) {
    std::copy_n(values.begin() + k * where.dim, where.dim, padded.begin() + k * where.stride);
  }
  memory.write(bytes(padded));
}

void SonfinParameters::read_rules(std::size_t rung, const char* buffer, std::int64_t rules,
                                  std::vector<float>& values) const {
  const sonfin::Layout& where = rungs_[rung].layout;
  values.resize(place_of(rules * where.stride));
  rungs_[rung].execution->memory(buffer).read(std::as_writable_bytes(std::span(values)));
  if (where.stride == where.dim) return;
  for (std::int64_t k = 0; k < rules; ++k) {  // towards the front, where nothing is needed any more
    std::copy_n(values.begin() + k * where.stride, where.dim, values.begin() + k * where.dim);
  }
  values.resize(place_of(rules * where.dim));
}

void SonfinParameters::write_consequents(std::size_t rung, const std::vector<float>& values) {
  const sonfin::Layout& where = rungs_[rung].layout;
  const std::int64_t rules = static_cast<std::int64_t>(values.size()) / where.outputs;
  std::vector<float> packed(place_of(where.consequents()), 0.0F);
  for (std::int64_t k = 0; k < rules; ++k) {
    for (std::int64_t l = 0; l < where.outputs; ++l) {
      packed[place_of(where.consequent(k, l))] = values[place_of(k * where.outputs + l)];
    }
  }
  rungs_[rung].execution->memory("consequents").write(bytes(packed));
}

std::vector<float> SonfinParameters::read_consequents(std::size_t rung, std::int64_t rules) const {
  const sonfin::Layout& where = rungs_[rung].layout;
  std::vector<float> packed(place_of(where.consequents())), values(place_of(rules * where.outputs));
  rungs_[rung].execution->memory("consequents").read(std::as_writable_bytes(std::span(packed)));
  for (std::int64_t k = 0; k < rules; ++k) {
    for (std::int64_t l = 0; l < where.outputs; ++l) {
      values[place_of(k * where.outputs + l)] = packed[place_of(where.consequent(k, l))];
    }
  }
  return values;
}

}  // namespace heddle
