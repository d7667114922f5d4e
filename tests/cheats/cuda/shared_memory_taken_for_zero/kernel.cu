extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ float total;
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) sum += x[row * cols + col];
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) sums[row] = total;
}
