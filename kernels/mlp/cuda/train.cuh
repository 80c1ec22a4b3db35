// Steps of learning of a perceptron on a GPU. Formulas: docs/design.md, "Perceptrons".
//
//   scheme = layered  a step is kernels that follow each other, captured; for any network and batch: layered.cuh, and
//                     layered_sums.cuh for the products of the published programs, layered_library.cuh for
//                     what a library's products leave
//   scheme = resident blocks that run at the same time do all steps of a run in one launch, where all rows are learnt
//                     at once and the network and the block's rows fit on chip: resident.cuh
//   scheme = spread   such blocks, with the first layer's weights divided among them: spread.cuh
//   scheme = cluster  such blocks, in clusters that divide the inputs of the first layer among them, where all rows are
//                     learnt at once and are bytes: cluster.cuh
//   scheme = neurons  such blocks, in clusters that divide the hidden neurons of a network with one hidden layer among
//                     them, and in each of them the inputs: neurons.cuh
//   scheme = warps    such blocks, for small networks with all rows at once, which stay in registers of warps
//                     that do not wait for each other: warps.cuh
//   scheme = online   one block does all steps of a run, where each learns from one row and the network fits on chip:
//                     online.cuh; one warp where that is enough: online_warp.cuh
#pragma once

#include "heddle/kernels/mlp/cuda/cluster.cuh"
#include "heddle/kernels/mlp/cuda/layered.cuh"
#include "heddle/kernels/mlp/cuda/layered_library.cuh"
#include "heddle/kernels/mlp/cuda/layered_sums.cuh"
#include "heddle/kernels/mlp/cuda/neurons.cuh"
#include "heddle/kernels/mlp/cuda/online.cuh"
#include "heddle/kernels/mlp/cuda/online_warp.cuh"
#include "heddle/kernels/mlp/cuda/resident.cuh"
#include "heddle/kernels/mlp/cuda/spread.cuh"
#include "heddle/kernels/mlp/cuda/warps.cuh"
