#include <cuda_runtime.h>

struct Welford {
  float mean, m2;
  int count;
};

__device__ inline void push(Welford &w, float v) {
  w.count += 1;
  float d = v - w.mean;
  w.mean += d / w.count;
  w.m2 += d * (v - w.mean);
}

__global__ void instance_norm_kernel(const float *x, float *out, int planes, int plane_size, float eps) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= planes) return;
  const float *in = x + (size_t)p * plane_size;
  float *o = out + (size_t)p * plane_size;
  Welford w = {0.f, 0.f, 0};
  for (int i = 0; i < plane_size; ++i) push(w, in[i]);
  float rstd = rsqrtf(w.m2 / w.count + eps);
  for (int i = 0; i < plane_size; ++i) o[i] = (in[i] - w.mean) * rstd;
}

void instance_norm(const float *x, float *out, int n, int c, int h, int w, float eps) {
  int planes = n * c;
  instance_norm_kernel<<<(planes + 127) / 128, 128>>>(x, out, planes, h * w, eps);
}
