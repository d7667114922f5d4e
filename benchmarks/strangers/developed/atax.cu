#include <cuda_runtime.h>
typedef float real;
#define NX_BLOCK 256

__global__ void atax_kernel1(real *A, real *x, real *tmp, int nx, int ny) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nx) {
    tmp[i] = 0;
    for (int j = 0; j < ny; j++) tmp[i] += A[i * ny + j] * x[j];
  }
}

void atax1(real *A, real *x, real *tmp, int nx, int ny) {
  dim3 block(NX_BLOCK, 1);
  dim3 grid((size_t)(ceil(((float)nx) / ((float)block.x))), 1);
  atax_kernel1<<<grid, block>>>(A, x, tmp, nx, ny);
}
