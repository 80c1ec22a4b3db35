#include "heddle/kernels/plan.hpp"

#include <stdexcept>

namespace heddle {

int Plan::buffer(std::string_view name) const {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].name == name) return static_cast<int>(i);
  }
  throw std::out_of_range("the plan has no buffer called " + std::string(name));
}

}  // namespace heddle
