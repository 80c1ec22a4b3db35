#include "heddle/kernels/plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace heddle {

int Plan::buffer(std::string_view name) const {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].name == name) return static_cast<int>(i);
  }
  throw std::out_of_range("the plan has no buffer called " + std::string(name));
}

int Plan::kernel(const KernelInstance& instance) {
  const auto known = std::find(kernels.begin(), kernels.end(), instance);
  const auto index = static_cast<int>(known - kernels.begin());
  if (known == kernels.end()) kernels.push_back(instance);
  return index;
}

}  // namespace heddle
