extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ float part[256];
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int first = 0; first < cols; first += 256) {
        const int col = first + threadIdx.x;
        part[threadIdx.x] = col < cols ? x[row * cols + col] : 0.0f;
        __syncthreads();
        if (threadIdx.x < 32)
            for (int q = threadIdx.x; q < 256; q += 32) sum += part[q];
        __syncthreads();
    }
    for (int lane = 16; threadIdx.x < 32 && lane; lane /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x == 0) sums[row] = static_cast<float>(sum);
}
