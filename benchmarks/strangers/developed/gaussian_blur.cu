// separable blur written as one 2D convolution with the weights in constant memory, RGBA image
#include <cuda_runtime.h>
#define RADIUS 2
#define KSIZE (2 * RADIUS + 1)
__constant__ float c_weights[KSIZE * KSIZE];

__device__ int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__global__ void gaussian_blur(const uchar4 *in, uchar4 *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float r = 0, g = 0, b = 0;
  for (int dy = -RADIUS; dy <= RADIUS; dy++)
    for (int dx = -RADIUS; dx <= RADIUS; dx++) {
      int xx = clampi(x + dx, 0, width - 1);
      int yy = clampi(y + dy, 0, height - 1);
      uchar4 p = in[yy * width + xx];
      float w = c_weights[(dy + RADIUS) * KSIZE + dx + RADIUS];
      r += w * p.x;
      g += w * p.y;
      b += w * p.z;
    }
  out[y * width + x] = make_uchar4((unsigned char)r, (unsigned char)g, (unsigned char)b, 255);
}

void blur(const uchar4 *d_in, uchar4 *d_out, int width, int height) {
  dim3 threads(16, 16);
  dim3 blocks((width + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y);
  gaussian_blur<<<blocks, threads>>>(d_in, d_out, width, height);
}
