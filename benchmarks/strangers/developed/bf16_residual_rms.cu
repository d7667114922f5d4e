#include <cuda_bf16.h>
#include <cuda_runtime.h>
#define WARP_SIZE 32

__device__ __forceinline__ float warp_reduce_sum(float x) {
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffff, x, mask, WARP_SIZE);
  return x;
}

// out = rmsnorm(x + residual) * weight, a warp per row
__global__ void residual_rmsnorm_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat16 *residual,
                                      const __nv_bfloat16 *weight, int rows, int dim, float eps) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const __nv_bfloat16 *xr = x + row * dim;
  const __nv_bfloat16 *rr = residual + row * dim;
  float ss = 0.f;
  for (int i = threadIdx.x; i < dim; i += WARP_SIZE) {
    float v = __bfloat162float(xr[i]) + __bfloat162float(rr[i]);
    ss += v * v;
  }
  ss = warp_reduce_sum(ss);
  float scale = rsqrtf(ss / dim + eps);
  for (int i = threadIdx.x; i < dim; i += WARP_SIZE) {
    float v = __bfloat162float(xr[i]) + __bfloat162float(rr[i]);
    out[row * dim + i] = __float2bfloat16(v * scale * __bfloat162float(weight[i]));
  }
}

void run(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat16 *residual, const __nv_bfloat16 *weight,
         int rows, int dim) {
  dim3 block(WARP_SIZE, 4);
  dim3 grid((rows + block.y - 1) / block.y);
  residual_rmsnorm_bf16<<<grid, block>>>(out, x, residual, weight, rows, dim, 1e-6f);
}
