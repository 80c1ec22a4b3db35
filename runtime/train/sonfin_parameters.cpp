#include "heddle/runtime/train/sonfin_parameters.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/plan.hpp"
#include "heddle/runtime/device/bytes.hpp"

namespace heddle {

namespace {

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

void write_packed(Memory& memory, const sonfin::RuleParameter& parameter, std::span<const float> values,
                  const sonfin::Layout& layout, std::vector<float>& packed) {
  sonfin::pack(parameter, values, layout, packed);
  memory.write(bytes(packed));
}

void read_packed(const Memory& memory, const sonfin::RuleParameter& parameter, const sonfin::Layout& layout,
                 std::int64_t rules, std::vector<float>& values, std::vector<float>& packed) {
  packed.resize(at((layout.*parameter.floats)()));
  memory.read(std::as_writable_bytes(std::span(packed)));
  sonfin::unpack(parameter, packed, layout, rules, values);
}

SonfinParameters::SonfinParameters(std::vector<Rung> rungs) : rungs_(std::move(rungs)), in_place_(same_places(rungs_)) {
  if (!in_place_) return;
  const sonfin::Layout& largest = rungs_.back().layout;
  occupied_ = largest.capacity;
  write(rungs_.size() - 1,
        {.dim = largest.dim, .outputs = largest.outputs, .centres = {}, .widths = {}, .consequents = {}});
}

void SonfinParameters::write(std::size_t rung, const sonfin::Network& network) {
  const std::int64_t rules = network.rules();
  if (rules > rungs_[rung].layout.capacity) {
    throw std::length_error("a network of more rules than its rung has room for");
  }
  for (const sonfin::RuleParameter& parameter : sonfin::kRuleParameters) {
    const std::vector<float>& values = network.*parameter.values;
    if (in_place_ && parameter.antecedent) {
      write_rules(rung, parameter, values, rules);
    } else {
      write_packed(memory(rung, parameter), parameter, values, rungs_[rung].layout, packed_);
    }
  }
  occupied_ = rules;
}

void SonfinParameters::read(std::size_t rung, std::int64_t rules, sonfin::Network& into) const {
  into.dim = rungs_[rung].layout.dim;
  into.outputs = rungs_[rung].layout.outputs;
  for (const sonfin::RuleParameter& parameter : sonfin::kRuleParameters) {
    std::vector<float>& values = into.*parameter.values;
    if (in_place_ && parameter.antecedent) {
      read_rules(rung, parameter, rules, values);
    } else {
      read_packed(memory(rung, parameter), parameter, rungs_[rung].layout, rules, values, packed_);
    }
  }
}

void SonfinParameters::move(std::size_t from, std::size_t to, std::int64_t rules) {
  for (const sonfin::RuleParameter& parameter : sonfin::kRuleParameters) {
    if (in_place_ && parameter.antecedent) continue;
    read_packed(memory(from, parameter), parameter, rungs_[from].layout, rules, moved_, packed_);
    write_packed(memory(to, parameter), parameter, moved_, rungs_[to].layout, packed_);
  }
}

void SonfinParameters::learnt(std::int64_t rules) { occupied_ = std::max(occupied_, rules); }

void SonfinParameters::write_rules(std::size_t rung, const sonfin::RuleParameter& antecedent,
                                   const std::vector<float>& values, std::int64_t rules) {
  const sonfin::Layout& where = rungs_[rung].layout;
  Memory& to = memory(rung, antecedent);
  if (where.stride == where.dim && rules >= occupied_) return to.write(bytes(values));
  packed_.assign(at(std::max(rules, occupied_) * where.stride), antecedent.absent);
  for (std::int64_t k = 0; k < rules; ++k) {
    std::copy_n(values.begin() + k * where.dim, where.dim, packed_.begin() + k * where.stride);
  }
  to.write(bytes(packed_));
}

void SonfinParameters::read_rules(std::size_t rung, const sonfin::RuleParameter& antecedent, std::int64_t rules,
                                  std::vector<float>& values) const {
  const sonfin::Layout& where = rungs_[rung].layout;
  values.resize(at(rules * where.stride));
  memory(rung, antecedent).read(std::as_writable_bytes(std::span(values)));
  if (where.stride == where.dim) return;
  for (std::int64_t k = 0; k < rules; ++k) {  // towards the front, where nothing is needed any more
    std::copy_n(values.begin() + k * where.stride, where.dim, values.begin() + k * where.dim);
  }
  values.resize(at(rules * where.dim));
}

}  // namespace heddle
