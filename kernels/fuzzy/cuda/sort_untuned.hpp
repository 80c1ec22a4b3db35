// Which mapping a sort on a GPU has before it is tuned.
#pragma once

#include <string>

#include "heddle/kernels/fuzzy/sort.hpp"

namespace heddle::fuzzy {

/// The text of a configuration that is allowed for the card and the array.
[[nodiscard]] std::string untuned_sort(const DeviceIdentity& device, const ArrayShape& shape);

}  // namespace heddle::fuzzy
