// scale each row to [0, 1]; one block of threads for a row, dynamic shared memory
#include <cuda_runtime.h>
extern __shared__ float sdata[];

__global__ void minmax_rows(float *data, int rows, int cols) {
  float *smin = sdata;
  float *smax = sdata + blockDim.x;
  int row = blockIdx.x;
  int t = threadIdx.x;
  float lo = 3.4e38f, hi = -3.4e38f;
  for (int c = t; c < cols; c += blockDim.x) {
    float v = data[row * cols + c];
    lo = fminf(lo, v);
    hi = fmaxf(hi, v);
  }
  smin[t] = lo;
  smax[t] = hi;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) {
      smin[t] = fminf(smin[t], smin[t + s]);
      smax[t] = fmaxf(smax[t], smax[t + s]);
    }
    __syncthreads();
  }
  float scale = 1.0f / (smax[0] - smin[0] + 1e-12f);
  for (int c = t; c < cols; c += blockDim.x) data[row * cols + c] = (data[row * cols + c] - smin[0]) * scale;
}

int main(int argc, char **argv) {
  int rows = 1024, cols = 4096;
  float *d;
  cudaMalloc((void **)&d, sizeof(float) * rows * cols);
  int threads = 256;
  minmax_rows<<<rows, threads, 2 * threads * sizeof(float)>>>(d, rows, cols);
  cudaDeviceSynchronize();
  cudaFree(d);
  return 0;
}
