// The same product, one thread for each number, as simple as it can be.
extern "C" __global__ void plain_matrix_product(const float* a, const float* b, float* c, int m, int n, int k) {
  const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}
