// Batch normalisation, training mode, NCHW. One block per channel.
#include <cuda_runtime.h>
#include <stdio.h>
#define BLOCK 256
#define CUDA_CHECK(call)                                                        \
  do {                                                                          \
    cudaError_t err = (call);                                                   \
    if (err != cudaSuccess) {                                                   \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

__global__ void batchnorm_train(const float *x, const float *gamma, const float *beta, float *y,
                                float *mean_out, float *var_out, int N, int C, int HW, float eps) {
  __shared__ float s_sum[BLOCK];
  __shared__ float s_sq[BLOCK];
  int c = blockIdx.x;
  float sum = 0.f, sq = 0.f;
  for (int n = 0; n < N; ++n)
    for (int i = threadIdx.x; i < HW; i += blockDim.x) {
      float v = x[(n * C + c) * HW + i];
      sum += v;
      sq += v * v;
    }
  s_sum[threadIdx.x] = sum;
  s_sq[threadIdx.x] = sq;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) {
      s_sum[threadIdx.x] += s_sum[threadIdx.x + s];
      s_sq[threadIdx.x] += s_sq[threadIdx.x + s];
    }
    __syncthreads();
  }
  float mean = s_sum[0] / (N * HW);
  float var = s_sq[0] / (N * HW) - mean * mean;
  float inv = rsqrtf(var + eps);
  for (int n = 0; n < N; ++n)
    for (int i = threadIdx.x; i < HW; i += blockDim.x) {
      int idx = (n * C + c) * HW + i;
      y[idx] = gamma[c] * (x[idx] - mean) * inv + beta[c];
    }
  if (threadIdx.x == 0) {
    mean_out[c] = mean;
    var_out[c] = var;
  }
}

void batchnorm_train_forward(const float *x, const float *gamma, const float *beta, float *y,
                             float *mean, float *var, int N, int C, int HW, float eps) {
  batchnorm_train<<<C, BLOCK>>>(x, gamma, beta, y, mean, var, N, C, HW, eps);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
}
