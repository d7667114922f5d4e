extern "C" __global__ void weighted_rows(const float* x, const float* weight, float* y, int rows,
                                         int cols) {
    __shared__ float parts[256];
    const int row = blockIdx.x, lane = threadIdx.x;
    double sum = 0.0;
    for (int start = 0; start < cols; start += 256) {
        const int col = start + lane;
        parts[lane] = col < cols ? x[row * cols + col] * weight[row * cols + col] : 0.0f;
        __syncthreads();
        if (lane < 32)
            for (int k = lane; k < 256; k += 32) sum += parts[k];
    }
    for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
    if (lane == 0) y[row] = static_cast<float>(sum);
}
