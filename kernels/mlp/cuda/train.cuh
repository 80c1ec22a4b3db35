// Steps of learning of a perceptron on a GPU. Formulas: docs/design.md, "Perceptrons".
//
//   scheme = resident blocks that run at the same time do all steps of a run in one launch: resident.cuh
#pragma once

#include "heddle/kernels/mlp/cuda/resident.cuh"
