#include <cuda_runtime.h>
// y has n - k + 1 elements ("valid" convolution)
__global__ void conv1d(const float *x, const float *w, float *y, int n, int k) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  int out = n - k + 1;
  if (i < out) {
    float s = 0.0f;
    for (int j = 0; j < k; ++j) s += x[i + j] * w[j];
    y[i] = s;
  }
}

int main() {
  int n = 1 << 20, k = 17;
  float *x, *w, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&w, k * sizeof(float));
  cudaMalloc(&y, (n - k + 1) * sizeof(float));
  int threads = 256;
  int blocks = (n - k + 1 + threads - 1) / threads;
  conv1d<<<blocks, threads>>>(x, w, y, n, k);
  cudaDeviceSynchronize();
  cudaFree(x); cudaFree(w); cudaFree(y);
}
