#include <cuda_runtime.h>
// NCHW depthwise convolution, 3x3, stride 1, zero padding 1
template <int K>
__global__ void depthwise_conv2d(const float *__restrict__ in, const float *__restrict__ weight, const float *__restrict__ bias,
                                 float *__restrict__ out, int C, int H, int W) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  const int h = blockIdx.y * blockDim.y + threadIdx.y;
  const int nc = blockIdx.z;
  if (w >= W || h >= H) return;
  const float *k = weight + (nc % C) * K * K;
  float acc = bias[nc % C];
#pragma unroll
  for (int r = 0; r < K; ++r) {
#pragma unroll
    for (int s = 0; s < K; ++s) {
      const int y = h + r - K / 2, x = w + s - K / 2;
      if (y >= 0 && y < H && x >= 0 && x < W) acc = fmaf(in[((long)nc * H + y) * W + x], k[r * K + s], acc);
    }
  }
  out[((long)nc * H + h) * W + w] = acc > 0.f ? acc : 0.f;
}
void depthwise(const float *in, const float *weight, const float *bias, float *out, int N, int C, int H, int W) {
  dim3 block(32, 8), grid((W + 31) / 32, (H + 7) / 8, N * C);
  depthwise_conv2d<3><<<grid, block>>>(in, weight, bias, out, C, H, W);
}
