// Steps of learning on a CPU, by both schemes: tiles of rows, and row after row. Compiled at run time too.
#pragma once

#include "heddle/kernels/mlp/cpu/online.hpp"
#include "heddle/kernels/mlp/cpu/train.hpp"
