// The registry of CPU kernels that are compiled into the binary: those of default configurations. Compiled once per
// instruction set: HEDDLE_CPU_TABLE names what it defines, HEDDLE_CPU_WIDTH is the number of floats in a vector.
// Nothing else here may have external linkage, or the linker would mix the instruction sets; so no standard header is
// included.
#include "heddle/kernels/common/cpu_builtin_table.hpp"
#include "heddle/kernels/fuzzy/cpu/sort.hpp"
#include "heddle/kernels/mlp/cpu/predict.hpp"
#include "heddle/kernels/mlp/cpu/training.hpp"
#include "heddle/kernels/sonfin/cpu/predict.hpp"
#include "heddle/kernels/sonfin/cpu/train.hpp"
#include "heddle/kernels/tsk/cpu/batch.hpp"

namespace heddle::cpu {

const BuiltinKernel HEDDLE_CPU_TABLE[] = {
    HEDDLE_KERNEL(sonfin, train_rules, 1),
    HEDDLE_KERNEL(sonfin, train_rules, 2),
    HEDDLE_KERNEL(sonfin, predict, 8),
    HEDDLE_KERNEL(tsk, accumulate, 256, 4, 1, float),
    HEDDLE_KERNEL(tsk, accumulate, 256, 4, 1, double),
    HEDDLE_KERNEL(tsk, descend, 256, 1, float),
    HEDDLE_KERNEL(tsk, descend, 256, 1, double),
    HEDDLE_KERNEL(mlp, train, 4, 2),
    HEDDLE_KERNEL_OF_WIDTH(mlp, train_online),
    HEDDLE_KERNEL(mlp, predict, 4, 2),
    HEDDLE_KERNEL_WITHOUT_WIDTH(fuzzy, sort, float, 8),
    HEDDLE_KERNEL_WITHOUT_WIDTH(fuzzy, sort, double, 8),
    {nullptr, nullptr},
};

}  // namespace heddle::cpu
