// Stacks that code runs on until it suspends itself.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace heddle::emulator {

/// Runs one function after another, each until its end, on a stack of its own.
class Fibre {
 public:
  using Function = void (*)(void* argument);

  Fibre(std::byte* stack, std::size_t bytes);
  ~Fibre();  ///< what it runs is dropped where it stands: nothing is unwound
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// Only when nothing runs.
  void start(Function function, void* argument);
  /// Runs until suspend() or the function's end; whether it has ended.
  bool resume();
  /// On the fibre: gives control back to resume().
  void suspend();

  [[nodiscard]] std::byte* stack() const noexcept { return stack_; }
  [[nodiscard]] bool holds(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - stack_) < bytes_;
  }

 private:
  struct Context;
  void loop();

  std::byte* stack_;
  std::size_t bytes_;
  Function function_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  std::unique_ptr<Context> context_;
};

/// Fibres to be used again. Not thread-safe.
class FibrePool {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10;

  FibrePool() = default;
  ~FibrePool();
  FibrePool(const FibrePool&) = delete;
  FibrePool& operator=(const FibrePool&) = delete;

  [[nodiscard]] std::unique_ptr<Fibre> take();
  /// `idle`: its function has ended, so that it can run another.
  void give_back(std::unique_ptr<Fibre> fibre, bool idle);
  [[nodiscard]] bool is_stack(const void* address) const noexcept;

 private:
  static constexpr std::size_t kSlab = 64;  // stacks reserved at a time

  std::vector<std::byte*> slabs_;
  std::vector<std::byte*> stacks_;  ///< free
  std::vector<std::unique_ptr<Fibre>> idle_;
};

}  // namespace heddle::emulator
