extern "C" __global__ void parts_of_rows(const float* x, double* parts, int rows, int cols) {
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int col = threadIdx.x; col < cols; col += 64) sum += x[row * cols + col];
    parts[row * 64 + threadIdx.x] = sum;
}

extern "C" __global__ void row_sum(double* parts, float* sums, int rows) {
    const int row = blockIdx.x;
    double sum = parts[row * 64 + threadIdx.x] + parts[row * 64 + 32 + threadIdx.x];
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    __syncwarp();
    if (threadIdx.x == 0) sums[row] = static_cast<float>(sum);
    if (threadIdx.x < 4)
        asm volatile("discard.global.L2 [%0], 128;" : : "l"(parts + row * 64 + threadIdx.x * 16) : "memory");
}
