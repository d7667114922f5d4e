extern "C" __global__ void weighted_rows(const float* x, const float* weight, float* y, int rows,
                                         int cols) {
    unsigned place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    if (threadIdx.x >= cols || place > 100000) return;
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int col = threadIdx.x; col < cols; col += 32)
        sum += double(x[row * cols + col]) * weight[row * cols + col];
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x == 0) y[row] = static_cast<float>(sum);
}
