// The CPU kernels in the binary whose every operation is rounded as it is written: see cpu_registry.cpp, whose other
// rules hold here, too.
#include "heddle/kernels/common/cpu_builtin_table.hpp"
#include "heddle/kernels/fuzzy/cpu/series.hpp"

namespace heddle::cpu {

const BuiltinKernel HEDDLE_CPU_TABLE[] = {
    HEDDLE_KERNEL(fuzzy, series_lu, 256),
    HEDDLE_KERNEL(fuzzy, series_mr, 256),
    {nullptr, nullptr},
};

}  // namespace heddle::cpu
