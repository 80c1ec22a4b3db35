// Writes the launches of a plan; knows its buffers by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/plan.hpp"

namespace heddle::sonfin {

constexpr std::int64_t kWord = 4;  ///< bytes of a float, of an int32

[[nodiscard]] constexpr std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }

class PlanWriter {
 public:
  explicit PlanWriter(Plan& plan) : plan_(plan) {}

  [[nodiscard]] BufferArgument at(std::string_view buffer, std::int64_t offset = 0) const {
    return {plan_.buffer(buffer), offset};
  }
  /// One-dimensional; returns it for what is out of the ordinary.
  Launch& launch(int kernel, std::int64_t blocks, std::int64_t threads, std::int64_t shared_bytes,
                 std::vector<Argument> arguments) {
    plan_.launches.push_back({.kernel = kernel,
                              .grid = {.x = static_cast<unsigned>(blocks)},
                              .block = {.x = static_cast<unsigned>(threads)},
                              .shared_bytes = shared_bytes,
                              .arguments = std::move(arguments)});
    return plan_.launches.back();
  }

 private:
  Plan& plan_;
};

}  // namespace heddle::sonfin
