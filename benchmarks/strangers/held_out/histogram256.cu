#include <cuda_runtime.h>
#define NUM_BINS 256

__global__ void histogram_shared(const unsigned char *data, unsigned int *histo, long size) {
  __shared__ unsigned int temp[NUM_BINS];
  temp[threadIdx.x] = 0;
  __syncthreads();
  long i = threadIdx.x + (long)blockIdx.x * blockDim.x;
  int offset = blockDim.x * gridDim.x;
  while (i < size) {
    atomicAdd(&temp[data[i]], 1);
    i += offset;
  }
  __syncthreads();
  atomicAdd(&(histo[threadIdx.x]), temp[threadIdx.x]);
}

void histogram(const unsigned char *data, unsigned int *histo, long size) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int blocks = prop.multiProcessorCount;
  histogram_shared<<<blocks * 2, NUM_BINS>>>(data, histo, size);
}
