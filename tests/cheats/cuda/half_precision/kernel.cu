#include <cuda_fp16.h>

extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ float parts[256];
    const int row = blockIdx.x;
    __half sum = __float2half(0.0f);
    for (int col = threadIdx.x; col < cols; col += blockDim.x)
        sum = __hadd(sum, __float2half(x[row * cols + col]));
    parts[threadIdx.x] = __half2float(sum);
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = parts[0];
}
