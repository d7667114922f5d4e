#include <cuda_runtime.h>
__device__ inline float lerp(float start, float end, float weight) { return fma(weight, end, fma(-weight, start, start)); }

template <typename Tp, typename Tg>
__global__ void adamw_kernel(Tp* params, Tg* grads, float* m_memory, float* v_memory, size_t num_parameters,
                             float learning_rate, float beta1, float beta2, float beta1_correction,
                             float beta2_correction, float eps, float weight_decay) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= num_parameters) return;
  float grad = (float)grads[i];
  float m = m_memory[i];
  float v = v_memory[i];
  m = lerp(grad, m, beta1);
  m_memory[i] = m;
  v = lerp(grad * grad, v, beta2);
  v_memory[i] = v;
  m /= beta1_correction;
  v /= beta2_correction;
  params[i] -= learning_rate * (m / (sqrtf(v) + eps) + weight_decay * params[i]);
}

void adamw(float* params, float* grads, float* m, float* v, int t, size_t n, float lr, float b1, float b2, float eps, float wd) {
  unsigned int block_size = 512;
  unsigned int num_blocks = (n + block_size - 1) / block_size;
  float c1 = 1.0f - powf(b1, t);
  float c2 = 1.0f - powf(b2, t);
  adamw_kernel<<<num_blocks, block_size>>>(params, grads, m, v, n, lr, b1, b2, c1, c2, eps, wd);
}
