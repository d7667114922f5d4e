#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ inline half2 gelu2(half2 v) {
  float2 f = __half22float2(v);
  f.x = 0.5f * f.x * (1.0f + tanhf(0.7978845608f * (f.x + 0.044715f * f.x * f.x * f.x)));
  f.y = 0.5f * f.y * (1.0f + tanhf(0.7978845608f * (f.y + 0.044715f * f.y * f.y * f.y)));
  return __float22half2_rn(f);
}

// bias + gelu, m x n row major, n even
__global__ void add_bias_gelu(half2 *out, const half2 *bias, int m, int n_half) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < n_half; i += blockDim.x) {
    half2 v = __hadd2(out[row * n_half + i], __ldg(&bias[i]));
    out[row * n_half + i] = gelu2(v);
  }
}

void invoke_add_bias_gelu(half *out, const half *bias, int m, int n, cudaStream_t stream) {
  add_bias_gelu<<<m, 256, 0, stream>>>((half2 *)out, (const half2 *)bias, m, n / 2);
}
