// Expressions over the sizes of a problem and the parameters of a configuration: launch geometry, constraints and sizes
// of buffers as data, so that another process can compute them too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/value.hpp"

namespace heddle {

struct SyntaxNode;

/// Of numbers that a name may yet become; both ends are included.
struct Bounds {
  double low = 0.0, high = 0.0;
};
/// What is known of a name: its value, its bounds, or nothing.
using PartialNames = std::function<std::variant<std::monostate, Value, Bounds>(std::string_view name)>;

/// An expression in Python's notation, with Python's results: "ceil_div(n, block_size * items)", "scheme == 'tiled' or
/// items <= 4", "[2**i for i in range(5, 11)]". Immutable; copies are cheap.
///
/// - Values: integers of 64 bits, reals, True and False, texts in quotes, lists, and names.
/// - Operators: + - * / // % **, == != < <= > >=, which chain, in, not in, and, or, not, A if CONDITION else B,
///   SEQUENCE[INDEX].
/// - Functions: abs, bool, float, int, len, list, max, min, range and sum. Beside Python's: ceil_div(a, b) (a / b
/// rounded
///   up), round_up(a, b) (a rounded up to a multiple of b), and has(name): whether the name has a value, for sizes that
///   a problem may lack: "n + 2 * halo if has(halo) else n".
/// - Comprehensions of one variable: [x for x in SEQUENCE if CONDITION], without the brackets as the only argument of a
///   function.
///
/// What differs from Python: an integer beyond 64 bits is an error, int and float do not read texts, texts are not
/// formatted, and there are neither tuples nor slices. An expression has at most 2000 characters and 100 levels, an
/// evaluation takes at most 25000 steps (each element of a list is one, and so are 16 bytes of a text), and texts have
/// at most 2000 bytes. It reads nothing but the names, and always ends.
class Expression {
 public:
  static constexpr std::size_t kLongest = 2000;  ///< bytes

  /// The value of a name.
  using Names = std::function<std::optional<Value>(std::string_view name)>;

  /// Throws Error(input) with the column of the fault, counted in characters from 1.
  explicit Expression(std::string text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The same expression with one blank around operators and no brackets that it does not need: equal for texts that
  /// differ in these alone. May be longer than kLongest.
  [[nodiscard]] std::string normal_form() const;
  /// The names that it asks for, each once.
  [[nodiscard]] const std::vector<std::string>& names() const& noexcept { return names_; }
  [[nodiscard]] std::vector<std::string> names() && { return std::move(names_); }

  /// All throw Error(input), with the expression and the column, for a name without a value, values that an operator
  /// does not take, a division by zero, integers beyond 64 bits, and too many steps.
  ///
  /// Of a number that is finite, a truth value or a text.
  [[nodiscard]] Value value(const Names& names) const;
  [[nodiscard]] std::int64_t integer(const Names& names) const;  ///< True is 1, as in Python; a real is refused
  [[nodiscard]] double real(const Names& names) const;           ///< of any number
  [[nodiscard]] bool truth(const Names& names) const;            ///< as Python's bool(): what is 0 or empty is false
  /// False only if truth() is false for all values that the names may have. Where it cannot tell, or where truth()
  /// would fail, it returns true. Throws nothing.
  [[nodiscard]] bool may_hold(const PartialNames& names) const;
  /// The elements of a list or range, at most 5000, each as value(); of anything else, that alone.
  [[nodiscard]] std::vector<Value> values(const Names& names) const;

 private:
  std::string text_;
  std::shared_ptr<const SyntaxNode> root_;
  std::vector<std::string> names_;
};

}  // namespace heddle
