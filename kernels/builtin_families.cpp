#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/fuzzy/matvec_family.hpp"
#include "heddle/kernels/fuzzy/series_family.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"
#include "heddle/kernels/fuzzy/sum_family.hpp"
#include "heddle/kernels/mlp/predict.hpp"
#include "heddle/kernels/mlp/train.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/tsk/train.hpp"

namespace heddle {

FamilyRegistry builtin_families() {
  FamilyRegistry families;
  // They are never deleted.
  const auto add = [&](const KernelFamily& family) {
    families.add(std::shared_ptr<const KernelFamily>(std::shared_ptr<const void>(), &family));
  };
  for (const KernelFamily* family : {&sonfin::train_family(), &sonfin::predict_family(), &tsk::constant_family(),
                                     &tsk::linear_family(), &mlp::train_family(), &mlp::predict_family()}) {
    add(*family);
  }
  for (const auto family_of :
       {fuzzy::series_family, fuzzy::sum_family, fuzzy::dot_family, fuzzy::matvec_family, fuzzy::sort_family}) {
    add(family_of(fuzzy::Encoding::lower_upper));
    add(family_of(fuzzy::Encoding::midpoint_radius));
  }
  families.add_maker("defined-kernel", make_defined_family);
  families.add_maker("fuzzy-map", fuzzy::make_map_family);
  return families;
}

}  // namespace heddle
