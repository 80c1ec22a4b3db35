// Writes the buffers and launches of a plan; knows its buffers by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/problem.hpp"

namespace heddle::tsk {

/// A plan with the buffers that all schemes have, and no launch.
[[nodiscard]] Plan plan_with_buffers(const Problem& problem, int order, std::int64_t iterations);

class PlanWriter {
 public:
  /// `plan`: outlives this.
  explicit PlanWriter(Plan& plan) : plan_(plan) {}

  void scratch(std::string name, std::int64_t bytes);
  [[nodiscard]] Buffer& buffer(std::string_view name) const;
  [[nodiscard]] Argument at(std::string_view buffer, std::int64_t offset = 0) const;
  [[nodiscard]] static Argument whole(std::int64_t value) { return static_cast<std::int32_t>(value); }

  /// Where a launch runs, and with how much shared memory.
  struct Geometry {
    std::pair<std::int64_t, std::int64_t> blocks;  ///< x and y
    std::int64_t threads;                          ///< of a block
    std::int64_t shared_bytes = 0;
  };
  /// A kernel without the namespace heddle in front of it; `numbers` are passed behind the `arguments`. Returns the
  /// launch for what is out of the ordinary.
  Launch& launch(const std::string& kernel, const Geometry& geometry, std::vector<Argument> arguments,
                 const std::vector<std::int64_t>& numbers);
  /// The same of a kernel that divides its shared memory itself: it is told in the end how many words there are.
  Launch& launch_dividing(const std::string& kernel, const Geometry& geometry, std::vector<Argument> arguments,
                          std::vector<std::int64_t> numbers);
  /// A routine of the numerical library.
  void call(const char* routine, std::vector<Argument> arguments, const std::vector<std::int64_t>& numbers);

 private:
  Plan& plan_;
};

}  // namespace heddle::tsk
