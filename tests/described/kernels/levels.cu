// found[i] = levels[i] scale + offset: numbers of 8 bits. Compiled with macros.
extern "C" __global__ void from_levels(const signed char* levels, int* found, signed char scale, unsigned count,
                                       unsigned char offset) {
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * items;
  for (unsigned i = first; i < first + items && i < count; ++i) found[i] = levels[i] * scale + offset;
}
