#include "heddle/kernels/own/description_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr std::size_t kMostElements = 10000;

void merge_elements(json& list, const DescriptionNode& changes) {
  if (!list.is_array()) list = json::array();
  for (const DescriptionNode& change : changes.elements(kMostElements)) {
    const std::string name = change.at("name").text();
    const auto is_it = [&](const json& each) { return each.is_object() && each.value("name", json()) == json(name); };
    const auto found = std::ranges::find_if(list, is_it);
    const auto removes = change.find("remove");
    if (removes && removes->truth()) {
      if (found == list.end()) change.refuse(fmt::format("there is no {} to remove", in_quotes(name)));
      list.erase(found);
      continue;
    }
    json& element = found == list.end() ? list.emplace_back(json::object()) : *found;
    element.merge_patch(change.value());
  }
}

}  // namespace

void merge_description(json& description, const DescriptionNode& changes) {
  if (!changes.value().is_object()) changes.expected("an object");
  if (!description.is_object()) return;  // whoever reads it says so
  json others = changes.value();
  for (const char* const list : {"arguments", "parameters"}) {
    const auto member = changes.find(list);
    if (!member || !member->value().is_array()) continue;
    merge_elements(description[list], *member);
    others.erase(list);
  }
  description.merge_patch(others);
}

}  // namespace heddle
