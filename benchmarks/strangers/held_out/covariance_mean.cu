#include <cuda_runtime.h>
typedef double DATA_TYPE;
#define FLOAT_N 3214212.01
__global__ void mean_kernel(int m, int n, DATA_TYPE *mean, DATA_TYPE *data) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < m) {
    mean[j] = 0.0;
    int i;
    for (i = 0; i < n; i++) {
      mean[j] += data[i * m + j];
    }
    mean[j] /= (DATA_TYPE)FLOAT_N;
  }
}
void covarianceMean(int m, int n, DATA_TYPE *data_gpu, DATA_TYPE *mean_gpu) {
  dim3 block1(256, 1);
  dim3 grid1((size_t)(ceil((float)m) / ((float)256)) + 1, 1);
  mean_kernel<<<grid1, block1>>>(m, n, mean_gpu, data_gpu);
}
