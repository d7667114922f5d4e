// rotary embedding, in place, q: [tokens, heads, head_size], pairs are neighbours
#include <cuda_runtime.h>
__global__ void rope_kernel(float* q, const int* pos, int heads, int head_size, float theta) {
  int token = blockIdx.x;
  int head = blockIdx.y;
  int i = threadIdx.x;
  if (i >= head_size / 2) return;
  float freq = 1.0f / powf(theta, (2.0f * i) / head_size);
  float val = pos[token] * freq;
  float fcr = cosf(val), fci = sinf(val);
  float2* p = (float2*)(q + ((size_t)token * heads + head) * head_size);
  float2 v = p[i];
  p[i] = make_float2(v.x * fcr - v.y * fci, v.x * fci + v.y * fcr);
}
void rope(float* q, const int* pos, int tokens, int heads, int head_size) {
  dim3 grid(tokens, heads);
  rope_kernel<<<grid, head_size / 2>>>(q, pos, heads, head_size, 10000.0f);
}
