#include "contract/contract_problems.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::contract {

bool has_axis(const KernelFamily& family, std::string_view name) {
  return std::any_of(family.axes().begin(), family.axes().end(), [&](const Axis& axis) { return axis.name == name; });
}

std::vector<Problem> problems(const KernelFamily& family, const DeviceIdentity& device, bool large) {
  const auto has = [&](std::string_view name) { return has_axis(family, name); };
  std::vector<Problem> all{family.awkward_problem()};
  if (!has("rules") || !has("dim") || !has("outputs")) {
    const std::vector<Problem> usual = family.default_problems(device);
    all.insert(all.end(), usual.begin(), usual.end());
    return all;
  }
  for (const auto& [rules, dim] : {std::pair{1, 1}, {3, 5}, {33, 17}, {5, 1025}, {130, 1025}})
    for (const int outputs : {1, 3, 26})
      if (large || rules * dim < 1000 || (rules * dim < 100000 && outputs == 3))
        all.push_back(family.awkward_problem().with("rules", rules).with("dim", dim).with("outputs", outputs));
  // Enough rows for all resident blocks there can be, and for float32, with next to nothing to do for each.
  if (has("rows"))
    all.push_back(family.awkward_problem().with("rules", 2).with("dim", 1).with("outputs", 1).with("rows", 8203));
  return all;
}

std::vector<std::vector<Problem>> problems_by_form(const KernelFamily& family) {
  const Problem awkward = family.awkward_problem();
  const bool matrix = has_axis(family, "matrix");
  std::vector<std::vector<Problem>> forms;
  for (const std::int64_t bits : {64, 32}) {
    for (const std::int64_t layout : {fuzzy::kNumbers, fuzzy::kCuts}) {
      for (const std::int64_t kind : {1, 2}) {
        if (kind == 2 && !matrix) continue;
        Problem of = awkward.with("bits", bits).with("layout", layout);
        if (matrix) of = of.with("matrix", kind);
        // A length and cuts that nothing divides.
        std::vector<Problem>& form = forms.emplace_back(std::vector{of});
        // Vectors of numbers divide this length, which is several blocks of a sum and several tiles of small sorts.
        constexpr std::int64_t kEven = 4108;
        if (has_axis(family, "numbers")) of = of.with("numbers", kEven);
        if (has_axis(family, "terms")) of = of.with("terms", 5);
        // A number that is one pack; slices of any number of cuts.
        form.push_back(of.with("cuts", 1));
        if (matrix) of = of.with("rows", 2);
        form.push_back(of.with("cuts", 48));
      }
    }
  }
  return forms;
}

}  // namespace heddle::contract
