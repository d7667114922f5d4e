// the largest of each row and where it stands: argmax by one block per row (top-1)
#include <cuda_runtime.h>
#include <limits>

#ifdef warpSize
#undef warpSize
#endif
#define warpSize 32
#define NUM_THREADS 128

struct Pair {
  float value;
  int index;
};

__device__ __forceinline__ Pair better(Pair a, Pair b) {
  return (b.value > a.value || (b.value == a.value && b.index < a.index)) ? b : a;
}

__global__ void top1_rows(const float *scores, float *values, int *indices, int rows, int cols) {
  __shared__ Pair best[NUM_THREADS / warpSize];
  int row = blockIdx.x;
  Pair mine{-std::numeric_limits<float>::infinity(), 0x7fffffff};
  for (int c = threadIdx.x; c < cols; c += NUM_THREADS) mine = better(mine, Pair{scores[row * cols + c], c});
#pragma unroll
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    Pair other{__shfl_down_sync(0xffffffffu, mine.value, offset),
               __shfl_down_sync(0xffffffffu, mine.index, offset)};
    mine = better(mine, other);
  }
  if (threadIdx.x % warpSize == 0) best[threadIdx.x / warpSize] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < NUM_THREADS / warpSize; ++w) mine = better(mine, best[w]);
    values[row] = mine.value;
    indices[row] = mine.index;
  }
}

void top1(const float *scores, float *values, int *indices, int rows, int cols) {
  top1_rows<<<rows, NUM_THREADS>>>(scores, values, indices, rows, cols);
}
