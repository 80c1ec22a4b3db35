#include "heddle/kernels/tsk/mapping.hpp"
namespace heddle::tsk {
const Mapping& cuda_mapping() { return cpu_mapping(); }
}  // namespace heddle::tsk
