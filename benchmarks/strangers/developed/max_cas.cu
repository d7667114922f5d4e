// atomicMax for float does not exist, so it is made of atomicCAS
#include <cuda_runtime.h>
#include <cfloat>

__device__ static float atomicMaxf(float *address, float val) {
  int *address_as_i = (int *)address;
  int old = *address_as_i, assumed;
  do {
    assumed = old;
    old = atomicCAS(address_as_i, assumed, __float_as_int(fmaxf(val, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

__global__ void max_reduce(const float *const d_array, float *d_max, const int elements) {
  __shared__ float shared[256];
  int tid = threadIdx.x;
  int gid = (blockDim.x * blockIdx.x) + tid;
  shared[tid] = -FLT_MAX;
  while (gid < elements) {
    shared[tid] = fmaxf(shared[tid], d_array[gid]);
    gid += gridDim.x * blockDim.x;
  }
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) shared[tid] = fmaxf(shared[tid], shared[tid + s]);
    __syncthreads();
  }
  if (tid == 0) atomicMaxf(d_max, shared[0]);
}

void find_max(const float *d_array, float *d_max, int n) { max_reduce<<<32, 256>>>(d_array, d_max, n); }
