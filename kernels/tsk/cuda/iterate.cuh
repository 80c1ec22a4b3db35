// Iterations of batch least squares and gradient on a GPU. Formulas: docs/design.md, "Batch least squares and
// gradient".
//
//   scheme = resident blocks that run at the same time do many iterations in one launch: resident.cuh
//   scheme = block    one block does many iterations in one launch: iterate_block
//   scheme = graph    an iteration is accumulate_rows -> gather_products -> solve_products -> descend_rows ->
//                     gather_gradient -> take_step, captured; where activations are kept, the kernels of kept.cuh take
//                     the place of the passes over the rows, and a library may solve
//   scheme = sample   the published split: kernels of sample.cuh with a block for a row and a thread for a rule
//
// Scratch buffers:
//
// | buffer | contents |
// |---|---|
// | before   | the Progress at the beginning of the iteration: the first kernel writes it, the others read it |
// | products | [parts][pairs][Side * Side] doubles: see accumulate() |
// | gram     | [A][pitch] doubles, lower triangle, A = P + L |
// | solution | [P][L] doubles |
// | info     | an Info |
// | slopes   | [parts][2 K D + 2] doubles: see descend(); floats in the published split |
// | gradient | [2 K D + 2] doubles |
// | squares  | a double of each block of gather_gradient |
#pragma once

#include "heddle/kernels/tsk/cuda/finish.cuh"
#include "heddle/kernels/tsk/cuda/kept.cuh"
#include "heddle/kernels/tsk/cuda/resident.cuh"
#include "heddle/kernels/tsk/cuda/sample.cuh"

namespace heddle::tsk {

__device__ __forceinline__ Share whole_grid() { return {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)}; }

/// For kernels that wait for the launch before them at once.
__device__ __forceinline__ void in_turn() {
  let_next_launch_start();
  wait_for_previous_launch();
}

template <int Rows, int Lanes, int Side>
__global__ void __launch_bounds__(Rows* Lanes)
    accumulate_rows(const float* rows, const float* targets, const float* centres, const float* widths,
                    const Control* control, const Progress* progress, Progress* before, double* products, int dim,
                    int outputs, int rules, int terms, int first, int end, int adds, int pitch, int phi_pitch,
                    int words) {
  in_turn();
  const Progress now = *progress;
  if (blockIdx.x == 0 && threadIdx.x == 0) *before = now;
  if (!goes_on(*control, now)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets, first, end, adds};
  const auto own = elements_of_squares<long long>(batch.sides(Side), Side);
  accumulate<Rows, Lanes, Side>(batch, centres, widths, *control, products + blockIdx.x * own, pitch, phi_pitch,
                                Pieces(words), whole_grid());
}

template <int Block, int Side>
__global__ void __launch_bounds__(Block)
    gather_products(const Control* control, const Progress* before, const double* products, int parts, double* gram,
                    int dim, int outputs, int rules, int terms, int gram_pitch, int words) {
  in_turn();
  if (!goes_on(*control, *before)) return;
  gather_gram<Block, Side>({{dim, outputs, rules, terms}}, products, parts, gram, gram_pitch, Pieces(words),
                           whole_grid());
}

template <int Block>
__global__ void __launch_bounds__(Block)
    solve_products(const Control* control, const Progress* before, const double* gram, double* solution, int* info,
                   int dim, int outputs, int rules, int terms, int gram_pitch, int words) {
  in_turn();
  if (!goes_on(*control, *before)) return;
  solve<Block>({{dim, outputs, rules, terms}}, gram, gram_pitch, static_cast<double>(control->ridge), solution, info,
               Pieces(words));
}

template <int Rows, int Lanes>
__global__ void __launch_bounds__(Rows* Lanes)
    descend_rows(const float* rows, const float* targets, const float* centres, const float* widths,
                 const Control* control, const Progress* before, const double* solution, double* slopes, int dim,
                 int outputs, int rules, int terms, int first, int end, int adds, int phi_pitch, int words) {
  in_turn();
  if (!goes_on(*control, *before)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets, first, end, adds};
  descend<Rows, Lanes>(batch, centres, widths, solution, *control,
                       slopes + static_cast<long long>(blockIdx.x) * batch.slopes(), phi_pitch, Pieces(words),
                       whole_grid());
}

template <int Block, class T>
__global__ void __launch_bounds__(Block)
    gather_gradient(const Control* control, const Progress* before, const T* slopes, int parts, const float* widths,
                    double* gradient, double* squares, int dim, int outputs, int rules, int terms, int words) {
  in_turn();
  if (!goes_on(*control, *before)) return;
  gather_slopes<Block>({{dim, outputs, rules, terms}}, slopes, parts, widths, *control, gradient, squares,
                       Pieces(words), whole_grid());
}

template <int Block>
__global__ void __launch_bounds__(Block)
    take_step(float* centres, float* widths, float* consequents, float* best_centres, float* best_widths,
              float* best_consequents, const double* solution, const int* info, const double* gradient,
              const double* squares, int square_count, const Control* control, const Progress* before,
              Progress* progress, double* errors, int slots, int dim, int outputs, int rules, int terms, int words) {
  in_turn();
  if (!goes_on(*control, *before)) return;
  move_parameters<Block>({{dim, outputs, rules, terms}}, {centres, widths, consequents},
                         {best_centres, best_widths, best_consequents}, solution, info, gradient, squares, square_count,
                         *control, *before, progress, errors, slots, Pieces(words), whole_grid());
}

/// `iterations` iterations in one block; every sum has one part.
template <int Rows, int Lanes, int Side>
__global__ void __launch_bounds__(Rows* Lanes)
    iterate_block(const float* rows, const float* targets, float* centres, float* widths, float* consequents,
                  float* best_centres, float* best_widths, float* best_consequents, const Control* control_at,
                  Progress* progress, double* errors, double* products, double* gram, double* solution, int* info,
                  double* slopes, double* gradient, double* squares, int iterations, int dim, int outputs, int rules,
                  int terms, int pitch, int phi_pitch, int gram_pitch, int words) {
  constexpr int kBlock = Rows * Lanes;
  in_turn();
  const Control control = *control_at;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets};
  constexpr Share all{0, 1};
  const Pieces pieces(words);
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
    const Progress before = *progress;
    __syncthreads();  // all have it before somebody writes the next
    if (!goes_on(control, before)) return;
    accumulate<Rows, Lanes, Side>(batch, centres, widths, control, products, pitch, phi_pitch, pieces, all);
    __syncthreads();
    gather_gram<kBlock, Side>(batch, products, 1, gram, gram_pitch, pieces, all);
    __syncthreads();
    solve<kBlock>(batch, gram, gram_pitch, static_cast<double>(control.ridge), solution, info, pieces);
    __syncthreads();
    descend<Rows, Lanes>(batch, centres, widths, solution, control, slopes, phi_pitch, pieces, all);
    __syncthreads();
    gather_slopes<kBlock>(batch, slopes, 1, widths, control, gradient, squares, pieces, all);
    __syncthreads();
    move_parameters<kBlock>(batch, {centres, widths, consequents}, {best_centres, best_widths, best_consequents},
                            solution, info, gradient, squares, 1, control, before, progress, errors, iterations, pieces,
                            all);
    __syncthreads();
  }
}

}  // namespace heddle::tsk
