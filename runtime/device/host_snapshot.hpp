// A copy of the buffers that a run changes, for devices whose memory the host can address.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "heddle/kernels/plan.hpp"

namespace heddle {

class HostSnapshot {
 public:
  /// `memory`: one pointer per buffer of the plan, to what has address() and write(). Keeps parameters and state.
  template <class Memories>
  void save(const Plan& plan, const Memories& memory) {
    saved_.clear();
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const Role role = plan.buffers[i].role;
      if (role != Role::parameter && role != Role::state) continue;
      const std::byte* from = memory[i]->address();
      saved_.emplace_back(i, std::vector<std::byte>(from, from + plan.buffers[i].bytes));
    }
  }
  template <class Memories>
  void restore(const Memories& memory) const {
    for (const auto& [buffer, bytes] : saved_) memory[buffer]->write(bytes);
  }

 private:
  std::vector<std::pair<std::size_t, std::vector<std::byte>>> saved_;
};

}  // namespace heddle
