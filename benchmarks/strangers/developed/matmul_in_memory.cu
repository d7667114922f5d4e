// PolyBench-style GEMM that keeps its sum in C
#include <cuda.h>
#define DIM_THREAD_BLOCK_X 32
#define DIM_THREAD_BLOCK_Y 8
#define ALPHA 32412.0f
#define BETA 2123.0f
typedef float DATA_TYPE;

__global__ void gemm_kernel(int ni, int nj, int nk, DATA_TYPE *a, DATA_TYPE *b, DATA_TYPE *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if ((i < ni) && (j < nj)) {
    c[i * nj + j] *= BETA;
    int k;
    for (k = 0; k < nk; k++) {
      c[i * nj + j] += ALPHA * a[i * nk + k] * b[k * nj + j];
    }
  }
}

void gemmCuda(int ni, int nj, int nk, DATA_TYPE *A_gpu, DATA_TYPE *B_gpu, DATA_TYPE *C_gpu) {
  dim3 block(DIM_THREAD_BLOCK_X, DIM_THREAD_BLOCK_Y);
  dim3 grid((size_t)(ceil(((float)nj) / ((float)block.x))), (size_t)(ceil(((float)ni) / ((float)block.y))));
  gemm_kernel<<<grid, block>>>(ni, nj, nk, A_gpu, B_gpu, C_gpu);
  cudaDeviceSynchronize();
}
