#include <stdio.h>
#include <cuda_runtime.h>

__global__ void rgb2gray(const uchar3 *const rgbImage, unsigned char *const greyImage, int numRows, int numCols) {
  int col = threadIdx.x + blockIdx.x * blockDim.x;
  int row = threadIdx.y + blockIdx.y * blockDim.y;
  if (row < numRows && col < numCols) {
    uchar3 rgb = rgbImage[row * numCols + col];
    greyImage[row * numCols + col] = .299f * rgb.x + .587f * rgb.y + .114f * rgb.z;
  }
}

void convert(const uchar3 *const d_rgb, unsigned char *const d_grey, size_t numRows, size_t numCols) {
  const dim3 blockSize(16, 16, 1);
  const dim3 gridSize(numCols / 16 + 1, numRows / 16 + 1, 1);
  rgb2gray<<<gridSize, blockSize>>>(d_rgb, d_grey, numRows, numCols);
  cudaDeviceSynchronize();
}
