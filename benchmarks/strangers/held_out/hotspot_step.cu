#include <cuda_runtime.h>
#define IN_RANGE(x, min, max) ((x) >= (min) && (x) <= (max))
#define AMB_TEMP 80.0f

__global__ void hotspot_step(const float *power, const float *temp_src, float *temp_dst, int cols, int rows,
                             float step_div_Cap, float Rx_1, float Ry_1, float Rz_1) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (!IN_RANGE(col, 0, cols - 1) || !IN_RANGE(row, 0, rows - 1)) return;
  int N = row > 0 ? row - 1 : 0;
  int S = row < rows - 1 ? row + 1 : rows - 1;
  int W = col > 0 ? col - 1 : 0;
  int E = col < cols - 1 ? col + 1 : cols - 1;
  float t = temp_src[row * cols + col];
  temp_dst[row * cols + col] =
      t + step_div_Cap * (power[row * cols + col] +
                          (temp_src[S * cols + col] + temp_src[N * cols + col] - 2.0f * t) * Ry_1 +
                          (temp_src[row * cols + E] + temp_src[row * cols + W] - 2.0f * t) * Rx_1 +
                          (AMB_TEMP - t) * Rz_1);
}

void compute_tran_temp(const float *power, const float *src, float *dst, int col, int row, float s, float rx, float ry, float rz) {
  dim3 dimBlock(16, 16);
  dim3 dimGrid((col + 15) / 16, (row + 15) / 16);
  hotspot_step<<<dimGrid, dimBlock>>>(power, src, dst, col, row, s, rx, ry, rz);
}
