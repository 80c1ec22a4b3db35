// A matrix of real numbers on a device, to be multiplied by arrays of fuzzy numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/runtime/device/device.hpp"

namespace heddle::fuzzy {

/// Row after row, float or double. A value: its numbers never change, so copies share them. The device of the
/// calculator that made it must outlive it.
class Matrix {
 public:
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::int64_t bits() const noexcept { return bits_; }  ///< 32: float, 64: double
  [[nodiscard]] const std::shared_ptr<Memory>& memory() const noexcept { return memory_; }

 private:
  friend class Calculator;
  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t bits, std::shared_ptr<Memory> memory)
      : rows_(rows), columns_(columns), bits_(bits), memory_(std::move(memory)) {}

  std::int64_t rows_, columns_, bits_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace heddle::fuzzy
