// y[i] = a x[i]; a block takes block_size * items elements.
template <int BlockSize, int Items>
__global__ void scale(float a, const float* x, float* y, int n) {
  const int first = static_cast<int>(blockIdx.x) * BlockSize * Items + static_cast<int>(threadIdx.x);
  for (int item = 0; item < Items; ++item) {
    const int i = first + item * BlockSize;
    if (i < n) y[i] = a * x[i];
  }
}
