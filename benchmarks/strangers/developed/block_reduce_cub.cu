#include <cub/cub.cuh>
#include <cuda_runtime.h>

template <int THREADS>
__global__ void row_l2norm(const float *x, float *norms, int cols) {
  typedef cub::BlockReduce<float, THREADS> BlockReduce;
  __shared__ typename BlockReduce::TempStorage temp;
  const float *row = x + (long)blockIdx.x * cols;
  float s = 0.f;
  for (int i = threadIdx.x; i < cols; i += THREADS) s += row[i] * row[i];
  float total = BlockReduce(temp).Sum(s);
  if (threadIdx.x == 0) norms[blockIdx.x] = sqrtf(total);
}

void row_norms(const float *x, float *norms, int rows, int cols) {
  row_l2norm<256><<<rows, 256>>>(x, norms, cols);
}
