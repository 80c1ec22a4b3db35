// The parameters of a SONFIN in the buffers of a ladder's rungs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/sonfin/layout.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Writes the buffer of a parameter whole, or reads what it has of the first `rules` rules. `packed`: room for the
/// buffer, which callers keep, because new pages take longer than the copy. Both throw like sonfin::pack() and
/// unpack().
void write_packed(Memory& memory, const sonfin::RuleParameter& parameter, std::span<const float> values,
                  const sonfin::Layout& layout, std::vector<float>& packed);
void read_packed(const Memory& memory, const sonfin::RuleParameter& parameter, const sonfin::Layout& layout,
                 std::int64_t rules, std::vector<float>& values, std::vector<float>& packed);

/// Writes, reads and moves them, from one thread at a time, also reading. On a GPU all rungs have centres and widths in
/// the same memory, rule after rule: then only rules that exist are copied, and a step to another rung copies
/// consequents alone. Otherwise, as on a CPU, whose tiles depend on the configuration, whole buffers are copied and
/// packed anew.
class SonfinParameters {
 public:
  struct Rung {
    Execution* execution;  ///< with buffers "centres", "widths" and "consequents"; has to outlive this object
    sonfin::Layout layout;
  };
  SonfinParameters() = default;
  /// `rungs`: by capacity, the largest last. Their buffers may hold anything.
  explicit SonfinParameters(std::vector<Rung> rungs);

  /// Throws std::length_error if the network does not fit there.
  void write(std::size_t rung, const sonfin::Network& network);
  /// The first `rules` rules, into the memory that `into` has already, as far as it reaches: pages that are new to a
  /// process may take longer than the copy.
  void read(std::size_t rung, std::int64_t rules, sonfin::Network& into) const;
  /// From one rung to another with room for `rules` rules, of which there are so many.
  void move(std::size_t from, std::size_t to, std::int64_t rules);
  /// Kernels have written to the first `rules` rules. To be said before the next write() or move().
  void learnt(std::int64_t rules);

 private:
  void write_rules(std::size_t rung, const sonfin::RuleParameter& antecedent, const std::vector<float>& values,
                   std::int64_t rules);
  void read_rules(std::size_t rung, const sonfin::RuleParameter& antecedent, std::int64_t rules,
                  std::vector<float>& into) const;
  [[nodiscard]] Memory& memory(std::size_t rung, const sonfin::RuleParameter& parameter) const {
    return rungs_[rung].execution->memory(parameter.buffer);
  }

  std::vector<Rung> rungs_;
  bool in_place_ = false;      ///< centres and widths are where they are for every rung
  std::int64_t occupied_ = 0;  ///< rules from here on are absent in the shared memory: m = 0, sigma = 1
  /// Kept from call to call: a buffer in the layout of the device, and a parameter on its way between rungs.
  mutable std::vector<float> packed_;
  std::vector<float> moved_;
};

}  // namespace heddle
