// The family "fuzzy-map-lu@..." or "fuzzy-map-mr@...": a formula over arrays of fuzzy numbers, compiled into one kernel
// at run time.
//
// Axes: numbers, cuts, bits, layout. Buffers of every plan: inputs "x1", "x2", ... in the order of Formula::names(),
// output "result"; all of the shape that the problem says. A plan is one launch for one sample, with these buffers in
// this order and then their ArrayForm as its arguments, whatever the configuration and the device.
#pragma once

#include <memory>
#include <string>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/formula.hpp"

namespace heddle::fuzzy {

/// The family of a formula: FamilyRegistry::add() makes it, also in a worker process. Formulas that differ in the names
/// of their inputs alone have the same family.
[[nodiscard]] FamilyDescription describe_map(const Formula& formula, Encoding encoding);
/// What that family is called: "fuzzy-map-lu@" and 12 digits.
[[nodiscard]] std::string map_name(const Formula& formula, Encoding encoding);
/// The maker "fuzzy-map", which every registry of builtin_families() has.
[[nodiscard]] std::shared_ptr<const KernelFamily> make_map_family(const std::string& text);

}  // namespace heddle::fuzzy
