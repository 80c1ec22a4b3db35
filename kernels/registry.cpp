#include <fmt/format.h>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/kernels/tsk/train.hpp"

namespace heddle {

const std::vector<const KernelFamily*>& families() {
  static const std::vector<const KernelFamily*> all{&sonfin::train_family(), &sonfin::predict_family(),
                                                    &tsk::constant_family(), &tsk::linear_family()};
  return all;
}

const KernelFamily& family(std::string_view name) {
  std::string names;
  for (const KernelFamily* candidate : families()) {
    if (candidate->name() == name) return *candidate;
    names += names.empty() ? "" : ", ";
    names += candidate->name();
  }
  throw Error(ErrorKind::usage, fmt::format("no kernel family {}: expected one of {}", in_quotes(name), names));
}

}  // namespace heddle
