#include <cuda_runtime.h>
#include <stdexcept>
constexpr int TILE_DIM = 32;
constexpr int BLOCK_ROWS = 8;

template <class T>
__global__ void transposeNoBankConflicts(T *odata, const T *idata, int width, int height) {
  __shared__ T tile[TILE_DIM][TILE_DIM + 1];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && (y + j) < height) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < height && (y + j) < width) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

void transpose(float *odata, const float *idata, int width, int height) {
  dim3 dimGrid((width + TILE_DIM - 1) / TILE_DIM, (height + TILE_DIM - 1) / TILE_DIM, 1);
  dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
  transposeNoBankConflicts<float><<<dimGrid, dimBlock>>>(odata, idata, width, height);
  if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("transpose");
}
