// Which kernels something was measured with.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::bench {

/// {"cuda": {"sonfin-train": "<32 hex digits>"}}: the digests of the templates of `families` on `backend`, as every
/// file in bench/results/ that a table of the README is made from has them under "templates". Families that do not run
/// there are left out.
[[nodiscard]] nlohmann::ordered_json template_digests(const std::vector<const KernelFamily*>& families,
                                                      std::string_view backend);

}  // namespace heddle::bench
