// The CPU kernels in the binary whose every operation is rounded as it is written: see cpu_registry.cpp, whose other
// rules hold here, too.
#include "heddle/kernels/common/cpu_builtin_table.hpp"
#include "heddle/kernels/fuzzy/cpu/matvec.hpp"
#include "heddle/kernels/fuzzy/cpu/series.hpp"
#include "heddle/kernels/fuzzy/cpu/sum.hpp"

namespace heddle::cpu {

const BuiltinKernel HEDDLE_CPU_TABLE[] = {
    HEDDLE_KERNEL(fuzzy, series_lu, 256),
    HEDDLE_KERNEL(fuzzy, series_mr, 256),
    HEDDLE_KERNEL(fuzzy, sum, true),
    HEDDLE_KERNEL(fuzzy, sum, false),
    HEDDLE_KERNEL(fuzzy, dot, true),
    HEDDLE_KERNEL(fuzzy, dot, false),
    HEDDLE_KERNEL(fuzzy, matvec, true, false),
    HEDDLE_KERNEL(fuzzy, matvec, true, true),
    HEDDLE_KERNEL(fuzzy, matvec, false, false),
    HEDDLE_KERNEL(fuzzy, matvec, false, true),
    {nullptr, nullptr},
};

}  // namespace heddle::cpu
