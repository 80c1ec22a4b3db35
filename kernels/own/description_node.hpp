// A place in a JSON description that people write: reads it strictly, and says where something is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/value.hpp"

namespace heddle {

/// A view: the document has to outlive it. All functions throw Error(input): the file, the place ("arguments[2].type"),
/// what was found and what was expected.
class DescriptionNode {
 public:
  /// `file`: as messages name it.
  DescriptionNode(const nlohmann::json& value, std::string file, std::string place = {})
      : value_(value), file_(std::move(file)), place_(std::move(place)) {}

  [[nodiscard]] const nlohmann::json& value() const noexcept { return value_; }

  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void expected(const std::string& what) const;

  /// That it is an object with members of no other names.
  void allow_members(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] std::optional<DescriptionNode> find(std::string_view name) const;
  [[nodiscard]] DescriptionNode at(std::string_view name) const;

  /// The elements of an array, at most `most`.
  [[nodiscard]] std::vector<DescriptionNode> elements(std::size_t most) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] Value single_value() const;
  /// The text of an expression; a number or truth value is one, too.
  [[nodiscard]] std::string expression() const;
  /// One expression, or an array of at most `most`.
  [[nodiscard]] std::vector<std::string> expressions(std::size_t most) const;
  /// Which of `words` the text is.
  [[nodiscard]] std::size_t one_of(const std::vector<std::string_view>& words) const;

 private:
  const nlohmann::json& value_;
  std::string file_;
  std::string place_;
};

}  // namespace heddle
