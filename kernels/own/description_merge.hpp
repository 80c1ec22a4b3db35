// A description with changes: a second file that overrides or completes the first.
#pragma once

#include <nlohmann/json.hpp>

#include "heddle/kernels/own/description_node.hpp"

namespace heddle {

/// Changes `description` as `changes` says: a member replaces the one of its name, null removes it, and objects are
/// merged member by member (RFC 7396). Of `arguments` and `parameters` each element changes the one of the same `name`,
/// or is added at the end; with `"remove": true` that element goes. Throws Error(input) if `changes` is no object, or
/// an element has no name.
void merge_description(nlohmann::json& description, const DescriptionNode& changes);

}  // namespace heddle
