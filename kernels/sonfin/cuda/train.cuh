// The online training step of a SONFIN on a CUDA device: one launch or several per sample (launched.cuh), or many
// samples in one launch (resident.cuh).
#pragma once

#include "heddle/kernels/sonfin/cuda/launched.cuh"
#include "heddle/kernels/sonfin/cuda/resident.cuh"
