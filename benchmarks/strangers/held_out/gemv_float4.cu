#include <cuda_runtime.h>
#define FETCH_FLOAT4(p) (reinterpret_cast<const float4 *>(&(p))[0])
// y = A x, a warp per row, K a multiple of 128
__global__ void sgemv_k128(const float *a, const float *x, float *y, int M, int K) {
  int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x;
  int lane = tx % 32;
  int m = blockDim.y * bx + ty;
  if (m < M) {
    float sum = 0.0f;
    int NUM_ITERS = (K + 127) / 128;
    for (int w = 0; w < NUM_ITERS; ++w) {
      int k = (w * 32 + lane) * 4;
      float4 reg_x = FETCH_FLOAT4(x[k]);
      float4 reg_a = FETCH_FLOAT4(a[m * K + k]);
      sum += (reg_a.x * reg_x.x + reg_a.y * reg_x.y + reg_a.z * reg_x.z + reg_a.w * reg_x.w);
    }
    for (int mask = 16; mask >= 1; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (lane == 0) y[m] = sum;
  }
}
void sgemv(const float *a, const float *x, float *y, int M, int K) {
  dim3 block(32, 4);
  dim3 grid((M + 4 - 1) / 4);
  sgemv_k128<<<grid, block>>>(a, x, y, M, K);
}
