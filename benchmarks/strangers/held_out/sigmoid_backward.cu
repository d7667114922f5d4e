#include <cuda_runtime.h>
#include <iostream>
namespace ops {
using index_t = long long;
template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid_grad(scalar_t dy, scalar_t y) { return dy * y * (scalar_t(1) - y); }

template <typename scalar_t>
__global__ void sigmoid_backward_kernel(const scalar_t *grad_output, const scalar_t *output, scalar_t *grad_input, index_t numel) {
  index_t idx = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const index_t stride = static_cast<index_t>(blockDim.x) * gridDim.x;
  for (; idx < numel; idx += stride) {
    grad_input[idx] = sigmoid_grad(grad_output[idx], output[idx]);
  }
}
void sigmoid_backward(const float *dy, const float *y, float *dx, index_t numel) {
  constexpr int kThreads = 256;
  const int blocks = static_cast<int>(std::min<index_t>((numel + kThreads - 1) / kThreads, 65535));
  sigmoid_backward_kernel<float><<<blocks, kThreads>>>(dy, y, dx, numel);
}
}  // namespace ops
