#include "heddle/kernels/own/description_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

void DescriptionNode::refuse(const std::string& why) const {
  throw Error(ErrorKind::input, fmt::format("{}: {}{}{}", file_, place_, place_.empty() ? "" : ": ", why));
}

void DescriptionNode::expected(const std::string& what) const {
  refuse(fmt::format("found {}, expected {}", excerpt(value_), what));
}

void DescriptionNode::allow_members(std::initializer_list<std::string_view> names) const {
  if (!value_.is_object()) expected("an object");
  for (const auto& [name, member] : value_.items()) {
    if (std::ranges::find(names, name) == names.end()) {
      refuse(fmt::format("there is no member {}, expected one of {}", in_quotes(name), fmt::join(names, ", ")));
    }
  }
}

std::optional<DescriptionNode> DescriptionNode::find(std::string_view name) const {
  const auto found = value_.find(std::string(name));
  if (found == value_.end()) return std::nullopt;
  return DescriptionNode(*found, file_, fmt::format("{}{}{}", place_, place_.empty() ? "" : ".", name));
}

DescriptionNode DescriptionNode::at(std::string_view name) const {
  const auto found = find(name);
  if (!found) refuse(fmt::format("the member {} is missing", in_quotes(name)));
  return *found;
}

std::vector<DescriptionNode> DescriptionNode::elements(std::size_t most) const {
  if (!value_.is_array()) expected("an array");
  if (value_.size() > most) refuse(fmt::format("{} elements, expected at most {}", value_.size(), most));
  std::vector<DescriptionNode> all;
  all.reserve(value_.size());
  for (std::size_t i = 0; i < value_.size(); ++i) all.emplace_back(value_[i], file_, fmt::format("{}[{}]", place_, i));
  return all;
}

std::string DescriptionNode::text() const {
  if (!value_.is_string()) expected("a text");
  return value_.get<std::string>();
}

bool DescriptionNode::truth() const {
  if (!value_.is_boolean()) expected("true or false");
  return value_.get<bool>();
}

double DescriptionNode::real() const {
  if (!value_.is_number()) expected("a number");
  return value_.get<double>();
}

std::int64_t DescriptionNode::integer() const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool too_large = value_.is_number_unsigned() && value_.get<std::uint64_t>() > kMost;
  if (!value_.is_number_integer() || too_large) expected("an integer of 64 bits");
  return value_.get<std::int64_t>();
}

Value DescriptionNode::single_value() const {
  if (value_.is_number_integer()) return integer();
  if (value_.is_number_float() || value_.is_boolean() || value_.is_string()) return value_from(value_);
  expected("a number, true, false or a text");
}

std::string DescriptionNode::expression() const {
  if (value_.is_boolean()) return value_.get<bool>() ? "True" : "False";
  if (value_.is_number()) return value_.dump();
  if (!value_.is_string()) expected("an expression");
  std::string written = value_.get<std::string>();
  if (written.empty()) expected("an expression");
  return written;
}

std::vector<std::string> DescriptionNode::expressions(std::size_t most) const {
  const auto number = [](const DescriptionNode& node) {
    if (node.value_.is_boolean()) node.expected("an expression");
    return node.expression();
  };
  if (!value_.is_array()) return {number(*this)};
  std::vector<std::string> all;
  all.reserve(value_.size());
  for (const DescriptionNode& each : elements(most)) all.push_back(number(each));
  return all;
}

std::size_t DescriptionNode::one_of(const std::vector<std::string_view>& words) const {
  const std::string word = text();
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) expected(fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace heddle
