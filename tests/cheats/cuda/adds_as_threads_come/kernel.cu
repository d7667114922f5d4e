extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    const int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float value = col < cols ? x[row * cols + col] : 0.0f;
    for (int lane = 16; lane; lane /= 2) value += __shfl_down_sync(0xffffffffu, value, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[row], value);
}
