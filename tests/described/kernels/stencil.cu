// Five points of a plane of height x width, weighted; the outermost points stay as they are. Compiled with macros:
//
// | parameter | meaning |
// |---|---|
// | block_width, block_height | threads of a block |
// | points | points of a row that a thread computes, one block width apart |
namespace described {

/// Of the point itself, and of those left, right, above and below.
__constant__ float weights[5];

}  // namespace described

extern "C" __global__ void stencil(const float* in, float* out, int width, int height) {
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int first = static_cast<int>(blockIdx.x) * block_width * points + static_cast<int>(threadIdx.x);
  for (int point = 0; point < points; ++point) {
    const int column = first + point * block_width;
    if (column >= width || row >= height) continue;
    const int at = row * width + column;
    if (column == 0 || row == 0 || column == width - 1 || row == height - 1) {
      out[at] = in[at];
      continue;
    }
    const float* const w = described::weights;
    out[at] = w[0] * in[at] + w[1] * in[at - 1] + w[2] * in[at + 1] + w[3] * in[at - width] + w[4] * in[at + width];
  }
}
